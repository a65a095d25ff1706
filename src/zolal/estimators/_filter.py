"""How much of a measured innovation to believe: a scalar Kalman filter over sweeps of orthogonal directions."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

WINDOW = 32  # innovations at least, over which their mean square is taken


@final
@dataclass(frozen=True)
class Filter:
    """The variance of <u, grad f - s> before and after it is measured, with what the innovations say about it.

    gain = P / (P + R);   P after = (1 - gain) P;   P += q when x moves;   at the end of a sweep P = the mean of P after

    P is the variance that a direction brings to its measurement, R that of the measured slope. All directions of a sweep bring the same P,
    as each is measured once, so one number is enough; without motion 1/P grows by 1/R per sweep, which is the gain 1/t of plain averaging.
    The innovations e have the variance P + R, so their mean square minus R, over about half a sweep, keeps P within two standard errors.

    dimension: d. prior: P, None before anything is measured. after: the sum of P over the directions measured in this sweep, `measured`.
    noise_before, noise_sum: the same recursion for the part of the error that is noise in s, not ignorance. squares, weight: the window.
    """

    dimension: int
    prior: float | None = None
    after: float = 0.0
    measured: int = 0
    noise_before: float = 0.0
    noise_sum: float = 0.0
    gain: float = 1.0  # the mean gain of the last innovations
    squares: float = 0.0
    excess: float = 0.0
    weight: float = 0.0

    def absorb(self, errors: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, "Filter"]:
        """The gain of each innovation, given the variances R of the slopes, and the filter after them."""
        n = len(errors)
        if n == 0:
            return errors, self
        keep = 1.0 - min(0.5, n / max(WINDOW, 0.5 * self.dimension))
        squares, weight = keep * self.squares + float(np.sum(errors**2)), keep * self.weight + n
        excess = keep * self.excess + float(np.sum(errors**2 - variances))
        seen, doubt = max(0.0, excess / weight), math.sqrt(2.0 / weight) * squares / weight
        prior = seen if self.prior is None else min(max(self.prior, seen - 2.0 * doubt), seen + 2.0 * doubt)
        total = prior + variances
        gains = np.where(total > 0.0, prior / np.where(total > 0.0, total, 1.0), 1.0)
        following = replace(
            self,
            prior=prior,
            after=self.after + float(np.sum((1.0 - gains) * prior)),
            measured=self.measured + n,
            noise_sum=self.noise_sum + float(np.sum((1.0 - gains) ** 2 * self.noise_before + gains**2 * variances)),
            gain=float(np.mean(gains)),
            squares=squares,
            excess=excess,
            weight=weight,
        )
        return gains, following._next_sweep() if following.measured >= self.dimension else following

    def moved(self, square: float) -> "Filter":
        """The filter after x moved so far that the gradient changed by this square of its norm."""
        return self if self.prior is None else replace(self, prior=self.prior + square, after=self.after + self.measured * square)

    @property
    def noise(self) -> float:
        """The part of ||grad f - s||^2 that is noise which s has taken up."""
        left = max(0, self.dimension - self.measured)
        return (self.noise_sum + left * self.noise_before) / self.dimension

    @property
    def error(self) -> float:
        """||grad f - s||, two standard errors above what the innovations say; infinite before the first."""
        if self.weight == 0.0:
            return math.inf
        return math.sqrt(max(0.0, self.excess / self.weight) + 2.0 * math.sqrt(2.0 / self.weight) * self.squares / self.weight)

    def _next_sweep(self) -> "Filter":
        return replace(self, prior=self.after / self.measured, after=0.0, measured=0, noise_before=self.noise, noise_sum=0.0)
