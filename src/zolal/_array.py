"""Array namespaces: the few operations that the standard leaves to us.

State arrays belong to the namespace of x0 (NumPy, PyTorch, CuPy, JAX); everything is written once against the array API
standard and reaches the namespace through `namespace(x)`.
"""

import math
from collections.abc import Sequence
from typing import Any

import array_api_compat
import numpy as np

Array = Any  # an array of any namespace of the array API standard
EPS = float(np.finfo(np.float64).eps)  # the unit of rounding in double precision, which other tolerances are multiples of
NUMPY = array_api_compat.array_namespace(np.empty(0))


def rounding(x: Array) -> float:
    """The unit of rounding of the precision of `x`."""
    return float(namespace(x).finfo(x.dtype).eps)


def namespace(*arrays: Array) -> Any:
    """The array API namespace of the given arrays (Python scalars are skipped)."""
    if type(arrays[0]) is np.ndarray and len(arrays) == 1:
        return NUMPY  # to look through all namespaces takes longer than most of what is done with a short array
    return array_api_compat.array_namespace(*arrays)


def is_numpy(x: Array) -> bool:
    """Whether `x` is a NumPy float64 array, so that the compiled kernels apply."""
    return isinstance(x, np.ndarray) and x.dtype == np.float64


def like(values: Any, x: Array) -> Array:
    """`values` as an array with the namespace, dtype and device of `x`."""
    if type(values) is np.ndarray and type(x) is np.ndarray:
        return values.astype(x.dtype, copy=False)
    if array_api_compat.is_array_api_obj(values) and type(values) is type(x) and values.dtype == x.dtype:
        return values.detach() if array_api_compat.is_torch_array(values) else values
    return namespace(x).asarray(np.array(to_numpy(values)), dtype=x.dtype, device=array_api_compat.device(x))


def copied(x: Array) -> Array:
    """A copy, for a user's function that may write into it."""
    if type(x) is np.ndarray:
        return x.copy()
    return namespace(x).asarray(x, copy=True)


def zeros(size: int, x: Array) -> Array:
    """A vector of zeros with the namespace, dtype and device of `x`."""
    return namespace(x).zeros(size, dtype=x.dtype, device=array_api_compat.device(x))


def to_numpy(x: Any) -> np.ndarray:
    """`x` as a NumPy array, moved to the host where needed."""
    if type(x) is np.ndarray:
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu())
    if array_api_compat.is_cupy_array(x):
        return np.asarray(x.get())
    if array_api_compat.is_array_api_obj(x) and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def dot(x: Array, y: Array) -> float:
    """<x, y> as a Python float."""
    return float(x @ y if _is_silent(x) else namespace(x).sum(x * y))


def _is_silent(x: Array) -> bool:
    """Whether a sum that overflows is infinite and no warning comes with it."""
    return bool(array_api_compat.is_torch_array(x) or array_api_compat.is_cupy_array(x))


def norm(x: Array, p: float = 2.0) -> float:
    """||x||_p, scaled by the largest entry so that nothing overflows; 0 for an empty vector."""
    xp = namespace(x)
    if x.shape[0] == 0:
        return 0.0
    if p == 2.0 and _is_silent(x):  # one pass where that is enough
        square, limits = dot(x, x), xp.finfo(x.dtype)
        if limits.smallest_normal / limits.eps < square < math.inf:
            return math.sqrt(square)
    largest = float(xp.max(xp.abs(x)))
    if largest == 0.0 or not math.isfinite(largest) or p == math.inf:
        return largest
    scaled = xp.abs(x) / largest
    if p == 1.0:
        return largest * float(xp.sum(scaled))
    ratio: float = float(xp.sum(scaled**p)) ** (1.0 / p)
    return largest * ratio


def is_finite(x: Array) -> bool:
    """Whether every entry is finite."""
    if type(x) is np.ndarray:
        return bool(np.isfinite(x).all())
    xp = namespace(x)
    return bool(xp.all(xp.isfinite(x)))


def soft_threshold(x: Array, threshold: float) -> Array:
    """sign(x) max(|x| - threshold, 0), the proximal operator of threshold ||.||_1."""
    xp = namespace(x)
    if threshold == 0.0:
        return x
    return xp.sign(x) * maximum(xp.abs(x) - threshold, 0.0)


def maximum(x: Array, bound: float) -> Array:
    """max(x, bound), elementwise, for a scalar bound."""
    xp = namespace(x)
    return xp.where(x > bound, x, xp.full_like(x, bound))


def concatenate(parts: Sequence[Array]) -> Array:
    """The parts one after the other; a single part is returned as it is."""
    return parts[0] if len(parts) == 1 else namespace(*parts).concat(list(parts))


def split(x: Array, sizes: Sequence[int]) -> list[Array]:
    """The blocks of `x` with the given sizes."""
    blocks, start = [], 0
    for size in sizes:
        blocks.append(x[start : start + size])
        start += size
    return blocks


def tree_sum(x: Array) -> Array:
    """Sum of a vector in one fixed order, hence bit-identical on every backend.

    Halves the vector until one entry is left. Library sums differ in the last bits between backends.
    """
    xp = namespace(x)
    while x.shape[0] > 1:
        half, odd = divmod(x.shape[0], 2)
        folded = x[:half] + x[half : 2 * half]
        x = xp.concat([folded, x[2 * half :]]) if odd else folded
    return x[0]
