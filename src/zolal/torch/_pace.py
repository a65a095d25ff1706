"""From the values of one step to the next: how far to go, and what a constraint costs. Pure functions of numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

FIRST = 0.1  # smoothings; the root mean square of the first step's changes
GOAL = 0.5  # of the step size that would be best along this step
TURN = 0.25  # the power by which a step size follows what one step shows
FARTHEST = 4.0  # a factor; what one step shows counts for no more
RETREAT = 0.25  # of the step size, after a step that was taken back because phi had risen
NEARER = 0.5  # of the step size, after one that was taken back because it had left a bound
SHORTEST = 1e-3  # smoothings; the root mean square of changes below which rounding hides what a step does
PENALTY = 10.0  # forces of the loss, where a constraint is violated by its bound
DUAL = 0.03  # of the penalty, by which a multiplier follows the violation
MEMORY = 0.8  # of the sizes of slopes, per step
VALUE_MEMORY = 0.9  # of the value of a constraint, per step
LARGEST = 10.0  # forces of the loss that a multiplier may have
NOISE_MEMORY = 0.98  # of the share of noise in slopes, per step
LEAST_SIGNAL = 0.03  # the share of signal in slopes that is taken to be there, at the least: so well is it known


@final
@dataclass(frozen=True)
class Price:
    """What a violation of one constraint g <= 0 costs.

    phi = f + (max(0, lambda + mu g)^2 - lambda^2) / (2 mu),   theta = max(0, lambda + mu g),   lambda <- max(0, lambda + rho g)

    This is the augmented Lagrangian of f with the equality g + z = 0 at its least over slacks z >= 0; theta is what a gradient of g counts
    in the gradient of phi. multiplier: lambda. ratio: the size of the loss's slopes over that of g's slopes, g in units of its bound.
    value: g, a running mean over batches: with that of one batch alone, batches with a large g would count most in the gradient, too.
    """

    multiplier: float = 0.0
    ratio: float = 0.0
    value: float | None = None

    @property
    def penalty(self) -> float:
        """mu: a violation of a tenth of the bound weighs as much as the loss does."""
        return PENALTY * self.ratio

    def force(self, change: float = 0.0) -> float:
        """theta after g has changed."""
        return max(0.0, self.multiplier + self.penalty * ((self.value or 0.0) + change))

    def term(self, change: float) -> float:
        """What g adds to f in phi after it has changed."""
        if self.penalty == 0.0:
            return self.multiplier * ((self.value or 0.0) + change)
        return (self.force(change) ** 2 - self.multiplier**2) / (2.0 * self.penalty)

    def seen(self, g: float, loss_slope: float, slope: float) -> "Price":
        """After the value of g and the sizes of the slopes of one step."""
        value = g if self.value is None else VALUE_MEMORY * self.value + (1.0 - VALUE_MEMORY) * g
        if slope == 0.0 or loss_slope == 0.0:
            return replace(self, value=value)
        ratio = loss_slope / slope
        if self.ratio > 0.0:
            ratio = self.ratio**MEMORY * ratio ** (1.0 - MEMORY)
        return Price(min(self.multiplier, LARGEST * ratio), ratio, value)

    def after(self) -> "Price":
        """After a step from where g is what it is."""
        step = DUAL * self.penalty * min(self.value or 0.0, 1.0)
        return replace(self, multiplier=min(max(0.0, self.multiplier + step), LARGEST * self.ratio))


def centred(differences: Sequence[float]) -> list[float]:
    """Differences less their mean, NaN as 0; the mean is due to curvature, which all directions share, and says nothing of slopes.

    The sum of n/(n-1) of these times u_j has the mean of the sum of the differences times u_j.
    """
    there = [value for value in differences if math.isfinite(value)]
    mean = sum(there) / max(len(there), 1)
    return [(value - mean) * len(there) / max(len(there) - 1, 1) if math.isfinite(value) else 0.0 for value in differences]


def spread(slopes: Sequence[float]) -> float:
    """The root mean square."""
    return math.sqrt(sum(value * value for value in slopes) / max(len(slopes), 1))


@final
@dataclass(frozen=True)
class Signal:
    """How much of the squares of slopes is due to the loss itself, and how much to the batch at hand.

    A slope is the mean of those of two halves of its batch, s and t; (s - t)^2 / 4 has the mean of the noise in its square.
    """

    noise: float | None = None

    def seen(self, slopes: Sequence[float], halves: Sequence[tuple[float, float]]) -> "Signal":
        """After one step: its share of noise joins the running mean."""
        if spread(slopes) == 0.0:
            return self
        n = len(halves)
        noise = sum((s - t) ** 2 for s, t in halves) / (4.0 * n) / spread(slopes) ** 2
        noise *= max(n - 2, 1) / n  # since 1/(the mean of n squares) has the mean n/(n - 2) for normal numbers of size 1
        return Signal(noise if self.noise is None else NOISE_MEMORY * self.noise + (1.0 - NOISE_MEMORY) * noise)

    @property
    def share(self) -> float:
        """Of the signal; 1 where halves are not known."""
        return max(1.0 - (self.noise or 0.0), LEAST_SIGNAL)


def first_size(slopes: Sequence[float]) -> float:
    """A step size with which weights change by a tenth of the smoothing."""
    return FIRST * math.sqrt(len(slopes)) / max(spread(slopes), 1e-300)


def shortest_size(slopes: Sequence[float]) -> float:
    """A step size below which steps tell nothing."""
    return SHORTEST / FIRST * first_size(slopes) if spread(slopes) > 0.0 else 0.0


def next_size(size: float, gain: float, change: float, signal: float, rate: float = 1.0) -> float:
    """The step size after a step of the length rate * size.

    With a slope of gain per unit phi of the batch was to change by -rate size gain; it changed by `change`. On average over batches
    phi(t) = phi - signal gain t + q t^2 / 2, with q from the difference of the two. GOAL of the t with the least value is aimed at.

    signal: the share of the gain that other batches share. rate: what a user's schedule makes of the step size.
    """
    length = rate * size
    bend = (change + length * gain) / length**2  # q/2
    best = signal * gain / (2.0 * bend * size) if bend > 0.0 else FARTHEST
    return size * min(max(GOAL * best, 1.0 / FARTHEST), FARTHEST) ** TURN
