"""Standard normal numbers from hashed words with + - * / and sqrt alone, hence bit-identical on every backend.

The inverse of the normal distribution function is Wichura's AS 241 (PPND16, relative error about 1e-16). Library logarithms
differ in the last bit between backends, so the tail's logarithm is computed here from its series.
"""

from typing import Any

import numpy as np

from zolal._array import Array, namespace
from zolal.directions._hashing import hashed_words

CENTRE = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
TAIL = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
FAR_TAIL = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230,
     0.0265321895265761230930, 0.00124266094738807843860, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip

ARTANH = tuple(1.0 / (2 * n + 1) for n in range(12))
LOG2, SQRT_HALF = 0.6931471805599453, 0.7071067811865476
SPLITTER = 134217729.0  # 2^27 + 1 halves the digits of a double


def normal_row(dimension: int, keys: tuple[int, ...], reference: Array) -> Array:
    """Standard normal numbers of every coordinate as float64; compiled on NumPy, with the same operations in the same order."""
    if isinstance(reference, np.ndarray):
        from zolal.directions._kernels import normal_numbers as compiled

        row = np.empty(dimension)
        compiled(np.asarray(keys, dtype=np.uint64), row)
        return row
    return normal_numbers(dimension, keys, reference)


def normal_numbers(dimension: int, keys: tuple[int, ...], reference: Array) -> Array:
    """Standard normal numbers from one hashed 64-bit word per coordinate, of which 52 bits are used."""
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
