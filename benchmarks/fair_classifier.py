"""FairClassifier beside fairlearn's ExponentiatedGradient and ThresholdOptimizer on a9a and bank: error, gap, calls, seconds.

    python benchmarks/fair_classifier.py 5 100

The arguments: how many random splits into halves, and the seed of the first; the table has medians over the splits. Equalized odds: a9a
between women and men and between black people and others, bank between single clients and others and between those with a tertiary
education and others. Of these the second and the fourth, and every split, were looked at by nobody before the table was made.
All use logistic regression. ExponentiatedGradient, ThresholdOptimizer and FairClassifier(randomize=True) decide by lot: their errors and
rates are expectations. The gap is the larger difference of the false and of the true positive rates. Needs `zolal[bench]` and the data
(docs/data.md).
"""

import csv
import sys
import time
import warnings

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression

from zolal.problems.datasets import _a9a, _bank, bank
from zolal.sklearn import FairClassifier

TOLERANCES = (0.1, 0.05, 0.02)
BLACK, FEMALE = 71, 72  # features of a9a, counted from 1


def adult():
    """All rows and labels of a9a."""
    parts = [_a9a.parse_libsvm(file.read().decode("ascii")) for file in _a9a.FILES]
    return np.vstack([rows.toarray() for rows, _ in parts]), np.concatenate([(labels > 0).astype(int) for _, labels in parts])


def clients():
    """All rows of `zolal.problems.datasets.bank`, which has the labels of one half only, and the names of the columns."""
    data = bank()
    answers = np.array([row["y"] == "yes" for row in csv.DictReader(_bank.FILE.read().decode("ascii").splitlines(), delimiter=";")])
    order = np.random.default_rng(_bank.SPLIT_SEED).permutation(answers.size)[: 2 * (answers.size // 2)]
    return np.vstack([data.features.toarray(), data.fairness.toarray()]), answers[order].astype(int), data.feature_names


def tasks():
    """Name, rows, labels, groups."""
    rows, labels = adult()
    yield "a9a, sex", rows, labels, rows[:, FEMALE - 1].astype(int)
    yield "a9a, race", rows, labels, rows[:, BLACK - 1].astype(int)
    rows, labels, names = clients()
    yield "bank, single", rows, labels, rows[:, names.index("marital=single")].astype(int)
    yield "bank, education", rows, labels, rows[:, names.index("education=tertiary")].astype(int)


def fitted(method, tolerance, X, y, group):
    """The probability of a positive prediction as a function of rows and groups, and the fits and evaluations of the metric it took."""
    base = LogisticRegression(max_iter=1000)
    if method.startswith("zolal"):
        model = FairClassifier(base, tolerance=tolerance, randomize="lot" in method).fit(X, y, sensitive_features=group)
        return lambda X, group: model.predict_chance(X), (1, model.n_evaluations_)
    if method == "ExponentiatedGradient":  # bounds differences from the mean, so half of the difference of two groups
        model = ExponentiatedGradient(base, EqualizedOdds(difference_bound=tolerance / 2)).fit(X, y, sensitive_features=group)
        return lambda X, group: model._pmf_predict(X)[:, 1], (model.n_oracle_calls_, 0)
    if method == "ThresholdOptimizer":  # knows no tolerance for equalized odds
        model = ThresholdOptimizer(estimator=base, constraints="equalized_odds", predict_method="predict_proba")
        model.fit(X, y, sensitive_features=group)
        return lambda X, group: model._pmf_predict(X, sensitive_features=group)[:, 1], (1, 0)
    model = base.fit(X, y)
    return lambda X, group: model.predict(X).astype(float), (1, 0)


def measured(predict, X, y, group):
    """Expected error and gap."""
    p = predict(X, group)
    gaps = [abs(p[(y == label) & (group == 0)].mean() - p[(y == label) & (group == 1)].mean()) for label in (0, 1)]
    return float(np.mean(np.where(y == 1, 1 - p, p))), float(max(gaps))


def once(method, tolerance, seed, rows, labels, groups):
    """Errors and gaps on both halves, fits, evaluations and seconds."""
    order = np.random.default_rng(seed).permutation(labels.size)
    train, test = ((rows[part], labels[part], groups[part]) for part in np.array_split(order, 2))
    begun = time.process_time()
    predict, calls = fitted(method, tolerance, *train)
    seconds = time.process_time() - begun
    return (*measured(predict, *train), *measured(predict, *test), *calls, seconds)


def main(splits, first):
    warnings.simplefilter("ignore")
    print("| data | tolerance | method | error, train | gap, train | error, test | gap, test | fits | metrics | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    runs = [(t, method) for t in TOLERANCES for method in ("zolal", "zolal, by lot", "ExponentiatedGradient")]
    for name, *data in tasks():
        for tolerance, method in [(None, "LogisticRegression"), *runs, (None, "ThresholdOptimizer")]:
            found = np.median([once(method, tolerance, seed, *data) for seed in range(first, first + splits)], axis=0)
            numbers = " | ".join([*(f"{number:.4f}" for number in found[:4]), f"{found[4]:g}", f"{found[5]:g}", f"{found[6]:.1f}"])
            print(f"| {name} | {tolerance or '—'} | {method} | {numbers} |", flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] + ["5", "100"][len(sys.argv) - 1 :])))
