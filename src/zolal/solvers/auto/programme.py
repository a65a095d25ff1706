"""Quadratic programmes: a quadratic over linearized rows and bounds, by Cholesky where only equalities bind, else by DAQP."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import daqp
import numpy as np

from zolal.linearization import Linearization
from zolal.solvers.auto.dense import factorized, solved

EQUAL, SOFT = 5, 8  # what DAQP calls the kinds of rows
TOLERANCE = 1e-10  # of a row, in units of the step
SOLVED, RELAXED = (1, 2)  # DAQP's answers: a solution, one with soft rows that do not hold


class Solution(NamedTuple):
    """The step p and the multipliers of the rows, positive at an upper bound."""

    step: np.ndarray
    multipliers: np.ndarray


def solve(hessian: np.ndarray, gradient: np.ndarray, rows: Linearization, lower: np.ndarray, upper: np.ndarray, unit: float) -> Solution:
    """The minimiser of <gradient, p> + p.hessian p/2 over the linearized rows and lower <= p <= upper.

    hessian: positive definite. unit: the length in which p is of order 1. First without what might not bind: then a Cholesky factor does.
    """
    equal = rows.are_equalities
    step, prices = _equalities_alone(partial(solved, factorized(hessian)), gradient, rows.only(equal))
    if _is_outside(step, lower, upper) or not _hold(rows, equal, step):
        return _by_daqp(hessian, gradient, rows, lower, upper, unit)
    multipliers = np.zeros(len(equal))
    multipliers[equal] = prices
    return Solution(step, multipliers)


def _is_outside(step: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> bool:
    """Whether a step leaves the bounds; to count takes a quarter of the time of `any` where there are few."""
    return bool(np.count_nonzero(step < lower) or np.count_nonzero(step > upper))


def _hold(rows: Linearization, equal: np.ndarray, step: np.ndarray) -> bool:
    """Whether the linearized rows that are no equalities hold after a step."""
    if np.count_nonzero(equal) == len(equal):
        return True
    value = rows.value + rows.jacobian @ step
    return bool((equal | ((value >= rows.lower) & (value <= rows.upper))).all())


def steepest(length: float, gradient: np.ndarray, rows: Linearization, lower: np.ndarray, upper: np.ndarray, unit: float) -> Solution:
    """The minimiser of <gradient, p> + |p|^2/(2 length) over the linearized rows and the bounds: a projected step along -gradient."""
    if not len(rows.value):
        return Solution(np.minimum(np.maximum(-length * gradient, lower), upper), np.empty(0))
    if np.count_nonzero(rows.are_equalities) == len(rows.value):
        step, prices = _equalities_alone(lambda right: length * right, gradient, rows)
        if not _is_outside(step, lower, upper):
            return Solution(step, prices)
    return solve(np.eye(len(gradient)) / length, gradient, rows, lower, upper, unit)


def nearest(rows: Linearization, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The shortest step to where the linearized rows hold within the bounds; where they cannot, one that violates them little."""
    d = rows.jacobian.shape[1]
    if np.count_nonzero(rows.are_equalities) == len(rows.value):
        scaled, missing = rows.unit_rows, (rows.lower - rows.value) / rows.lengths
        step = missing[0] * scaled[0] if len(scaled) == 1 else np.linalg.lstsq(scaled, missing, rcond=1e-12)[0]
        if not _is_outside(step, lower, upper):
            return step
    excess = np.abs(rows.value - np.clip(rows.value, rows.lower, rows.upper)) / rows.lengths
    return _by_daqp(np.eye(d), np.zeros(d), rows, lower, upper, max(float(np.max(excess)), 1e-12)).step


def _equalities_alone(
    solved_for: Callable[[np.ndarray], np.ndarray], gradient: np.ndarray, rows: Linearization
) -> tuple[np.ndarray, np.ndarray]:
    """p = -(H^-1)(g + J^T y) with J p = low - value; dependent rows share their multipliers. solved_for: H^-1 times its argument."""
    plain = -solved_for(gradient)
    if not len(rows.value):
        return plain, np.empty(0)
    scaled = rows.unit_rows
    reached = solved_for(scaled.T)
    missing = (rows.lower - rows.value) / rows.lengths - scaled @ plain
    normal = scaled @ reached
    if len(normal) == 1 and normal[0, 0] > 0.0:
        prices = missing / normal[0, 0]
    else:
        prices = np.linalg.lstsq(normal, missing, rcond=1e-12)[0]
    return plain + reached @ prices, -prices / rows.lengths


def _by_daqp(hessian: np.ndarray, gradient: np.ndarray, rows: Linearization, lower: np.ndarray, upper: np.ndarray, unit: float) -> Solution:
    """In units in which steps, gradients of rows and the objective are of order 1; rows that cannot hold are relaxed."""
    d, size = len(gradient), max(float(np.max(np.abs(np.diagonal(hessian)))), 1e-300)
    matrix = np.ascontiguousarray(rows.unit_rows)
    scale = rows.lengths * unit
    high = np.concatenate([upper / unit, (rows.upper - rows.value) / scale])
    low = np.concatenate([lower / unit, (rows.lower - rows.value) / scale])
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
