"""A problem as `zolal bench cutest` and `more-wild` give it to everyone: a function, a start, bounds, constraints with Jacobians."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from zolal._array import Array

SCALE_FREE = 1.0  # a row of smaller numbers than this is not scaled


@final
@dataclass(frozen=True, eq=False)
class Given:
    """min f(x), lower <= x <= upper, and constraints; all exact. x0: within the bounds. gradient: of f, for references alone."""

    name: str
    fun: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    x0: Array
    bounds: Bounds
    constraints: list[LinearConstraint | NonlinearConstraint]

    @property
    def n(self) -> int:
        return len(self.x0)

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.bounds.lb).any() or np.isfinite(self.bounds.ub).any())

    @property
    def rows(self) -> int:
        """The number of constraint rows; bounds are none."""
        return sum(len(constraint.lb) for constraint in self.constraints)

    def violation(self, x: Array) -> float:
        """The largest violation of a bound or a constraint, in units of its scale; infinite where it is not a number."""
        worst = float(np.max(self.excess(np.asarray(x, dtype=float))))
        return worst if np.isfinite(worst) else np.inf

    def excess(self, x: Array) -> Array:
        """By how much each bound and each row is violated, divided by its scale.

        The scale of a row is max(1, largest entry of its gradient at x0, |right-hand side|), that of a bound max(1, |bound|).
        """
        lower, upper = self.bounds.lb, self.bounds.ub
        parts = [_excess(x, lower, upper) / _sizes(lower, upper)]
        for value, low, high, scale in self._scaled(x):
            parts.append(_excess(value, low, high) / scale)
        return np.concatenate(parts)

    def row_excess(self, x: Array) -> tuple[Array, Array]:
        """By how much each row is violated, in units of its scale, and the derivative of that; bounds are none of them."""
        values, slopes = [], []
        for constraint, (value, low, high, scale) in zip(self.constraints, self._scaled(x), strict=True):
            jacobian = constraint.A if isinstance(constraint, LinearConstraint) else constraint.jac(x)
            side = np.where(value > high, 1.0, np.where(value < low, -1.0, 0.0))
            values.append(_excess(value, low, high) / scale)
            slopes.append((side / scale)[:, None] * jacobian)
        return np.concatenate(values), np.concatenate(slopes)

    def inequalities(self, x: Array, slack: float) -> Array:
        """Values that are at most 0 where no row is violated by more than the slack, in units of the scales; for who knows no equality."""
        sides = []
        for value, low, high, scale in self._scaled(x):
            below, above = (low - value) / scale, (value - high) / scale
            sides += [below[np.isfinite(low)], above[np.isfinite(high)]]
        return np.concatenate(sides) - slack

    def outputs(self, x: Array) -> Array:
        """The values of all rows, as a simulator would report them."""
        return np.concatenate([value for value, _, _, _ in self._scaled(x)])

    @cached_property
    def output_bounds(self) -> tuple[Array, Array, Array]:
        """Lower and upper bounds of all rows, and their scales."""
        sides = [(constraint.lb, constraint.ub) for constraint in self.constraints]
        lower, upper = (np.concatenate([np.asarray(pair[i], dtype=float) for pair in sides]) for i in (0, 1))
        return lower, upper, np.concatenate(self._scales)

    def _scaled(self, x: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
        for constraint, scale in zip(self.constraints, self._scales, strict=True):
            value = constraint.A @ x if isinstance(constraint, LinearConstraint) else constraint.fun(x)
            yield value, constraint.lb, constraint.ub, scale

    @cached_property
    def _scales(self) -> list[Array]:
        scales = []
        for constraint in self.constraints:
            rows = constraint.A if isinstance(constraint, LinearConstraint) else constraint.jac(self.x0)
            sizes = np.nan_to_num(np.max(np.abs(rows), axis=1), nan=SCALE_FREE, posinf=SCALE_FREE)
            scales.append(np.maximum(sizes, _sizes(constraint.lb, constraint.ub)))
        return scales


def _excess(value: Array, lower: Array, upper: Array) -> Array:
    return np.maximum(np.maximum(lower - value, value - upper), 0.0)


def _sizes(lower: Array, upper: Array) -> Array:
    finite = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lower, upper)]
    return np.maximum(np.maximum(*finite), SCALE_FREE)
