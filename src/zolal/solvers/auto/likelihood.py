"""The marginal likelihood of the prior's scales, and the climb to where it is largest."""

from typing import NamedTuple, final

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.factor import JITTER, Scales, cholesky, factorized_in_place

NOISE, SHAPES = 2, [0, 1, 3, 4]  # which of the scales are those of the noise and of f itself
ENDLESS = 1e300  # beside which the square of any solved column is nothing


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
        self.weights, self.repeats, self.least = weights, repeats.trusted, least
        self.terms, squares = _terms(offsets, values)
        self.fourths = squares**4
        self.first = np.array(Scales.first(offsets.shape[1]))[SHAPES]
        self.seen: dict[Scales, float] = {}

    def __call__(self, scales: Scales) -> float:
        self._see([scales])
        return self.seen[scales]

    def _see(self, several: list[Scales]) -> None:
        """Judge those that were not judged before, all at once."""
        if new := [scales for scales in dict.fromkeys(several) if scales not in self.seen]:
            self.seen.update(zip(new, self._values(np.array(new)).tolist(), strict=True))

    def _values(self, several: np.ndarray) -> np.ndarray:
        """Of scales, one row each."""
        number, repeated = len(self.fourths), self.repeats.number
        rho = np.maximum(several[:, NOISE], self.least)
        factors = self._matrices(several, rho)
        for i, each in enumerate(factors):
            if not factorized_in_place(each):
                factors[i] = cholesky(self._matrices(several[i : i + 1], rho[i : i + 1])[0]).T
        values, ones = (factors[:, :number, row].copy() for row in (number, number + 1))  # whose sums have one order
        lengths = factors.reshape(len(factors), -1)[:, : number * (number + 3) : number + 3]
        ones_square = np.einsum("ij,ij->i", ones, ones)
        left = values - (np.einsum("ij,ij->i", ones, values) / ones_square)[:, None] * ones
        square = np.maximum(np.einsum("ij,ij->i", left, left) + self.repeats.square / rho, 1e-300)
        fit = -0.5 * (number - 1 + repeated) * np.log(square) - 0.5 * repeated * np.log(rho)
        fit -= np.log(lengths).sum(axis=1) + 0.5 * np.log(ones_square)
        shapes = several[:, SHAPES]
        pull = np.log(np.where(shapes > 0.0, shapes / self.first, 1.0))
        return fit - 0.5 * np.einsum("ij,ij->i", pull, pull) / CONSTANTS.prior_spread**2

    def _matrices(self, several: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """K of each, as sums of the same terms, with the values and ones beside it: in its factor they are solved by L."""
        number = len(self.fourths)
        shares = (several * several)[:, [NOISE, *SHAPES]]
        shares[:, 0] = 1.0  # of the first term, as of slopes
        found = shares @ self.terms
        diagonal = found[:, : number * (number + 3) : number + 3]
        diagonal += shares[:, 2:3] * self.fourths
        diagonal *= 1.0 + JITTER
        diagonal += rho[:, None] / self.weights
        return found.reshape(len(found), number + 2, number + 2)

    def climbed(self, scales: Scales) -> Scales:
        """The best of the scales and their neighbours, as long as that is another one, for a few moves."""
        for _ in range(CONSTANTS.search_moves):
            near = [scales, *self._neighbours(scales)]
            self._see(near)
            best = max(near, key=self.seen.__getitem__)
            if best == scales:
                return scales
            scales = best
        return scales

    def _neighbours(self, scales: Scales) -> list[Scales]:
        found = [Scales._make((*scales[:i], scales[i] * factor, *scales[i + 1 :])) for i in SHAPES for factor in (0.5, 2.0)]
        if self.repeats.number:
            found += [scales._replace(noise=max(factor * scales.noise, self.least)) for factor in (0.25, 4.0)]
        return found


def _terms(offsets: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The products of offsets that K is a sum of, times the squares of 1, s_H, s_3, s_h and s_d, each as one row; and |a|^2.

    The first has values and ones beside it.
    """
    number, axes = len(offsets), offsets * offsets
    terms = np.zeros((5, number + 2, number + 2))
    plain, general, third, common, own = terms[:, :number, :number]
    np.matmul(offsets, offsets.T, out=plain)
    squares = np.diagonal(plain).copy()
    np.multiply(plain, plain, out=general)
    np.multiply(general, plain, out=third)
    np.multiply(squares[:, None], squares, out=common)
    np.matmul(axes, axes.T, out=own)
    general *= 0.5
    common *= 0.25
    own *= 0.25
    terms[0, :number, number], terms[0, :number, number + 1] = values, 1.0
    terms[0, number:, number:] = np.diag([ENDLESS, ENDLESS])
    return terms.reshape(5, -1), squares
