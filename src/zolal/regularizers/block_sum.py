from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from zolal._array import Array, concatenate, split
from zolal._checks import pairs
from zolal.regularizers.base import Regularizer


@final
@dataclass(frozen=True)
class BlockSum(Regularizer):
    """h(x) = h_1(x_1) + h_2(x_2) + ... over consecutive blocks, as `Product` is for sets."""

    parts: Sequence[tuple[Regularizer, int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", pairs("BlockSum([(regularizer, size), ...])", self.parts, Regularizer))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for _, size in self.parts)

    @property
    def dimension(self) -> int:
        return sum(self.sizes)

    def blocks(self, x: Array) -> list[tuple[Regularizer, Array]]:
        """Each regularizer with its block of `x`."""
        return [(h, block) for (h, _), block in zip(self.parts, split(x, self.sizes), strict=True)]

    def value(self, x: Array) -> float:
        return sum(h.value(block) for h, block in self.blocks(x))

    def prox(self, x: Array, step: float) -> Array:
        return concatenate([h.prox(block, step) for h, block in self.blocks(x)])
