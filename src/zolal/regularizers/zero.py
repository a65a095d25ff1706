from dataclasses import dataclass
from typing import final

from zolal._array import Array
from zolal.regularizers.base import Regularizer


@final
@dataclass(frozen=True)
class Zero(Regularizer):
    """h(x) = 0."""

    def value(self, x: Array) -> float:
        return 0.0

    def prox(self, x: Array, step: float) -> Array:
        return x

    @property
    def elastic_weights(self) -> tuple[float, float]:
        return 0.0, 0.0
