"""Compiled pass of the smoothed l_q step over intervals: the mathematics of `_IntervalLeaf`, with warm starts."""

import math

import numba
import numpy as np

CHUNK = 1024  # partial sums per chunk keep the error of a sum of d terms near that of one chunk
CLOSE = 1e-8  # a Newton step shorter than this in log x leaves an error of its square


class IntervalKernel:
    """Answers x, Psi and dPsi / dlog kappa for intervals; remembers log x and its slope between calls."""

    def __init__(self, q, delta, y, log_y, lower, upper):
        self.q, self.delta = q, delta
        self.y, self.log_y = np.ascontiguousarray(y), np.ascontiguousarray(log_y)
        self.lower, self.upper = (np.full(1, default) if b is None else _shortest(b) for b, default in ((lower, -np.inf), (upper, np.inf)))
        self.log_x, self.slope = np.empty_like(self.y), np.empty_like(self.y)
        self.log_kappa = math.nan

    def respond(self, log_kappa):
        x = np.empty_like(self.y)
        change = log_kappa - self.log_kappa
        total, growth = _interval_pass(
            self.q, self.delta, log_kappa, change, self.y, self.log_y, self.lower, self.upper, self.log_x, self.slope, x
        )
        self.log_kappa = log_kappa
        return x, total, growth


def _shortest(bound):
    """A constant vector as one number."""
    bound = np.ascontiguousarray(bound)
    return bound[:1].copy() if bound.size and np.all(bound == bound[0]) else bound


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _interval_pass(q, delta, log_kappa, change, y, log_y, lower, upper, log_x, slope, x):
    """One answer for this kappa: solves phi(x_i) = kappa |y_i| from the last answer, clips, and sums Psi and its derivative."""
    kappa, half_power, log_delta = math.exp(log_kappa), 0.5 * q - 1.0, math.log(delta) if delta > 0.0 else -math.inf
    square, total, growth = delta * delta, 0.0, 0.0
    for start in range(0, y.size, CHUNK):
        part, part_growth = 0.0, 0.0
        for i in range(start, min(start + CHUNK, y.size)):
            low, high = lower[i if lower.size > 1 else 0], upper[i if upper.size > 1 else 0]
            free = 0.0
            m = 1.0
            if y[i] != 0.0:
                z = log_kappa + log_y[i]
                if math.isnan(change):
                    s = max(z - 2.0 * half_power * log_delta, z / (q - 1.0)) if delta > 0.0 else z / (q - 1.0)
                else:
                    s = log_x[i] + change / slope[i]
                magnitude, m, s = _root(z, s, half_power, log_delta)
                log_x[i], slope[i] = s, m
                free = magnitude if y[i] > 0.0 else -magnitude
            clipped = min(max(free, low), high)
            x[i] = clipped
            if clipped == free and free != 0.0:
                work = kappa * abs(y[i]) * abs(free)
                part += work + square * kappa * abs(y[i]) / abs(free)
                part_growth += work / m
            else:
                part += (clipped * clipped + square) ** (0.5 * q)
        total += part
        growth += part_growth
    return total, q * growth


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _root(z, s, half_power, log_delta):
    """x, slope and log x where s + r log(e^{2s} + delta^2) = z; Newton's method on an increasing concave function."""
    for _ in range(60):
        ratio = math.exp(-2.0 * abs(s - log_delta))
        if s > log_delta:
            value, share = s + half_power * (2.0 * s + math.log1p(ratio)), 1.0 / (1.0 + ratio)
        else:
            value, share = s + half_power * (2.0 * log_delta + math.log1p(ratio)), ratio / (1.0 + ratio)
        m = 1.0 + 2.0 * half_power * share
        step = (z - value) / m
        s += step
        if abs(step) <= CLOSE:
            break
    return math.exp(s), m, s
