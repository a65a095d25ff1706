"""Outputs that do not hold yet: how near to their bounds one step may come, by the models, without a query."""

from typing import NamedTuple

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.terrain import Terrain

HALVINGS, RESTORATIONS = 6, 8


class Eased(NamedTuple):
    """A terrain whose outputs leave room for a start that lies nearer to where they hold; None where the centre is that start."""

    terrain: Terrain
    start: np.ndarray | None


def eased(terrain: Terrain, centre: np.ndarray, radius: float) -> Eased:
    """The outputs' bounds, eased to what a part of the radius reaches: a step that keeps them violates less than the centre does.

    The way to where all rows hold is cut at that part of the radius, then halved until the violation is less there. Rows that are known
    exactly are restored. Where nothing is less, the violations of the centre are what a step has to keep.
    """
    here = _violation(terrain, centre)
    if here == 0.0:
        return Eased(terrain, None)
    known = terrain.with_outputs(())
    way = terrain.restored(centre, None, RESTORATIONS).point - centre
    share = min(1.0, CONSTANTS.eased * radius / max(norm(way), 1e-300))
    for _ in range(HALVINGS):
        near = known.restored(centre + share * way, None, RESTORATIONS).point
        if norm(near - centre) <= radius and _violation(terrain, near) < here:
            return Eased(_kept(terrain, near), near)
        share *= 0.5
    return Eased(_kept(terrain, centre), None)


def _kept(terrain: Terrain, u: np.ndarray) -> Terrain:
    return terrain.with_outputs(tuple(row.eased(row.at(u)) for row in terrain.outputs))


def _violation(terrain: Terrain, u: np.ndarray) -> float:
    """The sum of violations by the models, in units of u."""
    return sum(abs(row.at(u) - min(max(row.at(u), row.low), row.high)) / max(norm(row.gradient), 1e-300) for row in terrain.outputs)
