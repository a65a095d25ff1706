"""Derivatives that a user gives, compared once with differences of the values."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from zolal._array import Array, like, rounding, to_numpy
from zolal.constraints._differences import Reach, bounds_of
from zolal.constraints.base import Constraint, is_linear
from zolal.errors import ConstraintError, InvalidArgumentError
from zolal.sets import ConvexSet

MOST_COLUMNS = 50  # up to which each variable is moved by itself; beyond, all are moved together
DIRECTIONS = 3  # then
MOST_ROWS = 50  # that are compared where each row takes a call
LENGTH = 1e-5  # of a step, relative to the variables' sizes
LENGTHS = (1e-13, 1e-11, 1e-9, 1e-7, LENGTH, 1e-3, 1e-1)  # where that one disagrees
WRONG = 1e-3  # relative to the derivative by one variable
SUSPECT = 1e-5  # the same along several variables, where a single wrong entry may be a small part
NEGLIGIBLE = 1e-6  # relative to all derivatives of the row together
HIDDEN = 1e-5  # of the value: a change that rounding in single precision may swallow
INWARD = 1e-2  # of a variable's size: how far from its bounds it is compared
ROUNDING = 4.0  # units in the last place by which a value may be wrong
CLEAR = 10.0  # how many times the disagreement exceeds that of the differences among themselves


class _Mismatch(NamedTuple):
    row: int
    given: float
    seen: float


def check_derivatives(part: Constraint, x: Array, rows: int, region: ConvexSet | None = None, names: Sequence[Any] | None = None) -> None:
    """Raise one sentence where `jac` or `vjp` clearly contradicts the values of `fun` near x, or a derivative by `sparsity` does.

    Up to 50 variables every column is compared, otherwise three random directions. Differences ahead and back at two lengths have to agree
    with each other ten times better than with the derivative, and no shorter ones may tell otherwise: so neither rounding, nor a kink, nor
    a function that turns faster than a step is long is called an error.
    """
    if (part.is_numerical and part.sparsity is None) or is_linear(part):
        return
    d = x.shape[0]
    try:
        with np.errstate(all="ignore"):
            x = _off_bounds(x, *bounds_of(region, d), part.x_scale)
            given = _Given.of(part, x, rows)
            comparison = _Comparison(part, x, given, Reach(to_numpy(x).astype(float), *bounds_of(region, d), part.x_scale))
            whole = np.ones(d, dtype=bool)
            masks = np.eye(d, dtype=bool) if d <= MOST_COLUMNS and not part.is_numerical else [whole] * DIRECTIONS
            for number, mask in enumerate(masks):
                if comparison.mismatch(mask, number) is None:
                    continue
                column = comparison.narrowed(mask, number)
                found = comparison.mismatch(column, number)
                if found is not None:
                    _refuse(part, found, int(np.flatnonzero(column)[0]), names)
    except ConstraintError:
        return  # the run itself will say what fails


def _off_bounds(x: Array, lower: np.ndarray, upper: np.ndarray, scale: np.ndarray | None) -> Array:
    """x, a little away from bounds that it lies at: there is a difference on one side only there, which a kink would mislead."""
    here = to_numpy(x).astype(float)
    way = np.minimum(INWARD * Reach(here, lower, upper, scale).sizes(), 0.25 * (upper - lower))
    return like(np.clip(here, lower + way, upper - way), x)


def _refuse(part: Constraint, found: _Mismatch, column: int, names: Sequence[Any] | None) -> None:
    variable = f"variable {column}" if names is None else repr(names[column])
    if part.is_numerical:
        raise InvalidArgumentError(
            f"In {part.label} `sparsity` does not fit `fun` near x0: in row {found.row} the derivative by {variable} is {found.given:.6g} "
            f"with it, and {found.seen:.6g} without."
        )
    kind = "jac" if part.vjp is None else "vjp"
    raise InvalidArgumentError(
        f"In {part.label} `{kind}` does not fit `fun` near x0: in row {found.row} the derivative by {variable} is {found.given:.6g} "
        f"by `{kind}`, and {found.seen:.6g} by differences."
    )


class _Given(NamedTuple):
    """What the user's derivative says: of the rows with the given numbers, a dense or sparse matrix."""

    numbers: np.ndarray
    matrix: Any

    @classmethod
    def of(cls, part: Constraint, x: Array, rows: int) -> "_Given":
        jacobian = part.jacobian_at(x) if part.vjp is None else None
        if jacobian is not None and (scipy.sparse.issparse(jacobian) or not hasattr(jacobian, "rmatvec")):
            return cls(np.arange(rows), jacobian.tocsr() if scipy.sparse.issparse(jacobian) else to_numpy(jacobian))
        numbers = np.unique(np.linspace(0, rows - 1, min(rows, MOST_ROWS)).astype(int))
        units = np.zeros((numbers.size, rows))
        units[np.arange(numbers.size), numbers] = 1.0
        return cls(numbers, np.array([to_numpy(part.vjp_at(x, like(unit, x))) for unit in units]))


class _Comparison:
    """The derivative and differences along directions that move some of the variables."""

    def __init__(self, part: Constraint, x: Array, given: _Given, reach: Reach) -> None:
        self.part, self.x, self.given, self.reach = part, x, given, reach
        self.value = self._at(reach.center)
        scaled = abs(given.matrix) @ reach.sizes() if scipy.sparse.issparse(given.matrix) else np.abs(given.matrix) @ reach.sizes()
        self.largest = np.asarray(scaled).reshape(-1)

    def narrowed(self, mask: np.ndarray, number: int) -> np.ndarray:
        """One variable along which the derivative is wrong, by halving."""
        while mask.sum() > 1:
            held = np.flatnonzero(mask)
            half = np.zeros_like(mask)
            half[held[: held.size // 2]] = True
            mask = half if self.mismatch(half, number) is not None else mask & ~half
        return mask

    def mismatch(self, mask: np.ndarray, number: int) -> _Mismatch | None:
        """The row where the derivative is clearly wrong along a direction; slopes are per unit of the variable where it is one."""
        direction = np.where(mask, self._direction(number), 0.0)
        single = mask.sum() == 1
        unit = float(np.sum(direction)) if single else 1.0
        if unit == 0.0:
            return None
        claimed = np.asarray(self.given.matrix @ direction).reshape(-1)
        usual = self._slopes(direction, LENGTH)
        if len(usual) < 2:
            return None  # a variable that cannot move
        allowed = (WRONG if single else SUSPECT) * np.abs(claimed) + NEGLIGIBLE * (self.largest if single else 1e-2 * self.largest)
        suspects = np.flatnonzero(~(np.abs(np.mean(usual, axis=0) - claimed) <= allowed) & np.isfinite(claimed))
        if not suspects.size:
            return None
        slopes = [usual if length == LENGTH else self._slopes(direction, length) for length in LENGTHS]
        for row in map(int, suspects):
            found = _Row([slope[:, row] for slope in slopes], float(claimed[row]), float(self.value[row]), self._rounding(row))
            seen = found.agreed(float(allowed[row]))
            if seen is not None:
                return _Mismatch(int(self.given.numbers[row]), found.claimed / unit + 0.0, seen / unit + 0.0)
        return None

    def _rounding(self, row: int) -> float:
        """What a value of the row may be wrong by, by its own rounding and by that of x."""
        eps = rounding(self.x)
        return ROUNDING * eps * (abs(float(self.value[row])) + float(self.largest[row]))

    def _direction(self, number: int) -> np.ndarray:
        """Random lengths and signs, the signs such that there is room ahead."""
        (x, lower, upper), rng = self.reach[:3], np.random.default_rng(number)
        below, above, sizes = x - lower, upper - x, self.reach.sizes()
        sign = np.where(np.minimum(below, above) >= sizes, rng.choice([-1.0, 1.0], x.size), np.where(below > above, -1.0, 1.0))
        room = np.maximum(np.maximum(below, above), 0.0)
        return sign * np.minimum(sizes * rng.uniform(0.5, 1.0, x.size), room)

    def _slopes(self, direction: np.ndarray, length: float) -> np.ndarray:
        """Differences ahead and back along a direction, those that stay within bounds; shape (1 or 2, rows)."""
        x, lower, upper = self.reach[:3]
        found = []
        for h in (length, -length):
            point = x + h * direction
            if h > 0.0 or np.all((point >= lower) & (point <= upper)):
                found.append((self._at(np.clip(point, lower, upper)) - self.value) / h)
        return np.array(found)

    def _at(self, point: np.ndarray) -> np.ndarray:
        try:
            return to_numpy(self.part.value_at(like(point, self.x))).astype(float)[self.given.numbers]
        except ConstraintError:
            return np.full(self.given.numbers.size, np.nan)


class _Row(NamedTuple):
    """One row along a direction. slopes: of the differences ahead and back, for each of LENGTHS. rounding: of the value."""

    slopes: list[np.ndarray]
    claimed: float
    value: float
    rounding: float

    def agreed(self, allowed: float) -> float | None:
        """The slope that differences at two lengths agree on, and that is clearly not the claimed one; None where there is none."""
        every = np.concatenate(self.slopes)
        if not np.all(np.abs(every[np.isfinite(every)] - self.claimed) > allowed):
            return None
        if np.all(every == 0.0):
            return 0.0 if abs(self.claimed) > self._hidden / max(LENGTHS) else None
        telling = [i for i, slope in enumerate(self.slopes) if np.isfinite(slope).all() and np.all(slope != 0.0)]  # no change is rounding
        found = [(self._spread(i, j), i) for i, j in itertools.combinations(telling, 2) if self._is_clear(i, j)]
        for _, i in sorted(found):
            seen = float(np.mean(self.slopes[i]))
            if not any(self._speaks_against(seen, shorter) for shorter in telling if shorter < i):
                return seen
        return None

    def _spread(self, i: int, j: int) -> float:
        return float(np.ptp(np.concatenate([self.slopes[i], self.slopes[j]])))

    def _is_clear(self, i: int, j: int) -> bool:
        """Whether two lengths agree with each other, and much better than with the claimed slope."""
        both, spread = np.concatenate([self.slopes[i], self.slopes[j]]), self._spread(i, j)
        off = np.min(np.abs(both - self.claimed))
        return bool(spread <= np.max(np.abs(both)) / CLEAR and off > CLEAR * spread + 2.0 * self.rounding / LENGTHS[i])

    @property
    def _hidden(self) -> float:
        """A change that single precision may swallow, or make up."""
        return HIDDEN * abs(self.value)

    def _speaks_against(self, seen: float, shorter: int) -> bool:
        """Whether a shorter difference confirms the claimed slope, or differs from the seen one by more than rounding."""
        slope, length, doubt = self.slopes[shorter], LENGTHS[shorter], abs(seen - self.claimed) / 2.0
        spread = float(np.ptp(slope)) + 2.0 * self.rounding / length
        confirms = spread <= doubt and abs(float(np.mean(slope)) - self.claimed) <= spread
        off = float(np.min(np.abs(slope - seen)))
        return confirms or (off > doubt and off * length > self._hidden)
