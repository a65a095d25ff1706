"""The marginal likelihood of the prior's scales, and the climb to where it is largest."""

import math
from typing import Any, NamedTuple, final

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import factorized
from zolal.solvers.auto.dense import solved as solved_for
from zolal.solvers.auto.factor import HIDDEN, Scales, cholesky, factorized_in_place, jitter, solved_by

NOISE, SHAPES = 2, [0, 1, 3, 4]  # which of the scales are those of the noise and of f itself
ENDLESS = 1e300  # beside which the square of any solved column is nothing
WORTHWHILE = 128  # values from which on the factor of K takes longer than to change another one
CLEAR = 1e8  # the largest entry of K in units of rho up to which jitter, which is a part of the former, is nothing beside the latter


class Repeats(NamedTuple):
    """The sum of squares of repeated values about their means, and its degrees of freedom."""

    square: float = 0.0
    number: int = 0

    def seen(self, values: np.ndarray) -> "Repeats":
        """After some values at one point."""
        return Repeats(self.square + float(np.sum((values - values.mean()) ** 2)), self.number + len(values) - 1)

    @property
    def student_factor(self) -> float:
        """By how much the quantile of Student's t exceeds that of a normal number, z, by two terms of Cornish and Fisher."""
        z, n = CONSTANTS.certain, self.number
        return 1.0 + (z**2 + 1.0) / (4.0 * n) + (5.0 * z**4 + 16.0 * z**2 + 3.0) / (96.0 * n**2) if n else 1.0

    @property
    def most_noise(self) -> float:
        """The standard deviation of one value that repeats show, larger where they are few: a model of other values tells no more of it."""
        return self.student_factor * math.sqrt(self.square / self.number) if self.number else math.inf

    def most_amplitude(self, rho: Any) -> Any:
        """The amplitude at which the noise would be a few times what repeats show; a model may take no more for noise of what it misses."""
        return (CONSTANTS.outvoted * self.most_noise) ** 2 / rho if self.square > 0.0 else np.full_like(rho, math.inf)

    @property
    def trusted(self) -> "Repeats":
        """As they count beside a model, which takes what it misses for noise and would outvote them by its many values."""
        return Repeats(CONSTANTS.repeat_trust * self.square, CONSTANTS.repeat_trust * self.number)


def as_normal(square: float, known: int) -> float:
    """The square of a normal number whose density, relative to that of 0, is that of Student's t with so many degrees of freedom.

    1 where nothing is known.
    """
    return (known + 1.0) * math.log1p(square / known) if known else 1.0


def are_modest(missed: float, number: int) -> bool:
    """Whether values were foretold far better than the scales would have it, so that f is simpler than believed.

    missed: the sum of so many squares of what they missed their forecasts by, in standard deviations. Where its mean m is less than 1,
    smaller variances are likelier by n (m - 1 - log m)/2.
    """
    if missed >= number:
        return False
    mean = max(missed / number, 1e-300)
    return 0.5 * number * (mean - 1.0 - math.log(mean)) > CONSTANTS.ruled_out


@final
class Likelihood:
    """Of the scales, given values at some offsets; the products of the offsets are made once.

    weights: of how many evaluations each value is the mean. least: the least rho. The amplitude and the mean are integrated out or at their
    best, and the scales of f are pulled a little towards what they are before anything is known.
    """

    def __init__(self, offsets: np.ndarray, values: np.ndarray, weights: np.ndarray, repeats: Repeats, least: float) -> None:
        self.offsets, self.values, self.given = offsets, values, repeats
        self.weights, self.repeats, self.least = weights, repeats.trusted, least
        self.terms, squares = _terms(offsets, values)
        self.beyond, self.farthest = squares**5, float(squares.max())
        self.halves = 0.5 * np.column_stack([squares, offsets * offsets])  # the terms of s_h and s_d are products of these
        self.factors: dict[Scales, np.ndarray] = {}
        self.first = np.array(Scales.first(offsets.shape[1]))[SHAPES]
        self.seen: dict[Scales, float] = {}

    def __call__(self, scales: Scales) -> float:
        self._see([scales])
        return self.seen[scales]

    def at(self, offsets: np.ndarray) -> "Likelihood":
        """That of the same values at other offsets."""
        return Likelihood(offsets, self.values, self.weights, self.given, self.least)

    def slopes_along_units(self, scales: Scales) -> np.ndarray:
        """Its derivatives by the logarithm of each variable's unit, by which an offset's own changes by minus itself.

        With alpha = K^-1 (F - v), w = K^-1 1, the amplitude A and W = alpha alpha^T/A - K^-1 + w w^T/(1.w), half the sums
        of W_ij dK_ij.
        """
        a, rho, number = self.offsets, max(scales.noise, self.least), len(self.values)
        curvature, third, _, common, axes = (scale * scale for scale in scales)
        squares, products = a * a, a @ a.T
        lengths = squares.sum(axis=1)
        upper = np.triu(self._matrices(np.array([scales]), np.array([rho]))[0, :number, :number])
        inverse = np.linalg.inv(upper + np.triu(upper, 1).T)
        ones = inverse.sum(axis=1)
        alpha = inverse @ self.values - (float(ones @ self.values) / float(ones.sum())) * ones
        square = max(float(alpha @ self.values) + self.repeats.square / rho, 1e-300)
        amplitude = min(square / (number - 1 + self.repeats.number), float(self.given.most_amplitude(rho)))
        W = np.outer(alpha, alpha) / amplitude - inverse + np.outer(ones, ones) / float(ones.sum())
        radial = CONSTANTS.radial * third
        by_product = 1.0 + products * (curvature + third * products * (3.0 + 4.0 * products)) + radial * np.outer(lengths, lengths)
        by_length = 0.25 * common * lengths + radial * products * lengths  # |a|^2 of the row's own point
        slopes = np.einsum("il,il->l", a, (W * by_product) @ a) + 2.0 * (W * by_length).sum(axis=1) @ squares
        slopes += 0.5 * axes * np.einsum("il,il->l", squares, W @ squares) + (5.0 * third * lengths**4 * W.diagonal()) @ squares
        return -slopes

    def _see(self, several: list[Scales]) -> None:
        """Judge those that were not judged before, all at once. several: the first of them is what the others are near to."""
        new = [scales for scales in dict.fromkeys(several) if scales not in self.seen]
        changed = {scales: columns for scales in new if (columns := self._changed(several[0], scales)) is not None}
        direct = [scales for scales in new if scales not in changed]
        factor = self.factors.get(several[0])
        if changed and factor is None and several[0] not in direct:
            direct.append(several[0])
        if direct:
            self.seen.update(zip(direct, self._values(np.array(direct)).tolist(), strict=True))
        if changed:
            factor = self.factors[several[0]] if factor is None else factor
            self.seen.update(zip(changed, self._beside(several[0], factor, changed).tolist(), strict=True))

    def _changed(self, scales: Scales, other: Scales) -> slice | None:
        """The columns of `halves` whose products alone make the difference, where there is noise and it pays to say so."""
        if not self._keeps_factors or self._largest(scales) > CLEAR * max(scales.noise, self.least):
            return None
        if scales[:3] != other[:3] or (scales.common != other.common) == (scales.axes != other.axes):
            return None
        return slice(1) if scales.common != other.common else slice(1, None)

    @property
    def _keeps_factors(self) -> bool:
        return bool(self.repeats.number) and len(self.beyond) >= WORTHWHILE

    def _largest(self, scales: Scales) -> float:
        """What no entry of K exceeds."""
        curvature, third, _, common, axes = (scale * scale for scale in scales)
        q = self.farthest
        return q * (1.0 + q * (0.5 * curvature + 0.25 * (common + axes) + q * third * (1.0 + CONSTANTS.radial + q * (1.0 + q))))

    def _values(self, several: np.ndarray) -> np.ndarray:
        """Of scales, one row each."""
        number = len(self.beyond)
        rho = np.maximum(several[:, NOISE], self.least)
        factors = self._matrices(several, rho)
        for i, each in enumerate(factors):
            if not factorized_in_place(each):
                factors[i] = cholesky(self._matrices(several[i : i + 1], rho[i : i + 1])[0]).T
        if self._keeps_factors:
            self.factors = dict(zip(map(Scales._make, several.tolist()), factors, strict=True))
        values, ones = (factors[:, :number, row].copy() for row in (number, number + 1))  # whose sums have one order
        lengths = factors.reshape(len(factors), -1)[:, : number * (number + 3) : number + 3]
        ones_square = np.einsum("ij,ij->i", ones, ones)
        left = values - (np.einsum("ij,ij->i", ones, values) / ones_square)[:, None] * ones
        return self._fit(several, np.einsum("ij,ij->i", left, left), np.log(lengths).sum(axis=1), ones_square)

    def _beside(self, scales: Scales, known: np.ndarray, changed: dict[Scales, slice]) -> np.ndarray:
        """Of scales that are near to one whose factor is known: K + b H H^T with few columns H needs no factor of its own.

        With W = L^-1 H and M = I + b W^T W, its determinant is |K| |M|, and x.(K + b H H^T)^-1 y = x.y - b (W^T x).M^-1 (W^T y) for x and y
        that are solved by L. Left out is what jitter would add, which is nothing beside noise.
        """
        number, lower = len(self.beyond), known.T
        sides = np.ascontiguousarray(lower[number:, :number])  # values and ones
        length, solved = float(np.log(lower.diagonal()[:number]).sum()), solved_by(lower, self.halves)
        squares, lengths, ones_squares = [], [], []
        for other, columns in changed.items():
            more = (other.common**2 - scales.common**2) + (other.axes**2 - scales.axes**2)  # one of which is 0
            part = solved[:, columns]
            factor = factorized(np.eye(part.shape[1]) + more * (part.T @ part))
            along = sides @ part
            products = sides @ sides.T - more * (along @ solved_for(factor, along.T))
            mean = products[0, 1] / products[1, 1]
            left, beside = sides[0] - mean * sides[1], along[0] - mean * along[1]
            squares.append(float(left @ left) - more * float(beside @ solved_for(factor, beside)))
            lengths.append(length + float(np.log(factor.diagonal()).sum()))
            ones_squares.append(float(products[1, 1]))
        return self._fit(np.array(list(changed)), *map(np.array, (squares, lengths, ones_squares)))

    def _fit(self, several: np.ndarray, squares: np.ndarray, lengths: np.ndarray, ones_square: np.ndarray) -> np.ndarray:
        """squares: (F - v).K^-1 (F - v). lengths: the sums of log L_ii."""
        number, repeated, rho = len(self.beyond), self.repeats.number, np.maximum(several[:, NOISE], self.least)
        square = np.maximum(squares + self.repeats.square / rho, 1e-300)
        free = number - 1 + repeated
        amplitude = np.minimum(square / free, self.given.most_amplitude(rho))
        fit = -0.5 * (free * np.log(free * amplitude) + square / amplitude - free) - 0.5 * repeated * np.log(rho)
        fit -= lengths + 0.5 * np.log(ones_square)
        shapes = several[:, SHAPES]
        pull = np.log(np.where(shapes > 0.0, shapes / self.first, 1.0))
        return fit - 0.5 * np.einsum("ij,ij->i", pull, pull) / CONSTANTS.prior_spread**2

    def _matrices(self, several: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """K of each, as sums of the same terms, with the values and ones beside it: in its factor they are solved by L."""
        number = len(self.beyond)
        shares = (several * several)[:, [NOISE, *SHAPES]]
        shares[:, 0] = 1.0  # of the first term, as of slopes
        found = shares @ self.terms
        diagonal = found[:, : number * (number + 3) : number + 3]
        diagonal += shares[:, 2:3] * self.beyond
        diagonal *= 1.0 + jitter(number)
        diagonal += rho[:, None] / self.weights
        return found.reshape(len(found), number + 2, number + 2)

    def climbed(self, scales: Scales) -> Scales:
        """The best of the scales and their neighbours, and on along the way to it, as long as that is another one, for a few moves."""
        before = scales
        for _ in range(CONSTANTS.search_moves):
            near = self._neighbours(scales) if before == scales else [self._farther(before, scales)]
            self._see([scales, *near])
            best = max([scales, *near], key=self.seen.__getitem__)
            if best == scales == before:
                break
            before, scales = scales, best
        return scales

    def largest(self, scales: Scales) -> Scales:
        """With the largest s_3, and the largest s_H and s_d, that are not clearly less likely, each by itself, by factors of 2."""
        least, found = self(scales) - CONSTANTS.ruled_out, scales
        for names in (("third",), ("curvature", "axes")):
            for move in range(1, CONSTANTS.search_moves):
                larger = {name: 2.0**move * getattr(scales, name) for name in names}
                if self(scales._replace(**larger)) < least:
                    break
                found = found._replace(**larger)
        return found

    def _farther(self, before: Scales, scales: Scales) -> Scales:
        """By the same factors once more, which takes one matrix where all neighbours take eight; what has not changed keeps its bits."""
        found = Scales._make(new * (new / old) if old else new for old, new in zip(before, scales, strict=True))
        return self._noisier(found, 1.0) if self.repeats.number else found

    def _neighbours(self, scales: Scales) -> list[Scales]:
        found = [Scales._make((*scales[:i], scales[i] * factor, *scales[i + 1 :])) for i in SHAPES for factor in (0.5, 2.0)]
        if self.repeats.number:
            found += [self._noisier(scales, factor) for factor in (0.25, 4.0)]
        return found

    def _noisier(self, scales: Scales, factor: float) -> Scales:
        return scales._replace(noise=min(max(factor * scales.noise, self.least), HIDDEN))


def _terms(offsets: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The products of offsets that K is a sum of, times the squares of 1, s_H, s_3, s_h and s_d, each as one row; and |a|^2.

    The first has values and ones beside it.
    """
    number, axes = len(offsets), 0.5 * offsets * offsets
    terms = np.empty((5, number + 2, number + 2))
    terms[:, number:], terms[:, :number, number:] = 0.0, 0.0
    plain, general, third, common, own = terms[:, :number, :number]
    np.matmul(offsets, offsets.T, out=plain)
    squares = np.diagonal(plain).copy()
    np.multiply(plain, plain, out=general)
    np.multiply(0.5 * squares[:, None], 0.5 * squares, out=common)
    np.multiply(common, 4.0 * CONSTANTS.radial, out=third)
    third += general
    third *= plain
    third += general * general
    general *= 0.5
    np.matmul(axes, axes.T, out=own)
    terms[0, :number, number], terms[0, :number, number + 1] = values, 1.0
    terms[0, number:, number:] = np.diag([ENDLESS, ENDLESS])
    return terms.reshape(5, -1), squares
