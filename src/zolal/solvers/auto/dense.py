"""Small dense matrices: Cholesky factors by LAPACK itself, whose wrappers take longer than it does at this size, and spans of rows."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, get_lapack_funcs

DEPENDENT = 1e-9  # of the largest singular value, and of the length 1 that rows have or had: what is less does not count
_potrf, _potrs, _syevr = get_lapack_funcs(("potrf", "potrs", "syevr"), (np.empty(0),))


def norm(array: np.ndarray) -> float:
    """The root of the sum of squares, at a tenth of what np.linalg.norm takes for a short vector."""
    return math.sqrt(np.vdot(array, array))


def mean(values: np.ndarray) -> float:
    """Of values, of which there is mostly one."""
    return float(values[0]) if len(values) == 1 else float(values.mean())


def square_lengths(rows: np.ndarray) -> np.ndarray:
    """Of the rows, one each."""
    return np.einsum("ij,ij->i", rows, rows)


def same_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first of each set of equal rows, in their order, and for every row the number of its set."""
    keys = (rows + 0.0).view(f"V{rows.itemsize * rows.shape[1]}").reshape(-1).tolist()  # by their bytes, and 0 has a sign
    numbers: dict[bytes, int] = {}
    place = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    return np.unique(place, return_index=True)[1], place


def factorized(matrix: np.ndarray) -> np.ndarray:
    """The factor of a positive definite matrix, with anything in the other triangle; LinAlgError for any other matrix."""
    factor, failed = _potrf(matrix, lower=1, clean=0)
    if failed or not math.isfinite(factor[-1, -1]):
        raise LinAlgError(f"the matrix is not positive definite: row {failed}")
    return factor


def divided(right: np.ndarray, matrix: np.ndarray, least: float) -> np.ndarray:
    """matrix^-1 right for a positive semidefinite matrix, whose eigenvalues count as `least` where rounding has made them less."""
    try:
        return solved(factorized(matrix), right)
    except LinAlgError:
        sizes, axes = np.linalg.eigh(matrix)
        return (axes / np.maximum(sizes, least)) @ (axes.T @ right)


def solved(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """matrix^-1 right."""
    return _potrs(factor, right, lower=1)[0]


def lowest(matrix: np.ndarray) -> float:
    """The least eigenvalue of a symmetric matrix."""
    return float(_syevr(matrix, compute_v=0, range="I", il=1, iu=1)[0][0])


def spanned(rows: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the given ones, of length 1, or what is left of those."""
    if len(rows) <= 1:
        length = norm(rows)
        return rows / length if length > DEPENDENT else rows[:0]
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    return basis[sizes > DEPENDENT * max(float(sizes[0]), 1.0)]


def taken_out(covariance: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """The covariance of what is left of a random vector without its parts along orthonormal normals."""
    if not len(normals):
        return covariance
    half = covariance - normals.T @ (normals @ covariance)
    return half - (half @ normals.T) @ normals


class Span(NamedTuple):
    """A space that some axes span, and orthonormal rows that are 0 on those: many bounds cost it nothing."""

    axes: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, axes: np.ndarray, rows: np.ndarray) -> "Span":
        """axes: which of them. rows: of length 1."""
        return cls(axes, spanned(np.where(axes, 0.0, rows) if len(rows) and np.count_nonzero(axes) else rows))

    @property
    def basis(self) -> np.ndarray:
        """Orthonormal rows."""
        return np.concatenate([np.eye(len(self.axes))[self.axes], self.rows]) if np.count_nonzero(self.axes) else self.rows

    def taken_out(self, covariance: np.ndarray) -> np.ndarray:
        """The covariance of what is left of a random vector without its part in the space."""
        if np.count_nonzero(self.axes):
            covariance = np.where(self.axes[:, None] | self.axes, 0.0, covariance)
        return taken_out(covariance, self.rows)
