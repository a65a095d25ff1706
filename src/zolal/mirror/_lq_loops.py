"""Loops of the compiled smoothed l_q step: small ones over a chunk of coordinates, which LLVM vectorises, and those over chunks.

For one kappa (and theta) the map from log w to log x is one scalar function, the same for every coordinate. So a vector with
many coordinates first tabulates it, and each coordinate starts from the table and takes one or two Halley steps.

A chunk lives in rows of one work array at constant offsets, so that LLVM sees that the rows do not overlap: with separate
arrays it would need more overlap checks at run time than it is willing to make. Notation as in `_lq_step`: a = x^2 + delta^2,
s = log x, r = q/2 - 1, f(s) = log phi(x) = s + r log a. Loops are kept short because long ones wait for their own results.

All stay in this file: numba's cache of a function notices changes in its own file only.
"""

import math
from typing import Any

import numba
import numpy as np

from zolal.mirror._lq_arrays import HIGHEST
from zolal.mirror._simd import exp, inlined, log, log_one_plus

Floats = np.ndarray
CHUNK = 256  # coordinates; all rows together stay in the first-level cache
ROWS = 12
LOG_W, LOG_X, SIGN, STEP, LOWER, UPPER, X, POWER, GROWTH, SIZE, ALONG, ACROSS = (CHUNK * row for row in range(ROWS))
INSIDE, LOG_A, NORMAL, REST = SIZE, ALONG, STEP, LOWER  # rows that lend their place while they are not needed
RATIO, LOG_PHI, PLAIN, LINEAR, BENT, ERROR = POWER, GROWTH, X, SIZE, ALONG, ACROSS
CELLS = 2048  # of the table, each a cubic
SPAN = 40.0  # the table covers log w down to e^-40 times the largest w; a line continues it
TABLE_FROM = 8192  # coordinates
CLOSE = 3e-6  # a Halley step shorter than this in log x leaves an error of its cube
SMALLEST = 1e-300  # stands for 0 where x^2 underflows


@inlined
def load(work: Floats, count: int, equation: Any, y: Floats) -> None:
    """Rows LOG_W = log kappa w with w = level - (top - |y|), or y for |y| on the simplex, and SIGN, which is 0 where w <= 0."""
    signed = equation.signed > 0.0
    for i in range(count):
        w = equation.level - (equation.top - (abs(y[i]) if signed else y[i]))
        alive = w > 0.0
        work[LOG_W + i] = equation.log_kappa + log(max(w, SMALLEST) if alive else equation.largest)
        work[SIGN + i] = (-1.0 if signed and y[i] < 0.0 else 1.0) if alive else 0.0 * y[i]  # a NaN stays one


@inlined
def guess_by_terms(work: Floats, count: int, equation: Any) -> None:
    """Row LOG_X from each term of the equation alone; their smallest root is within log 3 in the equation's logarithm."""
    for i in range(count):
        z = work[LOG_W + i]
        s = max(z / (equation.q - 1.0), z - (equation.q - 2.0) * equation.log_delta)
        s = min(s, z - equation.log_linear)
        work[LOG_X + i] = min(s, (z - equation.log_power) / (equation.q - 1.0))
        work[LOWER + i] = -1e300
        work[UPPER + i] = 1e300


@inlined
def newton_plain(work: Floats, count: int, equation: Any, acceleration: float) -> None:
    """One Halley step for s + r log(e^{2s} + delta^2) = z, increasing and concave; Newton's step where `acceleration` is 0."""
    power = equation.q - 2.0
    for i in range(count):
        work[RATIO + i] = exp(-2.0 * abs(work[LOG_X + i] - equation.log_delta))
    for i in range(count):
        s, ratio = work[LOG_X + i], work[RATIO + i]
        log_a = 2.0 * max(s, equation.log_delta) + log_one_plus(ratio)
        error = work[LOG_W + i] - (s + 0.5 * power * log_a)
        slope = 1.0 + ratio + power * (1.0 if s > equation.log_delta else ratio)  # f' (1 + ratio)
        square = slope * slope
        step = error * (1.0 + ratio) * slope / max(square + acceleration * error * power * ratio, 0.5 * square)
        work[LOG_X + i] = s + step
        work[STEP + i] = abs(step)


@inlined
def newton_full(work: Floats, count: int, equation: Any, acceleration: float) -> None:
    """One Halley step, kept inside a bracket, for log(phi(x) + kappa (t x + theta x^{q-1})) = z, whose slope is in [q-1, 1]."""
    power, least = equation.q - 2.0, equation.q - 1.0
    for i in range(count):
        work[RATIO + i] = exp(-2.0 * abs(work[LOG_X + i] - equation.log_delta))
    for i in range(count):
        s, ratio = work[LOG_X + i], work[RATIO + i]
        work[LOG_PHI + i] = 0.5 * power * (2.0 * max(s, equation.log_delta) + log_one_plus(ratio))  # less s
    for i in range(count):  # all terms relative to the largest, so that none overflows
        rest = work[LOG_PHI + i]
        linear, bent = equation.log_linear - rest, equation.log_power + power * work[LOG_X + i] - rest
        largest = max(max(linear, bent), 0.0)
        work[PLAIN + i] = exp(-largest)
        work[LINEAR + i] = exp(linear - largest)
        work[BENT + i] = exp(bent - largest)
        work[LOG_PHI + i] = rest + largest
    for i in range(count):
        total = work[PLAIN + i] + work[LINEAR + i] + work[BENT + i]
        work[ERROR + i] = work[LOG_W + i] - (work[LOG_X + i] + work[LOG_PHI + i] + log(total))
    for i in range(count):
        s, ratio, error = work[LOG_X + i], work[RATIO + i], work[ERROR + i]
        plain, linear, bent = work[PLAIN + i], work[LINEAR + i], work[BENT + i]
        whole, share = 1.0 / (1.0 + ratio), 1.0 / (plain + linear + bent)
        slope = 1.0 + power * (1.0 if s > equation.log_delta else ratio) * whole
        curvature = 2.0 * power * ratio * whole * whole
        mean = (plain * slope + linear + least * bent) * share
        spread = (plain * (curvature + slope * slope) + linear + least * least * bent) * share - mean * mean
        newton = error / mean
        step = newton / max(1.0 + 0.5 * acceleration * newton * spread / mean, 0.5)
        near, far = 0.99 * error, 1.01 * error / least
        lower = max(work[LOWER + i], s + min(near, far))
        upper = min(work[UPPER + i], s + max(near, far))
        middle, target = 0.5 * (lower + upper), s + step
        target = middle if target < lower else target
        target = middle if target > upper else target
        work[LOWER + i] = lower
        work[UPPER + i] = upper
        work[LOG_X + i] = target
        work[STEP + i] = abs(target - s)


@inlined
def bound(work: Floats, count: int, row: int, bounds: Floats, start: int) -> None:
    """Copies the chunk of a bound, one number or a vector, to a row."""
    if bounds.size == 1:
        for i in range(count):
            work[row + i] = bounds[0]
    else:
        for i in range(count):
            work[row + i] = bounds[start + i]


@inlined
def measure_interval(work: Floats, count: int, equation: Any) -> None:
    """Rows X, clipped to LOWER and UPPER; POWER = a^{q/2}; GROWTH = phi(x) x / M, 0 where clipped.

    M = 1 + 2 r x^2 / a + kappa t a^{-r}, the derivative of the logarithm of the equation's left side times that over phi.
    """
    half_power, linear = 0.5 * equation.q - 1.0, exp(equation.log_linear)
    for i in range(count):
        lower, upper, free = work[LOWER + i], work[UPPER + i], work[SIGN + i] * exp(min(work[LOG_X + i], HIGHEST))
        x = lower if free < lower else free
        x = upper if x > upper else x
        work[X + i] = x
        work[INSIDE + i] = 1.0 if x == free else 0.0
    for i in range(count):
        x = work[X + i]
        work[LOG_A + i] = log(max(x * x, SMALLEST) + equation.square)
    for i in range(count):
        x = work[X + i]
        xx = max(x * x, SMALLEST)
        a, b = xx + equation.square, exp(half_power * work[LOG_A + i])
        work[POWER + i] = a * b
        work[GROWTH + i] = work[INSIDE + i] * xx * b * a * b / (a * b + 2.0 * half_power * xx * b + linear * a)


@inlined
def measure_surface(work: Floats, count: int, equation: Any) -> None:
    """Rows X, POWER, GROWTH as above, and with the normal n = |x|^{e-1}: SIZE = n x, ALONG = n x / M, ACROSS = n^2 rho / M."""
    half_power, linear, bent = 0.5 * equation.q - 1.0, exp(equation.log_linear), exp(equation.log_power)
    kappa = exp(equation.log_kappa)
    for i in range(count):
        s = min(work[LOG_X + i], HIGHEST)
        work[X + i] = work[SIGN + i] * exp(s)
        work[NORMAL + i] = abs(work[SIGN + i]) * exp((equation.exponent - 1.0) * s)
    for i in range(count):
        x = work[X + i]
        work[REST + i] = linear + (equation.q - 1.0) * bent * exp((equation.q - 2.0) * min(work[LOG_X + i], HIGHEST))
        work[LOG_A + i] = log(max(x * x, SMALLEST) + equation.square)
    for i in range(count):
        x, normal = abs(work[X + i]), work[NORMAL + i]
        xx = max(x * x, SMALLEST)
        a, b = xx + equation.square, exp(half_power * work[LOG_A + i])
        inverse = a / (a * b + 2.0 * half_power * xx * b + a * work[REST + i])  # 1 / (M b)
        work[POWER + i] = a * b
        work[GROWTH + i] = xx * b * b * inverse
        work[SIZE + i] = normal * x
        work[ALONG + i] = normal * x * b * inverse
        work[ACROSS + i] = normal * normal * kappa * inverse


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
def row_sum(work: Floats, row: int, count: int) -> float:
    """The sum of a row, in the several partial sums of a vector register."""
    total = 0.0
    for i in range(count):
        total += work[row + i]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})
def row_max(work: Floats, row: int, count: int) -> float:
    """The largest entry of a row without NaN."""
    largest = work[row]
    for i in range(count):
        largest = max(largest, work[row + i])
    return largest


@inlined
def evaluate(
    equation: Any, y: Floats, lower: Floats, upper: Floats, surface: bool, x: Floats, parts: Floats
) -> tuple[float, float, float, float, float]:
    """Fills x, and returns the sums of a point; `parts` has room for those of each chunk."""
    work = np.empty(ROWS * CHUNK)
    tabulated = y.size >= TABLE_FROM
    table = tabulate(work, equation) if tabulated else np.empty(0)
    chunks = parts.size // 5
    for k in range(chunks):
        start = k * CHUNK
        count = min(CHUNK, y.size - start)
        load(work, count, equation, y[start : start + count])
        if tabulated:
            guess_by_table(work, count, equation, table)
        else:
            guess_by_terms(work, count, equation)
        solve(work, count, equation)
        if surface:
            measure_surface(work, count, equation)
        else:
            bound(work, count, LOWER, lower, start)
            bound(work, count, UPPER, upper, start)
            measure_interval(work, count, equation)
        x[start : start + count] = work[X : X + count]
        for j in range(5 if surface else 2):
            parts[j * chunks + k] = row_sum(work, POWER + j * CHUNK, count)
    sums = [row_sum(parts, j * chunks, chunks) for j in range(5)]
    return sums[0], sums[1], sums[2], sums[3], sums[4]


@inlined
def solve(work: Floats, count: int, equation: Any) -> None:
    """Steps until all coordinates of the chunk are solved; the last ones without acceleration, whose convergence is certain."""
    full = equation.log_linear > -math.inf or equation.log_power > -math.inf
    for k in range(100):
        if full:
            newton_full(work, count, equation, 1.0 if k < 20 else 0.0)
        else:
            newton_plain(work, count, equation, 1.0 if k < 20 else 0.0)
        if row_max(work, STEP, count) <= CLOSE:
            break


@inlined
def tabulate(work: Floats, equation: Any) -> Floats:
    """Per cell of log kappa w the cubic through log x at its ends and at their neighbours, four coefficients after another."""
    width = SPAN / CELLS
    low = equation.log_kappa + math.log(equation.largest) - SPAN
    nodes = np.empty(CELLS + 3)
    for start in range(0, nodes.size, CHUNK):
        count = min(CHUNK, nodes.size - start)
        for i in range(count):
            work[LOG_W + i] = low + width * (start + i - 1)
        guess_by_terms(work, count, equation)
        solve(work, count, equation)
        nodes[start : start + count] = work[LOG_X : LOG_X + count]
    table = np.empty(4 * CELLS)
    for j in range(CELLS):
        before, here, there, after = nodes[j], nodes[j + 1], nodes[j + 2], nodes[j + 3]
        table[4 * j] = here
        table[4 * j + 1] = there - before / 3.0 - here / 2.0 - after / 6.0
        table[4 * j + 2] = (before + there) / 2.0 - here
        table[4 * j + 3] = (after - before) / 6.0 + (here - there) / 2.0
    return table


@inlined
def guess_by_table(work: Floats, count: int, equation: Any, table: Floats) -> None:
    """Row LOG_X from the table."""
    low, scale = equation.log_kappa + math.log(equation.largest) - SPAN, CELLS / SPAN
    for i in range(count):
        place = (work[LOG_W + i] - low) * scale
        inside = min(max(place, 0.0), CELLS - 1e-6)
        cell = int(inside)
        f = inside - cell
        cubic = table[4 * cell] + f * (table[4 * cell + 1] + f * (table[4 * cell + 2] + f * table[4 * cell + 3]))
        work[LOG_X + i] = cubic + table[1] * min(place, 0.0)
    for i in range(count):
        work[LOWER + i] = -1e300
        work[UPPER + i] = 1e300


@inlined
def largest_entry(y: Floats, signed: bool) -> float:
    """max |y_i|, or max y_i."""
    largest = -math.inf
    for i in range(y.size):
        value = abs(y[i]) if signed else y[i]
        largest = value if value > largest else largest
    return largest


@inlined
def powers(x: Floats, scale: float, delta: float, q: float, w: Floats, parts: Floats) -> float:
    """Fills w = a^{q/2-1} x after division of x by the scale, and returns the sum of a^{q/2}."""
    half_power, square = 0.5 * q - 1.0, delta * delta
    terms = np.empty(CHUNK)
    for k in range(parts.size):
        start = k * CHUNK
        count = min(CHUNK, x.size - start)
        chunk, out = x[start : start + count], w[start : start + count]
        for i in range(count):
            scaled = chunk[i] / scale
            size = max(abs(scaled), SMALLEST)
            log_a = log(size * size + square) if square > 0.0 else 2.0 * log(size)
            power = exp(half_power * log_a)
            out[i] = power * scaled
            terms[i] = power * (size * size + square)
        parts[k] = row_sum(terms, 0, count)
    return row_sum(parts, 0, parts.size)
