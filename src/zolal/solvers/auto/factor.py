"""The covariance matrix of values under the prior, and its Cholesky factor, which grows by a row per value."""

import math
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from scipy.linalg import get_lapack_funcs

from zolal._array import EPS
from zolal.solvers.auto.constants import CONSTANTS

_potrf, _trtrs = get_lapack_funcs(("potrf", "trtrs"), (np.empty(0),))
BLOCK = 256  # rows that are solved at once: what lies left of them is multiplied where it is, without a copy
JITTER = 64.0 * EPS  # relative, on the diagonal of K: what its own rounding amounts to


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

    def fourth(self, squares: Any) -> Any:
        """The variance of what lies beyond third order at |a|^2: over one length as large as third order."""
        return self.third**2 * squares**4


def kernel(scales: Scales, a: np.ndarray, others: np.ndarray) -> np.ndarray:
    """k(a, b) = a.b + (s_h^2 |a|^2 |b|^2 + s_d^2 sum_i a_i^2 b_i^2)/4 + s_H^2 (a.b)^2 / 2 + s_3^2 (a.b)^3 for the rows b of `others`."""
    products = others @ a
    weights = (0.5 * scales.common) ** 2 * float(a @ a) + (0.5 * scales.axes) ** 2 * (a * a)
    shared = (others * others) @ weights
    return products * (1.0 + products * (0.5 * scales.curvature**2 + scales.third**2 * products)) + shared


class Products(NamedTuple):
    """The products of offsets that K is a weighted sum of, each as one row. squares: |a|^2."""

    terms: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, offsets: np.ndarray) -> "Products":
        number, axes = len(offsets), offsets * offsets
        terms = np.empty((5, number, number))
        plain, general, third, common, own = terms
        np.matmul(offsets, offsets.T, out=plain)
        squares = np.diagonal(plain).copy()
        np.multiply(plain, plain, out=general)
        np.multiply(general, plain, out=third)
        np.outer(squares, squares, out=common)
        np.matmul(axes, axes.T, out=own)
        return cls(terms.reshape(5, number * number), squares)


def matrix(given: Products, scales: Scales, noise: np.ndarray) -> np.ndarray:
    """K = k + diag(noise + s_3^2 |a|^8)."""
    number = len(given.squares)
    weights = np.array([1.0, 0.5 * scales.curvature**2, scales.third**2, 0.25 * scales.common**2, 0.25 * scales.axes**2])
    found: np.ndarray = weights @ given.terms
    found[:: number + 1] *= 1.0 + JITTER
    found[:: number + 1] += noise + scales.fourth(given.squares)
    return found.reshape(number, number)


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """The lower factor; a matrix that rounding has made indefinite gets a longer diagonal."""
    extra = JITTER
    while True:
        lower, failed = _potrf(matrix.T, lower=1, clean=1, overwrite_a=0)  # symmetric, and .T is how LAPACK keeps it
        if failed == 0:
            return lower
        extra *= 16.0
        matrix = matrix + np.diag(extra * np.diagonal(matrix))


@final
class Factor:
    """K = L L^T with what is solved by it: L^-1 (F, 1, a), and with noise L^-1 a|a|^2. Rows are added in place where there is room.

    products: of the solved columns from a on. Children share the arrays of their parent, which reads its own rows alone; whoever adds a
    second child gets a copy.
    """

    def __init__(self, number: int, arrays: "tuple[np.ndarray, ...]", products: np.ndarray, used: list[int]) -> None:
        self.number, self.arrays, self.products, self.used = number, arrays, products, used

    @classmethod
    def built(cls, covariance: np.ndarray, offsets: np.ndarray, values: np.ndarray, bent: bool = False) -> "Factor":
        """bent: whether a|a|^2 is among the columns."""
        number, d = offsets.shape
        room = number + max(16, number // 4)
        lower = np.zeros((room, room), order="F")
        lower[:number, :number] = cholesky(covariance)
        columns = _bent(offsets) if bent else offsets
        right = np.empty((number, columns.shape[1] + 2))
        right[:, 0], right[:, 1], right[:, 2:] = values[:number], 1.0, columns
        solved = np.zeros((room, right.shape[1]))
        solved[:number] = solved_by(lower[:number, :number], right)
        found, kept = solved[:number, 2:], np.zeros((room, d))
        kept[:number] = offsets
        return cls(number, (lower, solved, kept), found.T @ found, [number])

    def grown(self, row: tuple[np.ndarray, float, np.ndarray], value: float) -> "Factor":
        """After one more row of K, with its diagonal and offset, and the value."""
        kernel, own, offset = row
        n, used, arrays = self.number, self.used, self.arrays
        if used[0] != n or n == arrays[0].shape[0]:
            used, arrays = [n], (_roomier(arrays[0], n, is_square=True), _roomier(arrays[1], n), _roomier(arrays[2], n))
        lower, solved, kept = arrays
        new = solved_by(lower[:n, :n], kernel)
        diagonal = math.sqrt(max(own - float(new @ new), JITTER * own))
        lower[n, :n], lower[n, n], kept[n] = new, diagonal, offset
        columns = _bent(offset[None, :])[0] if solved.shape[1] > len(offset) + 2 else offset
        solved[n] = (np.concatenate([[value, 1.0], columns]) - new @ solved[:n]) / diagonal
        used[0] = n + 1
        last = solved[n, 2:]
        return Factor(n + 1, arrays, self.products + np.outer(last, last), used)

    @property
    def dimension(self) -> int:
        return self.arrays[2].shape[1]

    @property
    def offsets(self) -> np.ndarray:
        return self.arrays[2][: self.number]

    @property
    def lower(self) -> np.ndarray:
        return self.arrays[0][: self.number, : self.number]

    @property
    def columns(self) -> np.ndarray:
        """L^-1 a, and after them L^-1 a|a|^2 where there is noise."""
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
    def ones_with_values(self) -> float:
        return self.mean * self.ones_square

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
    def _whitened(self) -> np.ndarray:
        return self.arrays[1][: self.number, 0] - self.mean * self.ones_solved

    @cached_property
    def square(self) -> float:
        """(F - v).K^-1 (F - v)."""
        return float(self._whitened @ self._whitened)

    @cached_property
    def alpha(self) -> np.ndarray:
        """K^-1 (F - v)."""
        return self.solved_back(self._whitened)

    def solved_back(self, right: np.ndarray) -> np.ndarray:
        """L^-T right."""
        return _solved_by_transpose(self.lower, right)


def _bent(offsets: np.ndarray) -> np.ndarray:
    """a and a|a|^2, side by side."""
    return np.hstack([offsets, offsets * np.einsum("ij,ij->i", offsets, offsets)[:, None]])


def solved_by(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """L^-1 right, block by block."""
    found = np.array(right, dtype=float, order="F")
    for start in range(0, len(found), BLOCK):
        rows = slice(start, start + BLOCK)
        if start:
            found[rows] -= lower[rows, :start] @ found[:start]
        found[rows] = _trtrs(lower[rows, rows], found[rows], lower=1)[0]
    return found


def _solved_by_transpose(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """L^-T right, block by block."""
    found = np.array(right, dtype=float)
    for start in reversed(range(0, len(found), BLOCK)):
        rows, after = slice(start, start + BLOCK), slice(start + BLOCK, None)
        if start + BLOCK < len(found):
            found[rows] -= lower[after, rows].T @ found[after]
        found[rows] = _trtrs(lower[rows, rows], found[rows], lower=1, trans=1)[0]
    return found


def _roomier(array: np.ndarray, rows: int, is_square: bool = False) -> np.ndarray:
    """A copy with room for a quarter more rows, and columns where it is a square."""
    room = rows + max(16, rows // 4)
    bigger = np.zeros((room, room if is_square else array.shape[1]), order="F" if is_square else "C")
    bigger[:rows, : rows if is_square else None] = array[:rows, : rows if is_square else None]
    return bigger
