"""The covariance matrix of values under the prior, and its Cholesky factor, which grows by a row per value."""

import math
from typing import Any, NamedTuple, final

import numpy as np
from scipy.linalg import get_lapack_funcs

from zolal._array import EPS
from zolal._cached import cached_property
from zolal.solvers.auto.constants import CONSTANTS

_potrf, _trtrs = get_lapack_funcs(("potrf", "trtrs"), (np.empty(0),))
NEGLIGIBLE = 2.0**-20  # of a third order, that is none beside it
STRIP = 128  # rows of K that are made at once
HIDDEN = 1e8  # the largest rho: slopes so far below the noise nobody will see, and a larger one leaves no digits of what values say of them


class Scales(NamedTuple):
    """The ratios that the prior is made of, relative to slopes over one length.

    curvature: s_H. third: s_3. noise: rho. common: s_h, of the curvature that all directions share. axes: s_d, of what each axis has beside
    that.
    """

    curvature: float
    third: float
    noise: float
    common: float = 0.0
    axes: float = 0.0

    @classmethod
    def first(cls, dimension: int, noise: float = 0.0) -> "Scales":
        """Before anything is known: over one length a slope may turn once."""
        curvature = CONSTANTS.first_curvature / math.sqrt(dimension)
        common = CONSTANTS.common_curvature * math.sqrt(dimension) * curvature
        return cls(curvature, CONSTANTS.first_third, noise, common, CONSTANTS.first_axes * curvature)

    def stretched(self, stretch: float, ratio: float) -> "Scales":
        """Over a length that is so many times as long, where squares of values are in units so many times smaller."""
        third, (curvature, common, axes) = self.third * stretch**3, (s * stretch**2 for s in (self.curvature, self.common, self.axes))
        root = math.sqrt(ratio)
        return Scales(curvature * root, third * root, min(self.noise * ratio, HIDDEN), common * root, axes * root)

    @property
    def quadratic(self) -> "Scales":
        """The same for a function that is a quadratic as far as one can tell."""
        return self._replace(third=NEGLIGIBLE * self.third)

    def beyond(self, squares: Any) -> Any:
        """The variance of what lies beyond fourth order at |a|^2: over one length as large as third order."""
        return self.third**2 * squares**5


def jitter(number: int) -> float:
    """What is added to the diagonal of K of so many rows, as a part of it: a few times what the rounding of its entries amounts to.

    Errors of EPS K_ii^(1/2) K_jj^(1/2) that are as good as random make a matrix whose norm, relative to the diagonal, is EPS 2 sqrt(N).
    """
    return max(64.0, 16.0 * math.sqrt(number)) * EPS


def kernel(scales: Scales, a: np.ndarray, others: np.ndarray, squares: np.ndarray | None = None) -> np.ndarray:
    """k(a, b) of docs/algorithm.md for the rows b of `others`. squares: b_i^2, where they are known.

    a.b + (s_h^2 |a|^2 |b|^2 + s_d^2 sum_i a_i^2 b_i^2)/4 + s_H^2 (a.b)^2 / 2 + s_3^2 ((a.b)^3 + (a.b)^4 + r (a.b) |a|^2 |b|^2).
    """
    products, square = others @ a, float(a @ a)
    squares = others * others if squares is None else squares
    shared = squares @ ((0.5 * scales.common) ** 2 * square + (0.5 * scales.axes) ** 2 * (a * a))
    radial = 1.0 + (CONSTANTS.radial * scales.third**2 * square) * squares.sum(axis=1)
    higher = scales.third**2 * products * (1.0 + products)
    return products * (radial + products * (0.5 * scales.curvature**2 + higher)) + shared


class Sight(NamedTuple):
    """A point as values see it: its offset a, k(a, a) with what is beyond fourth order, and L^-1 k(a, a_i) for those of the values."""

    offset: np.ndarray
    own: float
    solved: np.ndarray


class Foretold(NamedTuple):
    """What is believed of f(u) - f(centre), and the standard deviations of that and of f(u) itself, without the noise of an evaluation."""

    change: float
    deviation: float
    value_deviation: float


def matrix(offsets: np.ndarray, scales: Scales, noise: np.ndarray) -> np.ndarray:
    """The upper triangle of K = k + diag(noise + s_3^2 |a|^10), with anything in the other one.

    Strip by strip of its rows, each from the diagonal on: that is half of the work, and a strip stays in the cache.
    """
    number, d = offsets.shape
    axes = offsets * offsets
    squares = axes.sum(axis=1)
    shared = (math.sqrt(d * scales.common**2 + scales.axes**2) - scales.axes) / d
    halves = 0.5 * (scales.axes * axes + shared * squares[:, None])  # whose products are those of both shared parts
    radial = math.sqrt(CONSTANTS.radial) * scales.third * squares
    found = np.empty((number, number))
    for first in range(0, number, STRIP):
        strip, rows = found[first : first + STRIP, first:], slice(first, first + STRIP)
        products = offsets[rows] @ offsets[first:].T
        np.add(products, 1.0, out=strip)
        strip *= scales.third**2
        strip *= products
        strip += 0.5 * scales.curvature**2
        strip *= products
        strip += 1.0 + radial[rows, None] * radial[first:]
        strip *= products
        strip += halves[rows] @ halves[first:].T
    diagonal = found.reshape(-1)[:: number + 1]
    diagonal += scales.beyond(squares)
    diagonal *= 1.0 + jitter(number)
    diagonal += noise
    return found


def factorized_in_place(matrix: np.ndarray) -> bool:
    """Put L^T over the upper triangle of a matrix, whose lower one stays as it is; False where rounding has made it indefinite."""
    return bool(_potrf(matrix.T, lower=1, clean=0, overwrite_a=1)[1] == 0)  # .T is how LAPACK keeps it


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """The lower factor, with anything above it, of what the upper triangle says; where rounding has made it indefinite, the diagonal is
    made longer."""
    extra = jitter(len(matrix))
    while True:
        lower, failed = _potrf(matrix.T, lower=1, clean=0, overwrite_a=0)
        if failed == 0:
            return lower
        extra *= 16.0
        matrix = matrix + np.diag(extra * np.diagonal(matrix))


@final
class Factor:
    """K = L L^T with what is solved by it: L^-1 (F, 1, a). Rows are added in place where there is room.

    products: of the solved columns of a. Children share the arrays of their parent, which reads its own rows alone; whoever adds a
    second child gets a copy. L goes on as the identity where no row is yet, so that LAPACK solves by the array as it is. The squares of
    the offsets are kept beside them.
    """

    def __init__(self, number: int, arrays: "tuple[np.ndarray, ...]", products: np.ndarray, used: list[int]) -> None:
        self.number, self.arrays, self.products, self.used = number, arrays, products, used

    @classmethod
    def built(cls, scales: Scales, noise: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> "Factor":
        """noise: of each value."""
        number, d = offsets.shape
        covariance = matrix(offsets, scales, noise)
        lower = covariance.T if factorized_in_place(covariance) else cholesky(matrix(offsets, scales, noise))
        right = np.empty((number, d + 2), order="F")
        right[:, 0], right[:, 1], right[:, 2:] = values[:number], 1.0, offsets
        solved = solved_by(lower, right)
        found = solved[:, 2:]
        arrays = (_square(lower), _longer(solved), _longer(offsets), _longer(offsets * offsets))
        return cls(number, arrays, found.T @ found, [number])

    @classmethod
    def of(cls, scales: Scales, noise: np.ndarray, offsets: np.ndarray, values: np.ndarray, first: int) -> "Factor":
        """Built of the first rows, and grown by the others one by one."""
        factor = cls.built(scales, noise[:first], offsets[:first], values)
        for n in range(first, len(values)):
            factor = factor.grown(factor.sight(scales, offsets[n]), float(noise[n]), float(values[n]))
        return factor

    def sight(self, scales: Scales, offset: np.ndarray) -> Sight:
        """Of one more point."""
        row = kernel(scales, offset, self.offsets, self.offset_squares)
        axes = offset * offset
        square = float(axes.sum())
        curved = 0.5 * scales.curvature**2 + 0.25 * scales.common**2 + square * (1.0 + CONSTANTS.radial + square) * scales.third**2
        own = square * (1.0 + square * curved) + 0.25 * scales.axes**2 * float(axes @ axes)
        return Sight(offset, own + scales.beyond(square), self.solved(row))

    def grown(self, sight: Sight, noise: float, value: float) -> "Factor":
        """After one more value, with the noise that it has."""
        n, used, arrays = self.number, self.used, self.arrays
        if n == len(arrays[0]):
            used, arrays = [n], (_square(arrays[0]), *map(_longer, arrays[1:]))
        elif used[0] != n:
            used, arrays = [n], (_square(self.lower, len(arrays[0])), *(array.copy() for array in arrays[1:]))
        lower, solved, kept, squares = arrays
        new, offset = sight.solved, sight.offset
        rounding = jitter(n + 1)
        own = (1.0 + rounding) * sight.own + noise
        diagonal = math.sqrt(max(own - float(new @ new), rounding * own))
        lower[n, :n], lower[n, n], kept[n], squares[n] = new, diagonal, offset, offset * offset
        row = solved[n]
        row[0], row[1], row[2:] = value, 1.0, offset
        row -= new @ solved[:n]
        row /= diagonal
        used[0] = n + 1
        last = solved[n, 2:]
        return Factor(n + 1, arrays, self.products + last[:, None] * last, used)

    @property
    def dimension(self) -> int:
        return self.arrays[2].shape[1]

    @property
    def offsets(self) -> np.ndarray:
        return self.arrays[2][: self.number]

    @property
    def offset_squares(self) -> np.ndarray:
        return self.arrays[3][: self.number]

    @property
    def lower(self) -> np.ndarray:
        """L, with anything above it."""
        return self.arrays[0][: self.number, : self.number]

    @property
    def columns(self) -> np.ndarray:
        """L^-1 a."""
        return self.arrays[1][: self.number, 2:]

    @cached_property
    def with_ones(self) -> np.ndarray:
        """The products of the columns with L^-1 1."""
        return self.columns.T @ self.ones_solved

    @cached_property
    def with_values(self) -> np.ndarray:
        """The products of the columns with L^-1 F."""
        return self.columns.T @ self.arrays[1][: self.number, 0]

    @property
    def ones_solved(self) -> np.ndarray:
        return self.arrays[1][: self.number, 1]

    @cached_property
    def ones_square(self) -> float:
        return float(self.ones_solved @ self.ones_solved)

    @cached_property
    def mean(self) -> float:
        return float(self.ones_solved @ self.arrays[1][: self.number, 0]) / self.ones_square

    @cached_property
    def whitened(self) -> np.ndarray:
        return self.arrays[1][: self.number, 0] - self.mean * self.ones_solved

    @cached_property
    def square(self) -> float:
        """(F - v).K^-1 (F - v)."""
        return float(self.whitened @ self.whitened)

    @cached_property
    def alpha(self) -> np.ndarray:
        """K^-1 (F - v)."""
        return self.solved_back(self.whitened)

    def shares(self, direction: np.ndarray) -> np.ndarray:
        """What each value gives to the slope along a direction: K_v^-1 A t, where K_v^-1 = K^-1 - K^-1 1 1^T K^-1/(1.K^-1 1)."""
        return self.solved_back(self.columns @ direction - self.ones_solved * (float(self.with_ones @ direction) / self.ones_square))

    def hessian(self, scales: Scales, tilt: np.ndarray | None = None) -> np.ndarray:
        """The mean of the Hessian at the centre. tilt: s, where the prior of slopes is taken back; alpha is then less by K_v^-1 A s."""
        alpha = self.alpha if tilt is None else self.alpha - self.shares(tilt)
        hessian: np.ndarray = self.offsets.T @ (alpha[:, None] * self.offsets)
        hessian *= scales.curvature**2
        hessian.reshape(-1)[:: len(hessian) + 1] += self._axes_curvature(scales, alpha)
        return hessian

    def slope_at(self, scales: Scales, a: np.ndarray) -> np.ndarray:
        """The mean of the gradient at another point: sum_i alpha_i dk(a, a_i)/da, without what is beyond fourth order."""
        third, along, squares = scales.third**2, self.offsets @ a, self.offset_squares.sum(axis=1)
        radial = CONSTANTS.radial * third * squares
        weights = 1.0 + along * (scales.curvature**2 + third * along * (3.0 + 4.0 * along)) + radial * float(a @ a)
        outward = self._axes_curvature(scales, self.alpha) + 2.0 * float(self.alpha @ (radial * along))
        return self.offsets.T @ (self.alpha * weights) + outward * a

    def _axes_curvature(self, scales: Scales, alpha: np.ndarray) -> np.ndarray:
        """What all directions share and what each axis has of its own."""
        along = 0.5 * (alpha @ self.offset_squares)
        return scales.common**2 * float(along.sum()) + scales.axes**2 * along

    def solved(self, right: np.ndarray) -> np.ndarray:
        """L^-1 right."""
        return solved_by(self.arrays[0], right)

    def solved_back(self, right: np.ndarray) -> np.ndarray:
        """L^-T right."""
        return solved_by(self.arrays[0], right, transposed=True)


def solved_by(lower: np.ndarray, right: np.ndarray, transposed: bool = False) -> np.ndarray:
    """L^-1 right, or L^-T right, for the first rows of L, as many as there are in `right`."""
    longer = np.zeros((len(lower), *right.shape[1:]), order="F")
    longer[: len(right)] = right
    return _trtrs(lower, longer, lower=1, trans=int(transposed), overwrite_b=1)[0][: len(right)]


def _room(rows: int) -> int:
    """A few more, for those to come: L is made anew before long, and what is not there need not be cleared, copied and solved by."""
    return rows + max(16, rows // 16)


def _longer(array: np.ndarray) -> np.ndarray:
    """A copy with room for more rows."""
    longer = np.empty((_room(len(array)), array.shape[1]))
    longer[: len(array)] = array
    return longer


def _square(lower: np.ndarray, room: int | None = None) -> np.ndarray:
    """A copy that goes on as the identity, as far as there is room, with anything above its diagonal."""
    number = len(lower)
    room = _room(number) if room is None else room
    bigger = np.empty((room, room), order="F")
    bigger[:number, :number], bigger[number:] = lower, 0.0
    rest = np.arange(number, room)
    bigger[rest, rest] = 1.0
    return bigger
