"""What is known exactly: bounds and constraint rows in scaled variables, and how to come back to where they hold."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np

from zolal._array import Array, like, to_numpy
from zolal._cached import cached_property
from zolal.constraints import is_linear
from zolal.directions import Gaussian
from zolal.errors import ConstraintError
from zolal.linearization import Linearization
from zolal.problem import SlackForm
from zolal.sets import Box, ConvexSet, L2Ball, NonNegative, Product, Simplex, WholeSpace
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.programme import nearest
from zolal.solvers.auto.reported import OutputRow

RESTORATIONS, HALVINGS = 60, 8
CHORD = 0.1  # of the violation: where a step leaves more, its linearization is not used again
START_ATTEMPTS, START_VIOLATION, START_SPREAD = 6, 1e-9, 1e-2
FAR_START = 3.0  # units per root of the dimension: a feasible point so far from the start may have nearer ones
START_STREAM = 2  # random numbers that are none of the run's
TIGHT = 1e-13  # the violation, in units of the variables' scale, at which there is nothing left to restore


class _Extra(NamedTuple):
    """A row that a region adds beside bounds: value(x), gradient(x), and the interval of the value."""

    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    low: float
    high: float


@final
@dataclass(frozen=True, eq=False)
class Terrain:
    """X and the constraints in the variables u = x / units.

    lower, upper: bounds on u. extras: rows that X adds. The rows of the problem's own constraints come first.
    """

    form: SlackForm
    units: np.ndarray
    like: Array  # an array of the user's namespace
    lower: np.ndarray
    upper: np.ndarray
    extras: tuple[_Extra, ...]
    outputs: tuple[OutputRow, ...] = ()  # believed, not known, or the edges of f's domain; the last rows

    @classmethod
    def of(cls, form: SlackForm, units: np.ndarray, x: Array) -> "Terrain":
        parts = described(form.problem.region, form.problem.dimension)
        assert parts is not None
        lower, upper, extras = parts
        return cls(form, units, x, lower / units, upper / units, extras)

    @cached_property
    def is_free(self) -> bool:
        """Whether there are neither bounds nor rows."""
        return self.num_rows == 0 and not self.has_bounds

    @cached_property
    def has_bounds(self) -> bool:
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    @property
    def num_rows(self) -> int:
        return self.form.equalities.num_rows + len(self.extras) + len(self.outputs)

    def with_outputs(self, outputs: tuple[OutputRow, ...]) -> "Terrain":
        """With models of outputs as rows."""
        return replace(self, outputs=outputs)

    def bend(self, multipliers: np.ndarray) -> np.ndarray | float:
        """The curvature of the outputs in the Lagrangian."""
        known = len(multipliers) - len(self.outputs)
        return sum((y * row.hessian for y, row in zip(multipliers[known:], self.outputs, strict=True) if y), 0.0)

    @property
    def equal(self) -> np.ndarray:
        """Which rows are equalities."""
        low, high = self.interval
        return low == high

    def outward(self, u: np.ndarray) -> Array:
        """x in the user's namespace, within the bounds to the last bit."""
        x = like(u * self.units, self.like)
        if not self.has_bounds or self.extras:
            return x
        if self._corners is None:
            return self.form.problem.region.project(x)
        return np.minimum(np.maximum(x, self._corners[0]), self._corners[1])

    @cached_property
    def _corners(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds on x, where the region is no more than those and x is NumPy's."""
        region = self.form.problem.region
        return region.bounds_like(self.like) if isinstance(region, Box) and isinstance(self.like, np.ndarray) else None

    def inward(self, x: Array) -> np.ndarray:
        return to_numpy(x).astype(float) / self.units

    def as_evaluated(self, u: np.ndarray) -> np.ndarray:
        """u of the x that was evaluated for u, and that comes out of it again to the last bit."""
        x = self.outward(u)
        back = self.inward(x)
        return back if (to_numpy(self.outward(back)) == to_numpy(x)).all() else u

    def around(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bounds on a step from u."""
        return (self.lower - u, self.upper - u) if self.has_bounds else (self.lower, self.upper)

    def turned(self, u: np.ndarray, way: np.ndarray) -> np.ndarray:
        """What bounds leave of a way from u; what one of them blocks goes to its other side."""
        if not self.has_bounds:
            return way
        lower, upper = self.around(u)
        blocked = ((way > upper) & (-way >= lower)) | ((way < lower) & (-way <= upper))
        return np.minimum(np.maximum(np.where(blocked, -way, way), lower), upper)

    def clipped(self, u: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(u, self.lower), self.upper) if self.has_bounds else u

    def values(self, u: np.ndarray) -> np.ndarray:
        """The rows' values; raises ConstraintError where one is not finite."""
        x = self.outward(u)
        own = to_numpy(self.form.equalities.signed_value(x)).astype(float)
        if not self.extras and not self.outputs:
            return own
        plain = u * self.units
        return np.concatenate([own, [extra.value(plain) for extra in self.extras], [row.at(u) for row in self.outputs]])

    @cached_property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the rows' values ought to lie."""
        low, high = self.form.equalities.interval
        more = [(row.low, row.high) for row in self.extras] + [(row.low, row.high) for row in self.outputs]
        return np.append(low, [pair[0] for pair in more]), np.append(high, [pair[1] for pair in more])

    def rows(self, u: np.ndarray, value: np.ndarray | None = None) -> Linearization:
        """The rows linearized at u, per unit of u; value: theirs at u, where it is known."""
        if self.num_rows == 0:
            return Linearization(np.empty(0), np.empty((0, len(u))), np.empty(0), np.empty(0))
        if self._is_linear:
            return self._slopes.at(self.values(u) if value is None else value)
        return self._linearized(u, self.values(u) if value is None else value)

    @cached_property
    def _is_linear(self) -> bool:
        """Whether every row has the same derivative everywhere."""
        return not self.extras and not self.outputs and all(is_linear(part) for part in self.form.equalities.parts)

    @cached_property
    def _slopes(self) -> Linearization:
        """Of rows that are linear, with values of no meaning, and with all that is made of them, so that copies have it, too."""
        found = self._linearized(self.inward(self.like), np.zeros(self.num_rows))
        assert len(found.lengths) == len(found.are_equalities) == len(found.unit_rows)
        return found

    def _linearized(self, u: np.ndarray, value: np.ndarray) -> Linearization:
        x, plain = self.outward(u), u * self.units
        jacobian = to_numpy(self.form.equalities.signed_jacobian(x)).astype(float)
        if self.extras:
            jacobian = np.vstack([jacobian, [extra.gradient(plain) for extra in self.extras]])
        jacobian = jacobian * self.units
        if self.outputs:
            jacobian = np.vstack([jacobian, [row.slope(u) for row in self.outputs]])
        return Linearization(value, jacobian, *self.interval)

    def start(self, u: np.ndarray, seed: int) -> np.ndarray:
        """A feasible point near u, or one of small violation.

        Where Gauss-Newton steps end early, since rows depend on each other or curve away, least squares over what is violated goes on, from
        there and from random points around.
        """
        best, least, _ = self.restored(u)
        for attempt in range(START_ATTEMPTS):
            if least <= START_VIOLATION:
                break
            fresh = Gaussian(len(u), 1, seed=seed, iteration=attempt, stream=START_STREAM).row(0, u)
            near = best + (START_SPREAD * 10.0 ** (0.5 * attempt) * fresh if attempt else 0.0)
            found, left, _ = self.restored(self._least_squares(near))
            if left < least:
                best, least = found, left
        return self._nearer_start(u, best) if least <= START_VIOLATION else best

    def _nearer_start(self, u: np.ndarray, found: np.ndarray) -> np.ndarray:
        """The feasible point, or half the way back again and again: where rows are flat, a step of Gauss and Newton goes far."""
        way = norm(found - u)
        while way > FAR_START * np.sqrt(len(u)):
            point, left, _ = self.restored(0.5 * (u + found))
            nearer = norm(point - u)
            if left > START_VIOLATION or nearer > 0.75 * way:
                break
            found, way = point, nearer
        return found

    def _least_squares(self, u: np.ndarray) -> np.ndarray:
        """The end of a trust-region method for the squares of what the rows are violated by."""
        from scipy.optimize import least_squares

        free = self.lower < self.upper
        whole = self.clipped(u)
        lengths = self.rows(whole).lengths

        def at(part: np.ndarray) -> np.ndarray:
            point = whole.copy()
            point[free] = part
            return point

        def excess(part: np.ndarray) -> np.ndarray:
            try:
                value = self.values(at(part))
            except ConstraintError:
                return np.full(self.num_rows, 1e10)
            return (value - np.clip(value, *self.interval)) / lengths

        def slopes(part: np.ndarray) -> np.ndarray:
            rows = self.rows(at(part))
            outside = (rows.value < rows.lower) | (rows.value > rows.upper)
            return (rows.jacobian * outside[:, None] / lengths[:, None])[:, free]

        try:
            lower, upper = self.lower[free], self.upper[free]
            inside = np.clip(whole[free], lower + 1e-9 * np.minimum(upper - lower, 1.0), upper - 1e-9 * np.minimum(upper - lower, 1.0))
            with np.errstate(all="ignore"):  # of SciPy's own numbers, where units and bounds differ by much
                return at(least_squares(excess, inside, slopes, bounds=(lower, upper), max_nfev=100).x)
        except (ConstraintError, ValueError, np.linalg.LinAlgError):
            return whole

    def restored(self, u: np.ndarray, rows: Linearization | None = None, most: int = RESTORATIONS, enough: float = TIGHT) -> "Restored":
        """The end of Gauss-Newton steps to where bounds and rows hold, each the shortest one.

        rows: linearized near u, to begin with; they are linearized again where they no longer lead on. enough: the violation to end at.
        """
        u = self.clipped(u)
        if self.num_rows == 0:
            return Restored(u, 0.0, np.empty(0))
        try:
            fresh = rows is None
            rows = self.rows(u) if rows is None else rows.at(self.values(u))
        except ConstraintError:
            return Restored(u, np.inf, np.full(self.num_rows, np.nan))
        left = rows.own_distance
        for _ in range(most):
            if left <= enough:
                break
            step = nearest(rows, *self.around(u))
            found = self._nearer(u, step, rows, left, HALVINGS if fresh else 1)
            try:
                if found is None and fresh:
                    break
                if found is None:
                    rows, fresh = self.rows(u), True
                    left = rows.own_distance
                    continue
                before = left
                u, value, left = found
                fresh = left > CHORD * before
                if fresh:
                    rows = self.rows(u, value)
                    left = rows.distance(value)  # in the lengths of these rows
                else:
                    rows = rows.at(value)
            except ConstraintError:
                break
        return Restored(u, left, rows.value)

    def _nearer(
        self, u: np.ndarray, step: np.ndarray, rows: Linearization, left: float, tries: int
    ) -> "tuple[np.ndarray, np.ndarray, float] | None":
        """The first of step, step/2, ... that comes nearer to where the rows hold, with the values there and what is left."""
        for halvings in range(tries):
            trial = self.clipped(u + 0.5**halvings * step)
            try:
                value = self.values(trial)
            except ConstraintError:
                continue
            if (nearer := rows.distance(value)) <= (1.0 - 0.25 * 0.5**halvings) * left:
                return trial, value, nearer
        return None


class Restored(NamedTuple):
    """A point within the bounds, how far it is from where the rows hold, and the rows' values there."""

    point: np.ndarray
    left: float
    value: np.ndarray


def described(region: ConvexSet, d: int) -> tuple[np.ndarray, np.ndarray, tuple[_Extra, ...]] | None:
    """Bounds and rows that make up the region, None where it is no such set."""
    everywhere = np.full(d, -np.inf), np.full(d, np.inf)
    match region:
        case WholeSpace():
            return *everywhere, ()
        case NonNegative():
            return np.zeros(d), everywhere[1], ()
        case Box():
            lower, upper = (np.broadcast_to(np.asarray(bound, dtype=float), (d,)).copy() for bound in (region.lower, region.upper))
            return lower, upper, ()
        case L2Ball():
            radius = region.radius
            ball = _Extra(lambda x: 0.5 * (float(x @ x) / radius - radius), lambda x: x / radius, -np.inf, 0.0)
            return *everywhere, (ball,)
        case Simplex():
            total = region.radius
            return np.zeros(d), everywhere[1], (_Extra(lambda x: float(np.sum(x)) - total, np.ones_like, 0.0, 0.0),)
        case Product():
            return _product(region, d)
    return None


def _product(region: Product, d: int) -> tuple[np.ndarray, np.ndarray, tuple[_Extra, ...]] | None:
    lower, upper = np.empty(d), np.empty(d)
    extras: list[_Extra] = []
    start = 0
    for part, size in region.parts:
        found = described(part, size)
        if found is None:
            return None
        block = slice(start, start + size)
        lower[block], upper[block] = found[0], found[1]
        extras += [_Extra(*_within(extra, block), extra.low, extra.high) for extra in found[2]]
        start += size
    return lower, upper, tuple(extras)


def _within(extra: _Extra, block: slice) -> tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], np.ndarray]]:
    def gradient(x: np.ndarray) -> np.ndarray:
        whole = np.zeros_like(x)
        whole[block] = extra.gradient(x[block])
        return whole

    return lambda x: extra.value(x[block]), gradient
