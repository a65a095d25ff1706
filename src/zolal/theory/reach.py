"""How far X reaches from the origin: D_X of Assumption 2.1, from the set itself."""

import math

import numpy as np

from zolal._checks import is_number, positive_int, require
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace


def region_bound(region: ConvexSet, dimension: int, q: float) -> float | None:
    """D_X, the largest ||x||_q over X (Assumption 2.1, label `ass:lip`); infinite where X is unbounded, None where it is not known.

    Known for the sets of `zolal.sets`. A convex function is largest at an extreme point: at a corner of a box, at a vertex radius e_i of
    the l1 ball and the simplex, and, by Hoelder's inequality, at a vertex or on the diagonal of other balls. Differs from the paper:
    nothing.

    >>> region_bound(Box(-1.0, 2.0), 4, 2.0)
    4.0
    """
    positive_int("region_bound(dimension=...)", dimension)
    require(is_number(q) and 1 <= q < math.inf, "region_bound(q=...)", "be a finite number >= 1", q)
    region.check_dimension(dimension)
    match region:
        case Box():
            corner = np.maximum(np.abs(region.lower), np.abs(region.upper))
            return float(np.linalg.norm(np.broadcast_to(corner, (dimension,)), q))
        case L1Ball() | Simplex():
            return region.radius
        case L2Ball():
            return region.radius * _flat(dimension, q, 2.0)
        case LqBall():
            return region.radius * _flat(dimension, q, region.q)
        case WholeSpace() | NonNegative():
            return math.inf
        case Product():
            parts = [region_bound(part, size, q) for part, size in region.parts]
            if any(part == math.inf for part in parts):
                return math.inf
            return None if any(part is None for part in parts) else float(np.linalg.norm(np.array(parts, dtype=float), q))
    return None


def _flat(dimension: int, q: float, order: float) -> float:
    """The largest ||x||_q over ||x||_order <= 1."""
    return dimension ** max(0.0, 1.0 / q - 1.0 / order)
