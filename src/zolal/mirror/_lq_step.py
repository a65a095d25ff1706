"""The mirror step in the smoothed l_q geometry: min over x in X of v_delta(x) - <y, x> + eta h(x), exactly.

Write Psi = sum_i (x_i^2 + delta^2)^{q/2}, phi(x) = (x^2 + delta^2)^{q/2-1} x and kappa = (q-1) Psi^{1-2/q}. Once kappa is
known the problem falls apart into coordinates and, for balls and simplices, one multiplier theta per factor of X:

    phi(x_i) / kappa + eta l2 x_i + theta n_i(x) = soft(y_i, eta l1),    clipped to the box,

with n(x) the normal of the factor. So each factor (`_lq_factors`) answers "what are x, Psi and
dPsi / dlog kappa for this kappa?", and one increasing scalar equation for log kappa,

    R(log kappa) = log kappa - log(q-1) + ((2-q)/q) log Psi(kappa) = 0,

whose slope lies in [1, 1/(q-1)] (docs/algorithm.md), so one evaluation brackets the root. All of it is done in logarithms.
The coordinates are solved by compiled kernels (`_lq_kernels`) or on arrays of any namespace (`_lq_arrays`).
"""

import math
from collections.abc import Sequence
from typing import Any

from zolal._array import Array, concatenate, split
from zolal._roots import increasing_root
from zolal.errors import UnsupportedError
from zolal.mirror._lq_factors import BallFactor, Factor, IntervalFactor, L1Factor, SimplexFactor, Terms
from zolal.regularizers import BlockSum, Regularizer
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace


def solve_lq_step(
    q: float, delta: float, region: ConvexSet, regularizer: Regularizer, y: Array, step_size: float, compiled: bool | None = None
) -> Array:
    """argmin over x in the region of v_delta(x) - <y, x> + step_size h(x).

    `compiled` chooses between the compiled kernels and the array code; by default NumPy float64 gets the kernels.
    """
    # v_delta is homogeneous of degree 2 in (x, delta) only on cones, so no rescaling: logarithms carry every magnitude
    factors = _factors(q, delta, region, regularizer, y, step_size, compiled)
    length = max(delta * y.shape[0] ** (1.0 / q), *(factor.length() for factor in factors))
    if q == 2.0 or not length > 0.0:  # kappa = 1, or x = 0 wherever it may be
        for factor in factors:
            factor.respond(0.0)
    else:
        _solve_kappa(q, factors, math.log(q - 1.0) + (q - 2.0) * math.log(length))
    return concatenate([factor.solution() for factor in factors])


def _solve_kappa(q: float, factors: Sequence[Factor], start: float) -> None:
    """Brings every factor to the root of R, first on a sample of the coordinates, which is cheap, then on all of them."""
    samples = [factor.sampled() for factor in factors]
    if any(sample is not factor for sample, factor in zip(samples, factors, strict=True)):
        start = _balance(q, samples, start)
        for factor, sample in zip(factors, samples, strict=True):
            factor.start_from(sample)
    _balance(q, factors, start)


def _balance(q: float, factors: Sequence[Factor], start: float) -> float:
    """The root of R."""
    shrink = (2.0 - q) / q

    def imbalance(log_kappa: float) -> tuple[float, float]:
        answers = [(factor.terms.weight, *factor.respond(log_kappa)) for factor in factors]
        total = max(sum(weight * part for weight, part, _ in answers), 1e-320)
        growth = sum(weight * slope for weight, _, slope in answers)
        return log_kappa - math.log(q - 1.0) + shrink * math.log(total), 1.0 + shrink * growth / total

    return increasing_root(imbalance, start, slopes=(1.0, 1.0 / (q - 1.0)))


def _factors(
    q: float, delta: float, region: ConvexSet, regularizer: Regularizer, y: Array, step_size: float, compiled: bool | None
) -> list[Factor]:
    """One factor per factor of the region."""
    if isinstance(region, Product):
        blocks = zip(region.parts, _factor_regularizers(region, regularizer), split(y, region.sizes), strict=True)
        return [factor for (part, _), h, block in blocks for factor in _factors(q, delta, part, h, block, step_size, compiled)]
    if regularizer.elastic_weights is None:
        supported = "Zero, L1, ElasticNet, and BlockSum of these on matching Products"
        raise UnsupportedError(f"No exact step for {regularizer!r} in the smoothed l_q geometry; supported: {supported}.")
    l1, l2 = (step_size * weight for weight in regularizer.elastic_weights)
    if isinstance(region, Simplex):  # there the l1 term is constant
        return [SimplexFactor(Terms(q, delta, y, 0.0, l2, signed=False, compiled=compiled), region.radius, 1.0)]
    lower, upper = _bounds(region)
    terms = Terms(q, delta, y, l1, l2, lower, upper, compiled=compiled)
    if isinstance(region, (WholeSpace, NonNegative, Box)):
        return [IntervalFactor(terms)]
    if isinstance(region, L1Ball):
        return [L1Factor(terms, region.radius, 1.0)]
    if isinstance(region, L2Ball):
        return [BallFactor(terms, region.radius, 2.0)]
    if isinstance(region, LqBall) and (region.q == 2.0 or abs(region.q - q) <= 1e-12 * q):
        return [BallFactor(terms, region.radius, region.q)]
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


def _bounds(region: ConvexSet) -> tuple[Any, Any]:
    """Both bounds, as numbers or vectors."""
    if isinstance(region, Box):
        return region.lower, region.upper
    return 0.0 if isinstance(region, NonNegative) else -math.inf, math.inf
