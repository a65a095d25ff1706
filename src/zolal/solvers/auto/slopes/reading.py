"""What the values of one iteration say, whatever noise they have."""

import math
from typing import NamedTuple

import numpy as np

from zolal._array import Array, dot, like, norm
from zolal.directions import Orthogonal
from zolal.estimators.base import QueryBatch
from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.points import Anchor


class Reading(NamedTuple):
    """slopes along `directions` with their variances; f(x) with its variance; f(x) - f(anchor) with its variance, where there is one.

    curvature: the mean curvature of f over all directions, so far. short: which slopes have the shorter length. base: the point that
    slopes and value were measured at. repeat: a square whose mean is the noise's variance, where there was one to see.
    second: 4 (F(x) + F(a) - 2 F((x + a)/2)) for the anchor a, with one sample.
    """

    directions: Orthogonal
    slopes: np.ndarray
    variances: np.ndarray
    value: float
    variance: float
    change: float
    change_variance: float
    curvature: Discounted
    short: np.ndarray
    base: Array
    repeat: float | None = None
    second: float = math.nan

    def mean_gradient(self, x: Array) -> Array:
        """The mean of slope_j u_j over the slopes of this batch alone."""
        return self.directions.combine(like(QueryBatch.mean_weights(self.slopes), x))

    def step_seen(self, anchor: Anchor, x: Array, s: Array) -> "Reading | None":
        """The reading with the change of f from anchor.x to x, though it was measured between points beside them; None if it says nothing.

        With w = x - anchor.x and v the way between the points beside them, f(x) - f(anchor.x) = <s, w> + (change - <s, v>) |w|^2 / |v|^2
        where f is quadratic and w parallel to v. s: what the step knew of the gradient.
        """
        way, seen = x - anchor.x, self.base - anchor.base
        if norm(way - seen) == 0.0:
            return self
        share = (norm(seen) / max(norm(way), 1e-300)) ** 2
        if share < CONSTANTS.least_seen:
            return None
        change = dot(s, way) + (self.change - dot(s, seen)) / share
        return self._replace(change=change, change_variance=self.change_variance / share**2)

    @property
    def gradient_square(self) -> float:
        """||grad f||^2 as the slopes tell it, without what noise adds."""
        return max(0.0, float(np.nanmean(self.slopes**2 - self.variances)))
