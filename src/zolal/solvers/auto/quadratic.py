"""A posterior over quadratics: what values at any points say of f near a centre, and how surely.

With a = (u - centre)/length,

    f(u) = v + g.a + a.Ha/2 + T(a, a, a) + U(a, a, a, a) + (t.a)|a|^2 + fifth-order error + noise,

g_i ~ N(0, A), H = h I + D + E with h ~ N(0, A s_h^2), a diagonal D of N(0, A s_d^2), random E, T, U and t whose terms have the covariances
below, the fifth-order error independent with variance A s_3^2 |a|^10 and the noise with variance A rho. In kernel form, q(a) = (a_i^2/2),

    k(a, b) = a.b + s_h^2 (|a|^2/2)(|b|^2/2) + s_d^2 q(a).q(b) + s_H^2 (a.b)^2 / 2 + s_3^2 ((a.b)^3 + (a.b)^4 + r (a.b)|a|^2|b|^2),
    K = k + diag(rho + s_3^2 |a|^10),    v by generalised least squares,    alpha = K^-1 (F - v),    g = sum_i alpha_i a_i,
    H = s_h^2 (sum_i alpha_i |a_i|^2/2) I + s_d^2 diag(sum_i alpha_i q(a_i)) + s_H^2 sum_i alpha_i a_i a_i^T.

Many functions are curved alike in all directions, or are sums over their variables. s_h, s_d and s_H are looked for by themselves, so that
values say which it is, and such a function is known from few of them. The amplitude A is ((F - v).K^-1 (F - v) + S/rho)/(N - 1 + n) with
the sum of squares S of n repeats, or less, where noise would be far above them; the scales and rho are those of the largest marginal
likelihood on a grid of powers of 2, looked for among neighbours. Exact, repeated and noisy values differ in rho alone (docs/algorithm.md).
"""

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from zolal._array import EPS
from zolal._cached import cached_property
from zolal._threads import one_thread
from zolal.solvers.auto.coefficients import are_just_enough, enough_for
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import mean, same_rows, square_lengths
from zolal.solvers.auto.factor import Factor, Foretold, Scales, Sight
from zolal.solvers.auto.grain import grain, is_plateau
from zolal.solvers.auto.likelihood import Likelihood, Repeats, are_modest, as_normal
from zolal.solvers.auto.measured import Measured

VANISHING = 1e-145  # differences of values whose squares are hardly numbers
PLACE_DECIMALS = 9  # of a length, to which points are the same


@final
@dataclass(frozen=True, eq=False)
class Quadratic:
    """The belief that some values leave.

    points: u_i, shape (N, d). values: F_i; weights: of how many evaluations each is the mean. repeats: what equal points have said of the
    noise, which stays when they are far away and forgotten. centre, length: the frame of a. scales: of the prior. built: how many of the
    rows were factorised at once; those after them were added one by one, so that a belief that is read from a file has the same bits.
    unsearched: the values that have come since the scales were last looked for. missed: the sum of their surprises. least: the least rho,
    which is that of rounding.
    grain: what all values are multiples of, or 0. foreseen: how many values are forecasts, which tell nothing of scales; None: none can be.
    """

    points: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    repeats: Repeats
    centre: np.ndarray
    length: float
    scales: Scales
    built: int
    unsearched: int = 0
    missed: float = 0.0
    least: float = 1.0
    grain: float = 0.0
    foreseen: int | None = None
    _kept: "Factor | None" = field(default=None, init=False, repr=False)
    _sighted: "tuple[np.ndarray, Sight] | None" = field(default=None, init=False, repr=False)  # the point that was last asked about
    _said: "tuple[Sight, Foretold] | None" = field(default=None, init=False, repr=False)  # what was foretold of it

    @classmethod
    def start(cls, centre: np.ndarray, value: float, length: float) -> "Quadratic":
        """After one value."""
        return cls(centre[None, :], np.array([value]), np.ones(1), Repeats(), centre, length, Scales.first(len(centre)), 1)

    def but(self, **changes: Any) -> "Quadratic":
        """With some fields changed, and nothing kept that was made of them: `dataclasses.replace` takes several times as long."""
        own, new = self.__dict__, object.__new__(Quadratic)
        new.__dict__.update({name: own[name] for name in Quadratic.__match_args__}, **changes)
        return new

    @property
    def dimension(self) -> int:
        return self.points.shape[1]

    def told(self, point: np.ndarray, values: np.ndarray) -> "Quadratic":
        """After one more point, with one value or several; the factor grows by a row."""
        value = mean(values)
        new = self.but(
            points=np.concatenate([self.points, point[None, :]]),
            values=np.concatenate([self.values, [value]]),
            weights=np.concatenate([self.weights, [float(len(values))]]),
            repeats=self.repeats.seen(values) if len(values) > 1 else self.repeats,
            unsearched=self.unsearched + 1,
            missed=self.missed + min(self.surprise(point, value, len(values)), CONSTANTS.most_surprise),
            foreseen=None if self.foreseen is None else self.foreseen + 1,
        )
        lowest, highest = self.extremes
        new.__dict__.update(value_there=self.value_there, extremes=(min(lowest, value), max(highest, value)))  # the same, made with less
        grown = self._factor.grown(self._sight(point), self._rho / len(values), value - self.value_there)
        object.__setattr__(new, "_kept", grown)
        return new

    def repeated(self, point: np.ndarray, values: np.ndarray) -> "Quadratic":
        """After more values at a point that are not all the same: values have noise, and what looked like a grain was none."""
        seen = self.told(point, values)._merged()
        share = seen.repeats.square / seen.repeats.number / self.amplitude
        scales = seen.scales._replace(noise=min(max(share, self.least), 1.0)) if self.is_exact else seen.scales
        return seen.but(scales=scales, built=len(seen.values), grain=0.0, unsearched=len(seen.values)).fitted()

    def foreseeing(self) -> "Quadratic":
        """The same belief, for which all values that come are forecasts. Where no values differ yet it knows no noise either."""
        if self.foreseen is not None:
            return self
        new = self.but(foreseen=0, least=EPS if self.is_flat else self.least)
        object.__setattr__(new, "_kept", None if self.is_flat else self._kept)
        return new

    def moved(self, centre: np.ndarray, length: float) -> "Quadratic":
        """In another frame, of the nearest points alone, and with scales that fit them."""
        order = self._worth_keeping(centre, length)
        kept = self.seen_from(centre, length)
        if len(order) < len(self.values):
            kept = kept.but(points=self.points[order], values=self.values[order], weights=self.weights[order], built=len(order))
        return kept.fitted()

    def seen_from(self, centre: np.ndarray, length: float) -> "Quadratic":
        """The same belief in another frame."""
        scales, share = self._scales_at(centre, length)
        least = min(self._rounding_share * share, 1.0)
        return self.but(centre=centre, length=length, scales=scales, built=len(self.values), least=least)

    def _scales_at(self, centre: np.ndarray, length: float) -> tuple[Scales, float]:
        """The prior in another frame, and by how much rho is larger there.

        Curvature, third order and noise keep their absolute sizes; slopes have the size that the belief foretells for the centre.
        """
        d = self.dimension
        slope = self._factor.slope_at(self.scales, (centre - self.centre) / self.length) / self.length
        expected = float(slope @ slope) + float(self.covariance.trace())
        amplitude = max(expected / d, 1e-300) * length**2
        ratio = min(max(self.amplitude / amplitude, 1e-4), 1e4)
        return self.scales.stretched(length / self.length, ratio), ratio

    def _worth_keeping(self, centre: np.ndarray, length: float) -> np.ndarray:
        """Which values stay: the nearest ones that a quadratic needs; with noise twice as many, and all that are about as near as steps go.

        The errors of far values are not as independent as the model has it: many of them together would outweigh near ones.
        """
        number, most = len(self.values), self.capacity
        if number <= (most if self.is_exact else min(2 * enough_for(self.dimension), most)):
            return np.arange(number)
        distance = square_lengths(self.points - centre)
        if not self.is_exact:
            most = min(max(2 * enough_for(self.dimension), int(np.sum(distance <= (CONSTANTS.near * length) ** 2))), most)
        return np.sort(np.argsort(distance, kind="stable")[:most])

    @property
    def capacity(self) -> int:
        """The most values that are kept: those that a quadratic needs, with noise as many as one can factorise."""
        return enough_for(self.dimension) if self.is_exact else max(CONSTANTS.most_points, 4 * (self.dimension + 1))

    @cached_property
    def is_flat(self) -> bool:
        """Whether every value is the same, as far as numbers can tell."""
        lowest, highest = self.extremes
        return not highest - lowest > VANISHING

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The least and the largest value."""
        return float(self.values.min()), float(self.values.max())

    @cached_property
    def is_plateau(self) -> bool:
        """Whether, about one length away, equal values lie in all directions that were looked at: f has steps, and the centre is on one."""
        return self.is_exact and not self.foreseen and is_plateau(self._offsets, self.values == self.value_there)

    @property
    def is_exact(self) -> bool:
        """Whether equal points have given equal values."""
        return not self.repeats.number

    @property
    def is_plenty(self) -> bool:
        """Whether there are so many noisy values, at points of which enough are near, that more at the same ones say as much as others."""
        if self.is_exact or self.weights.sum() < self.capacity:
            return False
        return bool(self.weights[square_lengths(self._offsets) <= CONSTANTS.again**2].sum() >= enough_for(self.dimension))

    @property
    def is_full(self) -> bool:
        return len(self.values) >= self.capacity + max(CONSTANTS.spare_points, self.capacity // 8)

    def fitted(self) -> "Quadratic":
        """With the likeliest scales among neighbours, looked for again whenever an eighth of the values is new.

        Also where exact values were foretold too modestly, and where they are as many as tell what is beyond a quadratic.
        """
        few = self.unsearched < min(CONSTANTS.search_share * len(self.values), self.dimension + 1.0)
        if self.foreseen is not None or not self.unsearched:
            return self
        enough = self.is_exact and are_just_enough(self.points, self.unsearched)
        if few and not enough and not (self.is_exact and are_modest(self.missed, self.unsearched)):
            return self
        seen = self._grained() if self.is_exact else self._merged()
        number = len(seen.values)
        start = seen.but(unsearched=0, missed=0.0, built=number, least=seen._rounding_share)
        if number < 3:
            return start
        likelihood = start.likelihood()
        found = likelihood.climbed(start.scales)
        if enough:
            found = max(found, likelihood.climbed(start.scales.quadratic), key=likelihood)
        return start.but(scales=found)

    @cached_property
    def wary(self) -> "Quadratic":
        """With noise, f as uneven as the values leave open: what a claim has to answer for. Forecasts leave nothing open."""
        if self.is_exact or self.foreseen is not None:
            return self
        return self.but(scales=self.likelihood(len(self.values)).largest(self.scales))

    def likelihood(self, most: int = CONSTANTS.search_points) -> Likelihood:
        """Of scales, by some of the values, near and far."""
        number, some = len(self.values), np.arange(len(self.values))
        if number > most:
            order = np.argsort(square_lengths(self.points - self.centre), kind="stable")
            some = np.sort(order[np.linspace(0, number - 1, most).astype(int)])
        values = self.values[some] - self.value_there
        offsets = (self.points[some] - self.centre) / self.length
        return Likelihood(offsets, values, self.weights[some], self.repeats, self.least)

    def _merged(self) -> "Quadratic":
        """With one mean for each point, however often it was evaluated; what its values differ by is noise."""
        first, place = same_rows(np.round((self.points - self.centre) / self.length, PLACE_DECIMALS))
        if len(first) == len(place):
            return self
        weights = np.bincount(place, self.weights)
        means = np.bincount(place, self.weights * self.values) / weights
        square = float(np.sum(self.weights * (self.values - means[place]) ** 2))
        repeats = Repeats(self.repeats.square + square, self.repeats.number + len(place) - len(first))
        return self.but(points=self.points[first], values=means, weights=weights, repeats=repeats)

    @property
    def noise(self) -> float:
        """The standard deviation of one evaluation."""
        return math.sqrt(self.amplitude * self._rho)

    @cached_property
    def amplitude(self) -> float:
        """A; where all values are equal, what rounding may hide."""
        repeats = self.repeats.trusted
        number = max(len(self.values) - 1 - (self.foreseen or 0) + repeats.number, 1)
        likeliest = (self._factor.square + repeats.square / self._rho) / number
        return max(min(likeliest, float(self.repeats.most_amplitude(self._rho))), self.rounding**2 / max(self._rho, 1.0))

    @property
    def prior_variance(self) -> float:
        """Of a slope that nothing has been measured of, per unit of u."""
        return self.amplitude / self.length**2

    @property
    def value(self) -> float:
        """v, the value at the centre."""
        return self.value_there + self._factor.mean

    @property
    def value_error(self) -> float:
        return math.sqrt(self.amplitude / self._factor.ones_square)

    @cached_property
    def gradient(self) -> np.ndarray:
        """The mean of the gradient at the centre, per unit of u."""
        return self._offsets.T @ self._factor.alpha / self.length

    @cached_property
    def covariance(self) -> np.ndarray:
        """Of the gradient at the centre: A (I - A^T K^-1 A) and what the doubt of v adds, per unit of u."""
        factor = self._factor
        along = factor.with_ones / math.sqrt(factor.ones_square)
        reduced = np.eye(self.dimension)
        reduced -= factor.products
        reduced += along[:, None] * along
        reduced *= self.amplitude / self.length**2
        return reduced

    @cached_property
    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        """The gradient at the centre and its covariance by the values alone, per unit of u."""
        return self.measured_along(None)[:2]

    @cached_property
    def _alone(self) -> Measured:
        return Measured.of(self._factor)

    def measured_along(self, across: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same, but across some orthonormal rows, which no value has left, the believed one; and the tilt that makes the difference."""
        alone = self._alone if across is None or not len(across) else Measured.of(self._factor, across)
        return alone.gradient / self.length, alone.covariance * self.prior_variance, alone.tilt

    @cached_property
    def hessian(self) -> np.ndarray:
        """The mean of the Hessian, per square unit of u."""
        return self._factor.hessian(self.scales) / self.length**2

    def hessian_beside(self, tilt: np.ndarray) -> np.ndarray:
        """That which goes with a measured gradient: what slopes have taken over from the prior, curvature no longer has to explain."""
        return self._factor.hessian(self.scales, tilt) / self.length**2

    def foretold(self, point: np.ndarray) -> Foretold:
        """What is believed of f(point) - f(centre), the fifth-order error at the point included."""
        factor, sight, kept = self._factor, self._sight(point), self._said
        if kept is not None and kept[0] is sight:
            return kept[1]
        known, along = sight.own - float(sight.solved @ sight.solved), float(sight.solved @ factor.ones_solved)
        one, other = (self.amplitude * max(known + doubt**2 / factor.ones_square, 0.0) for doubt in (along, 1.0 - along))
        foretold = Foretold(float(sight.solved @ factor.whitened), math.sqrt(one), math.sqrt(other))
        object.__setattr__(self, "_said", (sight, foretold))
        return foretold

    def surprise(self, point: np.ndarray, value: float, number: int) -> float:
        """The square of what a mean of so many values missed its forecast by, in standard deviations, which few values do not tell."""
        foretold = self.foretold(point)
        variance = foretold.value_deviation**2 + (self.rounding if self.is_exact else self.noise) ** 2 / number
        square = (value - self.value - foretold.change) ** 2 / max(variance, 1e-300)
        return as_normal(square, len(self.values) - 1 + self.repeats.number)

    def most_telling(self, direction: np.ndarray, number: int) -> np.ndarray:
        """The points where one more value says most of the slope along a direction, the best first.

        That slope is a sum of b_i F_i, whose noise is rho sum_i b_i^2/w_i; one more value takes b_i^2/(w_i (w_i + 1)) away.
        """
        return np.argsort(-(self._factor.shares(direction) ** 2) / (self.weights * (self.weights + 1.0)), kind="stable")[:number]

    def best_radius(self) -> float:
        """The distance at which a value says most of the slope.

        For the first values noise and third order are in balance there. Many values tell them apart; then their mean noise and fifth order
        are, so that the distance shrinks with the tenth root of their number per coefficient.
        """
        if self.scales.third <= 0.0:
            return math.inf
        values = max(float(self.weights.sum()) / (self.dimension + 1), 1.0)
        return CONSTANTS.stretch * self.length * (self._rho / (2.0 * self.scales.third**2)) ** (1.0 / 6.0) / values**0.1

    @property
    def _rounding_share(self) -> float:
        """rho of the rounding of f with the amplitude of now; 1 where nothing but rounding has been seen."""
        return min(self.rounding**2 / self.amplitude, 1.0)

    @cached_property
    def rounding(self) -> float:
        """What rounding may change a value by: that of floats, or of values that are all multiples of something, such as printed ones."""
        return max(self._float_rounding, self.grain / math.sqrt(12.0))

    @property
    def _float_rounding(self) -> float:
        return max(CONSTANTS.rounding * EPS * max(map(abs, self.extremes)), VANISHING)

    def _grained(self) -> "Quadratic":
        """With the grain that the values show, once they have shown one."""
        found = 0.0 if self.grain else grain(self.values, self._float_rounding)
        return self.but(grain=found) if found else self

    @property
    def _rho(self) -> float:
        return max(self.scales.noise, self.least)

    @cached_property
    def value_there(self) -> float:
        """What was evaluated nearest to the centre; all values are counted from it, so that little is lost to rounding."""
        return float(self.values[square_lengths(self.points[: self.built] - self.centre).argmin()])

    def value_at(self, point: np.ndarray) -> float | None:
        """What a point gave that was evaluated before and is not forgotten."""
        there = np.flatnonzero((self.points == point).all(axis=1))
        return float(self.values[there[0]]) if len(there) else None

    @property
    def _offsets(self) -> np.ndarray:
        return self._factor.offsets

    def _sight(self, point: np.ndarray) -> Sight:
        """Of a point, which is asked about several times: before it is evaluated, when it has been, and when it joins the others."""
        kept = self._sighted
        if kept is None or (kept[0] is not point and np.count_nonzero(kept[0] != point)):
            kept = point, self._factor.sight(self.scales, (point - self.centre) / self.length)
            object.__setattr__(self, "_sighted", kept)
        return kept[1]

    @property
    def _factor(self) -> "Factor":
        factor = self._kept
        if factor is None:
            offsets, values = (self.points - self.centre) / self.length, self.values - self.value_there
            with one_thread():  # whoever asks: the same bits in a run and in one that is resumed
                factor = Factor.of(self.scales, self._rho / self.weights, offsets, values, self.built)
            object.__setattr__(self, "_kept", factor)
        return factor
