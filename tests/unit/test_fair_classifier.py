"""A classifier under constraints on rates: scikit-learn's own checks, the rates, the metric, and bad input."""

import copy
import os
import signal

import numpy as np
import pytest

pytest.importorskip("sklearn.base", reason="needs the extra sklearn: pip install 'zolal[sklearn]'")

import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, linprog
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from zolal.sklearn import FairClassifier
from zolal.sklearn._rates import softened, softened_slopes
from zolal.sklearn.fair import METRICS


@pytest.mark.filterwarnings("ignore")  # of fits that fail on purpose
@parametrize_with_checks([FairClassifier(maxfev=6), FairClassifier(maxfev=6, randomize=True)])
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


@pytest.fixture(scope="module")
def told_groups():
    """Rows whose first feature is the group, so that classifiers of the cells are one threshold per group."""
    rng = np.random.default_rng(3)
    group = (rng.random(1500) < 0.4).astype(int)
    signal = rng.standard_normal(1500)
    y = (signal * np.where(group == 1, 2.0, 0.6) - 0.8 * group + rng.standard_normal(1500) > 0.2).astype(int)
    return np.column_stack([group, signal]), y, group


def threshold_rates(scores, y, group):
    """Rates [group][label] of all thresholds of a group, and the error that each adds to that of nobody's being positive."""
    rates = [
        [np.array([np.mean(scores[(group == g) & (y == label)] > t) for t in thresholds]) for label in (0, 1)]
        for g in (0, 1)
        for thresholds in [np.append(np.unique(scores[group == g]), [-1.0, 2.0])]
    ]
    sizes = [[np.sum((group == g) & (y == label)) for label in (0, 1)] for g in (0, 1)]
    return rates, [(rates[g][0] * sizes[g][0] - rates[g][1] * sizes[g][1]) / y.size for g in (0, 1)]


def best_pair(scores, y, group, tolerance):
    """By trying them all, the least error of one threshold per group under equalized odds."""
    rates, losses = threshold_rates(scores, y, group)
    fair = np.all([np.abs(np.subtract.outer(rates[0][label], rates[1][label])) <= tolerance for label in (0, 1)], axis=0)
    return np.add.outer(*losses)[fair].min() + y.mean()


def best_mixture(scores, y, group, tolerance):
    """By a linear programme over all thresholds of each group and their lots, the least error under equalized odds."""
    rates, losses = threshold_rates(scores, y, group)
    loss = np.concatenate(losses)
    gaps = np.array([np.concatenate([rates[0][label], -rates[1][label]]) for label in (0, 1)])
    whole = np.array([np.repeat([1.0, 0.0], [len(r[0]) for r in rates]), np.repeat([0.0, 1.0], [len(r[0]) for r in rates])])
    found = linprog(loss, np.vstack([gaps, -gaps]), np.full(4, tolerance), whole, [1.0, 1.0])
    return found.fun + y.mean()


def test_a_lot_is_as_good_as_the_best_of_all_lots_among_thresholds(told_groups):
    X, y, group = told_groups
    fair = FairClassifier(tolerance=0.02, randomize=True).fit(X, y, sensitive_features=group)
    chance = fair.predict_chance(X)
    error = np.mean(np.where(y == 1, 1 - chance, chance))
    cells = fair.estimator_.predict_proba(X)
    scores = np.where(group == 1, cells[:, 3] / (cells[:, 2] + cells[:, 3]), cells[:, 1] / (cells[:, 0] + cells[:, 1]))
    assert fair.violation_ <= 1e-9
    assert largest_gap(y, chance, group) <= 0.02 + 1e-9
    assert error <= best_mixture(scores, y, group, 0.02) + 0.002
    assert error <= best_pair(scores, y, group, 0.02) - 0.02  # what deciding by lot is good for, where features tell the group
    assert fair.shares_.sum() == pytest.approx(1.0)
    assert fair.weights_.shape == (fair.shares_.size, 4)


def test_a_lot_is_no_worse_than_a_single_classifier(people, fair):
    X, y, group = people
    lot = FairClassifier(maxfev=40, randomize=True).fit(X, y, sensitive_features=group)
    chance = lot.predict_chance(X)
    assert np.mean(np.where(y == 1, 1 - chance, chance)) <= 1 - fair.score(X, y) + 1e-12
    assert largest_gap(y, chance, group) <= 0.02 + 1e-9


def test_answers_are_drawn_with_their_chances(told_groups):
    X, y, group = told_groups
    fair = FairClassifier(tolerance=0.02, randomize=True, maxfev=20).fit(X, y, sensitive_features=group)
    drawn = np.mean([clone_with_state(fair, seed).predict(X) for seed in range(300)], axis=0)
    assert_allclose(drawn, fair.predict_chance(X), atol=5 * 0.5 / np.sqrt(300))
    assert_array_equal(fair.predict(X), fair.predict(X))
    assert not hasattr(fair, "decision_function")


def clone_with_state(fair, seed):
    other = copy.copy(fair)
    other.random_state = seed
    return other


def test_without_a_lot_a_chance_is_0_or_1(people, fair):
    X, _, _ = people
    assert_array_equal(fair.predict_chance(X), fair.predict(X))


def test_a_lot_that_no_limits_allow_says_by_how_much(people):
    X, y, _ = people
    rows = np.full((2, y.size), 1 / y.size)
    fair = FairClassifier(constraint=lambda y, groups: (rows, [-np.inf, 0.5], [0.2, 1.0]), randomize=True, maxfev=10).fit(X, y)
    assert fair.violation_ == pytest.approx(0.15)
    assert fair.predict_chance(X).mean() == pytest.approx(0.35)


def test_folds_bring_rates_on_fresh_data_nearer_to_their_limits():
    """With 40 features of noise the small group is known by heart, so that its rates on the rows to fit are not those of fresh rows."""
    fit, fresh, gaps = slice(0, 800), slice(800, 6800), {None: [], 5: []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        group = (rng.random(6800) < 0.12).astype(int)
        X = np.column_stack([group, rng.standard_normal((6800, 40))])
        y = (X[:, 1] - 0.5 * group + 0.8 * rng.standard_normal(6800) > 0).astype(int)
        for cv, found in gaps.items():
            fair = FairClassifier(LogisticRegression(C=100, max_iter=2000), randomize=True, cv=cv, maxfev=30)
            fair.fit(X[fit], y[fit], sensitive_features=group[fit])
            found.append(largest_gap(y[fresh], fair.predict_chance(X[fresh]), group[fresh]))
    assert np.mean(gaps[None]) > 0.1
    assert np.mean(gaps[5]) < 0.6 * np.mean(gaps[None])


def test_a_frame_reaches_the_estimator_with_its_columns(people):
    pandas = pytest.importorskip("pandas")
    X, y, group = people
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(sex=np.where(group == 1, "f", "m"))
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    fair = FairClassifier(make_pipeline(columns, LogisticRegression()), maxfev=8)
    fair.fit(frame, pandas.Series(np.where(y == 1, "yes", "no")), sensitive_features=frame["sex"].astype("category"))
    assert set(fair.predict(frame)) == {"yes", "no"}
    assert fair.feature_names_in_.tolist() == [*"abcd", "sex"]
    with pytest.raises(ValueError, match="feature names should match"):
        fair.predict(frame[["sex", *"abcd"]])


def test_groups_travel_through_scikit_learn(people):
    X, y, group = people
    with sklearn.config_context(enable_metadata_routing=True):
        fair = FairClassifier(constraint="demographic_parity", maxfev=8).set_fit_request(sensitive_features=True)
        scores = cross_val_score(make_pipeline(StandardScaler(), fair), X, y, cv=2, params=dict(sensitive_features=group))
    assert scores.min() > 0.6


def test_demographic_parity_takes_a_group_with_one_label(people):
    X, y, _ = people
    groups = np.where((y == 1) & (X[:, 0] > 0.5), "all of one label", "others")
    fair = FairClassifier(constraint="demographic_parity", maxfev=10).fit(X, y, sensitive_features=groups)
    rates = [fair.predict(X)[groups == g].mean() for g in np.unique(groups)]
    assert abs(rates[0] - rates[1]) <= 0.02


def test_an_interrupt_is_one(people):
    X, y, group = people
    calls = []

    def metric(y, predicted):
        calls.append(1)
        if len(calls) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return np.mean(y == predicted)

    with pytest.raises(KeyboardInterrupt):
        FairClassifier(metric=metric, maxfev=10).fit(X, y, sensitive_features=group)
    assert len(calls) <= 5


class OwnError(Exception):
    """Of a user."""


def failing(y, predicted):
    raise OwnError("no such rate")


@pytest.mark.parametrize("randomize", [True, False])
def test_what_a_metric_raises_is_raised(people, randomize):
    with pytest.raises(OwnError, match="no such rate"):
        FairClassifier(metric=failing, randomize=randomize).fit(*people[:2])


BAD = {
    "limits": (
        dict(constraint=lambda y, groups: (np.ones((1, 600)), 1, 0)),
        r"finite rows and lower <= upper, got limits \[1.\] and \[0.\]",
    ),
    "cv": (dict(cv="five"), "The 'cv' parameter of cross_val_predict must be"),
    "maxfev": (dict(maxfev=0), "`maxfev` must be a positive integer or None, got 0"),
    "random_state": (dict(random_state="one"), "'one' cannot be used to seed"),
    "metric's value": (dict(metric=lambda y, predicted: np.nan), r"`metric\(y, predictions\)` must return a finite number, got nan"),
    "no estimator": (dict(estimator="tree"), "must be a classifier with `predict_proba`, got 'tree'"),
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
    with pytest.raises(ValueError, match=r"Every group must have data of both classes.*got none of one in 1"):
        FairClassifier().fit(X, y, sensitive_features=y)
    with pytest.raises(ValueError, match="must name the group of every row, got nan for 1 of them"):
        FairClassifier().fit(X, y, sensitive_features=np.append(np.ones(599), np.nan))
    with pytest.raises(ValueError, match="must have groups of one type, got"):
        FairClassifier().fit(X, y, sensitive_features=np.array(["a", 1] * 300, dtype=object))
