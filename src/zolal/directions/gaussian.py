import math
from dataclasses import dataclass
from typing import ClassVar, final

from zolal._array import Array, namespace
from zolal.directions._normal import normal_row
from zolal.directions.base import Directions


@final
@dataclass(frozen=True)
class Gaussian(Directions):
    """u ~ N(0, I): one hashed word per coordinate and direction, through the inverse normal distribution function."""

    kind: ClassVar[str] = "gaussian"

    def row(self, j: int, reference: Array) -> Array:
        return namespace(reference).astype(normal_row(self.dimension, self._keys(j), reference), reference.dtype)

    @classmethod
    def moment_constant(cls, dimension: int, p: float) -> float:
        """S_2 = d + 2 (Section 5.3, unnumbered)."""
        return super().moment_constant(dimension, p) + 2.0

    @classmethod
    def sixth_moment(cls, dimension: int) -> float:
        return float(dimension) * (dimension + 2.0) * (dimension + 4.0)

    @classmethod
    def third_moment(cls, dimension: int) -> float:
        return math.exp(1.5 * math.log(2.0) + math.lgamma((dimension + 3) / 2) - math.lgamma(dimension / 2))
