"""A mean that forgets."""

import math
from typing import NamedTuple

import numpy as np

MEMORY = 0.95  # of what came before, per measurement of a curvature


class Discounted(NamedTuple):
    """Sums of weighted values and of their weights, both discounted with every new value."""

    total: float = 0.0
    weight: float = 0.0

    def seen(self, total: float, weight: float, kept: float) -> "Discounted":
        """After values with this sum and weight, of what came before the part `kept`."""
        return Discounted(kept * self.total + total, kept * self.weight + weight)

    def measured(self, value: float, variance: float) -> "Discounted":
        """After a value that counts by its inverse variance."""
        weight = 1.0 / max(variance, 1e-300)
        return self.seen(value * weight, weight, MEMORY)

    def missed(self, errors: np.ndarray, kept: float) -> "Discounted":
        """After the squares of some errors, those that are missing aside."""
        return self.seen(float(np.nansum(errors**2)), int(np.sum(~np.isnan(errors))), kept)

    @property
    def mean(self) -> float:
        """0 before the first value."""
        return self.total / self.weight if self.weight > 0.0 else 0.0

    @property
    def variance(self) -> float:
        """Of the mean, where weights are inverse variances."""
        return 1.0 / self.weight if self.weight > 0.0 else math.inf

    @property
    def significant(self) -> bool:
        """Whether the mean is three standard errors from 0, where weights are inverse variances."""
        return self.weight > 0.0 and self.mean**2 > 9.0 * self.variance
