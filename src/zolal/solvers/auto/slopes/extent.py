"""How large a problem is, so that lengths can be relative to that."""

import math

from zolal._array import Array, norm
from zolal.sets import ConvexSet


def length_scale(region: ConvexSet, x0: Array, x: Array) -> float:
    """The size of the problem: the region's diameter, or how far the start lies from 0 or from feasibility, or 1 per variable."""
    across = region.diameter(x.shape[0])
    return across if math.isfinite(across) and across > 0.0 else max(norm(x), norm(x - x0)) or math.sqrt(x.shape[0])
