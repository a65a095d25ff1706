"""Where constraints that cannot all hold are violated least."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from zolal.constraints._differences import Reach, bounds_of
from zolal.errors import ConstraintError
from zolal.sets import Box, ConvexSet, NonNegative, WholeSpace

MOST_TRIALS = 60  # points, and at most as many Jacobians, for bounds
MOST_STEPS = 60  # along projected gradients, for other regions
HALVINGS = 12
FAR = 1e10  # what a constraint that fails counts for
FLAT = 1e-4  # the cosine between what is violated and what a step within the region changes, below which no step helps


class Rows(NamedTuple):
    """Values, Jacobian (m, d) and the interval of each row, as functions of a NumPy point."""

    value: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    low: np.ndarray
    high: np.ndarray

    def excess(self, x: np.ndarray) -> np.ndarray:
        try:
            value = self.value(x)
        except ConstraintError:
            return np.full(self.low.size, FAR)
        return value - np.clip(value, self.low, self.high)


def least_excess(rows: Rows, x: np.ndarray, region: ConvexSet | None) -> tuple[np.ndarray, float]:
    """A local minimiser of the squares of what the rows are violated by, over the region, and the cosine that is left there.

    Violations count in the user's own terms. The number of calls is bounded.
    """
    lower, upper = bounds_of(region, x.size)
    sizes = np.maximum(Reach(x, lower, upper).sizes(2), 1e-300)
    unit = float(np.linalg.norm(rows.jacobian(x) * sizes)) or 1.0  # what the rows change by at x, so that 1 is a usual slope

    def excess(point: np.ndarray) -> np.ndarray:
        return rows.excess(point) / unit

    def slopes(point: np.ndarray) -> np.ndarray:
        outside = rows.excess(point) != 0.0
        return rows.jacobian(point) * outside[:, None] / unit

    def project(point: np.ndarray) -> np.ndarray:
        return np.clip(point, lower, upper) if region is None else np.asarray(region.project(point), dtype=float)

    best = project(_within_bounds(excess, slopes, x, lower, upper, sizes))
    if not (region is None or isinstance(region, (Box, NonNegative, WholeSpace))):
        best = min((_descended(excess, slopes, project, start) for start in (best, x)), key=lambda point: float(np.sum(excess(point) ** 2)))
    return best, _cosine(excess(best), slopes(best), best, project, sizes)


def _within_bounds(excess, slopes, x, lower, upper, sizes) -> np.ndarray:  # type: ignore[no-untyped-def]
    free = lower < upper

    def at(part: np.ndarray) -> np.ndarray:
        point = np.clip(x, lower, upper)
        point[free] = part
        return point

    low, high = lower[free], upper[free]
    margin = 1e-9 * np.minimum(high - low, sizes[free])
    inside = np.clip(x[free], low + margin, high - margin)
    try:
        found = least_squares(
            lambda part: excess(at(part)),
            inside,
            lambda part: slopes(at(part))[:, free],
            bounds=(low, high),
            x_scale=sizes[free],
            max_nfev=MOST_TRIALS,
            xtol=1e-12,
            ftol=1e-12,
            gtol=1e-12,
        )
        return at(_snapped(found.x, low, high, margin))
    except (ConstraintError, ValueError, np.linalg.LinAlgError):
        return np.clip(x, lower, upper)


def _snapped(x: np.ndarray, low: np.ndarray, high: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """On its bound where the method, which stays inside, came close to it."""
    near = 1e3 * margin
    return np.where(x - low < near, low, np.where(high - x < near, high, x))


def _descended(excess, slopes, project, x) -> np.ndarray:  # type: ignore[no-untyped-def]
    """The end of projected gradient steps whose length follows the curvature seen (Barzilai and Borwein)."""
    length, squares = 1.0, float(np.sum(excess(x) ** 2))
    gradient = slopes(x).T @ excess(x)
    for _ in range(MOST_STEPS):
        step = project(x - length * gradient) - x
        for halvings in range(HALVINGS):
            trial = x + 0.5**halvings * step
            after = float(np.sum(excess(trial) ** 2))
            if after < squares:
                break
        else:
            return x
        before, x, squares = x, trial, after
        last, gradient = gradient, slopes(x).T @ excess(x)
        moved, bent = x - before, gradient - last
        curvature = float(moved @ bent)
        length = float(moved @ moved) / curvature if curvature > 0.0 else 2.0 * length
    return x


def _cosine(excess: np.ndarray, slopes: np.ndarray, x: np.ndarray, project: Callable[[np.ndarray], np.ndarray], sizes: np.ndarray) -> float:
    """How much of what is violated a short step within the region could change: 0 at a minimiser, up to 1."""
    size = float(np.linalg.norm(excess)) * max(float(np.linalg.norm(slopes * sizes)), 1.0)  # slopes that have vanished are none
    if size == 0.0:
        return 0.0
    gradient = slopes.T @ excess * sizes**2
    short = 1e-4 * float(np.linalg.norm(sizes)) / max(float(np.linalg.norm(gradient)), 1e-300)
    moved = (project(x - short * gradient) - x) / sizes
    return float(np.linalg.norm(moved)) / short / size
