"""Where constraints that cannot all hold are violated least."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from zolal.constraints._differences import Reach, bounds_of
from zolal.errors import ConstraintError
from zolal.sets import Box, ConvexSet, NonNegative, WholeSpace

MOST_TRIALS = 60  # points, and at most as many Jacobians, for bounds
FAR_TRIALS = 20  # the same from points far away, which are to find out whether the rows can hold there
MOST_STEPS = 60  # along projected gradients, for other regions
HALVINGS = 12
FAR_STARTS = 4  # of a search, beside the point that is given
FARTHER = 10.0  # each of them than the one before
BESIDE = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)  # lengths in sizes of x at which a violation is looked at once more
DIRECTIONS = 4  # at each of them
NEARER = 20  # halvings of the way to a point that satisfies the rows
BETTER = 0.99  # of a violation: what counts as less
MOST_DENSE = 200  # variables up to which steps within bounds are made by dense factors
DISTANT = 1e-3  # of what a row is violated by: the least that it is thought to change by, so that flat rows are not blown up
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

    def most(self, x: np.ndarray) -> float:
        """The largest violation."""
        return float(np.max(np.abs(self.excess(x))))


def _starts(x: np.ndarray, region: ConvexSet | None) -> Iterator[np.ndarray]:
    """Where to search from: x, then points anywhere within the bounds and ever farther away where there are none."""
    yield x
    lower, upper = bounds_of(region, x.size)
    sizes, rng, bounded = Reach(x, lower, upper).sizes(), np.random.default_rng(0), np.isfinite(upper - lower)
    low, high = np.where(bounded, lower, 0.0), np.where(bounded, upper, 0.0)
    for number in range(FAR_STARTS):
        away = x + FARTHER**number * sizes * rng.standard_normal(x.size)
        start = np.where(bounded, rng.uniform(low, high), np.clip(away, lower, upper))
        yield _inside(start, region)


def _beside(x: np.ndarray, region: ConvexSet | None) -> Iterator[np.ndarray]:
    """Points around x in some directions and at several lengths, on both sides."""
    sizes, rng = Reach(x, *bounds_of(region, x.size)).sizes(), np.random.default_rng(1)
    for length in BESIDE:
        for step in length * sizes * rng.standard_normal((DIRECTIONS, x.size)):
            yield from (_inside(x + step, region), _inside(x - step, region))


def _inside(x: np.ndarray, region: ConvexSet | None) -> np.ndarray:
    return x if region is None else np.asarray(region.project(x), dtype=float)


class _Scaled(NamedTuple):
    """The rows, each counted in a unit of its own or all in one, and how far the variables usually go."""

    rows: Rows
    unit: np.ndarray
    sizes: np.ndarray
    trials: int

    def excess(self, x: np.ndarray) -> np.ndarray:
        return self.rows.excess(x) / self.unit

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """The derivative of the excess: that of the rows that are violated."""
        outside = self.rows.excess(x) != 0.0
        return self.rows.jacobian(x) * (outside / self.unit)[:, None]

    @classmethod
    def of(cls, rows: Rows, x: np.ndarray, region: ConvexSet | None, each: bool, trials: int) -> "_Scaled":
        """Units by which a usual slope at x is 1, of each row or of all together."""
        sizes = np.maximum(Reach(x, *bounds_of(region, x.size)).sizes(2), 1e-300)
        changes = np.linalg.norm(rows.jacobian(x) * sizes, axis=1)
        units = np.maximum(changes, DISTANT * np.abs(rows.excess(x))) if each else np.full(changes.size, float(np.linalg.norm(changes)))
        return cls(rows, np.where(units > 0.0, units, 1.0), sizes, trials)

    def squares(self, x: np.ndarray) -> float:
        return float(np.sum(self.excess(x) ** 2))


def least_excess(rows: Rows, x: np.ndarray, region: ConvexSet | None, tol: float) -> tuple[np.ndarray, float]:
    """A local minimiser of the squares of what the rows are violated by, over the region, and the cosine that is left there.

    From x, and where that does not reach tol from points far away, and from where the violation is seen to fall beside the best one: a
    point of no slope may be no minimum. The number of calls is bounded.
    """
    x = _inside(x, region)
    best: tuple[np.ndarray, float] = x, 1.0
    for start in _starts(x, region):
        best = _better(rows, start, region, best, tol, start is x)
        if rows.most(best[0]) <= tol:
            break
    else:
        beside = min(_beside(best[0], region), key=rows.most)
        if rows.most(beside) < BETTER * rows.most(best[0]):
            best = _better(rows, beside, region, best, tol)
    return (_nearer(rows, x, best[0], tol), 0.0) if rows.most(best[0]) <= tol else best


def _better(
    rows: Rows, start: np.ndarray, region: ConvexSet | None, best: tuple[np.ndarray, float], tol: float, first: bool = False
) -> tuple[np.ndarray, float]:
    """The end of a search, or the best one so far where that is no worse."""
    try:
        found = _searched(rows, start, region, math.inf if first else rows.most(best[0]), tol)
    except ConstraintError:
        return best
    return found if first or rows.most(found[0]) < BETTER * rows.most(best[0]) else best


def _nearer(rows: Rows, x: np.ndarray, point: np.ndarray, tol: float) -> np.ndarray:
    """The point of a segment that lies next to x and satisfies the rows, by halving; a start far away would make all slopes look small."""
    share = 1.0
    for halvings in range(1, NEARER + 1):
        shorter = share - 0.5**halvings
        if rows.most(x + shorter * (point - x)) <= tol:
            share = shorter
    return x + share * (point - x) if share < 1.0 else point


def _searched(rows: Rows, x: np.ndarray, region: ConvexSet | None, known: float, tol: float) -> tuple[np.ndarray, float]:
    """The minimiser where every row counts in a unit of its own, so that none is overlooked because it is written in small numbers.

    known: the least violation so far, infinite at first. Where some rows stay violated, and not more than that, violations then count in
    the user's own terms, and the larger of both cosines is told.
    """
    point, cosine = _least(_Scaled.of(rows, x, region, True, FAR_TRIALS if math.isfinite(known) else MOST_TRIALS), x, region)
    if not tol < rows.most(point) <= known:
        return point, cosine
    point, left = _least(_Scaled.of(rows, x, region, False, MOST_TRIALS), point, region)
    return point, max(cosine, left)


def _least(scaled: _Scaled, x: np.ndarray, region: ConvexSet | None) -> tuple[np.ndarray, float]:
    lower, upper = bounds_of(region, x.size)

    best = _inside(_within_bounds(scaled, x, lower, upper), region)
    if not (region is None or isinstance(region, (Box, NonNegative, WholeSpace))):
        best = min((_descended(scaled, region, start) for start in (best, x)), key=scaled.squares)
    return best, _cosine(scaled, region, best)


def _within_bounds(scaled: _Scaled, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    free = lower < upper
    sizes = scaled.sizes[free]

    def at(part: np.ndarray) -> np.ndarray:
        point = np.clip(x, lower, upper)
        point[free] = part
        return point

    low, high = lower[free], upper[free]
    margin = 1e-9 * np.minimum(high - low, sizes)
    inside = np.clip(x[free], low + margin, high - margin)
    try:
        found = least_squares(
            lambda part: scaled.excess(at(part)),
            inside,
            lambda part: scaled.slopes(at(part))[:, free],
            bounds=(low, high),
            x_scale=sizes,
            tr_solver="exact" if inside.size <= MOST_DENSE else "lsmr",
            max_nfev=scaled.trials,
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


def _descended(scaled: _Scaled, region: ConvexSet, x: np.ndarray) -> np.ndarray:
    """The end of projected gradient steps whose length follows the curvature seen (Barzilai and Borwein)."""
    length, squares = 1.0, scaled.squares(x)
    gradient = scaled.slopes(x).T @ scaled.excess(x)
    for _ in range(MOST_STEPS):
        step = _inside(x - length * gradient, region) - x
        for halvings in range(HALVINGS):
            trial = x + 0.5**halvings * step
            after = scaled.squares(trial)
            if after < squares:
                break
        else:
            return x
        before, x, squares = x, trial, after
        last, gradient = gradient, scaled.slopes(x).T @ scaled.excess(x)
        moved, bent = x - before, gradient - last
        curvature = float(moved @ bent)
        length = float(moved @ moved) / curvature if curvature > 0.0 else 2.0 * length
    return x


def _cosine(scaled: _Scaled, region: ConvexSet | None, x: np.ndarray) -> float:
    """How much of what is violated a short step within the region could change: 0 at a minimiser, up to 1."""
    excess, slopes, sizes = scaled.excess(x), scaled.slopes(x), scaled.sizes
    size = float(np.linalg.norm(excess)) * max(float(np.linalg.norm(slopes * sizes)), 1.0)  # slopes that have vanished are none
    longest = float(np.linalg.norm(sizes))  # 0 where bounds fix every variable
    if size == 0.0 or longest == 0.0:
        return 0.0
    gradient = slopes.T @ excess * sizes**2
    short = 1e-4 * longest / max(float(np.linalg.norm(gradient)), 1e-300)
    moved = (_inside(x - short * gradient, region) - x) / sizes
    return float(np.linalg.norm(moved)) / short / size
