"""Evaluations that are under way at once, each of which is told as soon as it is there."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from zolal._array import Array, copied, namespace
from zolal.directions import Directions
from zolal.estimators.base import Query, SampleKey, points_in_rows


@final
@dataclass(frozen=True, eq=False)
class Standing:
    """Points to evaluate. Each keeps its slot until its value is told; then another may take it.

    bases: the points. slots: theirs, in the same order. numbers: which queries of the run they are. directions: the run's identity alone.
    """

    bases: tuple[Array, ...]
    slots: tuple[int, ...]
    numbers: tuple[int, ...]
    directions: Directions
    optional: bool = False

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def width(self) -> int:
        """How many slots there are, up to the last that is taken."""
        return max(self.slots, default=-1) + 1

    @property
    def smoothing(self) -> float:
        return math.inf

    @property
    def resolved(self) -> bool:
        return True

    def number(self, slot: int) -> int:
        return self.numbers[self.slots.index(slot)]

    def query(self, i: int) -> Query:
        identity = self.directions
        return Query(self.slots.index(i), None, SampleKey(identity.seed, self.number(i), identity.stream, 0))

    def point(self, i: int) -> Array:
        return copied(self.bases[self.slots.index(i)])

    def points(self, start: int, stop: int) -> Array:
        return namespace(self.bases[0]).stack([self.point(i) for i in range(start, stop)])

    def rows(self, indices: Iterable[int]) -> Array:
        return points_in_rows(self, indices)

    def kept(self, values: np.ndarray) -> np.ndarray:
        """There is no direction that a missing value could spoil, but nothing can be done without the first value."""
        return np.full(self.directions.count, self.optional or not np.isnan(values[list(self.slots)]).any())

    def is_shared(self, i: int) -> bool:
        return not self.optional

    def base_values(self, values: np.ndarray) -> np.ndarray:
        """None: an iterate is none of the points."""
        return np.empty(0)

    def only(self, slots: Iterable[int]) -> "Standing":
        """Those in some slots."""
        places = [self.slots.index(slot) for slot in slots]
        bases, taken, numbers = (tuple(entries[i] for i in places) for entries in (self.bases, self.slots, self.numbers))
        return replace(self, bases=bases, slots=taken, numbers=numbers)

    def with_bases(self, bases: tuple[Array, ...]) -> "Standing":
        return replace(self, bases=bases)
