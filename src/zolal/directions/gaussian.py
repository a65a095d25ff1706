import functools
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from zolal._array import Array, namespace
from zolal.directions._normal import normal_moment_constant, normal_numbers, normal_row, normal_sixth_moment, normal_third_moment
from zolal.directions.base import Directions

TOGETHER = 32  # short rows that are made at once, which takes hardly longer than to make one


@final
@dataclass(frozen=True)
class Gaussian(Directions):
    """u ~ N(0, I): one hashed word per coordinate and direction, through the inverse normal distribution function."""

    kind: ClassVar[str] = "gaussian"

    def row(self, j: int, reference: Array) -> Array:
        return namespace(reference).astype(normal_row(self.dimension, self._keys(j), reference), reference.dtype)

    @classmethod
    def moment_constant(cls, dimension: int, p: float) -> float:
        """S_p = (m_p (d + p))^{2/p}, m_p = E|u_1|^p; d + 2 for p = 2, as in Section 5.3 (unnumbered).

        Differs from the paper: p > 2, which it leaves open. For ||g||_2 = 1 and the measure with density <g, u>^2, Jensen's inequality
        bounds E||u||_p^2 by (sum_i E|u_i|^p)^{2/p}, and E[<g, u>^2 |u_i|^p] = m_p (1 + p g_i^2).
        """
        return normal_moment_constant(dimension, p)

    @classmethod
    def sixth_moment(cls, dimension: int) -> float:
        return normal_sixth_moment(dimension)

    @classmethod
    def third_moment(cls, dimension: int) -> float:
        return normal_third_moment(dimension)


def first_row(dimension: int, seed: int, iteration: int) -> np.ndarray:
    """Row 0 of one iteration in NumPy, for whoever takes one row of each: those of some iterations are made together."""
    return _first_rows(dimension, seed, iteration // TOGETHER)[iteration % TOGETHER]


@functools.lru_cache(maxsize=4)
def _first_rows(dimension: int, seed: int, block: int) -> np.ndarray:
    iterations = range(block * TOGETHER, (block + 1) * TOGETHER)
    keys = np.array([Gaussian(dimension, 1, seed=seed, iteration=k)._keys(0) for k in iterations])
    rows: np.ndarray = normal_numbers(dimension, tuple(keys.T[:, :, None]), np.empty(0))
    rows.flags.writeable = False
    return rows
