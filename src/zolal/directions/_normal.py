"""Standard normal numbers from hashed words with + - * / and sqrt alone, hence bit-identical on every backend.

The inverse of the normal distribution function is Wichura's AS 241 (PPND16, relative error about 1e-16). Library logarithms
differ in the last bit between backends, so the tail's logarithm is computed here from its series.
"""

import itertools
import math
from typing import Any

import numpy as np

from zolal._array import Array, namespace
from zolal.directions._as241 import ARTANH, CENTRE, FAR_TAIL, LOG2, SPLITTER, SQRT_HALF, TAIL
from zolal.directions._hashing import hashed_words

SHORT = 1000  # coordinates: a shorter row takes less than a millisecond without the compiler
WORTHWHILE = 2000  # short rows, which take about as long without the compiler as it takes to load
_short_rows = itertools.count()  # that this process has made so far


def normal_row(dimension: int, keys: tuple[int, ...], reference: Array) -> Array:
    """Standard normal numbers of every coordinate as float64; compiled on NumPy where that pays, with the same bits."""
    if isinstance(reference, np.ndarray) and (dimension >= SHORT or next(_short_rows) >= WORTHWHILE):
        from zolal.directions._kernels import normal_numbers as compiled

        row = np.empty(dimension)
        compiled(np.asarray(keys, dtype=np.uint64), row)
        return row
    return normal_numbers(dimension, keys, reference)


def normal_numbers(dimension: int, keys: tuple[Any, ...], reference: Array) -> Array:
    """Standard normal numbers from one hashed 64-bit word per coordinate, of which 52 bits are used.

    keys: numbers, or a column of them each, for several rows.
    """
    xp = namespace(reference)
    high, low = (hashed_words(dimension, half, reference) for half in (keys[:3], keys[3:]))
    number = xp.astype((high << 20) | (low >> 12), xp.float64)
    return inverse_normal((number + 0.5) * 2.0**-52)


def inverse_normal(u: Array) -> Array:
    """The x with P(Z <= x) = u, for 0 < u < 1."""
    xp = namespace(u)
    centred = u - 0.5
    centre = centred * _ratio(CENTRE, 0.180625 - centred * centred)
    depth = _sqrt(-_log(xp.where(centred < 0.0, u, 1.0 - u)))
    tail = xp.where(depth <= 5.0, _ratio(TAIL, depth - 1.6), _ratio(FAR_TAIL, depth - 5.0))
    return xp.where(xp.abs(centred) <= 0.425, centre, xp.where(centred < 0.0, -tail, tail))


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], r: Array) -> Array:
    top, bottom = (_polynomial(c, r) for c in coefficients)
    return top / bottom


def _polynomial(coefficients: tuple[float, ...], r: Array) -> Any:
    value: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * r + coefficient
    return value


def _log(u: Array) -> Array:
    """log u for 2^-64 < u < 1: u = 2^-e r with r in [1/sqrt 2, sqrt 2), log r = 2 artanh((r-1)/(r+1)) by its series."""
    xp = namespace(u)
    exponent = xp.zeros_like(u)
    for power in (32, 16, 8, 4, 2, 1):
        small = u < 2.0**-power
        u = xp.where(small, u * 2.0**power, u)
        exponent = xp.where(small, exponent + power, exponent)
    small = u < SQRT_HALF
    u = xp.where(small, 2.0 * u, u)
    exponent = xp.where(small, exponent + 1.0, exponent)
    t = (u - 1.0) / (u + 1.0)
    return 2.0 * t * _polynomial(ARTANH, t * t) - exponent * LOG2


def _sqrt(x: Array) -> Array:
    """The square root, corrected by its exact residual, since some libraries are off by one in the last bit."""
    root = namespace(x).sqrt(x)
    scaled = SPLITTER * root
    high = scaled - (scaled - root)
    low = root - high
    residual = ((x - high * high) - 2.0 * (high * low)) - low * low
    return root + residual / (2.0 * root)


def normal_moment_constant(dimension: int, p: float) -> float:
    """(m_p (d + p))^{2/p} with m_p = E|Z|^p = 2^{p/2} Gamma((p+1)/2) / sqrt(pi)."""
    if p == 2.0:
        return dimension + 2.0  # without rounding
    log_moment = 0.5 * p * math.log(2.0) + math.lgamma(0.5 * (p + 1.0)) - 0.5 * math.log(math.pi)
    return math.exp(2.0 / p * (log_moment + math.log(dimension + p)))


def normal_third_moment(dimension: int) -> float:
    """E||u||^3 of normal numbers."""
    return math.exp(1.5 * math.log(2.0) + math.lgamma((dimension + 3) / 2) - math.lgamma(dimension / 2))


def normal_sixth_moment(dimension: int) -> float:
    """E||u||^6 of normal numbers."""
    return float(dimension) * (dimension + 2.0) * (dimension + 4.0)
