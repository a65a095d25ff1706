"""Cholesky factors of small dense matrices by LAPACK itself: at this size its wrappers take longer than it does."""

import numpy as np
from scipy.linalg import LinAlgError, get_lapack_funcs

_potrf, _potrs = get_lapack_funcs(("potrf", "potrs"), (np.empty(0),))


def factorized(matrix: np.ndarray) -> np.ndarray:
    """The factor of a positive definite matrix, with anything in the other triangle; LinAlgError for any other matrix."""
    factor, failed = _potrf(matrix, lower=1, clean=0)
    if failed or not np.isfinite(factor[-1, -1]):
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
