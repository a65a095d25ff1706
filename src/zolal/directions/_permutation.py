"""A pseudo-random permutation of 0, ..., d-1 as a pure function of its keys: a Feistel network with cycle walking."""

from functools import lru_cache

import numpy as np

from zolal.directions._hashing import MULTIPLIERS

MULTIPLIER, OTHER = (np.uint64(m) for m in MULTIPLIERS[:2])
HALF_WORD = np.uint64(16)
WHOLE = 4096  # up to this size a permutation costs little more than some of it


def part(first: int, length: int, size: int, keys: tuple[int, ...]) -> np.ndarray:
    """Where `length` positions from `first` on go. A small permutation is made at once and kept, since its parts are asked for in turn."""
    if size <= WHOLE:
        return _whole(size, keys)[first : first + length].copy()  # the caller's own: PyTorch takes no array that cannot be written
    return permuted(np.arange(first, first + length, dtype=np.uint64), size, keys)


@lru_cache(maxsize=16)
def _whole(size: int, keys: tuple[int, ...]) -> np.ndarray:
    found = permuted(np.arange(size, dtype=np.uint64), size, keys)
    found.flags.writeable = False
    return found


def permuted(positions: np.ndarray, size: int, keys: tuple[int, ...]) -> np.ndarray:
    """Where each position (uint64, below `size` <= 2^32) goes.

    (left, right) <- (right, left XOR F(right, key)) once per key permutes the numbers of an even number of bits, at most 4 size of
    them; numbers that land beyond `size` walk on along their cycle until they do not, so that 0, ..., size-1 are permuted.
    """
    if size == 1:
        return np.zeros(len(positions), dtype=np.int64)
    half = np.uint64(((size - 1).bit_length() + 1) // 2)
    mask = (np.uint64(1) << half) - np.uint64(1)
    found = _round_trip(positions, half, mask, keys)
    while (beyond := found >= np.uint64(size)).any():
        found[beyond] = _round_trip(found[beyond], half, mask, keys)
    return found.astype(np.int64)


def _round_trip(values: np.ndarray, half: np.uint64, mask: np.uint64, keys: tuple[int, ...]) -> np.ndarray:
    left, right = values >> half, values & mask
    for key in keys:
        mixed = (right ^ np.uint64(key)) * MULTIPLIER  # wraps around, as unsigned integers do
        mixed = (mixed ^ (mixed >> HALF_WORD)) * OTHER
        left, right = right, left ^ ((mixed >> HALF_WORD) & mask)
    return (left << half) | right
