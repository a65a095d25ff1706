"""Evaluations listed one by one, for a solver that mixes repeated values, differences of several lengths and more than one point."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np

from zolal._array import Array, copied, namespace
from zolal.directions import Directions
from zolal.estimators.base import Query, SampleKey, moves_every_coordinate, points_in_rows
from zolal.sets import ConvexSet


class Probe(NamedTuple):
    """F(bases[base] + length u_direction; xi_sample), at the base itself where direction is None."""

    base: int = 0
    direction: int | None = None
    length: float = 0.0
    sample: int = 0


@final
@dataclass(frozen=True, eq=False)
class Survey:
    """The probes around some base points, in their order; as small as a QueryBatch, whatever the dimension.

    optional: whether the solver can do without any of the values. clip: a set that shifted points are brought back to, where a coordinate
    of it is fixed, so that u moves the others alone.
    """

    bases: tuple[Array, ...]
    directions: Directions
    probes: tuple[Probe, ...]
    optional: bool = False
    clip: ConvexSet | None = None

    def __len__(self) -> int:
        return len(self.probes)

    @property
    def smoothing(self) -> float:
        """The shortest length of a difference, infinite where there is none."""
        return min((abs(probe.length) for probe in self.probes if probe.direction is not None), default=math.inf)

    @property
    def resolved(self) -> bool:
        return self.smoothing == math.inf or moves_every_coordinate(self.smoothing, self.bases)

    def query(self, i: int) -> Query:
        base, direction, _, sample = self.probes[i]
        identity = self.directions
        return Query(base, direction, SampleKey(identity.seed, identity.iteration, identity.stream, sample))

    def point(self, i: int) -> Array:
        base, direction, length, _ = self.probes[i]
        if direction is None:
            return copied(self.bases[base])
        point = self.directions.shift(self.bases[base], length, direction)
        return point if self.clip is None else self.clip.clipped(point)

    def points(self, start: int, stop: int) -> Array:
        return namespace(self.bases[0]).stack([self.point(i) for i in range(start, stop)])

    def rows(self, indices: Iterable[int]) -> Array:
        return points_in_rows(self, indices)

    def kept(self, values: np.ndarray) -> np.ndarray:
        """Which directions have all their values; a forward difference needs that at the first base, too."""
        missing = {self.probes[i].direction for i in np.flatnonzero(np.isnan(values)) if self.probes[i].base == 0}
        based = None in missing and not self.optional and not any(probe.length < 0.0 for probe in self.probes)
        return np.asarray([not based and j not in missing for j in range(self.directions.count)])

    def is_shared(self, i: int) -> bool:
        """Whether every direction needs the i-th value: those at the first base itself."""
        return self.probes[i].direction is None and self.probes[i].base == 0 and not self.optional

    def with_bases(self, bases: tuple[Array, ...]) -> "Survey":
        return replace(self, bases=bases)

    def base_values(self, values: np.ndarray) -> np.ndarray:
        """The values at the first base; where it was not evaluated, those around it, which are as many on either side."""
        values = np.asarray(values, dtype=float)
        at = [i for i, probe in enumerate(self.probes) if probe.base == 0 and probe.direction is None]
        around = [i for i, probe in enumerate(self.probes) if probe.base == 0]
        found = values[at or around]
        return found[~np.isnan(found)]
