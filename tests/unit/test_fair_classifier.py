"""A classifier under constraints on rates: scikit-learn's own checks, the rates, the metric, and bad input."""

import numpy as np
import pytest

pytest.importorskip("sklearn.base")

from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from zolal.sklearn import FairClassifier
from zolal.sklearn._rates import softened, softened_slopes
from zolal.sklearn.fair import METRICS


@pytest.mark.filterwarnings("ignore")  # of fits that fail on purpose
@parametrize_with_checks([FairClassifier(maxfev=6)])
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def people():
    """Rows with a group that gets the label less often, and whose features say which group it is."""
    rng = np.random.default_rng(0)
    group = (rng.random(600) < 0.4).astype(int)
    X = rng.standard_normal((600, 4)) + 0.7 * group[:, None] * [1.0, 0.0, 0.0, -1.0]
    y = (X @ [1.0, 0.7, -0.5, 0.6] - 0.9 * group + 0.7 * rng.standard_normal(600) > 0.2).astype(int)
    return X, y, group


def largest_gap(y, predicted, group, labels=(0, 1)):
    """By a naive loop, the largest difference between any two groups' rates."""
    rates = [[predicted[(y == label) & (group == g)].mean() for g in np.unique(group)] for label in labels]
    return max(max(row) - min(row) for row in rates)


@pytest.fixture(scope="module")
def fair(people):
    X, y, group = people
    return FairClassifier(maxfev=40).fit(X, y, sensitive_features=group)


def test_the_limits_hold_exactly_on_the_predictions(people, fair):
    X, y, group = people
    unfair = LogisticRegression().fit(X, y)
    assert largest_gap(y, unfair.predict(X), group) > 0.05
    assert fair.violation_ == 0.0
    assert largest_gap(y, fair.predict(X), group) <= 0.02


def test_the_accuracy_is_near_the_best_of_a_dense_search(people, fair):
    """The same head, weights from a grid instead of zolal."""
    X, y, group = people
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 14)] * 4), axis=-1).reshape(-1, 4)
    predicted = fair.estimator_.predict_proba(X) @ grid.T > 0
    rates = [predicted[(y == label) & (group == g)].mean(axis=0) for label in (0, 1) for g in (0, 1)]
    kept = (abs(rates[0] - rates[1]) <= 0.02) & (abs(rates[2] - rates[3]) <= 0.02)
    best = np.mean(predicted[:, kept] == y[:, None], axis=0).max()
    assert best > 0.7
    assert fair.score(X, y) >= best - 0.01


def test_groups_are_not_needed_to_predict_and_no_group_is_no_constraint(people):
    X, y, _ = people
    free = FairClassifier().fit(X, y)
    assert free.violation_ == 0.0
    assert free.score(X, y) >= LogisticRegression().fit(X, y).score(X, y)  # the metric itself is optimised


@pytest.mark.parametrize(("constraint", "labels"), [("equal_opportunity", (1,)), ("demographic_parity", None)])
def test_other_constraints_hold(people, constraint, labels):
    X, y, group = people
    predicted = FairClassifier(constraint=constraint, maxfev=16).fit(X, y, sensitive_features=group).predict(X)
    seen = largest_gap(y, predicted, group, labels) if labels else abs(predicted[group == 0].mean() - predicted[group == 1].mean())
    assert seen <= 0.02


def test_a_callable_constrains_any_rate(people):
    """The most recall where a tenth is selected: a budget."""
    X, y, _ = people

    def tenth(y, groups):
        return np.full((1, y.size), 1 / y.size), 0.0, 0.1

    fair = FairClassifier(constraint=tenth, maxfev=30, metric=lambda y, p: np.mean(p[y == 1])).fit(X, y)
    predicted = fair.predict(X)
    assert 0.09 <= predicted.mean() <= 0.1
    order = np.argsort(-LogisticRegression().fit(X, y).decision_function(X))[: y.size // 10]
    assert np.mean(predicted[y == 1]) >= np.sum(y[order]) / y.sum() - 0.01


def test_a_callable_gets_groups_as_they_were_given(people):
    X, y, group = people
    names = np.where(group == 1, "b", "a")
    seen = []

    def constraint(y, groups):
        seen.append(groups)
        return (groups == "b")[None, :] / np.sum(groups == "b"), 0.2, 1.0

    fair = FairClassifier(constraint=constraint, maxfev=20).fit(X, y, sensitive_features=names)
    assert_array_equal(seen[0], names)
    assert fair.predict(X)[group == 1].mean() >= 0.2


@pytest.mark.slow
def test_three_groups_and_a_tree(people):
    X, y, _ = people
    groups = np.digitize(X[:, 1], [-0.5, 0.5])
    fair = FairClassifier(DecisionTreeClassifier(max_depth=5, random_state=0), constraint="demographic_parity", tolerance=0.1, maxfev=20)
    predicted = fair.fit(X, y, sensitive_features=groups).predict(X)
    rates = [predicted[groups == g].mean() for g in range(3)]
    assert max(rates) - min(rates) <= 0.1
    assert fair.weights_.shape == (6,)


@pytest.mark.parametrize(
    ("name", "reference"), [("accuracy", accuracy_score), ("balanced_accuracy", balanced_accuracy_score), ("f1", f1_score)]
)
def test_metrics_are_those_of_scikit_learn(people, name, reference):
    _, y, group = people
    assert METRICS[name](y, group) == pytest.approx(reference(y, group))


def test_a_metric_is_what_becomes_large(people):
    X, y, _ = people
    f1 = FairClassifier(metric="f1", maxfev=20).fit(X, y).predict(X)
    assert f1_score(y, f1) >= f1_score(y, LogisticRegression().fit(X, y).predict(X))


def test_slopes_of_smooth_predictions_are_right():
    rng = np.random.default_rng(1)
    features, one, groups = rng.random((30, 3)), rng.random(30), rng.integers(0, 2, 30)
    x = np.array([-0.5, 0.3, -1.0])
    found = softened_slopes(features @ x + one, features, 0.3, groups)
    for i in (0, 7, 29):
        slope = approx_fprime(x, lambda x, i=i: softened(features @ x + one, 0.3, groups)[i], 1e-7)
        assert_allclose(found[i], slope, atol=1e-5)


def test_the_same_seed_gives_the_same_classifier(people):
    X, y, group = people
    model = FairClassifier(maxfev=8)
    assert_array_equal(*(clone(model).fit(X, y, sensitive_features=group).weights_ for _ in range(2)))


BAD = {
    "constraint": (dict(constraint="fair"), "`constraint` must be one of 'demographic_parity'"),
    "rows": (dict(constraint=lambda y, groups: (np.ones(3), 0, 1)), r"must return \(rows, lower, upper\)"),
    "tolerance": (dict(tolerance=0.0), r"`tolerance` must be a number in \(0, 1\], got 0.0"),
    "metric": (dict(metric="loss"), "`metric` must be one of 'accuracy'"),
    "estimator": (dict(estimator=LinearSVC()), r"must be a classifier with `predict_proba`, got LinearSVC\(\)"),
}


@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD)
def test_bad_input_is_a_value_error(people, given, sentence):
    X, y, group = people
    with pytest.raises(ValueError, match=sentence):
        FairClassifier(**given).fit(X, y, sensitive_features=group)


def test_bad_groups_are_a_value_error(people):
    X, y, _ = people
    with pytest.raises(ValueError, match=r"one group for each of 600 rows, got shape \(3,\)"):
        FairClassifier().fit(X, y, sensitive_features=[1, 2, 3])
    with pytest.raises(ValueError, match="Every group must have data of both classes"):
        FairClassifier().fit(X, y, sensitive_features=y)
