"""A classifier whose metric need not be differentiable and whose rates in groups keep their limits."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self, final

import numpy as np
from scipy.optimize import Bounds
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from zolal.constraints import Constraint
from zolal.doors.minimize import minimize
from zolal.errors import ObjectiveError
from zolal.result import Result, Status
from zolal.sklearn._lots import Lot, Tried, best_lot
from zolal.sklearn._rates import Rates, as_rates, softened, softened_slopes
from zolal.sklearn._seeds import as_seed

START = 0.5  # the size of every weight at first; they lie between -1 and 1, since all together have no scale
WIDTH = 0.05  # of the step that stands for a prediction, in spreads of the scores
WIDENED = (3.0, 1.0, 0.0)  # limits of the first rounds, wider by so many tolerances: a tight constraint is best met from a loose one
NARROWED = 3  # more rounds at most, with narrower limits, until the predictions themselves keep the given ones
PER_VARIABLE = 20  # evaluations of the metric per variable and round, unless given
MOST_ROUNDS = 20  # for a lot
WORTHWHILE = 1e-4  # of the losses' range: what a round is to gain


def _accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(y == predicted))


def _balanced_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    return 0.5 * float(np.mean(predicted[y == 1]) + np.mean(1 - predicted[y == 0]))


def _f1(y: np.ndarray, predicted: np.ndarray) -> float:
    return 2.0 * float(np.sum(y * predicted)) / float(np.sum(y) + np.sum(predicted))


METRICS = {"accuracy": _accuracy, "balanced_accuracy": _balanced_accuracy, "f1": _f1}  # as scikit-learn's, without its checks at each call


@final
class FairClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The best classifier under limits on its rates, linear in the probabilities of the cells (group, class) that an estimator gives.

    predict 1 where  sum over cells of weight * P(cell | x)  > 0

    The estimator is fitted once, to tell the cells apart. With the true probabilities, the best classifier under limits on rates has this
    form for a metric that depends on rates, up to ties. zolal finds the weights: the metric is evaluated on predictions of 0 and 1, which
    have no derivative, and the rates are exact constraints. Groups are needed to fit and not to predict.

    Ties matter where the features tell the group: the best classifier then decides about a whole group by lot, partly. `randomize=True`
    finds the best lot among classifiers of this form, and `predict` draws one of them for each row. Rates and metric are expectations then.

    estimator: a classifier with `predict_proba`; logistic regression unless given.
    constraint: "equalized_odds", "equal_opportunity" or "demographic_parity", by which rates in any two groups differ by at most
        `tolerance`; or a callable (y, groups) -> (rows, lower, upper), by which lower <= rows @ predictions <= upper, with y of 0 and 1.
    metric: "accuracy", "balanced_accuracy", "f1", or a callable (y, predictions) -> a number to be large, on 0 and 1.
    maxfev: evaluations of the metric in each round, of which there are at most 6, for a lot 26; 20 per variable unless given.
    random_state: an integer, a RandomState or None, for the search and for the lots of `predict`.
    randomize: whether to decide by lot.
    cv: as in scikit-learn, the folds by which weights are found: on each fold with an estimator that was fitted to the others, so that
        rates on fresh data are nearer to their limits. Unless given, all is done on the rows that the estimator was fitted to, and the
        limits hold on these.

    classes_, estimator_: as usual. weights_: one per cell; for a lot one row for each classifier. shares_: the chance of each of them.
    violation_: of the constraint by the predictions that weights were found by, beyond its limits, 0 where they hold. n_evaluations_: of
    the metric. result_: of the last run.

    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> group = X[:, 1] > 0
    >>> fair = zolal.sklearn.FairClassifier(constraint="demographic_parity", maxfev=30)
    >>> predicted = fair.fit(X, X[:, 0] + group > 0.5, sensitive_features=group).predict(X)
    >>> fair.violation_, bool(abs(predicted[group].mean() - predicted[~group].mean()) <= 0.02)
    (0.0, True)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        constraint: Any = "equalized_odds",
        tolerance: float = 0.02,
        metric: Any = "accuracy",
        maxfev: int | None = None,
        random_state: Any = 0,
        randomize: bool = False,
        cv: Any = None,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.tolerance = tolerance
        self.metric = metric
        self.maxfev = maxfev
        self.random_state = random_state
        self.randomize = randomize
        self.cv = cv

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> Self:
        """Fit to rows X with classes y. sensitive_features: the group of each row; one group unless given."""
        self._check()
        seed = as_seed(self.random_state)
        X, y = self._rows(X, reset=True), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if type_of_target(y) != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {type_of_target(y)}.")
        if self.classes_.size < 2:
            raise ValueError(f"FairClassifier needs data of two classes, got 1 class alone: {self.classes_[0]}.")
        given, groups = self._groups(sensitive_features, labels.size)
        rates = as_rates(self.constraint, float(self.tolerance), labels, given)
        metric = self._metric()
        cells, numbers = np.unique(2 * groups + labels, return_inverse=True)
        self.estimator_ = self._fresh().fit(X, numbers)
        search = _Search(self._probabilities(X, numbers), numbers, labels, groups, rates, metric, seed, self.maxfev)
        start = START * np.where(cells % 2 == 1, 1.0, -1.0)
        if self.randomize:
            self.weights_, self.shares_, self.violation_ = search.lot(start, float(self.tolerance))
        else:
            self.weights_, self.violation_ = search.single(start, float(self.tolerance))
            self.shares_ = np.ones(1)
        self.n_evaluations_, self.result_ = search.count, search.result
        return self

    def _fresh(self) -> Any:
        return clone(LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator)

    def _probabilities(self, X: Any, numbers: np.ndarray) -> np.ndarray:
        """P(cell | x) by which weights are found: of rows that the estimator has seen, or of rows that others had not."""
        if self.cv is None:
            return np.asarray(self.estimator_.predict_proba(X))
        return np.asarray(cross_val_predict(self._fresh(), X, numbers, cv=self.cv, method="predict_proba"))

    @available_if(lambda self: not self.randomize)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """The weighted sum of the probabilities of the cells; positive where the second class is predicted."""
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; for a lot, `random_state` draws."""
        positive = self._scores(X) > 0.0
        if positive.ndim == 2:
            drawn = check_random_state(self.random_state).choice(self.shares_.size, size=len(positive), p=self.shares_)
            positive = positive[np.arange(len(positive)), drawn]
        return np.asarray(self.classes_[positive.astype(int)])

    def predict_chance(self, X: Any) -> np.ndarray:
        """The chance that `predict` gives the second class: 0 or 1, or between them by lot. It is no estimate of P(y | x)."""
        positive = self._scores(X) > 0.0
        return np.asarray(positive @ self.shares_ if positive.ndim == 2 else positive.astype(float))

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(self._rows(X, reset=False)) @ self.weights_.T)

    def _rows(self, X: Any, reset: bool) -> Any:
        """X, checked; a frame stays one, since the estimator may know its columns by name."""
        if hasattr(X, "columns"):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, accept_sparse=True, dtype=None, ensure_all_finite=False, reset=reset)

    def _groups(self, given: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The groups as they were given, and the number of each row's group."""
        groups = np.zeros(n, dtype=int) if given is None else np.asarray(given)
        if groups.shape not in ((n,), (n, 1)):
            raise ValueError(f"`sensitive_features` must have one group for each of {n} rows, got shape {groups.shape}.")
        groups = groups.reshape(n)
        missing = [group for group in groups.tolist() if group is None or group != group]
        if missing:
            raise ValueError(f"`sensitive_features` must name the group of every row, got {missing[0]!r} for {len(missing)} of them.")
        try:
            return groups, np.unique(groups, return_inverse=True)[1]
        except TypeError:
            raise ValueError(f"`sensitive_features` must have groups of one type, got {groups[:5].tolist()!r}, ...") from None

    def _check(self) -> None:
        if not isinstance(self.tolerance, Real) or not 0 < self.tolerance <= 1:
            raise ValueError(f"`tolerance` must be a number in (0, 1], got {self.tolerance!r}.")
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"`estimator` must be a classifier with `predict_proba`, got {self.estimator!r}.")
        if self.maxfev is not None and not (isinstance(self.maxfev, Integral) and self.maxfev > 0):
            raise ValueError(f"`maxfev` must be a positive integer or None, got {self.maxfev!r}.")

    def _metric(self) -> Callable[..., float]:
        if callable(self.metric):
            given: Callable[..., float] = self.metric
            return given
        if self.metric not in METRICS:
            raise ValueError(f"`metric` must be one of {', '.join(map(repr, METRICS))} or a callable, got {self.metric!r}.")
        return METRICS[self.metric]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(LogisticRegression() if self.estimator is None else self.estimator)
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.input_tags.sparse, inner.input_tags.allow_nan
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = bool(self.randomize)
        return tags


class _Search:
    """The search for weights on training data: the metric of predictions of 0 and 1, and their rates.

    cells: P(cell | x), one row each. numbers: the cell of each row. groups: their numbers. seen: every classifier that was evaluated.
    count: of evaluations of the metric. result: of the last run.
    """

    def __init__(
        self,
        cells: np.ndarray,
        numbers: np.ndarray,
        y: np.ndarray,
        groups: np.ndarray,
        rates: Rates,
        metric: Callable[..., float],
        seed: int | None,
        maxfev: int | None,
    ) -> None:
        self.cells, self.numbers, self.y, self.groups = cells, numbers, y, groups
        self.rates, self.metric, self.seed = rates, metric, seed
        self.maxfev = PER_VARIABLE * cells.shape[1] if maxfev is None else maxfev
        self.seen: list[Tried] = []
        self.count = 0
        self.result: Result | None = None

    def single(self, start: np.ndarray, tolerance: float) -> tuple[np.ndarray, float]:
        """The best weights and what they violate the limits by: minimise minus the metric under smooth rates, and take the best of what
        was evaluated that keeps the limits.

        Predictions of 0 and 1 and their smooth stand-ins differ a little, so later rounds have limits that are narrower by that.
        """
        here, bounded = start, len(self.rates.rows) > 0
        moves = [widened * tolerance for widened in WIDENED] if bounded else [0.0]
        for number in range(len(WIDENED) + NARROWED):
            here = self._run(lambda x: self.tried(x).loss, here, self._smooth(moves[min(number, len(moves) - 1)]) if bounded else [])
            excess = self.rates.excess(self.tried(here).rates)
            if number >= len(moves) - 1 and (excess == 0.0 or not bounded):
                break
            if number >= len(WIDENED) - 1:
                moves.append(moves[-1] - excess)
        best = min(self.seen, key=lambda one: (self.rates.excess(one.rates), one.loss))
        return best.weights, self.rates.excess(best.rates)

    def lot(self, start: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray, float]:
        """The weights of some classifiers, the chance of each, and what the expected rates violate the limits by.

        What a single one can do comes first, then nobody and everybody, whose rates do not differ. Each round then looks for the classifier
        that the prices of the best lot so far ask for: from the weights that would be right with the true probabilities, or from the best
        ones known.
        """
        self.single(start, tolerance)
        for constant in (-1.0, 1.0):
            self.tried(np.full(start.size, constant))
        for _ in range(MOST_ROUNDS):
            lot, number = best_lot(self.seen, self.rates), len(self.seen)
            before = min(self.seen, key=lot.price)
            self._run(lambda x, lot=lot: lot.price(self.tried(x)), min((before, self._asked_for(lot)), key=lot.price).weights, [])  # type: ignore[misc]
            gain = lot.price(before) - min(lot.price(one) for one in self.seen[number:])
            if gain <= WORTHWHILE * np.ptp([one.loss for one in self.seen]):
                break
        lot = best_lot(self.seen, self.rates)
        chosen = np.flatnonzero(lot.shares)
        return np.array([self.seen[i].weights for i in chosen]), lot.shares[chosen], lot.violation

    def _asked_for(self, lot: Lot) -> Tried:
        """The classifier whose weights are what one positive prediction in each cell gains, less what it costs."""
        prices = self.rates.rows.T @ lot.prices
        gains = [self._gain(self.numbers == cell) - np.mean(prices[self.numbers == cell]) for cell in range(self.cells.shape[1])]
        return self.tried(np.asarray(gains) / max(np.max(np.abs(gains)), np.finfo(float).tiny))

    def _gain(self, cell: np.ndarray) -> float:
        """Of the metric, by one positive prediction in a cell, where all others are right."""
        ends = [self._value(np.where(cell, value, self.y)) for value in (0, 1)]
        return (ends[1] - ends[0]) / float(np.sum(cell))

    def tried(self, x: np.ndarray) -> Tried:
        """The classifier with weights x, evaluated."""
        predicted = (self.cells @ x > 0.0).astype(int)
        self.seen.append(Tried(-self._value(predicted), np.asarray(self.rates.rows @ predicted), x))
        return self.seen[-1]

    def _value(self, predicted: np.ndarray) -> float:
        self.count += 1
        value = self.metric(self.y, predicted)
        if not isinstance(value, Real) or not np.isfinite(value):
            raise ValueError(f"`metric(y, predictions)` must return a finite number, got {value!r} for {predicted.mean():.0%} of ones.")
        return float(value)

    def _smooth(self, moved: float) -> list[Constraint]:
        """The rates of smooth predictions, with limits that are moved."""
        limits = self.rates.moved(moved)

        def value(x: np.ndarray) -> np.ndarray:
            return np.asarray(self.rates.rows @ softened(self.cells @ x, WIDTH, self.groups))

        def slopes(x: np.ndarray) -> np.ndarray:
            return np.asarray(self.rates.rows @ softened_slopes(self.cells @ x, self.cells, WIDTH, self.groups))

        return [Constraint(value, limits.lower, limits.upper, jac=slopes, name="rates")]

    def _run(self, loss: Callable[[np.ndarray], float], start: np.ndarray, constraints: list[Constraint]) -> np.ndarray:
        given = dict(bounds=Bounds(-1.0, 1.0), constraints=constraints, maxfev=self.maxfev, rng=self.seed, on_error="raise")
        try:
            found = minimize(loss, start, **given)
        except ObjectiveError as error:  # what the metric raised is the user's own
            raise error.__cause__ or error from None
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        self.result = found
        return np.asarray(found.x)
