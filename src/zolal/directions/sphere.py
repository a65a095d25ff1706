import math
from dataclasses import dataclass
from typing import ClassVar, final

from zolal._array import Array, namespace, tree_sum
from zolal.directions._normal import normal_moment_constant, normal_row
from zolal.directions.base import Directions


@final
@dataclass(frozen=True)
class Sphere(Directions):
    """u uniform on the sphere of radius sqrt(d): a Gaussian direction, rescaled."""

    kind: ClassVar[str] = "sphere"

    def row(self, j: int, reference: Array) -> Array:
        xp = namespace(reference)
        gaussian = normal_row(self.dimension, self._keys(j), reference)
        return xp.astype(gaussian * math.sqrt(self.dimension / float(tree_sum(gaussian * gaussian))), reference.dtype)

    @classmethod
    def moment_constant(cls, dimension: int, p: float) -> float:
        """S_p = d/(d+2) times that of Gaussian directions, as ||<g, u> u||_p^2 has degree 4 in u and E||u||_2^4 = d (d+2); d for p = 2."""
        return normal_moment_constant(dimension, p) * dimension / (dimension + 2.0)
