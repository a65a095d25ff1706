"""Quadratic programmes: a quadratic over linearized rows and bounds, by Cholesky where only equalities bind, else by DAQP."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import daqp
import numpy as np

from zolal.solvers.auto.dense import factorized, solved

EQUAL, SOFT = 5, 8  # what DAQP calls the kinds of rows
TOLERANCE = 1e-10  # of a row, in units of the step
SOLVED, RELAXED = (1, 2)  # DAQP's answers: a solution, one with soft rows that do not hold


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """value + jacobian p ought to lie in [low, high], row by row."""

    value: np.ndarray
    jacobian: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @cached_property
    def lengths(self) -> np.ndarray:
        """Of the gradients; 1 where there is none."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.jacobian, self.jacobian))
        return np.where(lengths > 0.0, lengths, 1.0)

    @cached_property
    def are_equalities(self) -> np.ndarray:
        return self.low == self.high

    @property
    def violation(self) -> float:
        """The largest violation of a row in its own terms."""
        return float(np.max(np.abs(self.value - np.clip(self.value, self.low, self.high)), initial=0.0))

    def only(self, chosen: np.ndarray) -> "Rows":
        """Some of the rows."""
        return self if chosen.all() else Rows(self.value[chosen], self.jacobian[chosen], self.low[chosen], self.high[chosen])

    def at(self, value: np.ndarray) -> "Rows":
        """The same derivatives with other values."""
        return Rows(value, self.jacobian, self.low, self.high)

    def distance(self, value: np.ndarray) -> float:
        """How far a point with these values is from where the rows hold, as far as each row's gradient tells."""
        if not len(value):
            return 0.0
        if not np.isfinite(value).all():
            return np.inf
        excess = np.abs(value - np.clip(value, self.low, self.high))
        rounding = 4.0 * np.finfo(float).eps * np.abs(value - excess)
        return float(np.linalg.norm(np.where(excess > rounding, excess, 0.0) / self.lengths))


class Solution(NamedTuple):
    """The step p and the multipliers of the rows, positive at an upper bound."""

    step: np.ndarray
    multipliers: np.ndarray


def solve(hessian: np.ndarray, gradient: np.ndarray, rows: Rows, lower: np.ndarray, upper: np.ndarray, unit: float) -> Solution:
    """The minimiser of <gradient, p> + p.hessian p/2 over the linearized rows and lower <= p <= upper.

    hessian: positive definite. unit: the length in which p is of order 1. First without what might not bind: then a Cholesky factor does.
    """
    equal = rows.are_equalities
    step, prices = _equalities_alone(hessian, gradient, rows.only(equal))
    value = rows.value + rows.jacobian @ step
    loose = equal | ((value >= rows.low) & (value <= rows.high))
    if loose.all() and ((step >= lower) & (step <= upper)).all():
        multipliers = np.zeros(len(value))
        multipliers[equal] = prices
        return Solution(step, multipliers)
    return _by_daqp(hessian, gradient, rows, lower, upper, unit)


def steepest(length: float, gradient: np.ndarray, rows: Rows, lower: np.ndarray, upper: np.ndarray, unit: float) -> Solution:
    """The minimiser of <gradient, p> + |p|^2/(2 length) over the linearized rows and the bounds: a projected step along -gradient."""
    if not len(rows.value):
        return Solution(np.clip(-length * gradient, lower, upper), np.empty(0))
    return solve(np.eye(len(gradient)) / length, gradient, rows, lower, upper, unit)


def nearest(rows: Rows, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The shortest step to where the linearized rows hold within the bounds; where they cannot, one that violates them little."""
    d = rows.jacobian.shape[1]
    if rows.are_equalities.all():
        step = np.linalg.lstsq(rows.jacobian / rows.lengths[:, None], (rows.low - rows.value) / rows.lengths, rcond=1e-12)[0]
        if ((step >= lower) & (step <= upper)).all():
            return step
    excess = np.abs(rows.value - np.clip(rows.value, rows.low, rows.high)) / rows.lengths
    return _by_daqp(np.eye(d), np.zeros(d), rows, lower, upper, max(float(np.max(excess)), 1e-12)).step


def _equalities_alone(hessian: np.ndarray, gradient: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """p = -(H^-1)(g + J^T y) with J p = low - value; dependent rows share their multipliers."""
    factor = factorized(hessian)
    plain = -solved(factor, gradient)
    if not len(rows.value):
        return plain, np.empty(0)
    scaled = rows.jacobian / rows.lengths[:, None]
    reached = solved(factor, scaled.T)
    missing = (rows.low - rows.value) / rows.lengths - scaled @ plain
    normal = scaled @ reached
    if len(normal) == 1 and normal[0, 0] > 0.0:
        prices = missing / normal[0, 0]
    else:
        prices = np.linalg.lstsq(normal, missing, rcond=1e-12)[0]
    return plain + reached @ prices, -prices / rows.lengths


def _by_daqp(hessian: np.ndarray, gradient: np.ndarray, rows: Rows, lower: np.ndarray, upper: np.ndarray, unit: float) -> Solution:
    """In units in which steps, gradients of rows and the objective are of order 1; rows that cannot hold are relaxed."""
    d, size = len(gradient), max(float(np.max(np.abs(np.diagonal(hessian)))), 1e-300)
    matrix = np.ascontiguousarray(rows.jacobian / rows.lengths[:, None])
    scale = rows.lengths * unit
    high = np.concatenate([upper / unit, (rows.high - rows.value) / scale])
    low = np.concatenate([lower / unit, (rows.low - rows.value) / scale])
    kinds = np.zeros(d + len(scale), dtype=np.int32)
    kinds[d:][rows.are_equalities] = EQUAL
    kinds[:d][lower == upper] = EQUAL
    big = 1e29
    problem = (hessian / size, gradient / (size * unit), matrix, np.minimum(high, big), np.maximum(low, -big))
    step, _, answer, more = daqp.solve(*problem, kinds, primal_tol=TOLERANCE, iter_limit=20 * (d + len(scale)) + 200)
    if answer not in (SOLVED, RELAXED):
        soft = kinds.copy()
        soft[d:] = SOFT
        step, _, answer, more = daqp.solve(*problem, soft, primal_tol=TOLERANCE, iter_limit=20 * (d + len(scale)) + 200)
        if answer not in (SOLVED, RELAXED):
            return Solution(np.zeros(d), np.zeros(len(scale)))
    multipliers = np.asarray(more["lam"])[d:] * size * unit / rows.lengths
    return Solution(np.clip(np.asarray(step) * unit, lower, upper), multipliers)
