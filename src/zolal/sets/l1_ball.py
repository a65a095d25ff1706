from dataclasses import dataclass
from typing import final

from zolal._array import Array, maximum, namespace, norm, soft_threshold
from zolal._checks import positive
from zolal.sets._sorting import project_simplex
from zolal.sets.base import TOLERANCE, ConvexSet, bounded_by, scaled_to, smallest_norm


@final
@dataclass(frozen=True)
class L1Ball(ConvexSet):
    """{x : ||x||_1 <= radius}."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("L1Ball(radius=...)", self.radius))

    def project(self, x: Array) -> Array:
        xp = namespace(x)
        if norm(x, 1.0) <= self.radius:
            return x
        return xp.sign(x) * project_simplex(xp.abs(x), self.radius)

    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        return bounded_by(norm(x, 1.0), self.radius, tolerance)

    def inner(self, x: Array, margin: float) -> Array:
        return scaled_to(x, norm(x, 1.0), self.radius - margin * x.shape[0])

    def depth(self, dimension: int) -> float:
        return self.radius / dimension

    def diameter(self, dimension: int) -> float:
        return 2.0 * self.radius

    def clipped(self, x: Array) -> Array:
        return self.project(x)

    def project_soft(self, x: Array, threshold: float) -> Array:
        return self.project(soft_threshold(x, threshold))

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        xp = namespace(x)
        if norm(x, 1.0) < self.radius * (1.0 - TOLERANCE):
            return norm(g, p)
        inside = xp.abs(x) > TOLERANCE * self.radius

        def residual(t: float) -> Array:
            return xp.where(inside, g + t * xp.sign(x), maximum(xp.abs(g) - t, 0.0))

        return smallest_norm(residual, 2.0 * float(xp.max(xp.abs(g))), p)
