"""The normalised Walsh-Hadamard transform: d log2 d additions, never a matrix."""

import math

import numpy as np

from zolal._array import Array, is_numpy, namespace
from zolal._checks import require


def fwht(x: Array) -> Array:
    """H x along the last axis, H_{ij} = (-1)^{popcount(i & j)} / sqrt(d): symmetric and orthogonal, so it is its own inverse.

    x: shape (..., d), d a power of two.

    >>> fwht(np.asarray([1.0, 0.0, 0.0, 0.0])).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    d = int(x.shape[-1])
    require(d > 0 and d & (d - 1) == 0, "fwht(x)", "have a power of two as its last length", d)
    if is_numpy(x) and x.dtype == np.float64:
        from zolal._hadamard_kernels import transform_rows

        out = x.reshape(-1, d).copy()
        transform_rows(out)
        return (out * (1.0 / math.sqrt(d))).reshape(x.shape)
    return _butterflies(x, d) / math.sqrt(d)


def _butterflies(x: Array, d: int) -> Array:
    """sqrt(d) H x by the array API alone: log2 d passes of sums and differences."""
    xp, shape = namespace(x), tuple(x.shape)
    half = 1
    while half < d:
        pairs = xp.reshape(x, (*shape[:-1], d // (2 * half), 2, half))
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        x = xp.reshape(xp.stack([first + second, first - second], axis=-2), shape)
        half *= 2
    return x
