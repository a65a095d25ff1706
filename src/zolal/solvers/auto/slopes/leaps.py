"""Far trials in a bounded region: each is a try at the solution and a measurement of the gradient at once."""

import math
from dataclasses import dataclass, replace
from typing import final

from zolal._array import Array, dot, norm
from zolal.mirror import MirrorMap, bregman_step
from zolal.regularizers import Zero
from zolal.sets import ConvexSet
from zolal.solvers.auto.slopes.constants import CONSTANTS


@final
@dataclass(frozen=True, eq=False)
class Leaps:
    """The best point b of the leaps so far, and the linear model of f that they have made.

    p    = argmin_{x in X} <m, x> + V(b, x)/eta,     m = s/||s|| + u/(2 ||u||)     with fresh normal numbers u; m = u/||u|| while s = 0
    s   <- s + a (F(p) - F(b) - <s, a>)/||a||^2,     a = p - b

    eta is 30 diameters of X, so that p is about where <m, x> is least.

    Where f is nearly linear, values far apart say as much of its gradient as short differences do, and p may already be the answer.
    The correction of s is its innovation along a, so one vector is all that is kept. Where f is curved leaps do not gain, and the
    phase ends after the first eight.

    idle: leaps since the last gain. patience: how many of these end the phase.
    """

    best: Array
    value: float
    gradient: Array
    count: int = 0
    idle: int = 0
    patience: int = CONSTANTS.hope

    @classmethod
    def start(cls, x: Array, value: float) -> "Leaps":
        return cls(x, value, 0.0 * x)

    @property
    def have_gained(self) -> bool:
        return self.patience > CONSTANTS.hope

    @property
    def are_hopeful(self) -> bool:
        return self.idle < self.patience

    @property
    def have_ended(self) -> bool:
        return not self.are_hopeful or self.count >= min(CONSTANTS.most_leaps, self.best.shape[0] // CONSTANTS.leap_share)

    def target(self, mirror: MirrorMap, region: ConvexSet, u: Array) -> Array:
        """The next p. u: normal numbers; one of equal sizes would move no corner that s of equal sizes has chosen."""
        return bregman_step(mirror, region, Zero(), self.best, self.model(u), CONSTANTS.leap * region.diameter(u.shape[0]))

    def model(self, u: Array, explored: float = CONSTANTS.explored) -> Array:
        """The slope m that the next leap goes down. explored: the length of the fresh direction in it."""
        known = norm(self.gradient)
        return u / norm(u) if known == 0.0 else self.gradient / known + explored / norm(u) * u

    def told(self, point: Array, value: float) -> "Leaps":
        """After F(point) = value; NaN for one that is missing."""
        way = point - self.best
        length, change = norm(way) ** 2, value - self.value
        if length == 0.0 or math.isnan(change):
            return replace(self, count=self.count + 1, idle=self.idle + 1)
        gradient = self.gradient + (change - dot(self.gradient, way)) / length * way
        found = replace(self, gradient=gradient, count=self.count + 1, idle=self.idle + 1)
        return replace(found, best=point, value=value, idle=0, patience=CONSTANTS.patience) if change < 0.0 else found
