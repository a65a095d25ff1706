from dataclasses import dataclass
from typing import final

from zolal._array import Array, namespace, soft_threshold
from zolal._checks import nonnegative
from zolal.regularizers.base import Regularizer


@final
@dataclass(frozen=True)
class L1(Regularizer):
    """h(x) = weight ||x||_1."""

    weight: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative("L1(weight=...)", self.weight))

    def value(self, x: Array) -> float:
        xp = namespace(x)
        return self.weight * float(xp.sum(xp.abs(x)))

    def prox(self, x: Array, step: float) -> Array:
        return soft_threshold(x, step * self.weight)

    @property
    def elastic_weights(self) -> tuple[float, float]:
        return self.weight, 0.0
