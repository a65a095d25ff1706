"""How far a point is from solving the paper's subproblem (3.4), from the optimality condition alone."""

import numpy as np
from references import blocks, exponent

from zolal.mirror import Block, Euclidean, MirrorMap
from zolal.regularizers import BlockSum, Regularizer
from zolal.sets import Box, ConvexSet, L1Ball, NonNegative, Product, Simplex, WholeSpace

NO_NUMBER = 1e-270  # below it lie solutions that no float holds, as |x_i|^{q-1} may be large there; x_i = 0 stands for all of them


def naive_gradient(mirror: MirrorMap, x: np.ndarray) -> np.ndarray:
    """grad v(x), typed from Appendix A."""
    if isinstance(mirror, Euclidean):
        return x
    if isinstance(mirror, Block):
        return np.concatenate([naive_gradient(part, block) for part, block in blocks(mirror, x)])
    q, squares = mirror.p / (mirror.p - 1), x**2 + mirror.delta**2
    total = np.sum(squares ** (q / 2))
    powers = np.where(x == 0, 0.0, np.where(squares > 0, squares, 1.0) ** (q / 2 - 1))
    return np.zeros_like(x) if total == 0 else total ** (2 / q - 1) * powers * x / (q - 1)


def optimality_residual(mirror, region, regularizer, x, g, step_size, new) -> float:
    """Distance of 0 to grad v(new) - grad v(x) + eta (g + dh(new) + N_X(new)) in the sup norm, relative to the pieces' sup norms."""
    pieces = [naive_gradient(mirror, new), -naive_gradient(mirror, x), step_size * g]
    scale = sum(float(np.abs(piece).max()) for piece in pieces)
    return _distance(region, regularizer, new, sum(pieces), step_size) / scale if scale > 0 else 0.0


def _distance(region: ConvexSet, h: Regularizer, x: np.ndarray, slope: np.ndarray, step_size: float) -> float:
    """Distance of 0 to slope + eta dh(x) + N_X(x) in the sup norm."""
    if isinstance(region, Product):
        ends = np.cumsum(region.sizes)
        terms = [part for part, _ in h.parts] if isinstance(h, BlockSum) else [h] * len(ends)
        slopes = [block for _, block in blocks(region, slope)]
        parts = zip(blocks(region, x), terms, slopes, strict=True)
        return max(_distance(part, term, block, s, step_size) for (part, block), term, s in parts)
    l1, l2 = h.elastic_weights
    slope, weight = slope + step_size * l2 * x, step_size * l1
    if isinstance(region, (WholeSpace, NonNegative, Box)):
        low, high = {WholeSpace: (-np.inf, np.inf), NonNegative: (0.0, np.inf)}.get(type(region)) or (region.lower, region.upper)
        return _gap(slope, x, weight, pushed_up=x <= low, pushed_down=x >= high)
    if isinstance(region, Simplex):
        return _gap(slope - _middle(slope[x > 0]), x, 0.0, pushed_up=x <= 0)
    if np.linalg.norm(x, exponent(region)) < region.radius * (1 - 1e-12):
        return _gap(slope, x, weight)
    if isinstance(region, L1Ball):
        return _gap(slope, x, max(weight, -_middle((slope * np.sign(x))[x != 0])))
    largest, power = np.abs(x).max(), exponent(region) - 1
    x = np.where(np.abs(x) < NO_NUMBER, 0.0, x)
    normal = np.sign(x) * (np.abs(x) / largest) ** power
    theta = max(0.0, -((slope + weight * np.sign(x)) @ normal) / (normal @ normal))
    return _gap(slope + theta * normal, x, weight + theta * (NO_NUMBER / largest) ** power * (x == 0))


def _middle(values: np.ndarray) -> float:
    return 0.5 * float(values.max() + values.min())


def _gap(slope, x, weight, pushed_up=False, pushed_down=False) -> float:
    """Distance of 0 to slope + weight d||.||_1(x) + the cone of the bounds that hold x: (-inf, 0] at a lower, [0, inf) at an upper."""
    low = np.where(pushed_up, -np.inf, slope + np.where(x > 0, weight, -weight))
    high = np.where(pushed_down, np.inf, slope + np.where(x < 0, -weight, weight))
    return float(np.maximum(0.0, np.maximum(low, -high)).max())
