"""The marginal likelihood of the prior's scales, and the climb to where it is largest."""

import math
from typing import NamedTuple, final

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.factor import Products, Scales, cholesky, matrix, solved_by

SHAPES = ("curvature", "third", "common", "axes")  # the scales of f itself


class Repeats(NamedTuple):
    """The sum of squares of repeated values about their means, and its degrees of freedom."""

    square: float = 0.0
    number: int = 0

    def seen(self, values: np.ndarray) -> "Repeats":
        """After some values at one point."""
        return Repeats(self.square + float(np.sum((values - values.mean()) ** 2)), self.number + len(values) - 1)

    @property
    def trusted(self) -> "Repeats":
        """As they count beside a model, which takes what it misses for noise and would outvote them by its many values."""
        return Repeats(CONSTANTS.repeat_trust * self.square, CONSTANTS.repeat_trust * self.number)


@final
class Likelihood:
    """Of the scales, given values at some offsets; the products of the offsets are made once.

    weights: of how many evaluations each value is the mean. least: the least rho. The amplitude and the mean are integrated out or at their
    best, and the scales of f are pulled a little towards what they are before anything is known.
    """

    def __init__(self, offsets: np.ndarray, values: np.ndarray, weights: np.ndarray, repeats: Repeats, least: float) -> None:
        self.values, self.weights, self.repeats, self.least = values, weights, repeats.trusted, least
        self.dimension = offsets.shape[1]
        self.products = Products.of(offsets)
        self.first = Scales.first(self.dimension)
        self.seen: dict[Scales, float] = {}

    def __call__(self, scales: Scales) -> float:
        if scales not in self.seen:
            self.seen[scales] = self._value(scales)
        return self.seen[scales]

    def _value(self, scales: Scales) -> float:
        rho, number, repeated = max(scales.noise, self.least), len(self.values), self.repeats.number
        lower = cholesky(matrix(self.products, scales, rho / self.weights))
        solved = solved_by(lower, np.stack([self.values, np.ones(number)], axis=1))
        ones = float(solved[:, 1] @ solved[:, 1])
        left = solved[:, 0] - (solved[:, 1] @ solved[:, 0]) / ones * solved[:, 1]
        square = max(float(left @ left) + self.repeats.square / rho, 1e-300)
        fit = -0.5 * (number - 1 + repeated) * math.log(square) - 0.5 * repeated * math.log(rho)
        fit -= float(np.sum(np.log(np.diagonal(lower)))) + 0.5 * math.log(ones)
        pairs = ((getattr(scales, name), getattr(self.first, name)) for name in SHAPES)
        pull = sum(math.log(scale / first) ** 2 for scale, first in pairs if scale > 0.0)
        return fit - 0.5 * pull / CONSTANTS.prior_spread**2

    def climbed(self, scales: Scales) -> Scales:
        """The best of the scales and their neighbours, as long as that is another one, for a few moves."""
        for _ in range(CONSTANTS.search_moves):
            best = max((scales, *self._neighbours(scales)), key=self)
            if best == scales:
                return scales
            scales = best
        return scales

    def _neighbours(self, scales: Scales) -> list[Scales]:
        found = [scales._replace(**{name: getattr(scales, name) * factor}) for name in SHAPES for factor in (0.5, 2.0)]
        if self.repeats.number:
            found += [scales._replace(noise=max(factor * scales.noise, self.least)) for factor in (0.25, 4.0)]
        return found
