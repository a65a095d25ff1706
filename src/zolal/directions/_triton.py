"""Kernels of the directions on CUDA tensors, written in Triton; the words are those of `_hashing`."""

import triton
import triton.language as tl

from zolal.directions._hashing import MULTIPLIERS

M1, M2, M3 = (tl.constexpr(m) for m in MULTIPLIERS)


@triton.jit
def fold(z, MULTIPLIER: tl.constexpr):
    """The halves of a 32 x 32 -> 64 bit product, one XOR the other."""
    product = z.to(tl.uint32).to(tl.uint64) * tl.full(z.shape, MULTIPLIER, tl.uint64)
    return (product >> 32).to(tl.uint32) ^ product.to(tl.uint32)


@triton.jit
def word(i, k1, k2, k3):
    """The hashed 32-bit words of the coordinates i (uint32). k1, k2, k3: keys, as int32 that hold the 32 bits."""
    z = fold(i ^ k1, M1)
    z = fold(z ^ k2, M2)
    return fold(z ^ k3, M3)
