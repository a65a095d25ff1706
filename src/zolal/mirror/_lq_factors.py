"""Factors of the feasible set in the smoothed l_q step: each answers "what are x and Psi for this kappa?".

On a ball or simplex one multiplier theta per factor keeps x on the surface. There n is the normal, the sums are those of
`Point`, and moving log kappa by dk and theta by dt moves x by dx = (x dk -+ n rho dt) / M, minus for balls, plus for
simplices; <n, dx> = 0 gives dt = +- (along / across) dk. A factor remembers theta, so that the next kappa starts from it.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

from zolal._array import EPS, Array, is_numpy, maximum, namespace
from zolal._roots import increasing_root
from zolal.mirror._lq_arrays import TINY, ArrayCoordinates, Coordinates, Point

SAMPLE = 8192  # coordinates that a sample keeps, at least
OFF_SURFACE = 1e-6  # a search for theta that ends this far from the surface means that no theta is needed

EXACT = 1e-13  # relative, of a sum
FARTHEST_DRIFT = 10.0  # in log theta


@dataclass(frozen=True)
class Terms:
    """v_delta(x) - <y, x> + threshold ||x||_1 + linear ||x||_2^2 / 2 between bounds, the function on one factor."""

    q: float
    delta: float
    y: Array
    threshold: float
    linear: float
    lower: Any = -math.inf
    upper: Any = math.inf
    signed: bool = True  # False on the simplex, where y takes the place of |y|
    weight: float = 1.0  # how many coordinates each one of a sample stands for
    compiled: bool | None = None  # None: the kernels where they apply

    def thinned(self, stride: int) -> "Terms":
        """Every stride-th coordinate."""
        y = self.y[::stride]
        lower, upper = (bound if isinstance(bound, float) else bound[::stride] for bound in (self.lower, self.upper))
        return replace(self, y=y, lower=lower, upper=upper, weight=self.y.shape[0] / y.shape[0])


def _coordinates(terms: Terms) -> Coordinates:
    """The compiled coordinates for NumPy float64, else those of any array; `compiled` overrides the choice."""
    data = (terms.q, terms.delta, terms.y, terms.threshold, terms.signed, terms.lower, terms.upper)
    if is_numpy(terms.y) if terms.compiled is None else terms.compiled:
        from zolal.mirror._lq_kernels import CompiledCoordinates  # numba is imported only where it is used

        return CompiledCoordinates(*data)
    return ArrayCoordinates(*data)


class Factor(ABC):
    """The coordinate problems of one factor."""

    def __init__(self, terms: Terms) -> None:
        self.terms, self.coordinates = terms, _coordinates(terms)
        self.log_linear = math.log(terms.linear) if terms.linear > 0.0 else -math.inf
        self.point = Point(terms.y, 0.0, 0.0)

    @abstractmethod
    def respond(self, log_kappa: float) -> tuple[float, float]:
        """The factor's part of Psi, and the derivative of that part with respect to log kappa."""

    @abstractmethod
    def thinned(self, stride: int) -> "Factor":
        """The factor of every stride-th coordinate."""

    def solution(self) -> Array:
        """x for the last kappa."""
        return self.point.x

    def length(self) -> float:
        """A rough ||x||_q: on the whole space with delta = 0 it is (q-1) ||y||_p, and ||y||_p is within d^{1/p} of max |y|."""
        spread = (self.terms.weight * self.terms.y.shape[0]) ** (0.5 * (self.terms.q - 1.0) / self.terms.q)
        return (self.terms.q - 1.0) * max(self.coordinates.top - self.terms.threshold, 0.0) * spread

    def sampled(self) -> "Factor":
        """A factor of fewer coordinates, to find the multipliers roughly; the factor itself when it is small."""
        stride = self.terms.y.shape[0] // SAMPLE
        return self if stride <= 1 else self.thinned(stride)

    def start_from(self, sample: Any) -> None:
        """Takes the multiplier that a sample has found, if there is one."""
        return


class IntervalFactor(Factor):
    """WholeSpace, NonNegative, Box: the coordinate root, clipped."""

    def respond(self, log_kappa: float) -> tuple[float, float]:
        self.point = self.coordinates.inside(log_kappa, self.log_linear)
        return self.point.total, self.terms.q * self.point.growth

    def thinned(self, stride: int) -> Factor:
        return IntervalFactor(self.terms.thinned(stride))


class SurfaceFactor(Factor):
    """sum |x|^e <= radius^e, with one multiplier theta > 0, found in its logarithm, where that is active."""

    shrinks: bool  # whether x shrinks as theta grows

    def __init__(self, terms: Terms, radius: float, exponent: float) -> None:
        super().__init__(terms)
        self.radius, self.exponent, self.log_radius = radius, exponent, math.log(radius)
        self.log_theta: float | None = None  # none yet, or the constraint was not active
        self.log_kappa = self.drift = 0.0  # for the last log theta; drift is dlog theta / dlog kappa
        self.asked: tuple[float, float] | None = None  # the multipliers that self.point belongs to

    def respond(self, log_kappa: float) -> tuple[float, float]:
        start = self._predicted_log_theta(log_kappa)
        if (start is None or self._seems_free(log_kappa, start)) and self._is_free(log_kappa):
            return self.point.total, self.terms.q * self.point.growth
        first = self._first_log_theta(log_kappa) if start is None else start
        log_theta = increasing_root(lambda t: self._excess(log_kappa, t), first, *self._bracket(log_kappa))
        if abs(self._excess(log_kappa, log_theta)[0]) > OFF_SURFACE and self._is_free(log_kappa):
            return self.point.total, self.terms.q * self.point.growth
        self._excess(log_kappa, log_theta)  # again only where that check has replaced the point
        return self._on_surface(log_kappa, log_theta)

    def solution(self) -> Array:
        if self.log_theta is None:
            return self.point.x
        return self.point.x * bounded(self.log_radius - math.log(self.point.size) / self.exponent)

    def length(self) -> float:
        return min(super().length(), self.radius * self.terms.weight ** (1.0 / self.exponent))

    def thinned(self, stride: int) -> Factor:
        terms = self.terms.thinned(stride)
        return type(self)(terms, self.radius * terms.weight ** (-1.0 / self.exponent), self.exponent)

    def start_from(self, sample: "SurfaceFactor") -> None:
        self.log_theta, self.log_kappa, self.drift = sample.log_theta, sample.log_kappa, sample.drift

    def _predicted_log_theta(self, log_kappa: float) -> float | None:
        """Along the tangent from the last one, but not far."""
        if self.log_theta is None:
            return None
        return self.log_theta + min(max(self.drift * (log_kappa - self.log_kappa), -FARTHEST_DRIFT), FARTHEST_DRIFT)

    def _on_surface(self, log_kappa: float, log_theta: float) -> tuple[float, float]:
        """The response with dx along the surface."""
        point = self.point
        slide = point.along / point.across if point.across > 0.0 else 0.0
        self.log_theta, self.log_kappa = log_theta, log_kappa
        self.drift = (slide if self.shrinks else -slide) * bounded(-log_theta)
        return point.total, max(self.terms.q * (point.growth - bounded(log_kappa) * point.along * slide), 0.0)

    def _excess(self, log_kappa: float, log_theta: float) -> tuple[float, float]:
        """log ||x||_e - log radius, with the sign that makes it increase with log theta, and its derivative."""
        if self.asked != (log_kappa, log_theta):
            self.point, self.asked = self._at(log_kappa, log_theta), (log_kappa, log_theta)
        size = max(self.point.size, 1e-300)
        outside = math.log(size) / self.exponent - self.log_radius
        return -outside if self.shrinks else outside, bounded(log_theta) * self.point.across / size

    def _is_free(self, log_kappa: float) -> bool:
        """Whether x fits without a multiplier; then it is the answer."""
        self.asked = None
        self.point = self.coordinates.surface(log_kappa, self.log_linear, -math.inf, self.exponent)
        if self.point.size > 0.0 and math.log(self.point.size) / self.exponent > self.log_radius:
            return False
        self.log_theta = None
        return True

    @abstractmethod
    def _at(self, log_kappa: float, log_theta: float) -> Point:
        """The point for both multipliers."""

    @abstractmethod
    def _seems_free(self, log_kappa: float, log_theta: float) -> bool:
        """Whether from this theta the root seems to be where no multiplier is needed."""

    @abstractmethod
    def _bracket(self, log_kappa: float) -> tuple[float, float]:
        """Bounds on log theta."""

    @abstractmethod
    def _first_log_theta(self, log_kappa: float) -> float:
        """A log theta to start from, after `_is_free` has denied."""


class BallFactor(SurfaceFactor):
    """The l_2 ball, where theta adds to the linear term, and the l_q ball, where it is that of theta x^{q-1}."""

    shrinks = True

    def _at(self, log_kappa: float, log_theta: float) -> Point:
        if self.exponent == 2.0:
            return self.coordinates.surface(log_kappa, log_sum(self.log_linear, log_theta), -math.inf, 2.0)
        return self.coordinates.surface(log_kappa, self.log_linear, log_theta, self.exponent)

    def _seems_free(self, log_kappa: float, log_theta: float) -> bool:
        value, slope = self._excess(log_kappa, log_theta)  # for small theta it is value(0) + slope, slope proportional to theta
        return value > slope

    def _bracket(self, log_kappa: float) -> tuple[float, float]:
        """The largest coordinate x lies between radius / d^{1/e} and radius, and theta x^{e-1} = w - phi/kappa - eta l2 x."""
        largest, power = self.coordinates.top - self.terms.threshold, self.exponent - 1.0
        if not largest > 0.0:
            return -math.inf, math.inf
        log_phi = self.log_radius + (0.5 * self.terms.q - 1.0) * math.log(self.radius**2 + self.terms.delta**2) - log_kappa
        left = largest - bounded(log_phi) - self.terms.linear * self.radius
        upper = math.log(largest) - power * (self.log_radius - math.log(self.terms.y.shape[0]) / self.exponent)
        return (math.log(left) - power * self.log_radius - 1e-9 if left > 0.0 else -math.inf), upper + 1e-9

    def _first_log_theta(self, log_kappa: float) -> float:
        """Newton's step from theta = 0 if x is not far outside there, else theta x^{e-1} = w at the largest coordinate."""
        point, outside = self.point, math.log(self.point.size) / self.exponent - self.log_radius
        if outside < 1.0 and point.across > 0.0:  # log ||x|| falls by theta across / size
            return math.log(max(outside, EPS)) + math.log(point.size) - math.log(point.across)
        return math.log(self.coordinates.top - self.terms.threshold) - (self.exponent - 1.0) * self.log_radius


class SimplexFactor(SurfaceFactor):
    """x >= 0 with a given sum: phi(x_i)/kappa + eta l2 x_i = (theta - gap_i)_+, gap_i = max(y) - y_i, so nothing cancels."""

    shrinks = False

    def length(self) -> float:
        size = self.terms.weight * self.terms.y.shape[0]
        return self.radius * self.terms.weight * size ** (-0.5 * (self.terms.q - 1.0) / self.terms.q)

    def solution(self) -> Array:
        """x, moved along dx / dtheta to the exact sum: where many coordinates tie, theta itself has too few digits for it."""
        missing = self.radius - self.point.size
        if self.log_theta is None or abs(missing) <= EXACT * self.radius:
            return super().solution()
        x, xp = self.point.x, namespace(self.point.x)
        a, r = x * x + self.terms.delta**2, 0.5 * self.terms.q - 1.0
        inverse = a**-r  # 0 for an x so small that no change of theta moves it
        slope = (1.0 + 2.0 * r * x * x / maximum(a, TINY)) * bounded(-self.log_kappa) + self.terms.linear * inverse
        share = xp.where(x != 0.0, inverse / slope, xp.zeros_like(x))
        return xp.sign(x) * maximum(xp.abs(x) + share * (missing / float(xp.sum(share))), 0.0)

    def start_from(self, sample: SurfaceFactor) -> None:
        super().start_from(sample)
        if sample.log_theta is not None:  # theta is counted from max(y), which differs
            self.log_theta = math.log(bounded(sample.log_theta) + self.coordinates.top - sample.coordinates.top)

    def _at(self, log_kappa: float, log_theta: float) -> Point:
        return self.coordinates.surface(log_kappa, self.log_linear, -math.inf, 1.0, bounded(log_theta))

    def _seems_free(self, log_kappa: float, log_theta: float) -> bool:
        return False

    def _is_free(self, log_kappa: float) -> bool:
        return False

    def _bracket(self, log_kappa: float) -> tuple[float, float]:
        """The largest coordinate lies between radius / d and radius."""
        smallest, largest = (self._log_theta_of(size, log_kappa) for size in (self.radius / self.terms.y.shape[0], self.radius))
        return smallest - 1e-12, largest + 1e-12

    def _first_log_theta(self, log_kappa: float) -> float:
        return 0.5 * sum(self._bracket(log_kappa))

    def _log_theta_of(self, x: float, log_kappa: float) -> float:
        """log of phi(x) / kappa + eta l2 x."""
        log_phi = math.log(x) + (0.5 * self.terms.q - 1.0) * math.log(x * x + self.terms.delta**2) - log_kappa
        return log_sum(log_phi, self.log_linear + math.log(x))


class L1Factor(SimplexFactor):
    """||x||_1 <= radius: free when that fits, else a simplex in the magnitudes with theta < max|y| - eta l1."""

    def length(self) -> float:
        return min(SimplexFactor.length(self), Factor.length(self))

    def _is_free(self, log_kappa: float) -> bool:
        return SurfaceFactor._is_free(self, log_kappa)

    def _seems_free(self, log_kappa: float, log_theta: float) -> bool:
        value, slope = self._excess(log_kappa, log_theta)
        return slope <= 0.0 or log_theta - value / slope >= self._log_largest()

    def _bracket(self, log_kappa: float) -> tuple[float, float]:
        lower, upper = super()._bracket(log_kappa)
        return lower, min(upper, self._log_largest())

    def _first_log_theta(self, log_kappa: float) -> float:
        return self._bracket(log_kappa)[1]

    def _log_largest(self) -> float:
        largest = self.coordinates.top - self.terms.threshold
        return math.log(largest) if largest > 0.0 else -math.inf


def log_sum(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    larger, smaller = max(a, b), min(a, b)
    return larger if smaller == -math.inf else larger + math.log1p(math.exp(smaller - larger))


def bounded(t: float) -> float:
    """e^t with t cut to [-700, 700]: multipliers far from their roots must not overflow."""
    return math.exp(min(max(t, -700.0), 700.0))
