"""Points where f had no value: steps and looks stay nearer to the centre than to any of them.

f may have a domain that no constraint describes. A point y without a value says that its edge lies between the centre c and y. Half of the
way is (y - c).(u - c) <= |y - c|^2/2, a row like any other, along which a step goes; a shorter radius alone would lead to the edge again.
"""

from typing import NamedTuple

import numpy as np

from zolal.linearization import Linearization
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.reported import OutputRow
from zolal.solvers.auto.terrain import Terrain


class Edge(NamedTuple):
    """A point without a value, and the centre at which it was met."""

    point: np.ndarray
    centre: np.ndarray

    @property
    def distance(self) -> float:
        return norm(self.point - self.centre)

    def in_units(self, factors: np.ndarray) -> "Edge":
        """In units that are so many times as long."""
        return Edge(self.point / factors, self.centre / factors)


def met(edges: tuple[Edge, ...], point: np.ndarray, centre: np.ndarray) -> tuple[Edge, ...]:
    """With one more, of which the last few are kept."""
    edge = Edge(point, centre)
    return (*edges, edge)[-CONSTANTS.few * (len(point) + 1) :] if edge.distance > 0.0 else edges


def passed(edges: tuple[Edge, ...], point: np.ndarray) -> tuple[Edge, ...]:
    """Without those that a value has come near to: it may have been an accident, or there is some way left."""
    return tuple(edge for edge in edges if norm(edge.point - point) > CONSTANTS.retreat * edge.distance)


def fenced(
    edges: tuple[Edge, ...], terrain: Terrain, rows: Linearization, centre: np.ndarray, reach: float
) -> tuple[Terrain, Linearization]:
    """The terrain on this side of the points, and the rows with theirs. rows: at the centre. reach: as far as a step or a look goes."""
    found = tuple(row for edge in edges if (row := _row(edge, centre)).high <= reach)
    if not found:
        return terrain, rows
    more = Linearization(*(np.array(part) for part in zip(*((0.0, row.gradient, row.low, row.high) for row in found), strict=True)))
    return terrain.with_outputs(found), rows.with_rows(more)


def _row(edge: Edge, centre: np.ndarray) -> OutputRow:
    """How far a point goes towards the edge, which is to be half of the way at the most."""
    way = edge.point - centre
    length = norm(way)
    return OutputRow(centre, 0.0, way / max(length, 1e-300), 0.0, -np.inf, 0.5 * length)
