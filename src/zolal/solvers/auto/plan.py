"""What the belief says of its centre under the exact constraints, and where to look next."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.programme import Rows, solve
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.terrain import Terrain

POWER_STEPS = 8
SHORTENINGS = 20
TOUCHING = 1e-8  # in units of the radius: what lies so near to a bound is at it


@final
@dataclass(frozen=True, eq=False)
class Here:
    """The centre: its gradient and covariance, the directions that are free there, and how stationary it is.

    normals: orthonormal rows that span what is not free: equalities, and the active bounds and rows that surely hold x back.
    size: |g| along what is free or may be. error: the root of the trace of the covariance there.
    """

    centre: np.ndarray
    gradient: np.ndarray
    covariance: np.ndarray
    normals: np.ndarray
    stationarity: float
    size: float
    error: float
    multipliers: np.ndarray
    multiplier_errors: np.ndarray

    @classmethod
    def at(cls, terrain: Terrain, belief: Quadratic, radius: float) -> "Here":
        u, gradient, covariance = belief.centre, belief.gradient, belief.covariance
        rows = terrain.rows(u)
        norm = float(np.linalg.norm(gradient))
        short = radius / max(norm, 1e-300)  # along the gradient as far as the radius
        lower, upper = terrain.lower - u, terrain.upper - u
        found = solve(np.eye(len(u)) / short, gradient, rows, lower, upper, radius)
        sure = CONSTANTS.pressed * (1.0 + 2.0 / max(len(belief.values) - 1, 1))  # few values do not even tell their own spread
        normals = _surely_active(rows, lower, upper, gradient, sure**2 * covariance, found.multipliers, TOUCHING * radius)
        free = covariance - normals.T @ (normals @ covariance) if len(normals) else covariance
        left = free - (free @ normals.T) @ normals if len(normals) else free
        along = gradient - normals.T @ (normals @ gradient) if len(normals) else gradient
        error = math.sqrt(max(float(np.trace(left)), 0.0))
        stationarity = float(np.linalg.norm(found.step)) / short
        errors = _multiplier_errors(rows, found.multipliers, covariance)
        return cls(u, gradient, left, normals, stationarity, float(np.linalg.norm(along)), error, found.multipliers, errors)


def _surely_active(
    rows: Rows, lower: np.ndarray, upper: np.ndarray, gradient: np.ndarray, covariance: np.ndarray, multipliers: np.ndarray,
    near: float,
) -> np.ndarray:  # fmt: skip
    """Orthonormal normals of the equalities, and of the active rows and bounds that the gradient presses against by more than its doubt."""
    d = len(gradient)
    equal = rows.are_equalities
    chosen = [rows.jacobian[equal] / rows.lengths[equal][:, None]]
    at_low, at_high = lower >= -near, upper <= near
    deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    pull = gradient + rows.jacobian.T @ multipliers if len(multipliers) else gradient
    pressed = (at_low & (pull > deviations)) | (at_high & (pull < -deviations)) | (at_low & at_high)
    chosen.append(np.eye(d)[pressed])
    if len(multipliers):
        scaled = rows.jacobian / rows.lengths[:, None]
        active = ~equal & ((rows.value >= rows.high - near * rows.lengths) | (rows.value <= rows.low + near * rows.lengths))
        doubt = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", scaled, covariance, scaled), 0.0))
        chosen.append(scaled[active & (np.abs(multipliers) * rows.lengths > doubt)])
    stacked = np.vstack(chosen)
    if not len(stacked):
        return stacked
    _, sizes, basis = np.linalg.svd(stacked, full_matrices=False)
    return basis[sizes > 1e-9 * max(float(sizes[0]), 1e-300)]


def _multiplier_errors(rows: Rows, multipliers: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Standard errors of y = -(J J^T)^-1 J g over the rows that have a multiplier; 0 for the others."""
    errors, active = np.zeros(len(multipliers)), rows.are_equalities | (multipliers != 0.0)
    if active.any():
        back = np.linalg.pinv(rows.jacobian[active].T, rcond=1e-10)
        errors[active] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", back, covariance, back), 0.0))
    return errors


def looked_at(terrain: Terrain, here: Here, fresh: np.ndarray, reach: float) -> np.ndarray:
    """The point to look at: along the free direction that is known least, on the side that descends, within all that is known exactly.

    fresh: random numbers, from which the power iterations begin. reach: how far to look.
    """
    t = fresh - here.normals.T @ (here.normals @ fresh) if len(here.normals) else fresh
    for _ in range(POWER_STEPS):
        following = here.covariance @ t
        length = float(np.linalg.norm(following))
        if not length > 0.0:
            break
        t = following / length
    t = t / max(float(np.linalg.norm(t)), 1e-300)
    if float(here.gradient @ t) > 0.0:
        t = -t
    lower, upper = terrain.lower - here.centre, terrain.upper - here.centre
    blocked = (reach * t > upper) | (reach * t < lower)
    t = np.where(blocked & ((reach * -t <= upper) & (reach * -t >= lower)), -t, t)
    point, left = terrain.restored(here.centre + reach * t)
    for _ in range(SHORTENINGS):
        if left <= 1e-9:
            break
        reach *= 0.25
        point, left = terrain.restored(here.centre + reach * t)
    return point
