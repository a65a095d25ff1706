"""What the values of one iteration say, whatever noise they have."""

import math
from typing import NamedTuple

import numpy as np

from zolal._array import Array, like
from zolal.directions import Orthogonal
from zolal.estimators.base import QueryBatch
from zolal.solvers.auto.slopes.averages import Weighted


class Reading(NamedTuple):
    """slopes along `directions` with their variances; f(x) with its variance; f(x) - f(anchor) with its variance, where there is one.

    curvature: the mean curvature of f over all directions, so far. short: which slopes have the shorter length. repeat: a square whose mean
    is the noise's variance, where there was one to see. second: 4 (F(x) + F(a) - 2 F((x + a)/2)) for the anchor a, with one sample.
    """

    directions: Orthogonal
    slopes: np.ndarray
    variances: np.ndarray
    value: float
    variance: float
    change: float
    change_variance: float
    curvature: Weighted
    short: np.ndarray
    repeat: float | None = None
    second: float = math.nan

    def mean_gradient(self, x: Array) -> Array:
        """The mean of slope_j u_j over the slopes of this batch alone."""
        return self.directions.combine(like(QueryBatch.mean_weights(self.slopes), x))

    @property
    def gradient_square(self) -> float:
        """||grad f||^2 as the slopes tell it, without what noise adds."""
        return max(0.0, float(np.nanmean(self.slopes**2 - self.variances)))
