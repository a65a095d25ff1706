from dataclasses import dataclass
from typing import final

from zolal._array import Array, norm, soft_threshold
from zolal.sets.base import TOLERANCE, ConvexSet


@final
@dataclass(frozen=True)
class WholeSpace(ConvexSet):
    """R^d: no restriction."""

    def project(self, x: Array) -> Array:
        return x

    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        return True

    def project_soft(self, x: Array, threshold: float) -> Array:
        return soft_threshold(x, threshold)

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        return norm(g, p)
