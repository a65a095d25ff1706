"""Independent twins of the library's objects: sets, regularizers and potentials as cvxpy expressions, typed from their definitions."""

import warnings

import cvxpy as cp
import numpy as np

from zolal.mirror import Euclidean, MirrorMap, SmoothedLq
from zolal.regularizers import L1, BlockSum, ElasticNet, GroupL2, Regularizer, Zero
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace


def membership(region: ConvexSet, y: cp.Expression) -> list[cp.Constraint]:
    """Y in the set."""
    match region:
        case WholeSpace():
            return []
        case Box():
            lower, upper = (np.broadcast_to(bound, y.shape) for bound in (region.lower, region.upper))
            low, high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
            return [y[i] >= lower[i] for i in low] + [y[i] <= upper[i] for i in high]
        case NonNegative():
            return [y >= 0]
        case L1Ball() | L2Ball() | LqBall():
            return [norm(y, exponent(region)) <= region.radius]
        case Simplex():
            return [y >= 0, cp.sum(y) == region.radius]
        case Product():
            return [c for part, block in blocks(region, y) for c in membership(part, block)]
    raise NotImplementedError(region)


def norm(y: cp.Expression, p: float) -> cp.Expression:
    """||y||_p: second-order cones for p = 2, power cones beyond 1 and 2."""
    return cp.norm(y, p) if p in (1.0, 2.0) else cp.pnorm(y, p, approx=False)


def exponent(ball: ConvexSet) -> float:
    """The exponent of a ball's norm."""
    return {L1Ball: 1.0, L2Ball: 2.0}.get(type(ball)) or ball.q


def blocks(whole: Product | BlockSum, y):
    """Each part with its block of y."""
    ends = np.cumsum([size for _, size in whole.parts])
    return [(part, y[end - size : end]) for (part, size), end in zip(whole.parts, ends, strict=True)]


def penalty(h: Regularizer, y: cp.Expression) -> cp.Expression:
    """h(y)."""
    match h:
        case Zero():
            return cp.Constant(0.0)
        case L1():
            return h.weight * cp.norm1(y)
        case ElasticNet():
            return h.l1 * cp.norm1(y) + h.l2 * cp.sum_squares(y) / 2
        case GroupL2():
            ends = np.cumsum(h.sizes)
            return h.weight * sum(cp.norm2(y[end - size : end]) for size, end in zip(h.sizes, ends, strict=True))
        case BlockSum():
            return sum(penalty(part, block) for part, block in blocks(h, y))
    raise NotImplementedError(h)


def potential(mirror: MirrorMap, y: cp.Expression) -> cp.Expression:
    """v(y): half the squared norm, or Eq. (5.13) as a norm of the lengths of (y_i, delta)."""
    match mirror:
        case Euclidean():
            return cp.sum_squares(y) / 2
        case SmoothedLq():
            lengths = cp.norm(cp.vstack([y, np.full(y.shape, mirror.delta)]), 2, axis=0)
            q = mirror.p / (mirror.p - 1.0)
            return cp.square(norm(lengths, q)) / (2.0 * (q - 1.0))
    raise NotImplementedError(mirror)


def normal_vector(region: ConvexSet, x: np.ndarray, n: cp.Expression) -> list[cp.Constraint]:
    """N in the normal cone of the set at x, which lies in the set; a bound holds at x when x meets it to 1e-12."""
    match region:
        case Product():
            return [c for (part, b), (_, m) in zip(blocks(region, x), blocks(region, n), strict=True) for c in normal_vector(part, b, m)]
        case WholeSpace() | Box() | NonNegative():
            low, high = {WholeSpace: (-np.inf, np.inf), NonNegative: (0.0, np.inf)}.get(type(region)) or (region.lower, region.upper)
            at_low, at_high = (np.broadcast_to(np.abs(x - bound) <= 1e-12, x.shape) for bound in (low, high))
            return [n[i] <= 0 for i in np.flatnonzero(~at_high)] + [n[i] >= 0 for i in np.flatnonzero(~at_low)]
        case Simplex():
            t = cp.Variable()
            return [n <= t] + [n[i] == t for i in np.flatnonzero(x > 1e-12)]
    if np.linalg.norm(x, exponent(region)) < region.radius * (1 - 1e-12):
        return [n == 0]
    t = cp.Variable(nonneg=True)
    if isinstance(region, L1Ball):
        return [cp.abs(n) <= t] + [n[i] == t * np.sign(x[i]) for i in np.flatnonzero(np.abs(x) > 1e-12)]
    return [n == t * (np.sign(x) * np.abs(x) ** (exponent(region) - 1.0))]


def minimum(objective: cp.Expression, constraints: list[cp.Constraint]) -> float:
    """The least value, by an interior-point method; variables keep the minimiser.

    The tolerances are tighter than it can always reach, and it then warns; what it did reach is seen in the comparison.
    """
    problem = cp.Problem(cp.Minimize(objective), constraints)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)
