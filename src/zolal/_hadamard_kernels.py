"""Compiled Walsh-Hadamard transforms on NumPy arrays, not normalised."""

import numba


@numba.njit(cache=True, nogil=True)
def transform_rows(rows):
    """Each row <- sqrt(d) H row, in place."""
    for r in range(rows.shape[0]):
        _transform(rows[r])


@numba.njit(cache=True, nogil=True)
def _transform(x):
    d = x.size
    half = 1
    if d >= 8:
        _first_three_passes(x)
        half = 8
    while 4 * half <= d:  # two passes at once: half the traffic
        for start in range(0, d, 4 * half):
            a, b = x[start : start + half], x[start + half : start + 2 * half]
            c, e = x[start + 2 * half : start + 3 * half], x[start + 3 * half : start + 4 * half]
            for i in range(half):
                p, q, r, s = a[i] + b[i], a[i] - b[i], c[i] + e[i], c[i] - e[i]
                a[i], b[i], c[i], e[i] = p + r, q + s, p - r, q - s
        half *= 4
    while half < d:
        for start in range(0, d, 2 * half):
            a, b = x[start : start + half], x[start + half : start + 2 * half]
            for i in range(half):
                p, q = a[i], b[i]
                a[i], b[i] = p + q, p - q
        half *= 2


@numba.njit(cache=True, nogil=True)
def _first_three_passes(x):
    """Transforms of 8 neighbours each, which are too short for the loops over halves."""
    for s in range(0, x.size, 8):
        a0, a1, a2, a3 = x[s] + x[s + 1], x[s] - x[s + 1], x[s + 2] + x[s + 3], x[s + 2] - x[s + 3]
        a4, a5, a6, a7 = x[s + 4] + x[s + 5], x[s + 4] - x[s + 5], x[s + 6] + x[s + 7], x[s + 6] - x[s + 7]
        b0, b1, b2, b3 = a0 + a2, a1 + a3, a0 - a2, a1 - a3
        b4, b5, b6, b7 = a4 + a6, a5 + a7, a4 - a6, a5 - a7
        x[s], x[s + 1], x[s + 2], x[s + 3] = b0 + b4, b1 + b5, b2 + b6, b3 + b7
        x[s + 4], x[s + 5], x[s + 6], x[s + 7] = b0 - b4, b1 - b5, b2 - b6, b3 - b7
