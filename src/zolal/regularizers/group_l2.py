from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from zolal._array import Array, concatenate, norm, split
from zolal._checks import nonnegative, positive_int, require
from zolal.regularizers.base import Regularizer


@final
@dataclass(frozen=True)
class GroupL2(Regularizer):
    """h(x) = weight * sum over groups of ||x_group||_2; the groups are consecutive blocks of the given sizes.

    >>> GroupL2(2.0, [2, 1]).value(np.array([3.0, 4.0, 1.0]))
    12.0
    """

    weight: float
    sizes: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative("GroupL2(weight=...)", self.weight))
        require(isinstance(self.sizes, Sequence) and len(self.sizes) > 0, "GroupL2(sizes=...)", "be a list of group sizes", self.sizes)
        object.__setattr__(self, "sizes", tuple(positive_int("GroupL2(sizes=...)", size) for size in self.sizes))

    @property
    def dimension(self) -> int:
        return sum(self.sizes)

    def value(self, x: Array) -> float:
        return self.weight * sum(norm(group) for group in split(x, self.sizes))

    def prox(self, x: Array, step: float) -> Array:
        return concatenate([_shrink(group, step * self.weight) for group in split(x, self.sizes)])


def _shrink(group: Array, threshold: float) -> Array:
    length = norm(group)
    return group * (max(length - threshold, 0.0) / length) if length > 0.0 else group
