import math
from dataclasses import dataclass
from typing import final

from zolal._array import Array, namespace
from zolal._checks import positive
from zolal.sets._sorting import project_simplex
from zolal.sets.base import TOLERANCE, ConvexSet, smallest_norm


@final
@dataclass(frozen=True)
class Simplex(ConvexSet):
    """{x : x >= 0, sum(x) = radius}."""

    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("Simplex(radius=...)", self.radius))

    def project(self, x: Array) -> Array:
        return project_simplex(x, self.radius)

    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        xp = namespace(x)
        return bool(xp.all(x >= -tolerance * self.radius)) and abs(float(xp.sum(x)) - self.radius) <= tolerance * self.radius * math.sqrt(
            x.shape[0]
        )

    def diameter(self, dimension: int) -> float:
        return math.sqrt(2.0) * self.radius if dimension > 1 else 0.0

    def project_soft(self, x: Array, threshold: float) -> Array:
        return self.project(x)  # ||y||_1 is constant on the simplex

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        xp = namespace(x)
        inside = x > TOLERANCE * self.radius

        def residual(shift: float) -> Array:
            shifted = g + shift
            return xp.where(inside, shifted, xp.minimum(shifted, xp.zeros_like(g)))

        return smallest_norm(residual, -float(xp.min(g)), p, lower=-float(xp.max(g)))
