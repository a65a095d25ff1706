"""What no method can do on the dense QCQP, and what the paper prints."""

import math
from typing import Any

import numpy as np

PRINTED = {"euc-theory": 7.54e5, "euc-matched": 1.58e6, "non-euc": 6.22e3}  # queries to r_2 <= 1e-2, Section 7.1
PRINTED_AT = 2**14


HIDDEN = 3.5 - math.sqrt(7.0)  # where x - g leaves the ball, r_2 >= max(2.5 - ||x||, (||x||^2 - 1)/2), least at ||x|| = sqrt(7) - 1


def least_residual(queries: float | np.ndarray, d: int) -> np.ndarray:
    """What r_2 can be at best after so many queries, in the mean over b: the square root of 1 - m/d, or 0.854 if that is less.

    b is uniform on the unit sphere and a query tells one linear functional of it; what m queries have not touched has norm^2 1 - m/d in
    the mean, and no choice of x and of the multiplier cancels it in g, so E ||g||^2 >= 1 - m/d. r_2 sees g after a projection on the
    ball, which can hide g only at r_2 >= 0.854: r_2 >= min(||g||_2, 0.854). The derivation is in docs/reproduction.md.
    """
    return np.minimum(np.sqrt(np.maximum(0.0, 1.0 - np.asarray(queries, float) / d)), HIDDEN)


def least_queries(d: Any, target: float) -> Any:
    """The fewest queries after which the root mean square of r_2 can be as small as the target: m >= (1 - target^2) d."""
    return (1.0 - target**2) * d


def times_below(queries: float, d: int, target: float) -> float:
    """How many times fewer than the least such a number of queries is; below 1: more than the least."""
    return float(least_queries(d, target)) / queries


def power_of_two(d: int) -> str:
    """16384 as 2^14."""
    return f"2^{round(math.log2(d))}"
