"""A classifier whose metric need not be differentiable and whose rates in groups keep their limits."""

from collections.abc import Callable
from typing import Any, Self, final

import numpy as np
from scipy.optimize import Bounds
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from zolal.constraints import Constraint
from zolal.doors.minimize import minimize
from zolal.sklearn._rates import Rates, as_rates, softened, softened_slopes

START = 0.5  # the size of every weight at first; they lie between -1 and 1, since all together have no scale
WIDTH = 0.05  # of the step that stands for a prediction, in spreads of the scores
WIDENED = (3.0, 1.0, 0.0)  # limits of the first rounds, wider by so many tolerances: a tight constraint is best met from a loose one
NARROWED = 3  # more rounds at most, with narrower limits, until the predictions themselves keep the given ones
PER_VARIABLE = 20  # evaluations of the metric per variable and round, unless given


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

    The estimator is fitted once, to tell the cells apart; the best classifier under constraints on rates has this form for a metric that
    depends on rates, with the true probabilities. zolal finds the weights: the metric is evaluated on predictions of 0 and 1, which have
    no derivative, and the rates are exact constraints. Groups are needed to fit and not to predict.

    estimator: a classifier with `predict_proba`; logistic regression unless given.
    constraint: "equalized_odds", "equal_opportunity" or "demographic_parity", by which rates in any two groups differ by at most
        `tolerance`; or a callable (y, groups) -> (rows, lower, upper), by which lower <= rows @ predictions <= upper, with y of 0 and 1.
    metric: "accuracy", "balanced_accuracy", "f1", or a callable (y, predictions) -> a number to be large, on 0 and 1.
    maxfev: evaluations of the metric in each of at most six rounds; 20 per variable unless given. random_state: an integer.

    classes_, estimator_: as usual. weights_: one per cell. violation_: of the constraint by the predictions on the training data, beyond
    its limits, 0 where they hold. n_evaluations_: of the metric. result_: of the last run.

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
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.tolerance = tolerance
        self.metric = metric
        self.maxfev = maxfev
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> Self:
        """Fit to rows X with classes y. sensitive_features: the group of each row; one group unless given."""
        X, y = validate_data(self, X, y, accept_sparse=True, dtype=None, ensure_all_finite=False)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if type_of_target(y) != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {type_of_target(y)}.")
        if self.classes_.size < 2:
            raise ValueError(f"FairClassifier needs data of two classes, got 1 class alone: {self.classes_[0]}.")
        given, groups = self._groups(sensitive_features, labels.size)
        self._check(labels, groups)
        metric = self._metric()
        cells, numbers = np.unique(2 * groups + labels, return_inverse=True)
        self.estimator_ = clone(LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator).fit(X, numbers)
        self._signs = np.where(cells % 2 == 1, 1.0, -1.0)
        self._search(self.estimator_.predict_proba(X), labels, groups, as_rates(self.constraint, self.tolerance, labels, given), metric)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The weighted sum of the probabilities of the cells; positive where the second class is predicted."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=True, dtype=None, ensure_all_finite=False, reset=False)
        return np.asarray(self.estimator_.predict_proba(X) @ self.weights_)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        positive = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[positive.astype(int)])

    def _search(self, cells: np.ndarray, y: np.ndarray, groups: np.ndarray, rates: Rates, metric: Callable[..., float]) -> None:
        """Find the weights: minimise minus the metric under smooth rates, and take the best of what was evaluated that keeps the limits.

        Predictions of 0 and 1 and their smooth stand-ins differ a little, so later rounds have limits that are narrower by that.
        """
        here, bounded = START * self._signs, len(rates.rows) > 0
        seen: list[tuple[float, float, np.ndarray]] = []

        def smooth_rates(x: np.ndarray) -> np.ndarray:
            return np.asarray(rates.rows @ softened(cells @ x, WIDTH, groups))

        def slopes(x: np.ndarray) -> np.ndarray:
            return np.asarray(rates.rows @ softened_slopes(cells @ x, cells, WIDTH, groups))

        def loss(x: np.ndarray) -> float:
            predicted = (cells @ x > 0.0).astype(int)
            seen.append((rates.excess(predicted), -float(metric(y, predicted)), x))
            return seen[-1][1]

        moves = [widened * self.tolerance for widened in WIDENED] if bounded else [0.0]
        for number in range(len(WIDENED) + NARROWED):
            limits = rates.moved(moves[min(number, len(moves) - 1)])
            self.result_ = minimize(
                loss,
                here,
                bounds=Bounds(-1.0, 1.0),
                constraints=[Constraint(smooth_rates, limits.lower, limits.upper, jac=slopes, name="rates")] if bounded else [],
                maxfev=PER_VARIABLE * here.size if self.maxfev is None else self.maxfev,
                rng=self.random_state,
                on_error="raise",
            )
            loss(self.result_.x)
            here, excess = self.result_.x, seen[-1][0]
            if number >= len(moves) - 1 and (excess == 0.0 or not bounded):
                break
            if number >= len(WIDENED) - 1:
                moves.append(moves[-1] - excess)
        self.n_evaluations_ = len(seen)
        self.violation_, _, self.weights_ = min(seen, key=lambda one: one[:2])

    def _groups(self, given: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The groups as they were given, and the number of each row's group."""
        groups = np.zeros(n, dtype=int) if given is None else np.asarray(given)
        if groups.shape not in ((n,), (n, 1)):
            raise ValueError(f"`sensitive_features` must have one group for each of {n} rows, got shape {groups.shape}.")
        return groups.reshape(n), np.unique(groups.reshape(n), return_inverse=True)[1]

    def _check(self, y: np.ndarray, groups: np.ndarray) -> None:
        if not isinstance(self.tolerance, (int, float)) or not 0 < self.tolerance <= 1:
            raise ValueError(f"`tolerance` must be a number in (0, 1], got {self.tolerance!r}.")
        for group in np.unique(groups):
            if np.unique(y[groups == group]).size < 2:
                raise ValueError("Every group must have data of both classes, got one that has a single class.")
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"`estimator` must be a classifier with `predict_proba`, got {self.estimator!r}.")

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
        return tags
