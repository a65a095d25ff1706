from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from zolal._array import Array, concatenate, split
from zolal._blocks import Blocks
from zolal._checks import pairs
from zolal.errors import UnsupportedError
from zolal.mirror.base import MirrorMap
from zolal.regularizers import BlockSum, Regularizer
from zolal.sets import ConvexSet, Product, WholeSpace


@final
@dataclass(frozen=True)
class Block(Blocks[MirrorMap], MirrorMap):
    """v(x) = v_1(x_1) + v_2(x_2) + ...: consecutive blocks, each in a geometry of its own.

    Its p is that of the first block (the variables); the slacks that follow are few and Euclidean. It is 1-strongly convex with respect to
    (||x_1||_{q_1}^2 + ||x_2||_{q_2}^2 + ...)^{1/2}, hence to the l_2 norm; the l_q norm of the whole vector may be larger.
    """

    parts: Sequence[tuple[MirrorMap, int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", pairs("Block([(mirror, size), ...])", self.parts, MirrorMap))

    @property
    def p(self) -> float:  # type: ignore[override]
        return self.parts[0][0].p

    def potential(self, x: Array) -> float:
        return sum(mirror.potential(block) for mirror, block in self.blocks(x))

    def grad(self, x: Array) -> Array:
        return concatenate([mirror.grad(block) for mirror, block in self.blocks(x)])

    def grad_conjugate(self, y: Array) -> Array:
        return concatenate([mirror.grad_conjugate(block) for mirror, block in self.blocks(y)])

    def smoothness(self, dimension: int, radius: float) -> float:
        return max(mirror.smoothness(size, radius) for mirror, size in self.parts)

    def step(self, region: ConvexSet, regularizer: Regularizer, x: Array, g: Array, step_size: float) -> Array:
        regions, regularizers = self._regions(region), self._regularizers(regularizer)
        parts = zip(self.blocks(x), regions, regularizers, split(g, self.sizes), strict=True)
        return concatenate([mirror.step(part, h, block, slope, step_size) for (mirror, block), part, h, slope in parts])

    def _regions(self, region: ConvexSet) -> list[ConvexSet]:
        """The region's part for each block; a run of the product's factors may make up one block."""
        if isinstance(region, WholeSpace):
            return [region] * len(self.parts)
        if not isinstance(region, Product):
            raise UnsupportedError(f"`Block` needs WholeSpace or a Product whose factors make up its blocks {self.sizes}, got {region!r}.")
        return [factors[0][0] if len(factors) == 1 else Product(factors) for factors in _grouped(region.parts, self.sizes, region)]

    def _regularizers(self, regularizer: Regularizer) -> list[Regularizer]:
        """The regularizer's part for each block; one that acts on coordinates alone goes to every block."""
        if regularizer.elastic_weights is not None:
            return [regularizer] * len(self.parts)
        if not isinstance(regularizer, BlockSum):
            raise UnsupportedError(f"`Block` needs Zero, L1, ElasticNet or a BlockSum over its blocks {self.sizes}, got {regularizer!r}.")
        return [terms[0][0] if len(terms) == 1 else BlockSum(terms) for terms in _grouped(regularizer.parts, self.sizes, regularizer)]


def _grouped(parts: Sequence[tuple[Any, int]], sizes: Sequence[int], whole: object) -> list[list[tuple[Any, int]]]:
    """Consecutive parts gathered into groups of the given total sizes."""
    groups, remaining = [], list(parts)
    for size in sizes:
        group: list[tuple[Any, int]] = []
        while remaining and sum(count for _, count in group) < size:
            group.append(remaining.pop(0))
        if sum(count for _, count in group) != size:
            raise UnsupportedError(f"The parts of {whole!r} do not make up the blocks {tuple(sizes)} of the mirror map.")
        groups.append(group)
    if remaining:
        raise UnsupportedError(f"The parts of {whole!r} do not make up the blocks {tuple(sizes)} of the mirror map.")
    return groups
