"""How large a region and a problem are, so that lengths can be relative to that."""

import math

import numpy as np

from zolal._array import Array, norm
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, Product, Simplex


def diameter(region: ConvexSet, dimension: int) -> float:
    """A Euclidean diameter of the region, infinite where it is unbounded."""
    match region:
        case Box():
            lower, upper = (np.broadcast_to(np.asarray(bound, dtype=float), (dimension,)) for bound in (region.lower, region.upper))
            return float(np.linalg.norm(upper - lower))
        case L1Ball() | L2Ball():
            return 2.0 * region.radius
        case LqBall():
            return 2.0 * region.radius * dimension ** max(0.0, 0.5 - 1.0 / region.q)
        case Simplex():
            return math.sqrt(2.0) * region.radius
        case Product():
            return math.hypot(*(diameter(part, size) for part, size in region.parts))
    return math.inf


def length_scale(region: ConvexSet, x0: Array, x: Array) -> float:
    """The size of the problem: the region's diameter, or how far the start lies from 0 or from feasibility, or 1."""
    across = diameter(region, x.shape[0])
    return across if math.isfinite(across) and across > 0.0 else max(norm(x), norm(x - x0)) or 1.0
