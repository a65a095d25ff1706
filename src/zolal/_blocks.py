"""What products of sets, block mirror maps and sums of regularizers share: consecutive blocks of the variables."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from zolal._array import Array, split

T = TypeVar("T")


class Blocks(Generic[T]):
    """Members of one family, each with the size of its block."""

    parts: Sequence[tuple[T, int]]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for _, size in self.parts)

    @property
    def dimension(self) -> int:
        return sum(self.sizes)

    def blocks(self, x: Array) -> list[tuple[T, Array]]:
        """Each member with its block of `x`."""
        return [(member, block) for (member, _), block in zip(self.parts, split(x, self.sizes), strict=True)]
