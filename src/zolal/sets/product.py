import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from zolal._array import Array, concatenate, norm, split
from zolal._blocks import Blocks
from zolal._checks import pairs
from zolal.sets.base import TOLERANCE, ConvexSet


@final
@dataclass(frozen=True)
class Product(Blocks[ConvexSet], ConvexSet):
    """X_1 x X_2 x ...: consecutive blocks of the variables, each in a set of its own.

    >>> Product([(Simplex(), 3), (Box(0, 1), 2)]).dimension
    5
    """

    parts: Sequence[tuple[ConvexSet, int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", pairs("Product([(set, size), ...])", self.parts, ConvexSet))
        for region, size in self.parts:
            region.check_dimension(size)

    def project(self, x: Array) -> Array:
        return concatenate([region.project(block) for region, block in self.blocks(x)])

    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        return all(region.contains(block, tolerance) for region, block in self.blocks(x))

    def inner(self, x: Array, margin: float) -> Array:
        return concatenate([region.inner(block, margin) for region, block in self.blocks(x)])

    def depth(self, dimension: int) -> float:
        return min(region.depth(size) for region, size in self.parts)

    def diameter(self, dimension: int) -> float:
        return math.hypot(*(region.diameter(size) for region, size in self.parts))

    @property
    def is_flat(self) -> bool:
        return any(region.is_flat for region, _ in self.parts)

    def clipped(self, x: Array) -> Array:
        return concatenate([region.clipped(block) for region, block in self.blocks(x)])

    def project_soft(self, x: Array, threshold: float) -> Array:
        return concatenate([region.project_soft(block, threshold) for region, block in self.blocks(x)])

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        distances = [
            region.normal_distance(block, part, p) for (region, block), part in zip(self.blocks(x), split(g, self.sizes), strict=True)
        ]
        return norm(np.asarray(distances), p)
