"""Constraints on rates: rows of weights over the data, so that each rate, or difference of rates, is a weighted sum of predictions."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

TINY = 1e-12  # a spread that is none


class Rates(NamedTuple):
    """lower <= rows @ predictions <= upper, with predictions 0 or 1. rows: shape (m, n). limits: scalars or shape (m,)."""

    rows: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def excess(self, values: np.ndarray) -> float:
        """The largest violation by these values of the rows, 0 where there is none."""
        return float(np.max(np.maximum(self.lower - values, values - self.upper), initial=0.0))

    def moved(self, by: float) -> "Rates":
        """The limits moved apart, or inward where `by` is negative, at most to the middle between them."""
        room = np.minimum(-by, 0.5 * (self.upper - self.lower))
        return self._replace(lower=self.lower + room, upper=self.upper - room)


def _differences(parts: list[np.ndarray]) -> list[np.ndarray]:
    """The differences between the means over each two sets of data, given as masks."""
    means = [part / part.sum() for part in parts]
    return [one - other for one, other in itertools.combinations(means, 2)]


def _by_label(y: np.ndarray, groups: np.ndarray, labels: tuple[int, ...]) -> np.ndarray:
    rows: list[np.ndarray] = []
    for label in labels:
        parts = {group: (groups == group) & (y == label) for group in np.unique(groups).tolist()}
        lacking = [group for group, part in parts.items() if not part.any()]
        if lacking:
            raise ValueError(f"Every group must have data of both classes for its rates to be compared, got none of one in {lacking[0]!r}.")
        rows += _differences(list(parts.values()))
    return np.array(rows).reshape(-1, y.size)


def demographic_parity(y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Differences of the rates of positive predictions."""
    return np.array(_differences([groups == group for group in np.unique(groups)])).reshape(-1, y.size)


def equal_opportunity(y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Differences of the true positive rates."""
    return _by_label(y, groups, (1,))


def equalized_odds(y: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Differences of the false and of the true positive rates."""
    return _by_label(y, groups, (0, 1))


NAMED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "demographic_parity": demographic_parity,
    "equal_opportunity": equal_opportunity,
    "equalized_odds": equalized_odds,
}


def as_rates(constraint: object, tolerance: float, y: np.ndarray, groups: np.ndarray) -> Rates:
    """The constraint that is named, or that a function of labels and groups gives, on these data."""
    if isinstance(constraint, str) and constraint in NAMED:
        rows = NAMED[constraint](y, groups)
        return Rates(rows, np.full(len(rows), -tolerance), np.full(len(rows), tolerance))
    if not callable(constraint):
        raise ValueError(f"`constraint` must be one of {', '.join(map(repr, NAMED))} or a callable, got {constraint!r}.")
    try:
        rows, lower, upper = constraint(y, groups)
        rows = np.asarray(rows, dtype=float).reshape(-1, y.size)
        lower, upper = (np.broadcast_to(np.asarray(limit, dtype=float), (len(rows),)) for limit in (lower, upper))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`constraint(y, groups)` must return (rows, lower, upper) with rows of {y.size} weights, and did not: {error}."
        ) from error
    if not np.isfinite(rows).all() or not (lower <= upper).all():
        raise ValueError(f"`constraint(y, groups)` must return finite rows and lower <= upper, got limits {lower} and {upper}.")
    return Rates(rows, lower, upper)


def softened(scores: np.ndarray, width: float, groups: np.ndarray) -> np.ndarray:
    """Predictions 1[score > 0] made smooth: sigma(s / w) with w = width times the spread of the scores in the group of the row.

    So the step is as steep whatever the scale of the scores. groups: numbers 0, 1, ...
    """
    return np.asarray(expit(scores / (width * _spreads(scores, groups)[0])[groups]))


def softened_slopes(scores: np.ndarray, features: np.ndarray, width: float, groups: np.ndarray) -> np.ndarray:
    """The derivative of softened predictions by x where scores = features @ x + constant, shape (n, d); the spread changes with x, too.

    d sigma(s/w) = sigma' (phi - s dw/w) / w,   dw/w = cov(s, phi) / var(s) in each group
    """
    spread, counts, centred = _spreads(scores, groups)
    widths = (width * spread)[groups]
    soft = expit(scores / widths)
    covariance = np.stack([np.bincount(groups, centred * column) / counts for column in features.T], axis=1)
    shift = (covariance / spread[:, None] ** 2)[groups]
    return np.asarray((soft * (1.0 - soft) / widths)[:, None] * (features - scores[:, None] * shift))


def _spreads(scores: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The standard deviation and the size of each group, and the scores less their mean there."""
    counts = np.bincount(groups)
    centred = scores - (np.bincount(groups, scores) / counts)[groups]
    return np.sqrt(np.bincount(groups, centred**2) / counts + TINY**2), counts, centred
