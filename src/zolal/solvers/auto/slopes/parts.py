"""What the automatic solver remembers, in small pieces: the noise, the points it stands on, the motion it has seen."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np

from zolal._array import Array, norm
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, Product, Simplex

EXACT, ADDITIVE, SAMPLED = "exact", "additive", "sampled"


@final
@dataclass(frozen=True)
class Noise:
    """What kind of noise the values have and how much.

    kind: "exact" when equal calls give equal values; "additive" when they do not; "sampled" when they do for equal samples xi.
    variance: of one evaluation (additive), or of a slope whatever its length (sampled). weight: how many squares it rests on.
    """

    kind: str = EXACT
    variance: float = 0.0
    weight: float = 0.0

    def seen(self, square: float) -> "Noise":
        """After one more square whose mean is the variance, older ones slowly forgotten."""
        weight = 0.95 * self.weight + 1.0
        return replace(self, variance=(0.95 * self.weight * self.variance + square) / weight, weight=weight)


class Anchor(NamedTuple):
    """A point that has been measured: x, f(x) with its variance, and whether it satisfied the constraints."""

    x: Array
    value: float
    variance: float
    feasible: bool


class Move(NamedTuple):
    """What the last step foretold: the change <s, t> of f along the step t before restoration, V(x, x + t), ||t||, and the noise eta N.

    bend: <lambda, c(x + t) - c(x) - J t>, what the curvature of the constraints adds to that of f.
    """

    step_size: float
    linear: float
    divergence: float
    length: float
    noise: float
    bend: float


class Mean(NamedTuple):
    """The mean of the points of a run and of the estimates there, in which the last tenth of the run weighs about as much as the rest.

    The t-th point enters with the weight 9/(t + 8): a mean over all of a run would remember its start for ever.
    """

    x: Array
    gradient: Array
    number: int = 1

    def seen(self, x: Array, gradient: Array) -> "Mean":
        number = self.number + 1
        weight = 9.0 / (number + 8.0)
        return Mean(self.x + weight * (x - self.x), self.gradient + weight * (gradient - self.gradient), number)


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


def diameter(region: ConvexSet, dimension: int) -> float:
    """A Euclidean diameter of the region, infinite where it is unbounded."""
    match region:
        case Box():
            lower, upper = (np.broadcast_to(np.asarray(bound, dtype=float), (dimension,)) for bound in (region.lower, region.upper))
            return float(np.linalg.norm(upper - lower))
        case L1Ball() | L2Ball():
            return 2.0 * region.radius
        case LqBall():
            return 2.0 * region.radius * dimension ** max(0.0, 0.5 - 1.0 / region.q)
        case Simplex():
            return math.sqrt(2.0) * region.radius
        case Product():
            return math.hypot(*(diameter(part, size) for part, size in region.parts))
    return math.inf


def length_scale(region: ConvexSet, x0: Array, x: Array) -> float:
    """The size of the problem: the region's diameter, or how far the start lies from 0 or from feasibility, or 1."""
    across = diameter(region, x.shape[0])
    return across if math.isfinite(across) and across > 0.0 else max(norm(x), norm(x - x0)) or 1.0
