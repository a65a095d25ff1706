"""Quadratic forms of sign vectors under the Walsh-Hadamard transform."""

import numba
import numpy as np

TOGETHER = 16  # directions side by side: one vector register of 16-bit integers
BLOCK = 256  # rows of the table that are transformed while they are in the nearest cache


@numba.njit(cache=True, nogil=True)
def sign_forms(words, first_bit, eigenvalues, table, out):
    """out[b] += sum_i eigenvalues_i (sqrt(d) H u)_i^2 for the sixteen sign vectors u that are bits first_bit + b of the words.

    table: work space of shape (d, 16). Sums of d signs must fit 16 bits, so d is at most 2^14.
    """
    for i in range(words.size):
        word, row = words[i] >> np.uint32(first_bit), table[i]
        for b in range(TOGETHER):
            row[b] = np.int16(2) * np.int16((word >> np.uint32(b)) & np.uint32(1)) - np.int16(1)
    _transform_columns(table)
    for i in range(words.size):
        row = table[i]
        for b in range(TOGETHER):
            value = np.float64(row[b])
            out[b] += eigenvalues[i] * value * value


@numba.njit(cache=True, nogil=True)
def _transform_columns(table):
    """Each column <- sqrt(d) H column, in place."""
    flat, rows = table.reshape(-1), table.shape[0]
    block = min(rows, BLOCK)
    for first in range(0, rows, block):
        _passes(flat[first * TOGETHER : (first + block) * TOGETHER], 1, block)
    _passes(flat, block, rows)


@numba.njit(cache=True, nogil=True)
def _passes(flat, first, last):
    """The passes over halves of `first`, 2 `first`, ... rows, up to `last`; two at a time, which halves the traffic."""
    half = first * TOGETHER
    while 4 * half <= last * TOGETHER:
        for start in range(0, flat.size, 4 * half):
            a, b = flat[start : start + half], flat[start + half : start + 2 * half]
            c, d = flat[start + 2 * half : start + 3 * half], flat[start + 3 * half : start + 4 * half]
            for i in range(half):
                # without the casts the sums would be 64 bits wide, a quarter of the speed
                p, q, r, s = np.int16(a[i] + b[i]), np.int16(a[i] - b[i]), np.int16(c[i] + d[i]), np.int16(c[i] - d[i])
                a[i], b[i], c[i], d[i] = p + r, q + s, p - r, q - s
        half *= 4
    if 2 * half <= last * TOGETHER:
        for start in range(0, flat.size, 2 * half):
            a, b = flat[start : start + half], flat[start + half : start + 2 * half]
            for i in range(half):
                p, q = a[i], b[i]
                a[i], b[i] = p + q, p - q
