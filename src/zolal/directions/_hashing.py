"""Hashed 32-bit words per coordinate: three folded 32 x 32 -> 64 bit multiplications with a key before each.

    z <- (z XOR key) * constant as 64 bits;   z <- high half XOR low half

The counter z starts as the coordinate. The widening multiplication is one instruction per four coordinates on AVX2; int64
arithmetic that wraps around is the same on every backend, so the words are, too.
"""

from typing import Any

from array_api_compat import device

from zolal._array import Array, namespace

MULTIPLIERS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
LOW = 0xFFFFFFFF


def hashed_words(dimension: int, keys: tuple[Any, ...], reference: Array) -> Any:
    """The 32-bit word of every coordinate as int64, in the namespace and on the device of `reference`; columns of keys make rows."""
    xp = namespace(reference)
    z = xp.arange(dimension, dtype=xp.int64, device=device(reference))
    for key, multiplier in zip(keys, MULTIPLIERS, strict=True):
        z = ((z ^ key) & LOW) * multiplier
        z = (z ^ (z >> 32)) & LOW
    return z
