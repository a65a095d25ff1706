"""The mirror step in the smoothed l_q geometry: min over x in X of v_delta(x) - <y, x> + eta h(x), exactly.

Write Psi = sum_i (x_i^2 + delta^2)^{q/2}, phi(x) = (x^2 + delta^2)^{q/2-1} x and kappa = (q-1) Psi^{1-2/q}. Once kappa is
known the problem falls apart into coordinates and, for balls and simplices, one multiplier theta per factor of X:

    phi(x_i) / kappa + eta l2 x_i + theta n_i(x) = soft(y_i, eta l1),    clipped to the box,

with n(x) the normal of the factor. So there is a leaf per factor, which answers "what are x, Psi and dPsi / dlog kappa for
this kappa?", and one increasing scalar equation for log kappa,

    R(log kappa) = log kappa - log(q-1) + ((2-q)/q) log Psi(kappa) = 0,

whose slope lies in [1, 1/(q-1)] (docs/algorithm.md), so one evaluation brackets the root. All of it is done in logarithms.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from zolal._array import Array, concatenate, is_numpy, maximum, namespace, norm, soft_threshold, split
from zolal._roots import bounded_exp, increasing_root, log_coordinate_root, log_smoothed_square
from zolal.errors import UnsupportedError
from zolal.regularizers import BlockSum, Regularizer
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace

TINY = 1e-300  # stands for 0 under a logarithm; the sign, which is 0 there, restores the 0


class Response(NamedTuple):
    """What a factor of X answers to a given kappa."""

    x: Array
    total: float  # its part of Psi
    growth: float  # the derivative of that part with respect to log kappa


def solve_lq_step(q: float, delta: float, region: ConvexSet, regularizer: Regularizer, y: Array, step_size: float) -> Array:
    """Argmin over x in the region of v_delta(x) - <y, x> + step_size h(x)."""
    # v_delta is homogeneous of degree 2 in (x, delta) only on cones, so no rescaling: logarithms carry every magnitude
    leaves = _leaves(q, delta, region, regularizer, y, step_size)
    if q == 2.0:
        return concatenate([leaf.respond(0.0).x for leaf in leaves])
    shrink = (2.0 - q) / q
    answers: list[Response] = []

    def imbalance(log_kappa: float) -> tuple[float, float]:
        answers[:] = [leaf.respond(log_kappa) for leaf in leaves]
        total = max(sum(answer.total for answer in answers), 1e-320)
        growth = sum(answer.growth for answer in answers)
        return log_kappa - math.log(q - 1.0) + shrink * math.log(total), 1.0 + shrink * growth / total

    start = _first_log_kappa(q, delta, y)
    if start is None:
        return concatenate([leaf.respond(0.0).x for leaf in leaves])
    value, slope = imbalance(start)
    ends = sorted((start - value * 1.0000001, start - value * (q - 1.0) * 0.9999999))
    root = increasing_root(imbalance, start - value / slope, ends[0] - 1e-12, ends[1] + 1e-12)
    imbalance(root)
    return concatenate([answer.x for answer in answers])


def _first_log_kappa(q: float, delta: float, y: Array) -> float | None:
    """Log kappa of the plain l_q norm on the whole space, where ||x||_q = (q-1) ||y||_p; None where Psi would be 0."""
    length = max((q - 1.0) * norm(y, q / (q - 1.0)), delta * y.shape[0] ** (1.0 / q))
    return math.log(q - 1.0) + (q - 2.0) * math.log(length) if length > 0.0 else None


def _leaves(q: float, delta: float, region: ConvexSet, regularizer: Regularizer, y: Array, step_size: float) -> list["_Leaf"]:
    """One leaf per factor of the region."""
    if isinstance(region, Product):
        regularizers = _factor_regularizers(region, regularizer)
        blocks = zip(region.parts, regularizers, split(y, region.sizes), strict=True)
        return [leaf for (part, _), h, block in blocks for leaf in _leaves(q, delta, part, h, block, step_size)]
    if regularizer.elastic_weights is None:
        raise UnsupportedError(
            f"No exact step for {regularizer!r} in the smoothed l_q geometry; supported: Zero, L1, ElasticNet, and BlockSum of these on matching Products."
        )
    l1, l2 = (step_size * weight for weight in regularizer.elastic_weights)
    if isinstance(region, Simplex):  # there the l1 term is constant
        return [_SimplexLeaf(q, delta, y, l2, region.radius)]
    y = soft_threshold(y, l1)
    if isinstance(region, (WholeSpace, NonNegative, Box)):
        return [_IntervalLeaf(q, delta, y, l2, *_bounds(region, y))]
    if isinstance(region, L1Ball):
        return [_L1Leaf(q, delta, y, l2, region.radius)]
    if isinstance(region, L2Ball):
        return [_BallLeaf(q, delta, y, l2, region.radius, 2.0)]
    if isinstance(region, LqBall) and (region.q == 2.0 or abs(region.q - q) <= 1e-12 * q):
        return [_BallLeaf(q, delta, y, l2, region.radius, region.q)]
    raise UnsupportedError(
        f"No exact step on {region!r} in the smoothed l_q geometry with q = {q}; supported: WholeSpace, Box, NonNegative, Simplex, "
        f"L1Ball, L2Ball, LqBall(q={q}, ...) and Products of these."
    )


def _factor_regularizers(region: Product, regularizer: Regularizer) -> list[Regularizer]:
    if not isinstance(regularizer, BlockSum):
        return [regularizer] * len(region.parts)
    if regularizer.sizes != region.sizes:
        raise UnsupportedError(f"`BlockSum` of blocks {regularizer.sizes} needs a Product with the same blocks, got {region!r}.")
    return [h for h, _ in regularizer.parts]


def _bounds(region: ConvexSet, y: Array) -> tuple[Array | None, Array | None]:
    xp = namespace(y)
    if isinstance(region, Box):
        return region.bounds_like(y)
    return (xp.zeros_like(y), None) if isinstance(region, NonNegative) else (None, None)


@dataclass
class _Leaf(ABC):
    """The coordinate problems of one factor; y already carries the soft threshold, `linear` is eta l2."""

    q: float
    delta: float
    y: Array
    linear: float

    def __post_init__(self) -> None:
        xp = namespace(self.y)
        self.log_delta = math.log(self.delta) if self.delta > 0.0 else -math.inf
        self.half_power = self.q / 2.0 - 1.0
        self.log_y = xp.log(maximum(xp.abs(self.y), TINY))

    @abstractmethod
    def respond(self, log_kappa: float) -> Response:
        """x, its part of Psi and the derivative of that part, for this kappa."""

    def solve(self, log_w: Array, log_kappa: float, log_linear: float, log_power: float = -math.inf) -> "_Roots":
        """phi(x) + kappa (t x + theta x^{q-1}) = w for every coordinate."""
        s = log_coordinate_root(log_w, self.half_power, self.log_delta, log_kappa + log_linear, log_kappa + log_power, self.q - 1.0)
        return _Roots.at(s, self, log_kappa, log_linear, log_power)


class _Roots(NamedTuple):
    """Magnitudes x and what derivatives need: with D the derivative of the coordinate equation, 1/D = rho/M."""

    x: Array
    power: Array  # (x^2 + delta^2)^{q/2}, the coordinate's part of Psi
    work: Array  # phi(x) x
    rho: Array  # kappa x / phi(x)
    stiffness: Array  # M = D rho

    @classmethod
    def at(cls, s: Array, leaf: _Leaf, log_kappa: float, log_linear: float, log_power: float) -> "_Roots":
        xp = namespace(s)
        log_a, share = log_smoothed_square(s, leaf.log_delta)
        power = bounded_exp(0.5 * leaf.q * log_a)
        log_rho = log_kappa - leaf.half_power * log_a
        stiffness = 1.0 + 2.0 * leaf.half_power * share
        if log_linear > -math.inf:
            stiffness = stiffness + bounded_exp(log_linear + log_rho)
        if log_power > -math.inf:
            stiffness = stiffness + (leaf.q - 1.0) * bounded_exp(log_power + (leaf.q - 2.0) * s + log_rho)
        return cls(bounded_exp(s), power, power * share, bounded_exp(log_rho), stiffness)

    def response(self, sign: Array, q: float, log_kappa: float, normal: Array | None) -> Response:
        """The answer, with dx = x/M on the factor's surface when it has a normal there."""
        xp = namespace(self.x)
        growth = float(xp.sum(self.work / self.stiffness))
        if normal is not None:
            across = float(xp.sum(normal * normal * self.rho / self.stiffness))
            growth -= math.exp(log_kappa) * float(xp.sum(normal * self.x / self.stiffness)) ** 2 / across if across > 0.0 else 0.0
        return Response(sign * self.x, float(xp.sum(self.power)), max(q * growth, 0.0))


@dataclass
class _IntervalLeaf(_Leaf):
    """WholeSpace, NonNegative, Box: the coordinate root, clipped."""

    lower: Array | None
    upper: Array | None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kernel = None
        if self.linear == 0.0 and is_numpy(self.y):
            from zolal.mirror._lq_kernels import IntervalKernel

            self.kernel = IntervalKernel(self.q, self.delta, self.y, self.log_y, self.lower, self.upper)

    def respond(self, log_kappa: float) -> Response:
        if self.kernel is not None:
            return Response(*self.kernel.respond(log_kappa))
        xp = namespace(self.y)
        roots = self.solve(log_kappa + self.log_y, log_kappa, _log(self.linear))
        free = xp.sign(self.y) * roots.x
        x = free
        if self.lower is not None:
            x = xp.maximum(x, self.lower)
        if self.upper is not None:
            x = xp.minimum(x, self.upper)
        inside = x == free
        power = xp.where(inside, roots.power, (x * x + self.delta**2) ** (0.5 * self.q))
        growth = xp.where(inside, roots.work / roots.stiffness, xp.zeros_like(x))
        return Response(x, float(xp.sum(power)), self.q * float(xp.sum(growth)))


@dataclass
class _BallLeaf(_Leaf):
    """||x||_q or ||x||_2 at most the radius: one multiplier theta, found in its logarithm."""

    radius: float
    exponent: float

    def respond(self, log_kappa: float) -> Response:
        xp = namespace(self.y)
        roots = self._roots(log_kappa, -math.inf)
        if norm(roots.x, self.exponent) <= self.radius:
            return roots.response(xp.sign(self.y), self.q, log_kappa, None)
        log_radius = math.log(self.radius)

        def shortfall(log_theta: float) -> tuple[float, float]:
            """Log radius - log ||x||, which increases with log theta, and its derivative."""
            found = self._roots(log_kappa, log_theta)
            scaled = found.x / max(norm(found.x, math.inf), TINY)
            weight = scaled**self.exponent
            pull = bounded_exp(log_theta + (self.exponent - 2.0) * xp.log(maximum(found.x, TINY))) * found.rho / found.stiffness
            return log_radius - math.log(max(norm(found.x, self.exponent), TINY)), float(xp.sum(weight * pull)) / float(xp.sum(weight))

        # theta x^{e-1} <= |y| bounds ||x||_e by (||y|| / theta)^{1/(e-1)} in the dual norm, hence theta from above
        dual = self.exponent / (self.exponent - 1.0)
        upper = math.log(norm(self.y, dual)) - (self.exponent - 1.0) * log_radius + 1e-9
        width = 1.0
        while shortfall(upper - width)[0] > 0.0 and width < 1e4:
            width *= 2.0
        roots = self._roots(log_kappa, increasing_root(shortfall, upper, upper - width, upper))
        answer = roots.response(xp.sign(self.y), self.q, log_kappa, roots.x ** (self.exponent - 1.0))
        return answer._replace(x=answer.x * (self.radius / norm(roots.x, self.exponent)))

    def _roots(self, log_kappa: float, log_theta: float) -> _Roots:
        if self.exponent == 2.0:
            return self.solve(log_kappa + self.log_y, log_kappa, _log_sum(_log(self.linear), log_theta))
        return self.solve(log_kappa + self.log_y, log_kappa, _log(self.linear), log_theta)


@dataclass
class _SimplexLeaf(_Leaf):
    """x >= 0 with a given sum: phi(x_i)/kappa + eta l2 x_i = (theta - gap_i)_+, gap_i = max(y) - y_i, so nothing cancels."""

    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        xp = namespace(self.y)
        self.gap = xp.max(self.y) - self.y

    def respond(self, log_kappa: float) -> Response:
        xp = namespace(self.y)

        def excess(log_theta: float) -> tuple[float, float]:
            """Log sum(x) - log radius and its derivative in log theta."""
            found, active = self._roots(log_kappa, log_theta)
            total = float(xp.sum(active * found.x))
            return math.log(total) - math.log(self.radius), math.exp(log_theta) * float(
                xp.sum(active * found.rho / found.stiffness)
            ) / total

        # the largest coordinate lies between radius / d and radius
        lower, upper = (self._log_theta_of(size, log_kappa) for size in (self.radius / self.y.shape[0], self.radius))
        if upper - lower < 1e-15 * max(1.0, abs(upper)):
            log_theta = upper
        else:
            log_theta = increasing_root(excess, 0.5 * (lower + upper), lower - 1e-12, upper + 1e-12)
        roots, active = self._roots(log_kappa, log_theta)
        x = active * roots.x
        answer = roots._replace(x=x, work=active * roots.work).response(xp.ones_like(x), self.q, log_kappa, active)
        return answer._replace(x=x * (self.radius / float(xp.sum(x))))

    def _roots(self, log_kappa: float, log_theta: float) -> tuple[_Roots, Array]:
        xp = namespace(self.y)
        level = math.exp(log_theta) - self.gap
        log_w = log_kappa + xp.log(maximum(level, TINY))
        return self.solve(log_w, log_kappa, _log(self.linear)), xp.astype(level > 0.0, self.y.dtype)

    def _log_theta_of(self, x: float, log_kappa: float) -> float:
        """Log of phi(x) / kappa + eta l2 x."""
        log_phi = math.log(x) + self.half_power * math.log(x * x + self.delta**2) - log_kappa
        return _log_sum(log_phi, _log(self.linear * x))


@dataclass
class _L1Leaf(_Leaf):
    """||x||_1 at most the radius: free when the unconstrained answer fits, else a simplex in the magnitudes."""

    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        xp = namespace(self.y)
        self.free = _IntervalLeaf(self.q, self.delta, self.y, self.linear, None, None)
        self.surface = _SimplexLeaf(self.q, self.delta, xp.abs(self.y), self.linear, self.radius)

    def respond(self, log_kappa: float) -> Response:
        xp = namespace(self.y)
        answer = self.free.respond(log_kappa)
        if float(xp.sum(xp.abs(answer.x))) <= self.radius:
            return answer
        answer = self.surface.respond(log_kappa)
        return answer._replace(x=xp.sign(self.y) * answer.x)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _log_sum(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    larger, smaller = max(a, b), min(a, b)
    return larger if smaller == -math.inf else larger + math.log1p(math.exp(smaller - larger))
