"""All constraints of a problem as equalities c(x, s) = 0 with slacks s in a box, in one place."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from array_api_compat import device

from zolal._array import Array, concatenate, is_finite, like, namespace, split, to_numpy, zeros
from zolal.constraints._derivative_check import check_derivatives
from zolal.constraints._least_violation import FLAT, Rows, least_excess
from zolal.constraints.base import Constraint
from zolal.errors import ConstraintError, UnsupportedError
from zolal.sets import Box, ConvexSet

MOST_ENTRIES = 2**27  # of a dense Jacobian


class Violated(NamedTuple):
    """A row that does not hold at a point. name: as in `Equalities.row_names`; row: within its constraint."""

    name: str
    row: int
    violation: float
    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        side = "below its lower bound" if self.value < self.lower else "above its upper bound"
        bound = self.lower if self.value < self.lower else self.upper
        return f"{self.name} is {self.value:.6g}, {self.violation:.3g} {side} {bound:.6g}"


class RowValues(NamedTuple):
    """One entry per row of the constraints: its value, its bounds, and by how much it violates them."""

    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    violation: np.ndarray


class LeastViolation(NamedTuple):
    """Where constraints are violated least. worst: the row that is violated most there, None where all hold.

    is_minimum: whether no short step within the region reduces the violation. A violation above tol then means that the constraints
    contradict each other thereabouts; if all of them are linear or convex, everywhere.
    """

    x: Array
    worst: Violated | None
    is_minimum: bool

    @property
    def violation(self) -> float:
        return 0.0 if self.worst is None else self.worst.violation


def row_name(part: Constraint, row: int, rows: int) -> str:
    """The name of a constraint, with the row's number where it has several."""
    name = part.name or "a constraint"
    return name if rows == 1 else f"{name}[{row}]"


@final
@dataclass(frozen=True, eq=False)
class Equalities:
    """c(x, s) = sign * fun(x) + offset + s, rowwise, with one slack per inequality (the paper's fairness section).

    fun(x) = b             becomes  fun(x) - b         = 0
    lower <= fun(x)        becomes  lower - fun(x) + s = 0,  s >= 0
    fun(x) <= upper        becomes  fun(x) - upper + s = 0,  s >= 0
    lower <= fun(x) <= upper        fun(x) - upper + s = 0,  0 <= s <= upper - lower

    Differs from the paper: lower and two-sided bounds are added. A row without bounds stays as 0 = 0.
    """

    parts: Sequence[Constraint]
    row_counts: Sequence[int]  # rows of each part, as `Constraint.check_at` found them
    sign: np.ndarray = field(init=False)
    offset: np.ndarray = field(init=False)
    slack_rows: np.ndarray = field(init=False)  # the row of each slack
    slack_limit: np.ndarray = field(init=False)  # its upper bound

    def __post_init__(self) -> None:
        lower, upper = (self._stacked(name) for name in ("lower", "upper"))
        below = np.isneginf(lower)
        above = np.isposinf(upper)
        equality = lower == upper
        sign = np.where(above & ~below, -1.0, np.where(above & below, 0.0, 1.0))
        offset = np.where(sign > 0, -upper, np.where(sign < 0, lower, 0.0))
        rows = np.flatnonzero(~equality & (sign != 0))
        with np.errstate(invalid="ignore"):
            limit = np.where(sign[rows] > 0, upper[rows] - lower[rows], np.inf)
        for name, value in (("sign", sign), ("offset", offset), ("slack_rows", rows), ("slack_limit", limit)):
            object.__setattr__(self, name, value)

    @property
    def num_rows(self) -> int:
        return sum(self.row_counts)

    @property
    def num_slacks(self) -> int:
        return len(self.slack_rows)

    @property
    def slack_region(self) -> Box:
        """Where the slacks may lie."""
        return Box(np.zeros(self.num_slacks), self.slack_limit)

    def initial_slacks(self, x: Array) -> Array:
        """s^0 = [-g(x^0)]_+, cut at the slack's limit: the slacks that violate least."""
        gap = namespace(x).take(-self._signed(x), self._index(x, self.slack_rows))
        return self.slack_region.project(gap) if self.num_slacks else gap

    def value(self, x: Array, slacks: Array) -> Array:
        """c(x, s), shape (m,)."""
        c = self._signed(x)
        return c + self._spread(slacks) if self.num_slacks else c

    def vjp(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The transposed Jacobian of c at (x, s) times y: its x part and its slack part."""
        xp = namespace(x)
        total = zeros(x.shape[0], x)
        for part, block in zip(self.parts, split(y * like(self.sign, y), self.row_counts), strict=True):
            along = part.vjp_at(x, block)
            if not is_finite(along):
                raise ConstraintError(f"The derivative of {part.label} is not finite.")
            total = total + along
        return total, xp.take(y, self._index(y, self.slack_rows))

    def signed_value(self, x: Array) -> Array:
        """sign * fun(x) + offset, shape (m,): what `interval` bounds."""
        return self._signed(x)

    def signed_jacobian(self, x: Array) -> Array:
        """The derivative of `signed_value`, a dense array of shape (m, d)."""
        xp, d = namespace(x), x.shape[0]
        if self.num_rows * d > MOST_ENTRIES:
            raise UnsupportedError(
                f"This method forms the Jacobian of the constraints, here {self.num_rows} x {d}; at most {MOST_ENTRIES} entries are "
                "supported. Simple bounds belong in `bounds` or `region`; method 'mdlal' never forms the Jacobian."
            )
        if self.num_rows == 0:
            return xp.reshape(zeros(0, x), (0, d))
        blocks = []
        for part, count in zip(self.parts, self.row_counts, strict=True):
            blocks.append(part.rows_at(x, count))
            if not bool(xp.all(xp.isfinite(blocks[-1]))):
                raise ConstraintError(f"The derivative of {part.label} is not finite.")
        return like(self.sign, x)[:, None] * xp.concat(blocks, axis=0)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of `signed_value`: [0, 0] for an equality, [-limit, 0] where there is a slack."""
        lower = np.zeros(self.num_rows)
        lower[self.slack_rows] = -self.slack_limit
        return lower, np.zeros(self.num_rows)

    def violation(self, x: Array) -> float:
        """The largest violation of a row in the user's own terms; 0 when x is feasible."""
        return float(np.max(self.row_values(x).violation)) if self.num_rows else 0.0

    def row_values(self, x: Array) -> "RowValues":
        """Every row at x in the user's own terms."""
        value = np.concatenate([np.zeros(0)] + [to_numpy(part.value_at(x)) for part in self.parts])
        lower, upper = (self._stacked(name) for name in ("lower", "upper"))
        return RowValues(value, lower, upper, np.maximum(np.maximum(lower - value, value - upper), 0.0))

    def worst(self, x: Array) -> "Violated | None":
        """The row that x violates most, None where x is feasible."""
        if not self.num_rows:
            return None
        rows = self.row_values(x)
        worst = int(np.argmax(np.nan_to_num(rows.violation, nan=np.inf)))
        if rows.violation[worst] <= 0.0:
            return None
        numbers = [row for count in self.row_counts for row in range(count)]
        value, lower, upper, violation = (float(column[worst]) for column in rows)
        return Violated(self.row_names[worst], numbers[worst], violation, value, lower, upper)

    def least_violation(self, x: Array, region: ConvexSet | None = None, tol: float = 0.0) -> "LeastViolation":
        """A point within the region that violates the constraints least, found with a bounded number of calls.

        The search begins at x, and where it does not reach tol again at points far away.
        """

        def value(point: np.ndarray) -> np.ndarray:
            return to_numpy(self.signed_value(like(point, x))).astype(float)

        def jacobian(point: np.ndarray) -> np.ndarray:
            return to_numpy(self.signed_jacobian(like(point, x))).astype(float)

        if self.num_rows == 0:
            return LeastViolation(x, None, False)
        with np.errstate(all="ignore"):  # far away anything may overflow
            point, cosine = least_excess(Rows(value, jacobian, *self.interval), to_numpy(x).astype(float), region, tol)
        found = like(point, x)
        worst = self.worst(found)
        return LeastViolation(found, worst, worst is not None and cosine <= FLAT)

    @property
    def row_names(self) -> tuple[str, ...]:
        """A name per row: that of its constraint, with the row's number where there are several."""
        pairs = zip(self.parts, self.row_counts, strict=True)
        return tuple(row_name(part, row, rows) for part, rows in pairs for row in range(rows))

    def check_derivatives(self, x: Array, region: ConvexSet | None = None, names: Sequence[Any] | None = None) -> None:
        """Raise where a given derivative clearly contradicts the values near x. names: of the variables."""
        for part, rows in zip(self.parts, self.row_counts, strict=True):
            check_derivatives(part, x, rows, region, names)

    def user_multipliers(self, lam: Array) -> np.ndarray:
        """Multipliers of the Lagrangian f + <multipliers, fun>: positive at an active upper bound, negative at a lower one."""
        return to_numpy(lam) * self.sign

    def _signed(self, x: Array) -> Array:
        """Sign * fun(x) + offset."""
        values = []
        for part, rows in zip(self.parts, self.row_counts, strict=True):
            value = part.finite_value_at(x)
            if value.shape[0] != rows:
                raise ConstraintError(f"`fun` of {part.label} returned {value.shape[0]} rows after {rows} at the start.")
            values.append(value)
        return like(self.sign, x) * concatenate(values) + like(self.offset, x) if values else zeros(0, x)

    def _spread(self, slacks: Array) -> Array:
        """The slacks in their rows, 0 in the others."""
        position = np.full(self.num_rows, self.num_slacks)
        position[self.slack_rows] = np.arange(self.num_slacks)
        return namespace(slacks).take(concatenate([slacks, zeros(1, slacks)]), self._index(slacks, position))

    def _index(self, x: Array, index: np.ndarray) -> Array:
        xp = namespace(x)
        return xp.asarray(index, dtype=xp.int64, device=device(x))

    def _stacked(self, name: str) -> np.ndarray:
        pairs = zip(self.parts, self.row_counts, strict=True)
        return np.concatenate(
            [np.zeros(0)] + [np.broadcast_to(np.asarray(getattr(part, name), dtype=float), (rows,)) for part, rows in pairs]
        )
