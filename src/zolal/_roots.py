"""Roots of increasing functions: one scalar at a time, and one per coordinate in logarithms."""

import math
from collections.abc import Callable

from zolal._array import Array, namespace

EPS = 2.220446049250313e-16
FAR = 1e300  # stands for infinity where infinities would meet


def increasing_root(fun: Callable[[float], tuple[float, float]], start: float, lower: float, upper: float) -> float:
    """The root of an increasing function in [lower, upper], by Newton steps kept inside the shrinking bracket.

    `fun(t)` returns the value and the derivative. A Newton step that leaves the bracket, or that follows a step which did
    not halve the bracket's or the residual's size, is replaced by a bisection, so the root is always found.
    """
    t, previous = min(max(start, lower), upper), math.inf
    for _ in range(200):
        value, slope = fun(t)
        if value == 0.0:
            return t
        if value > 0.0:
            upper = t
        else:
            lower = t
        step = -value / slope if slope > 0.0 else math.inf
        candidate = t + step
        slow = abs(value) > 0.5 * previous
        previous = abs(value)
        if not lower < candidate < upper or slow:
            if abs(step) <= 2 * EPS * max(1.0, abs(t)):
                return t
            candidate = 0.5 * (lower + upper)
        if abs(candidate - t) <= 2 * EPS * max(1.0, abs(t)) or upper - lower <= 2 * EPS * max(1.0, abs(t)):
            return candidate
        t = candidate
    return t


def log_coordinate_root(
    log_w: Array, half_power: float, log_delta: float, log_linear: float = -math.inf, log_power: float = -math.inf, exponent: float = 1.0
) -> Array:
    """s_i = log x_i where x (x^2 + delta^2)^r + t x + theta x^e = w_i, for every coordinate at once.

    `half_power` is r in (-1/2, 0], `log_delta`, `log_linear`, `log_power` are the logarithms of delta, t, theta (minus
    infinity for 0) and `exponent` is e > 0. In s the logarithm of the left side increases with a slope between
    min(1 + 2r, e) and max(1, e), so Newton's method in logarithms needs no scaling and cannot lose a sign. The start is
    the smallest of the roots that each term alone would give; a bracket per coordinate guards the rest.
    """
    xp = namespace(log_w)
    s = log_w / (1.0 + 2.0 * half_power)
    if half_power < 0.0 and log_delta > -math.inf:
        s = xp.maximum(s, log_w - 2.0 * half_power * log_delta)
    if log_linear > -math.inf:
        s = xp.minimum(s, log_w - log_linear)
    if log_power > -math.inf:
        s = xp.minimum(s, (log_w - log_power) / exponent)
    lower, upper = xp.full_like(s, -FAR), xp.full_like(s, FAR)
    for _ in range(100):
        value, slope = _log_left_side(s, half_power, log_delta, log_linear, log_power, exponent)
        error = log_w - value
        if bool(xp.all(xp.abs(error) <= 8 * EPS * (1.0 + xp.abs(log_w) + xp.abs(s)))):
            return s
        lower = xp.where(error > 0, s, lower)
        upper = xp.where(error < 0, s, upper)
        newton = s + error / slope
        s = xp.where((newton >= lower) & (newton <= upper), newton, 0.5 * (lower + upper))
    return s


def _log_left_side(
    s: Array, half_power: float, log_delta: float, log_linear: float, log_power: float, exponent: float
) -> tuple[Array, Array]:
    """The logarithm of x (x^2 + delta^2)^r + t x + theta x^e at x = e^s, and its derivative in s."""
    xp = namespace(s)
    value, slope = log_smoothed_power(s, half_power, log_delta)
    if log_linear == -math.inf and log_power == -math.inf:
        return value, slope
    linear, power = log_linear + s, log_power + exponent * s
    largest = xp.maximum(value, xp.maximum(linear, power))
    weights = [xp.exp(term - largest) for term in (value, linear, power)]
    total = weights[0] + weights[1] + weights[2]
    return largest + xp.log(total), (weights[0] * slope + weights[1] + exponent * weights[2]) / total


def log_smoothed_power(s: Array, half_power: float, log_delta: float) -> tuple[Array, Array]:
    """Log of x (x^2 + delta^2)^r at x = e^s, and its derivative in s (between 1 + 2r and 1); no overflow for any s."""
    log_a, share = log_smoothed_square(s, log_delta)
    return s + half_power * log_a, 1.0 + 2.0 * half_power * share


def log_smoothed_square(s: Array, log_delta: float) -> tuple[Array, Array]:
    """log(x^2 + delta^2) and x^2 / (x^2 + delta^2) at x = e^s."""
    xp = namespace(s)
    if log_delta == -math.inf:
        return 2.0 * s, xp.ones_like(s)
    ratio = xp.exp(-2.0 * xp.abs(s - log_delta))
    larger = xp.where(s > log_delta, s, xp.full_like(s, log_delta))
    return 2.0 * larger + xp.log1p(ratio), xp.where(s > log_delta, xp.ones_like(s), ratio) / (1.0 + ratio)


def bounded_exp(x: Array) -> Array:
    """exp(x) with x cut to [-700, 700]: neither overflow nor an exact 0."""
    xp = namespace(x)
    return xp.exp(xp.minimum(xp.maximum(x, xp.full_like(x, -700.0)), xp.full_like(x, 700.0)))
