"""Running means that forget: one with inverse variances as weights, one of squares."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np


@final
@dataclass(frozen=True)
class Weighted:
    """A mean with weights that are inverse variances, older ones forgotten at a rate."""

    total: float = 0.0
    weight: float = 0.0
    keep: float = 0.95

    def seen(self, value: float, variance: float) -> "Weighted":
        weight = 1.0 / max(variance, 1e-300)
        return replace(self, total=self.keep * self.total + value * weight, weight=self.keep * self.weight + weight)

    @property
    def mean(self) -> float:
        return self.total / self.weight if self.weight > 0.0 else 0.0

    @property
    def variance(self) -> float:
        return 1.0 / self.weight if self.weight > 0.0 else math.inf

    @property
    def significant(self) -> bool:
        """Whether the mean is three standard errors from 0."""
        return self.weight > 0.0 and self.mean**2 > 9.0 * self.variance


class Square(NamedTuple):
    """A discounted sum of squares and how many they are."""

    total: float = 0.0
    number: float = 0.0

    def seen(self, errors: np.ndarray, keep: float) -> "Square":
        return Square(keep * self.total + float(np.nansum(errors**2)), keep * self.number + int(np.sum(~np.isnan(errors))))

    @property
    def mean(self) -> float:
        return self.total / self.number if self.number > 0.0 else math.nan
