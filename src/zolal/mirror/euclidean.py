from dataclasses import dataclass
from typing import ClassVar, final

from zolal._array import Array, dot
from zolal.mirror._proximal import proximal_point
from zolal.mirror.base import MirrorMap
from zolal.regularizers import Regularizer
from zolal.sets import ConvexSet


@final
@dataclass(frozen=True)
class Euclidean(MirrorMap):
    """v(x) = ||x||_2^2 / 2, so that a step is a projected or proximal gradient step."""

    p: ClassVar[float] = 2.0  # type: ignore[misc]

    def potential(self, x: Array) -> float:
        return 0.5 * dot(x, x)

    def grad(self, x: Array) -> Array:
        return x

    def grad_conjugate(self, y: Array) -> Array:
        return y

    def divergence(self, x: Array, y: Array) -> float:
        return 0.5 * dot(y - x, y - x)

    def smoothness(self, dimension: int, radius: float) -> float:
        return 1.0

    def step(self, region: ConvexSet, regularizer: Regularizer, x: Array, g: Array, step_size: float) -> Array:
        return proximal_point(region, regularizer, x - step_size * g, step_size)
