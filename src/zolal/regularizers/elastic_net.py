from dataclasses import dataclass
from typing import final

from zolal._array import Array, namespace, soft_threshold
from zolal._checks import nonnegative
from zolal.regularizers.base import Regularizer


@final
@dataclass(frozen=True)
class ElasticNet(Regularizer):
    """h(x) = l1 ||x||_1 + l2 ||x||_2^2 / 2."""

    l1: float
    l2: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", nonnegative("ElasticNet(l1=...)", self.l1))
        object.__setattr__(self, "l2", nonnegative("ElasticNet(l2=...)", self.l2))

    def value(self, x: Array) -> float:
        xp = namespace(x)
        return self.l1 * float(xp.sum(xp.abs(x))) + 0.5 * self.l2 * float(xp.sum(x * x))

    def prox(self, x: Array, step: float) -> Array:
        return soft_threshold(x, step * self.l1) / (1.0 + step * self.l2)

    @property
    def elastic_weights(self) -> tuple[float, float]:
        return self.l1, self.l2
