"""The 53 problems of Moré and Wild: sums of squares of 22 kinds, without constraints, most of them from CUTEr."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from zolal._array import Array
from zolal._checks import require
from zolal.problem import Problem

_A = (4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625)
_BARD = (0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39)
_KOWALIK = (0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246)
_MEYER = (34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872)
_OSBORNE_1 = (
    *(0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.85, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628, 0.603, 0.58),
    *(0.558, 0.538, 0.522, 0.506, 0.49, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.42, 0.414, 0.411, 0.406),
)
_OSBORNE_2 = (
    *(1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608, 0.655, 0.616, 0.606, 0.602),
    *(0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661, 0.612, 0.558, 0.533, 0.495, 0.5, 0.423, 0.395, 0.375),
    *(0.372, 0.391, 0.396, 0.405, 0.428, 0.429, 0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668, 0.645, 0.632, 0.591),
    *(0.559, 0.597, 0.625, 0.739, 0.71, 0.729, 0.72, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098, 0.054),
)
_HEART = (-0.69, -0.044, -1.57, -1.31, -2.65, 2.0, -12.6, 9.48)


class MoreWild(NamedTuple):
    """One of the 53: kind, 1 to 22; n variables; m squares; the standard start times 10^power."""

    kind: int
    n: int
    m: int
    power: int


def _rows() -> tuple[MoreWild, ...]:
    """dfo.dat of the paper; sizes of a kind in its order, and twice the same with another start where both are wanted."""
    both, once = (0, 1), (0,)
    sizes = [
        *(
            (kind, n, m, both)
            for kind, n, m in [(1, 9, 45), (2, 7, 35), (3, 7, 35), (4, 2, 2), (5, 3, 3), (6, 4, 4), (7, 2, 2), (8, 3, 15)]
        ),
        *((kind, n, m, once) for kind, n, m in [(9, 4, 11), (10, 3, 16)]),
        *((11, n, 31, both) for n in (6, 9, 12)),
        *((kind, n, m, once) for kind, n, m in [(12, 3, 10), (13, 2, 10)]),
        (14, 4, 20, both),
        *((15, n, n, once) for n in (6, 7, 8, 9, 10, 11)),
        *((kind, n, m, once) for kind, n, m in [(16, 10, 10), (17, 5, 33)]),
        (18, 11, 65, both),
        *((19, n, 2 * (n - 4), once) for n in (8, 10, 11, 12)),
        *((20, n, n, once) for n in (5, 6, 8)),
        *((21, n, n, powers) for n, powers in [(5, both), (8, once), (10, once), (12, both)]),
        (22, 8, 8, both),
    ]
    return tuple(MoreWild(kind, n, m, power) for kind, n, m, powers in sizes for power in powers)


def more_wild(number: int) -> Problem:
    """min sum_i F_i(x)^2, problem `number` of the 53 of J. J. Moré and S. M. Wild, Benchmarking Derivative-Free Optimization Algorithms,
    SIAM J. Optim. 20 (2009), from its start; `MORE_WILD[number - 1]` says which it is.

    >>> problem = more_wild(7)  # Rosenbrock's function from (-1.2, 1)
    >>> round(problem.objective(problem.x0), 10)
    24.2
    """
    require(isinstance(number, int) and 1 <= number <= len(MORE_WILD), "number", f"be from 1 to {len(MORE_WILD)}", number)
    row = MORE_WILD[number - 1]

    def objective(x: Array) -> float:
        values = more_wild_residuals(row, x)
        return float(values @ values)

    return Problem(objective, row.n, x0=more_wild_start(row))


def more_wild_residuals(row: MoreWild, x: Array) -> Array:
    """F(x), shape (m,), for x of shape (n,), real or complex."""
    return _KINDS[row.kind - 1](np.asarray(x), row.m)


def more_wild_start(row: MoreWild) -> Array:
    """The standard start of the kind times 10^power."""
    n, i = row.n, np.arange(1.0, row.n + 1)
    if row.kind in _STARTS:
        start = np.array(_STARTS[row.kind])
    elif row.kind == 15:
        start = i / (n + 1)
    elif row.kind == 21:
        start = -8.710996e-4 * ((i - 50) ** 3 + _wave(np.sqrt(i[:, None] / i)).sum(axis=1))
    else:
        start = np.full(n, 0.5 if row.kind in (11, 16, 20) else 1.0)
    return start * 10.0**row.power


def _wave(v: Array) -> Array:
    return v * (np.sin(np.log(v)) ** 5 + np.cos(np.log(v)) ** 5)


def _linear(x: Array, m: int) -> Array:
    """Full rank: F_i = x_i - 2 sum(x)/m - 1, with x_i = 0 for i > n."""
    return np.concatenate([x, np.zeros(m - len(x))]) - 2.0 * x.sum() / m - 1.0


def _rank_one(x: Array, m: int) -> Array:
    """F_i = i sum_j j x_j - 1."""
    return np.arange(1.0, m + 1) * (np.arange(1.0, len(x) + 1) @ x) - 1.0


def _rank_one_with_zeros(x: Array, m: int) -> Array:
    """F_i = (i - 1) sum_{1 < j < n} j x_j - 1, and F_m = -1."""
    return np.append(np.arange(m - 1.0), 0.0) * (np.arange(2.0, len(x)) @ x[1:-1]) - 1.0


def _rosenbrock(x: Array, m: int) -> Array:
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def _helical_valley(x: Array, m: int) -> Array:
    """The angle is arctan(x_2/x_1)/(2 pi), and half a turn more where x_1 < 0."""
    if x[0].real == 0.0:
        turn = np.copysign(0.25, x[1].real)
    else:
        turn = np.arctan(x[1] / x[0]) / (2.0 * np.pi) + (0.5 if x[0].real < 0.0 else 0.0)
    return np.array([10.0 * (x[2] - 10.0 * turn), 10.0 * (np.sqrt(x[0] ** 2 + x[1] ** 2) - 1.0), x[2]])


def _powell_singular(x: Array, m: int) -> Array:
    return np.array([x[0] + 10 * x[1], np.sqrt(5.0) * (x[2] - x[3]), (x[1] - 2 * x[2]) ** 2, np.sqrt(10.0) * (x[0] - x[3]) ** 2])


def _freudenstein_roth(x: Array, m: int) -> Array:
    return np.array([x[0] - 13 + ((5 - x[1]) * x[1] - 2) * x[1], x[0] - 29 + ((1 + x[1]) * x[1] - 14) * x[1]])


def _bard(x: Array, m: int) -> Array:
    u = np.arange(1.0, 16.0)
    v = 16.0 - u
    return np.array(_BARD) - x[0] - u / (x[1] * v + x[2] * np.minimum(u, v))


def _kowalik_osborne(x: Array, m: int) -> Array:
    a = np.array(_A)
    return np.array(_KOWALIK) - x[0] * a * (a + x[1]) / (a * (a + x[2]) + x[3])


def _meyer(x: Array, m: int) -> Array:
    return x[0] * np.exp(x[1] / (45.0 + 5.0 * np.arange(1.0, 17.0) + x[2])) - np.array(_MEYER, dtype=float)


def _watson(x: Array, m: int) -> Array:
    """A polynomial p with coefficients x at t = i/29: F_i = p'(t) - p(t)^2 - 1, and two rows for its first coefficients."""
    t, j = np.arange(1.0, 30.0)[:, None] / 29.0, np.arange(len(x))
    p, slope = t**j @ x, t ** j[:-1] @ (j[1:] * x[1:])
    return np.concatenate([slope - p**2 - 1.0, [x[0], x[1] - x[0] ** 2 - 1.0]])


def _box(x: Array, m: int) -> Array:
    i = np.arange(1.0, m + 1)
    return np.exp(-0.1 * i * x[0]) - np.exp(-0.1 * i * x[1]) + (np.exp(-i) - np.exp(-0.1 * i)) * x[2]


def _jennrich_sampson(x: Array, m: int) -> Array:
    i = np.arange(1.0, m + 1)
    return 2.0 + 2.0 * i - np.exp(i * x[0]) - np.exp(i * x[1])


def _brown_dennis(x: Array, m: int) -> Array:
    t = np.arange(1.0, m + 1) / 5.0
    return (x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + np.sin(t) * x[3] - np.cos(t)) ** 2


def _chebyquad(x: Array, m: int) -> Array:
    """The mean of the shifted Chebyshev polynomial T_i over the points x, less its integral over [0, 1]."""
    y = 2.0 * x - 1.0
    before, now, means = np.ones_like(y), y, []
    for _ in range(m):
        means.append(now.mean())
        before, now = now, 2.0 * y * now - before
    i = np.arange(1.0, m + 1)
    return np.array(means) + np.where(i % 2 == 0, 1.0 / np.maximum(i**2 - 1.0, 1.0), 0.0)


def _brown_almost_linear(x: Array, m: int) -> Array:
    return np.append(x[:-1] + x.sum() - (len(x) + 1), np.prod(x) - 1.0)


def _osborne_1(x: Array, m: int) -> Array:
    t = 10.0 * np.arange(33.0)
    return np.array(_OSBORNE_1) - (x[0] + x[1] * np.exp(-x[3] * t) + x[2] * np.exp(-x[4] * t))


def _osborne_2(x: Array, m: int) -> Array:
    t = 0.1 * np.arange(65.0)[:, None]
    peaks = np.exp(-x[5:8] * (t - x[8:11]) ** 2) @ x[1:4]
    return np.array(_OSBORNE_2) - x[0] * np.exp(-x[4] * t[:, 0]) - peaks


def _bdqrtic(x: Array, m: int) -> Array:
    s = x**2
    return np.concatenate([3.0 - 4.0 * x[:-4], s[:-4] + 2 * s[1:-3] + 3 * s[2:-2] + 4 * s[3:-1] + 5 * s[-1]])


def _cube(x: Array, m: int) -> Array:
    return np.concatenate([[x[0] - 1.0], 10.0 * (x[1:] - x[:-1] ** 3)])


def _mancino(x: Array, m: int) -> Array:
    i = np.arange(1.0, len(x) + 1)
    return 1400.0 * x + (i - 50.0) ** 3 + _wave(np.sqrt(x[:, None] ** 2 + i[:, None] / i)).sum(axis=1)


def _heart(x: Array, m: int) -> Array:
    """Both parts of sum_j a_j z_j^k, k = 0 ... 3, with the complex a = (x_1 + i x_3, x_2 + i x_4), z = (x_5 + i x_7, x_6 + i x_8)."""
    p, q, re, im = x.reshape(4, 2)
    rows = []
    power_re, power_im = np.ones_like(re), np.zeros_like(im)
    for _ in range(4):
        rows += [(p * power_re - q * power_im).sum(), (q * power_re + p * power_im).sum()]
        power_re, power_im = power_re * re - power_im * im, power_re * im + power_im * re
    return np.array(rows) - np.array(_HEART)


_STARTS = {
    4: (-1.2, 1.0),
    5: (-1.0, 0.0, 0.0),
    6: (3.0, -1.0, 0.0, 1.0),
    7: (0.5, -2.0),
    8: (1.0, 1.0, 1.0),
    9: (0.25, 0.39, 0.415, 0.39),
    10: (0.02, 4000.0, 250.0),
    12: (0.0, 10.0, 20.0),
    13: (0.3, 0.4),
    14: (25.0, 5.0, -5.0, -1.0),
    17: (0.5, 1.5, 1.0, 0.01, 0.02),
    18: (1.3, 0.65, 0.65, 0.7, 0.6, 3.0, 5.0, 7.0, 2.0, 4.5, 5.5),
    22: (-0.3, -0.39, 0.3, -0.344, -1.2, 2.69, 1.59, -1.5),
}
_KINDS: tuple[Callable[[Array, int], Array], ...] = (
    *(_linear, _rank_one, _rank_one_with_zeros, _rosenbrock, _helical_valley, _powell_singular, _freudenstein_roth, _bard),
    *(_kowalik_osborne, _meyer, _watson, _box, _jennrich_sampson, _brown_dennis, _chebyquad, _brown_almost_linear),
    *(_osborne_1, _osborne_2, _bdqrtic, _cube, _mancino, _heart),
)
NAMES = (
    *("linear, full rank", "linear, rank 1", "linear, rank 1, zeros", "Rosenbrock", "helical valley", "Powell singular"),
    *("Freudenstein and Roth", "Bard", "Kowalik and Osborne", "Meyer", "Watson", "Box, 3 variables", "Jennrich and Sampson"),
    *("Brown and Dennis", "Chebyquad", "Brown almost linear", "Osborne 1", "Osborne 2", "Bdqrtic", "Cube", "Mancino", "Heart"),
)
MORE_WILD = _rows()
