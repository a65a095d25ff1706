import math
from dataclasses import dataclass
from typing import ClassVar, final

from zolal._array import Array, namespace, tree_sum
from zolal.directions._normal import normal_row
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
