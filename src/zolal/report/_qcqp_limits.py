"""What no method can do on the dense QCQP, and what the paper prints."""

import math
from typing import Any

import numpy as np

PRINTED = {"euc-theory": 7.54e5, "euc-matched": 1.58e6, "non-euc": 6.22e3}  # queries to r_2 <= 1e-2, Section 7.1
PRINTED_AT = 2**14


def least_residual(queries: float | np.ndarray, d: int) -> np.ndarray:
    """The root of the least mean square of r_2 after so many queries, in expectation over b: E r_2^2 >= 1 - m/d.

    b is uniform on the unit sphere and a query tells one linear functional of it; what m queries have not touched has norm^2 1 - m/d in
    the mean, and no choice of x and of the multiplier cancels it.
    """
    return np.sqrt(np.maximum(0.0, 1.0 - np.asarray(queries, float) / d))


def least_queries(d: Any, target: float) -> Any:
    """The fewest queries after which the root mean square of r_2 can be as small as the target: m >= (1 - target^2) d."""
    return (1.0 - target**2) * d


def times_below(queries: float, d: int, target: float) -> float:
    """How many times fewer than the least such a number of queries is; below 1: more than the least."""
    return float(least_queries(d, target)) / queries


def power_of_two(d: int) -> str:
    """16384 as 2^14."""
    return f"2^{round(math.log2(d))}"
