"""The price of fairness: the error of a classifier against the gap between two groups that it may have.

    python examples/fair_classifier.py fairness.png

Made-up people of two groups; one of them gets the good label less often. Logistic regression keeps the difference, and
`zolal.sklearn.FairClassifier` is told how much of it may stay. Both are judged on fresh people.
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from zolal.sklearn import FairClassifier

TOLERANCES = (0.1, 0.05, 0.02, 0.01)


def people(count, seed):
    """Features, labels, groups."""
    rng = np.random.default_rng(seed)
    group = (rng.random(count) < 0.35).astype(int)
    features = rng.standard_normal((count, 5)) + 0.5 * group[:, None] * [1.0, 0.0, 0.0, -1.0, 0.5]
    wealth = features @ [1.0, 0.7, -0.5, 0.6, 0.3] - 1.2 * group + 0.8 * rng.standard_normal(count)
    return features, (wealth > 0.3).astype(int), group


def judged(model, X, y, group):
    """Error, and the larger difference of the false and of the true positive rates."""
    predicted = model.predict(X)
    gaps = [abs(predicted[(y == label) & (group == 0)].mean() - predicted[(y == label) & (group == 1)].mean()) for label in (0, 1)]
    return float(np.mean(predicted != y)), max(gaps)


def compared(count=8000, tolerances=TOLERANCES, **given):
    """(error, gap) on data to fit and on fresh data: of logistic regression, and of each tolerance."""
    train, fresh = people(count, 0), people(20_000, 1)
    models = {None: LogisticRegression().fit(*train[:2])}
    models |= {t: FairClassifier(tolerance=t, **given).fit(*train[:2], sensitive_features=train[2]) for t in tolerances}
    return {name: (judged(model, *train), judged(model, *fresh)) for name, model in models.items()}


def draw(found, path):
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for part, (label, marker) in enumerate((("data to fit", "o"), ("fresh data", "s"))):
        points = np.array([pair[part] for pair in found.values()])
        axes.plot(points[:, 1], points[:, 0], f"{marker}-", color=("tab:blue", "tab:orange")[part], label=label)
    for name, pair in found.items():
        text, offset = ("no constraint", (36, 10)) if name is None else (f"{name:g}", (-5, -10))
        axes.annotate(text, pair[0][::-1], xytext=offset, textcoords="offset points", ha="right", fontsize=9)
    axes.set(xlabel="gap between the groups (equalized odds); numbers are tolerances", ylabel="error", xlim=(-0.02, 0.27))
    axes.legend()
    figure.savefig(path, dpi=100)


def main(path):
    found = compared()
    for name, (fit, fresh) in found.items():
        print(f"tolerance {name}: error {fit[0]:.3f}, gap {fit[1]:.3f}; on fresh data error {fresh[0]:.3f}, gap {fresh[1]:.3f}")
    draw(found, path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "fairness.png")
