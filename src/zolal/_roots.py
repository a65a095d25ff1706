"""Roots of increasing functions: one scalar at a time, and one per coordinate in logarithms."""

import math
from collections.abc import Callable

from zolal._array import EPS, Array, namespace

CLOSE = 16 * EPS  # a relative step of this size is rounding
NOISE = 1e-12  # a step of this size that no longer helps is rounding too
FARTHEST = 1e6  # no root this far from the start


def increasing_root(
    fun: Callable[[float], tuple[float, float]],
    start: float,
    lower: float = -math.inf,
    upper: float = math.inf,
    slopes: tuple[float, float] = (0.0, math.inf),
) -> float:
    """The root of an increasing function in [lower, upper], by safeguarded Newton steps; `fun` was last called at the root.

    `fun(t)` returns the value and the derivative, which lies within `slopes`. From the second step on a cubic through both
    points replaces the tangent. After a step that did not halve the value the next is four times as long, or a bisection if
    it had passed the root. A step that leaves the bracket becomes a bisection; towards an infinite end steps are limited to
    lengths that double. So the root is always found. A NaN ends the search.
    """
    t = min(max(start, lower), upper)
    reach, boost, last = 1.0, 1.0, (t, math.inf, 1.0)
    for _ in range(200):
        value, slope = fun(t)
        lower, upper = _narrowed(t, value, lower, upper, slopes)
        step = -value / slope if 0.0 < slope < math.inf else math.copysign(math.inf, -value)
        scale, slow, crossed = max(1.0, abs(t)), abs(value) > 0.5 * abs(last[1]), value * last[1] < 0.0
        done = not abs(value) > 4 * EPS * scale or abs(step) <= (NOISE if slow else CLOSE) * scale
        if done or upper - lower <= 2 * EPS * scale or reach > FARTHEST:
            return t
        boost = 4.0 * boost if slow and not crossed else 1.0
        step = boost * _curved_step(step, last, (t, value, slope))
        if math.isinf(lower if value > 0.0 else upper):
            reach *= 2.0 if abs(step) > reach else 1.0
            target = t + math.copysign(min(reach, abs(step)), step)
        else:
            target = t + step if lower < t + step < upper and not (slow and crossed) else 0.5 * (lower + upper)
        t, last = target, (t, value, slope)
    return t


def _narrowed(t: float, value: float, lower: float, upper: float, slopes: tuple[float, float]) -> tuple[float, float]:
    """The part of the bracket where a function through (t, value) with such slopes can vanish, a little wider for rounding."""
    margin = 64 * EPS * max(1.0, abs(t))
    near = t - value / slopes[1] * (1.0 - 1e-9)
    far = t - value / slopes[0] * (1.0 + 1e-9) if slopes[0] > 0.0 else -math.copysign(math.inf, value)
    if value > 0.0:
        return max(lower, far - margin), min(upper, near + margin)
    return max(lower, near - margin), min(upper, far + margin)


def _curved_step(newton: float, last: tuple[float, float, float], now: tuple[float, float, float]) -> float:
    """The step to the zero of the cubic t(value) with both points' values and slopes; Newton's across a kink.

    Between the points of a smooth function the secant's slope is close to the mean of both slopes; elsewhere two slopes tell
    nothing about the curvature.
    """
    (t0, v0, d0), (t1, v1, d1) = last, now
    rise, run = v0 - v1, t0 - t1
    if math.isinf(v0) or run == 0.0 or rise == 0.0 or not min(d0, d1) > 0.0 or not abs(rise / run - 0.5 * (d0 + d1)) <= 0.2 * abs(d0 - d1):
        return newton
    u = -v1 / rise  # where 0 lies from v1 (u = 0) to v0 (u = 1)
    step = u * (1.0 - u) ** 2 * rise / d1 + u * u * (3.0 - 2.0 * u) * run - u * u * (1.0 - u) * rise / d0
    return step if 0.5 < step / newton < 2.0 else newton


def log_coordinate_root(
    log_w: Array, half_power: float, log_delta: float, log_linear: float = -math.inf, log_power: float = -math.inf, exponent: float = 1.0
) -> Array:
    """s_i = log x_i where x (x^2 + delta^2)^r + t x + theta x^e = w_i, for every coordinate at once.

    `half_power` is r in (-1/2, 0], `log_delta`, `log_linear`, `log_power` are the logarithms of delta, t, theta (minus
    infinity for 0) and `exponent` is e > 0. In s the logarithm of the left side increases with a slope between
    min(1 + 2r, e) and max(1, e), so Newton's method in logarithms needs no scaling and cannot lose a sign. The start is
    the smallest of the roots that each term alone would give; a bracket per coordinate, from those slopes, guards the rest.
    """
    xp = namespace(log_w)
    s = log_w / (1.0 + 2.0 * half_power)
    if half_power < 0.0 and log_delta > -math.inf:
        s = xp.maximum(s, log_w - 2.0 * half_power * log_delta)
    if log_linear > -math.inf:
        s = xp.minimum(s, log_w - log_linear)
    if log_power > -math.inf:
        s = xp.minimum(s, (log_w - log_power) / exponent)
    least, most = min(1.0 + 2.0 * half_power, exponent, 1.0), max(1.0, exponent)
    lower, upper = xp.full_like(s, -math.inf), xp.full_like(s, math.inf)
    for _ in range(100):
        value, slope = _log_left_side(s, half_power, log_delta, log_linear, log_power, exponent)
        error = log_w - value
        if bool(xp.all(xp.abs(error) <= 8 * EPS * (1.0 + xp.abs(log_w) + xp.abs(s)))):
            return s
        near, far = 0.99 / most * error, 1.01 / least * error
        lower = xp.maximum(lower, s + xp.minimum(near, far))
        upper = xp.minimum(upper, s + xp.maximum(near, far))
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
