import math
from dataclasses import dataclass
from typing import final

from zolal._array import Array, norm, soft_threshold
from zolal._checks import positive
from zolal.sets.base import TOLERANCE, ConvexSet, bounded_by, ray_distance, scaled_to


@final
@dataclass(frozen=True)
class L2Ball(ConvexSet):
    """{x : ||x||_2 <= radius}."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("L2Ball(radius=...)", self.radius))

    def project(self, x: Array) -> Array:
        length = norm(x)
        return x if length <= self.radius else x * (self.radius / length)

    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        return bounded_by(norm(x), self.radius, tolerance)

    def inner(self, x: Array, margin: float) -> Array:
        return scaled_to(x, norm(x), self.radius - margin * math.sqrt(x.shape[0]))

    def depth(self, dimension: int) -> float:
        return self.radius / math.sqrt(dimension)

    def diameter(self, dimension: int) -> float:
        return 2.0 * self.radius

    def clipped(self, x: Array) -> Array:
        return self.project(x)

    def project_soft(self, x: Array, threshold: float) -> Array:
        return self.project(soft_threshold(x, threshold))

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        return norm(g, p) if norm(x) < self.radius * (1.0 - TOLERANCE) else ray_distance(g, x, p)
