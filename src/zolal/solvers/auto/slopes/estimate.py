"""What is known of the gradient: the running estimate s, a sparse one beside it, and how large both may be wrong."""

import math
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from zolal._array import Array, norm, to_numpy, zeros
from zolal.estimators._filter import Filter
from zolal.estimators.concentrated import SMALLEST, Concentrated
from zolal.estimators.innovation import corrected
from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.noise import Noise
from zolal.solvers.auto.slopes.reading import Reading


@final
@dataclass(frozen=True, eq=False)
class Estimate:
    """s, corrected by the innovations of orthogonal directions with a gain that follows the noise.

    located: the point that s speaks of. gradient: s. curvature: the mean curvature of f, by which s is carried along. gradient_size: the
    largest ||grad f|| seen at points that were kept. surprise: ||grad f - s|| as the last innovations alone tell it where there is no
    noise, two standard errors above.
    """

    located: Array
    gradient: Array
    filter: Filter
    concentrated: Concentrated
    curvature: Discounted = field(default_factory=Discounted)
    gradient_size: float = 0.0
    surprise: float = math.inf

    @classmethod
    def start(cls, x: Array) -> "Estimate":
        return cls(x, zeros(x.shape[0], x), Filter(x.shape[0]), Concentrated.start(x))

    @property
    def error(self) -> float:
        """||grad f - s||, two standard errors above."""
        return min(self.filter.error, self.surprise)

    @property
    def leading(self) -> Array:
        """The sparse estimate where it has foretold slopes better, else s."""
        sparse = self.concentrated
        return sparse.estimate if sparse.is_better and norm(sparse.estimate) > 0.0 else self.gradient

    def after(self, x: Array, reading: Reading, noise: Noise, worse: bool) -> tuple["Estimate", np.ndarray]:
        """The estimate carried to where the slopes were measured, corrected, and carried to x; and what it foretold wrongly of each slope.

        worse: whether the point is left again, so that its gradient says nothing of the size of others.
        """
        directions, slopes = reading.directions, reading.slopes
        curvature = reading.curvature.mean if reading.curvature.significant else 0.0
        s = self.gradient + curvature * (reading.base - self.located) if curvature else self.gradient
        errors = slopes - to_numpy(directions.dot(s))
        concentrated = self.concentrated
        if x.shape[0] >= SMALLEST and noise.may_be_sparse:
            concentrated = concentrated.judged(directions, slopes, errors).absorb(directions, slopes)
        gradient, filtered = corrected(s, directions, slopes, reading.variances, self.filter)
        gradient = gradient + curvature * (x - reading.base) if curvature else gradient
        size = self.gradient_size if worse else max(self.gradient_size, math.sqrt(reading.gradient_square))
        return Estimate(x, gradient, filtered, concentrated, reading.curvature, size, noise.surprise(errors)), errors

    def moved(self, square: float) -> "Estimate":
        """The estimate after x moved so far that the gradient changed by this square of its norm."""
        return replace(self, filter=self.filter.moved(square))
