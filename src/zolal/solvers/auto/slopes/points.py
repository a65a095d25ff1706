"""The points that a run stands on: where a step began, what the step foretold, and the mean of all."""

import math
from typing import NamedTuple

from zolal._array import Array


class Anchor(NamedTuple):
    """A point that has been measured: x, and whether it satisfied the constraints.

    base: the point next to x, around which differences stay in X. value: f there, with its variance. highest: of all values around it.
    """

    x: Array
    base: Array
    value: float
    variance: float
    feasible: bool
    highest: float = math.inf


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
    """The mean of the points of a run, of the estimates there, and of what led the steps from there.

    The t-th point enters with the weight 9/(t + 8), so that the last tenth of the run weighs about as much as the rest: a mean over all of
    a run would remember its start for ever.
    """

    x: Array
    gradient: Array
    leading: Array
    number: int = 1

    def seen(self, x: Array, gradient: Array, leading: Array) -> "Mean":
        weight = 9.0 / (self.number + 9.0)
        return Mean(
            self.x + weight * (x - self.x),
            self.gradient + weight * (gradient - self.gradient),
            self.leading + weight * (leading - self.leading),
            self.number + 1,
        )
