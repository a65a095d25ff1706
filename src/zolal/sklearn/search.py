"""Hyperparameters by cross-validation under constraints that are known before anything is fitted."""

import itertools
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, final

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint
from sklearn.model_selection._search import BaseSearchCV

from zolal.doors.minimize import minimize
from zolal.errors import ConstraintError, ObjectiveError
from zolal.result import Status
from zolal.sklearn._seeds import as_seed

EDGE = 1e-6  # of a distribution: its quantiles at 0 and 1 may be infinite
MIDDLE = 0.5
MOST_INTEGERS = 8  # whose neighbours are tried where rounding breaks a constraint


@final
class ConstrainedSearchCV(BaseSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """Search over hyperparameters by zolal, as `RandomizedSearchCV` does by chance, under constraints on them.

    estimator, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score: as in scikit-learn.
    param_distributions: {name: distribution} with SciPy's continuous distributions (`uniform`, `loguniform`, ...) or `randint`. The search
        begins at the medians and moves in quantiles, so a log-uniform parameter moves on its logarithm. Lists are not taken: there is no
        way downhill over categories.
    constraints: {name: `scipy.optimize.NonlinearConstraint`} whose functions take a dict of the parameters; integers come as real numbers
        there. Known before a fit, as the size of a model, or its memory; nothing is fitted where they do not hold.
    n_iter: the most candidates that are fitted. Along integers scores have steps, at which a smooth model may stop; so where there are some
        beside real numbers, the second half of the candidates has them fixed, and after each half their neighbours are tried.
    random_state: an integer, a RandomState or None.

    After `fit` everything is as after `RandomizedSearchCV`, `best_params_` and `cv_results_` included; `result_` is zolal's own, of its
    last search.

    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> space = dict(C=loguniform(1e-4, 1e4))
    >>> below = {"C": NonlinearConstraint(lambda params: np.log(params["C"]), -np.inf, 0.0)}
    >>> search = zolal.sklearn.ConstrainedSearchCV(LogisticRegression(max_iter=500), space, constraints=below, n_iter=8, cv=3)
    >>> search.fit(*load_iris(return_X_y=True)).best_params_["C"] <= 1.0 + 1e-6
    True
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        constraints: Any = None,
        n_iter: int = 20,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = 0,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.constraints = constraints
        self.n_iter = n_iter
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(self, evaluate_candidates: Callable[..., Any]) -> None:
        """What scikit-learn calls: candidates one after the other, each where zolal wants to look next."""
        if not isinstance(self.n_iter, Integral) or self.n_iter < 1:
            raise ValueError(f"`n_iter` must be a positive integer, got {self.n_iter!r}.")
        axes, constraints = self._axes(), self._constraints()
        scores: dict[tuple[Any, ...], float] = {}
        raised: list[Exception] = []  # by scikit-learn, to be raised as it is

        def scored(candidate: dict[str, Any]) -> float:
            key = tuple(candidate.values())
            if key not in scores:
                results = evaluate_candidates([candidate])
                scores[key] = float(results[self._column(results)][-1])
            return scores[key]

        def loss(x: np.ndarray) -> float:
            candidate = _feasible(axes, x, constraints)
            return np.nan if candidate is None else -scored(candidate)

        def guarded(x: np.ndarray) -> float:
            try:
                return loss(x)
            except Exception as error:
                raised.append(error)
                raise

        def relaxed(part: NonlinearConstraint) -> NonlinearConstraint:
            return NonlinearConstraint(lambda x: part.fun(_values(axes, x)), part.lb, part.ub)

        parts = {name: relaxed(part) for name, part in constraints.items()}

        def searched(x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, most: int) -> None:
            given = dict(maxfev=max(most, 1), rng=as_seed(self.random_state), retries=0)
            try:
                self.result_ = minimize(guarded, x0, bounds=Bounds(lower, upper), constraints=parts, **given)
            except ObjectiveError as error:
                raise raised[0] if raised else error from None
            except ConstraintError as error:
                raise ValueError(str(error)) from error
            if raised:
                raise raised[0]
            if self.result_.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if not scores:
                raise ValueError(f"No parameters were found that satisfy the constraints: {self.result_.message}")

        def walked() -> dict[str, Any]:
            """The best candidate, once its neighbours along integers have been tried, and those of what is better."""
            while True:
                key = max(scores, key=lambda key: np.nan_to_num(scores[key], nan=-np.inf))
                best = dict(zip(axes, key, strict=True))
                fresh = [side for side in _neighbours(axes, best, constraints) if tuple(side.values()) not in scores]
                if not fresh or len(scores) >= self.n_iter:
                    return best
                scored(fresh[0])

        whole = np.array([_is_whole(distribution) for distribution in axes.values()])
        reserved, d = 2 * int(whole.sum()), len(axes)
        mixed = 0 < reserved < 2 * d
        searched(np.full(d, MIDDLE), np.zeros(d), np.ones(d), self.n_iter // 2 if mixed else max(self.n_iter - reserved, self.n_iter // 2))
        best = walked()
        if mixed and (left := self.n_iter - len(scores) - reserved) > 0:  # with its integers fixed f has no steps
            x = _quantiles(axes, best)
            searched(x, np.where(whole, x, 0.0), np.where(whole, x, 1.0), left)
            walked()

    def _column(self, results: Mapping[str, Any]) -> str:
        """The score that is optimised: the one that the best candidate is chosen by."""
        if "mean_test_score" in results:
            return "mean_test_score"
        if isinstance(self.refit, str):
            return f"mean_test_{self.refit}"
        raise ValueError(f"With several scores `refit` must name the one to optimise, got {self.refit!r}.")

    def _axes(self) -> dict[str, Any]:
        given = self.param_distributions
        if not isinstance(given, Mapping) or not given:
            raise ValueError(f"`param_distributions` must be a dict {{name: distribution}}, got {given!r}.")
        for name, distribution in given.items():
            if not (hasattr(distribution, "ppf") and hasattr(distribution, "cdf")):
                raise ValueError(
                    f"`param_distributions[{name!r}]` must be a distribution of scipy.stats, as uniform, loguniform or randint, "
                    f"got {distribution!r}; for lists of values use RandomizedSearchCV."
                )
            if _is_whole(distribution) and not np.isfinite(distribution.support()).all():
                raise ValueError(f"`param_distributions[{name!r}]` must lie between two integers, as randint does, got one without an end.")
        return dict(given)

    def _constraints(self) -> dict[str, NonlinearConstraint]:
        given = {} if self.constraints is None else self.constraints
        if not isinstance(given, Mapping) or not all(isinstance(part, NonlinearConstraint) for part in given.values()):
            raise ValueError(f"`constraints` must be a dict {{name: scipy.optimize.NonlinearConstraint}}, got {given!r}.")
        return dict(given)


def _is_whole(distribution: Any) -> bool:
    return hasattr(distribution, "pmf")


def _values(axes: Mapping[str, Any], x: np.ndarray) -> dict[str, float]:
    """The parameters at the quantiles x; an integer moves evenly between its ends, as a real number."""
    values = {}
    for (name, distribution), quantile in zip(axes.items(), np.clip(x, EDGE, 1.0 - EDGE), strict=True):
        if _is_whole(distribution):
            low, high = distribution.support()
            values[name] = float(low + quantile * (high - low))
        else:
            values[name] = float(distribution.ppf(quantile))
    return values


def _quantiles(axes: Mapping[str, Any], values: dict[str, Any]) -> np.ndarray:
    """Where `_values` gives these."""

    def quantile(distribution: Any, value: float) -> float:
        if not _is_whole(distribution):
            return float(distribution.cdf(value))
        low, high = distribution.support()
        return float((value - low) / max(high - low, 1))

    return np.clip([quantile(distribution, values[name]) for name, distribution in axes.items()], 0.0, 1.0)


def _feasible(axes: Mapping[str, Any], x: np.ndarray, constraints: Mapping[str, NonlinearConstraint]) -> dict[str, Any] | None:
    """The nearest parameters with whole integers that keep the constraints; None where no rounding, up or down, does."""
    values = _values(axes, x)
    whole = [name for name in axes if _is_whole(axes[name])]
    nearest = {name: round(values[name]) for name in whole}
    if _hold(values | nearest, constraints):
        return values | nearest
    if len(whole) > MOST_INTEGERS:
        return None
    sides = itertools.product(*[(int(np.floor(values[name])), int(np.ceil(values[name]))) for name in whole])
    rounded = [dict(zip(whole, side, strict=True)) for side in sides]
    rounded.sort(key=lambda side: sum((side[name] - values[name]) ** 2 for name in whole))
    return next((values | side for side in rounded if _hold(values | side, constraints)), None)


def _neighbours(axes: Mapping[str, Any], values: dict[str, Any], constraints: Mapping[str, NonlinearConstraint]) -> list[dict[str, Any]]:
    """The same parameters but for one integer, which is one more or one less, where that keeps its ends and the constraints."""
    found = []
    for name in filter(lambda name: _is_whole(axes[name]), axes):
        low, high = axes[name].support()
        sides = [values | {name: values[name] + one} for one in (-1, 1) if low <= values[name] + one <= high]
        found += [side for side in sides if _hold(side, constraints)]
    return found


def _hold(values: dict[str, Any], constraints: Mapping[str, NonlinearConstraint], slack: float = 1e-8) -> bool:
    for part in constraints.values():
        found = np.asarray(part.fun(values), dtype=float)
        room = slack * np.maximum(1.0, np.abs(found))
        if np.any(found < np.asarray(part.lb) - room) or np.any(found > np.asarray(part.ub) + room):
            return False
    return True
