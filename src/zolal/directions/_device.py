"""Directions on a GPU: CUDA tensors and CuPy arrays, passed over once by the kernels of `_triton`; nothing travels to the host."""

import importlib.util
import math
import os
from functools import cache, lru_cache
from typing import Any

import array_api_compat
import numpy as np

from zolal._array import Array
from zolal.directions import _wave

BLOCK = 1024  # coordinates of one program
STAGES, NEIGHBOURS = 11, 16  # of a transform: 2^11 entries of one program, 16 of them next to each other where rows lie apart
INTERPRETED = "TRITON_INTERPRET"  # the variable by which Triton runs its kernels without a GPU, on tensors of the CPU


def has_kernels(x: Array) -> bool:
    """Whether the kernels serve this array; it decides by its kind alone, so that NumPy's pay for nothing."""
    if isinstance(x, np.ndarray):
        return False
    if array_api_compat.is_torch_array(x):
        return (x.is_cuda or os.environ.get(INTERPRETED) == "1") and x.is_floating_point() and _has_triton()
    return (
        bool(array_api_compat.is_cupy_array(x)) and x.dtype.kind == "f" and _has_triton() and importlib.util.find_spec("torch") is not None
    )


@cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def shift(x: Array, scale: float, keys: np.ndarray, bit: int) -> Array:
    """x + scale u, the sign of u being a bit of the hashed word."""
    from zolal.directions import _triton

    return _shifted(_triton.shift, x, scale, keys, bit)


def shift_row(x: Array, scale: float, keys: np.ndarray, row: int) -> Array:
    """x + scale times a row of the Hadamard matrix with hashed signs."""
    from zolal.directions import _triton

    return _shifted(_triton.shift_row, x, scale, keys, row)


def shift_wave(x: Array, scale: float, keys: np.ndarray, row: int) -> Array:
    """x + scale times a row of the Hartley transform with hashed signs."""
    from zolal.directions import _triton

    tensor = _tensor(x)
    return _shifted(_triton.shift_wave, x, scale, keys, row, _series(len(tensor), tensor.device))


def combine(weights: Array, tables: list[np.ndarray], keys: list[tuple[np.ndarray, np.ndarray]], dimension: int) -> Array:
    """sum_j w_j u_j from the tables of partial sums of each 64 directions, with the bits of the CPU."""
    import torch

    from zolal.directions import _triton

    reference = _tensor(weights)
    out = torch.zeros(dimension, dtype=reference.dtype, device=reference.device)
    for table, (low, high) in zip(tables, keys, strict=True):
        entries = torch.from_numpy(table).to(device=reference.device, dtype=reference.dtype)
        _launch(_triton.add_combination, out, dimension, entries, *_signed(low), *_signed(high))
    return _back(out, weights)


def signs(dimension: int, keys: np.ndarray, reference: Array) -> Array:
    """+1 or -1 per coordinate."""
    import torch

    from zolal.directions import _triton

    tensor = _tensor(reference)
    out = torch.empty(dimension, dtype=tensor.dtype, device=tensor.device)
    _launch(_triton.signs, out, dimension, *_signed(keys))
    return _back(out, reference)


def transform(v: Array) -> Array:
    """The normalised Walsh-Hadamard transform of a vector whose length is a power of two, with the additions of `fwht`, in few passes."""
    from zolal.directions import _triton

    out = _tensor(v).clone()
    size, stride = len(out), 1
    while stride < size:
        columns = min(stride, NEIGHBOURS)
        stages = min(STAGES if stride == 1 else STAGES - NEIGHBOURS.bit_length() + 1, (size // stride).bit_length() - 1)
        factor = 1.0 / math.sqrt(size) if stride << stages == size else 1.0
        grid = (size // (columns << stages),)
        _triton.butterflies[grid](out, stride, _number(factor, out.dtype, out.device), 1 << stages, columns, stages, enable_fp_fusion=False)
        stride <<= stages
    return _back(out, v)


def _shifted(kernel: Any, x: Array, scale: float, keys: np.ndarray, *more: Any) -> Array:
    tensor = _tensor(x).contiguous()
    out = tensor.new_empty(tensor.shape)
    _launch(kernel, tensor, out, len(tensor), _number(float(scale), tensor.dtype, tensor.device), *_signed(keys), *more)
    return _back(out, x)


def _launch(kernel: Any, *arguments: Any) -> None:
    size = next(argument for argument in arguments if isinstance(argument, int))
    kernel[(-(-size // BLOCK),)](*arguments, BLOCK=BLOCK, enable_fp_fusion=False)


@lru_cache(maxsize=64)
def _number(value: float, dtype: Any, device: Any) -> Any:
    """A scalar in the precision of x; Triton's own are float32."""
    import torch

    return torch.full((1,), value, dtype=dtype, device=device)


@lru_cache(maxsize=4)
def _series(dimension: int, device: Any) -> Any:
    import torch

    return torch.from_numpy(_wave.coefficients(dimension)).to(device)


def _tensor(x: Array) -> Any:
    """The array as a PyTorch tensor that shares its memory."""
    if array_api_compat.is_torch_array(x):
        return x.detach()
    import torch

    return torch.from_dlpack(x)


def _back(tensor: Any, x: Array) -> Array:
    """A tensor as an array of the namespace of x."""
    return tensor if array_api_compat.is_torch_array(x) else array_api_compat.array_namespace(x).from_dlpack(tensor)


def _signed(keys: np.ndarray) -> list[int]:
    """32-bit keys as Triton's int32."""
    return [key - 2**32 if key >= 2**31 else key for key in (int(each) for each in keys)]
