"""Compiled kernels of the directions on NumPy arrays; the words are those of `_hashing`, the normal numbers those of `_normal`."""

import math

import numba
import numpy as np

from zolal.directions._as241 import ARTANH, CENTRE, FAR_TAIL, LOG2, SPLITTER, SQRT_HALF, TAIL
from zolal.directions._hashing import LOW, MULTIPLIERS

M1, M2, M3 = (np.uint64(m) for m in MULTIPLIERS)
MASK, HALF, BYTE = np.uint64(LOW), np.uint64(32), np.uint64(255)
ONE, S2, S4, S8, S12, S16, S20, S24, S63 = (np.uint64(s) for s in (1, 2, 4, 8, 12, 16, 20, 24, 63))


@numba.njit(inline="always")
def _fold(z, multiplier):
    product = (z & MASK) * multiplier
    return product ^ (product >> HALF)


@numba.njit(inline="always")
def _word(i, k1, k2, k3):
    return _fold(_fold(_fold(np.uint64(i) ^ k1, M1) ^ k2, M2) ^ k3, M3)


@numba.njit(cache=True, nogil=True)
def shift(x, scale, bit, keys, out):
    """Out = x + scale u, the sign of u being the given bit of the hashed word, moved to the sign bit."""
    k1, k2, k3 = keys[0], keys[1], keys[2]
    move = S63 - np.uint64(bit)
    for i in range(x.size):
        out[i] = x[i] + (scale if np.int64(_word(i, k1, k2, k3) << move) < 0 else -scale)


@numba.njit(cache=True, nogil=True)
def words(keys, out):
    """The hashed 32-bit word of every coordinate."""
    k1, k2, k3 = keys[0], keys[1], keys[2]
    for i in range(out.size):
        out[i] = np.uint32(_word(i, k1, k2, k3) & MASK)


@numba.njit(cache=True, nogil=True)
def shift_rows(x, scale, words, first_bit, rows):
    """rows[r] = x + scale u, the signs of u being bit first_bit + r of the words."""
    for r in range(rows.shape[0]):
        row, bit = rows[r], np.uint32(first_bit + r)
        for i in range(x.size):
            row[i] = x[i] + (scale if (words[i] >> bit) & np.uint32(1) else -scale)


@numba.njit(cache=True, nogil=True)
def add_combination(tables, low_keys, high_keys, out):
    """Out += sum_j w_j u_j over 64 directions, from one table of 256 partial sums per byte of the word."""
    a1, a2, a3 = low_keys[0], low_keys[1], low_keys[2]
    b1, b2, b3 = high_keys[0], high_keys[1], high_keys[2]
    for i in range(out.size):
        a, b = _word(i, a1, a2, a3), _word(i, b1, b2, b3)
        low = (tables[0, a & BYTE] + tables[1, (a >> S8) & BYTE]) + (tables[2, (a >> S16) & BYTE] + tables[3, (a >> S24) & BYTE])
        high = (tables[4, b & BYTE] + tables[5, (b >> S8) & BYTE]) + (tables[6, (b >> S16) & BYTE] + tables[7, (b >> S24) & BYTE])
        out[i] += low + high


@numba.njit(cache=True, nogil=True)
def bucket_sums(v, low_keys, high_keys):
    """sums[byte, value] = sum of v_i over the coordinates whose word has that value in that byte."""
    a1, a2, a3 = low_keys[0], low_keys[1], low_keys[2]
    b1, b2, b3 = high_keys[0], high_keys[1], high_keys[2]
    sums = np.zeros((8, 256))
    for i in range(v.size):
        a, b = _word(i, a1, a2, a3), _word(i, b1, b2, b3)
        sums[0, a & BYTE] += v[i]
        sums[1, (a >> S8) & BYTE] += v[i]
        sums[2, (a >> S16) & BYTE] += v[i]
        sums[3, (a >> S24) & BYTE] += v[i]
        sums[4, b & BYTE] += v[i]
        sums[5, (b >> S8) & BYTE] += v[i]
        sums[6, (b >> S16) & BYTE] += v[i]
        sums[7, (b >> S24) & BYTE] += v[i]
    return sums


@numba.njit(cache=True, nogil=True)
def normal_numbers(keys, out):
    """Standard normal numbers; no fused or reordered operations, so the bits are those of the array version."""
    for i in range(out.size):
        high, low = _word(i, keys[0], keys[1], keys[2]) & MASK, _word(i, keys[3], keys[4], keys[5]) & MASK
        u = (np.float64(np.int64((high << S20) | (low >> S12))) + 0.5) * 2.0**-52
        centred = u - 0.5
        if abs(centred) <= 0.425:
            r = 0.180625 - centred * centred
            out[i] = centred * (_polynomial(CENTRE[0], r) / _polynomial(CENTRE[1], r))
        else:
            depth = _sqrt(-_log(u if centred < 0.0 else 1.0 - u))
            if depth <= 5.0:
                tail = _polynomial(TAIL[0], depth - 1.6) / _polynomial(TAIL[1], depth - 1.6)
            else:
                tail = _polynomial(FAR_TAIL[0], depth - 5.0) / _polynomial(FAR_TAIL[1], depth - 5.0)
            out[i] = -tail if centred < 0.0 else tail


@numba.njit(inline="always")
def _polynomial(coefficients, r):
    value = coefficients[-1]
    for n in range(len(coefficients) - 2, -1, -1):
        value = value * r + coefficients[n]
    return value


@numba.njit(cache=True, nogil=True)
def _log(u):
    exponent = 0.0
    for power in (32, 16, 8, 4, 2, 1):
        if u < 2.0**-power:
            u = u * 2.0**power
            exponent = exponent + power
    if u < SQRT_HALF:
        u = 2.0 * u
        exponent = exponent + 1.0
    t = (u - 1.0) / (u + 1.0)
    return 2.0 * t * _polynomial(ARTANH, t * t) - exponent * LOG2


@numba.njit(cache=True, nogil=True)
def _sqrt(x):
    root = math.sqrt(x)
    scaled = SPLITTER * root
    high = scaled - (scaled - root)
    low = root - high
    return root + (((x - high * high) - 2.0 * (high * low)) - low * low) / (2.0 * root)


@numba.njit(cache=True, nogil=True)
def signs(dimension, keys):
    """+1 or -1 per coordinate: -1 where the last bit of the hashed word is set."""
    out = np.empty(dimension)
    for i in range(dimension):
        out[i] = 1.0 - 2.0 * np.float64(np.int64(_word(i, keys[0], keys[1], keys[2]) & ONE))
    return out


@numba.njit(cache=True, nogil=True)
def shift_row(point, scale, row, keys):
    """Point += scale times one row of a Hadamard matrix with hashed signs; a sign is the parity of bits."""
    for i in range(point.size):
        common = np.uint64(i & row)
        for move in (S16, S8, S4, S2, ONE):
            common ^= common >> move
        bit = (common ^ _word(i, keys[0], keys[1], keys[2])) & ONE
        point[i] += -scale if bit else scale
