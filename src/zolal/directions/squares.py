import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from array_api_compat import device

from zolal._array import Array, namespace
from zolal._checks import positive_int, require
from zolal.directions._normal import normal_moment_constant, normal_row, normal_sixth_moment, normal_third_moment
from zolal.directions.base import Directions


@final
@dataclass(frozen=True)
class Squares(Directions):
    """Normal numbers that are constant on squares of an image: a prior for functions that react to regions rather than to pixels.

    u_a = z_{cell(a)},   z ~ N(0, I),   cells of side x side pixels, the grid shifted at random for each direction

    So E[u_a u_b] is the chance that a and b share a square: 1 for a = b, falling to 0 at a distance of `side`. With side = 1, as without a
    shape and wherever directions are chosen by name, E[u u^T] = I and this is a Gaussian; with larger squares slopes times directions
    average to a smoothed gradient, and the theory's constants are not theirs. The attack of `zolal.art` takes its fresh directions here.

    shape: of the image, channels first: (height, width) or (channels, height, width); one row of `dimension` pixels unless given.

    >>> len(np.unique(Squares(16, 1, shape=(4, 4), side=2).rows())) <= 9
    True
    """

    shape: tuple[int, ...] | None = None
    side: int = 1

    kind: ClassVar[str] = "squares"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_int("Squares(side=...)", self.side)
        given = self.shape is None or (1 <= len(self.shape) <= 3 and math.prod(self.shape) == self.dimension)
        require(given, "Squares(shape=...)", f"have {self.dimension} pixels on one to three axes", self.shape)

    def row(self, j: int, reference: Array) -> Array:
        xp, keys = namespace(reference), self._keys(j)
        if self.side == 1:
            return xp.astype(normal_row(self.dimension, keys, reference), reference.dtype)
        cells, number = self._cells(keys)
        values = normal_row(number, keys, reference)
        return xp.astype(xp.take(values, xp.asarray(cells, dtype=xp.int64, device=device(reference))), reference.dtype)

    def _cells(self, keys: tuple[int, ...]) -> tuple[np.ndarray, int]:
        """The number of each pixel's square, and how many there are; the grid is shifted by what the keys say."""
        channels, height, width = (1, 1, 1, *(self.shape or (self.dimension,)))[-3:]
        rows, columns = ((np.arange(size) + keys[axis] % self.side) // self.side for axis, size in enumerate((height, width)))
        across = int(columns[-1]) + 1
        plane = rows[:, None] * across + columns[None, :]
        of_plane = int(plane[-1, -1]) + 1
        cells: Any = np.arange(channels)[:, None, None] * of_plane + plane
        return cells.reshape(-1), channels * of_plane

    @classmethod
    def moment_constant(cls, dimension: int, p: float) -> float:
        """S_p of Gaussian directions, which these are with side = 1."""
        return normal_moment_constant(dimension, p)

    @classmethod
    def sixth_moment(cls, dimension: int) -> float:
        return normal_sixth_moment(dimension)

    @classmethod
    def third_moment(cls, dimension: int) -> float:
        return normal_third_moment(dimension)
