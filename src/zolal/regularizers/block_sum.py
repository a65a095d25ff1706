from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from zolal._array import Array, concatenate
from zolal._blocks import Blocks
from zolal._checks import pairs
from zolal.regularizers.base import Regularizer


@final
@dataclass(frozen=True)
class BlockSum(Blocks[Regularizer], Regularizer):
    """h(x) = h_1(x_1) + h_2(x_2) + ... over consecutive blocks, as `Product` is for sets."""

    parts: Sequence[tuple[Regularizer, int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", pairs("BlockSum([(regularizer, size), ...])", self.parts, Regularizer))

    def value(self, x: Array) -> float:
        return sum(h.value(block) for h, block in self.blocks(x))

    def prox(self, x: Array, step: float) -> Array:
        return concatenate([h.prox(block, step) for h, block in self.blocks(x)])
