"""FairClassifier beside fairlearn's ExponentiatedGradient and ThresholdOptimizer on a9a and bank: error, gap, calls, seconds.

    python benchmarks/fair_classifier.py

Equalized odds: a9a between women and men, bank between single clients and others. All use logistic regression. ExponentiatedGradient and
ThresholdOptimizer randomise: their errors and rates are expectations. The gap is the larger difference of the false and of the true
positive rates. Needs `zolal[bench]` and the data (docs/data.md).
"""

import csv
import time
import warnings

import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression

from zolal.problems.datasets import _a9a, _bank, bank
from zolal.sklearn import FairClassifier

TOLERANCES = (0.05, 0.02, 0.01)
FEMALE = 72  # the feature of a9a, counted from 1


def adult():
    """Rows, labels and groups to train and to test on."""
    for file in _a9a.FILES:
        rows, labels = _a9a.parse_libsvm(file.read().decode("ascii"))
        rows = rows.toarray()
        yield rows, (labels > 0).astype(int), rows[:, FEMALE - 1].astype(int)


def clients():
    """The halves of `zolal.problems.datasets.bank`, which has the labels of the first one only."""
    data = bank()
    answers = np.array([row["y"] == "yes" for row in csv.DictReader(_bank.FILE.read().decode("ascii").splitlines(), delimiter=";")])
    order, half = np.random.default_rng(_bank.SPLIT_SEED).permutation(answers.size), answers.size // 2
    single = data.feature_names.index("marital=single")
    for rows, labels in ((data.features, answers[order[:half]]), (data.fairness, answers[order[half : 2 * half]])):
        yield rows.toarray(), labels.astype(int), rows.toarray()[:, single].astype(int)


def fitted(method, tolerance, X, y, group):
    """The probability of a positive prediction as a function of rows and groups, and the calls that it took."""
    base = LogisticRegression(max_iter=1000)
    if method == "zolal":
        model = FairClassifier(base, tolerance=tolerance).fit(X, y, sensitive_features=group)
        return lambda X, group: model.predict(X).astype(float), f"1 fit, {model.n_evaluations_} metrics"
    if method == "ExponentiatedGradient":  # bounds differences from the mean, so half of the difference of two groups
        model = ExponentiatedGradient(base, EqualizedOdds(difference_bound=tolerance / 2)).fit(X, y, sensitive_features=group)
        return lambda X, group: model._pmf_predict(X)[:, 1], f"{model.n_oracle_calls_} fits"
    if method == "ThresholdOptimizer":  # knows no tolerance for equalized odds
        model = ThresholdOptimizer(estimator=base, constraints="equalized_odds", predict_method="predict_proba")
        model.fit(X, y, sensitive_features=group)
        return lambda X, group: model._pmf_predict(X, sensitive_features=group)[:, 1], "1 fit"
    model = base.fit(X, y)
    return lambda X, group: model.predict(X).astype(float), "1 fit"


def measured(predict, X, y, group):
    """Expected error and gap."""
    p = predict(X, group)
    gaps = [abs(p[(y == label) & (group == 0)].mean() - p[(y == label) & (group == 1)].mean()) for label in (0, 1)]
    return float(np.mean(np.where(y == 1, 1 - p, p))), max(gaps)


def main():
    warnings.simplefilter("ignore")
    print("| data | tolerance | method | error, train | gap, train | error, test | gap, test | calls | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    runs = [(t, method) for t in TOLERANCES for method in ("zolal", "ExponentiatedGradient")]
    for name, load in (("a9a", adult), ("bank", clients)):
        train, test = load()
        for tolerance, method in [(None, "LogisticRegression"), *runs, (None, "ThresholdOptimizer")]:
            begun = time.process_time()
            predict, calls = fitted(method, tolerance, *train)
            seconds = time.process_time() - begun
            numbers = [f"{number:.4f}" for part in (train, test) for number in measured(predict, *part)]
            print(f"| {name} | {tolerance or '—'} | {method} | {' | '.join(numbers)} | {calls} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
