from dataclasses import dataclass
from typing import final

from zolal._array import Array, maximum, namespace, norm, rounding
from zolal.sets.base import TOLERANCE, ConvexSet


@final
@dataclass(frozen=True)
class NonNegative(ConvexSet):
    """{x : x >= 0}."""

    def project(self, x: Array) -> Array:
        return maximum(x, 0.0)

    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        xp = namespace(x)
        return bool(xp.all(x >= -tolerance * (1.0 + xp.abs(x))))

    def inner(self, x: Array, margin: float) -> Array:
        return maximum(x, margin * (1.0 + 8.0 * rounding(x)))

    def clipped(self, x: Array) -> Array:
        return self.project(x)

    def project_soft(self, x: Array, threshold: float) -> Array:
        return maximum(x - threshold, 0.0)

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        xp = namespace(x)
        return norm(xp.where(x <= TOLERANCE, xp.minimum(g, xp.zeros_like(g)), g), p)
