"""Factors of small dense matrices against NumPy's solutions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import LinAlgError

from zolal.solvers.auto.dense import Span, divided, factorized, same_rows, solved, spanned


def positive(d, seed=0):
    half = np.random.default_rng([seed, d]).standard_normal((d, d + 2))
    return half @ half.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("columns", [None, 1, 5])
def test_what_is_solved_is_the_inverse_times_the_right_side(d, columns):
    matrix = positive(d)
    right = np.random.default_rng(1).standard_normal(d if columns is None else (d, columns))
    found = solved(factorized(matrix), right)
    assert_allclose(found.reshape(right.shape), np.linalg.solve(matrix, right), rtol=1e-7, atol=1e-9)


def test_the_upper_triangle_is_not_read_and_nothing_is_overwritten():
    matrix, right = positive(6), np.arange(6.0)
    expected = np.linalg.solve(matrix, right)
    spoilt = np.tril(matrix) + np.triu(np.full((6, 6), np.nan), 1)
    before, kept = spoilt.copy(), right.copy()
    factor = factorized(spoilt)
    found = solved(factor, right)
    assert_allclose(found.ravel(), expected, rtol=1e-9)
    assert_allclose(np.tril(factor) @ np.tril(factor).T, matrix, rtol=1e-12)
    assert_array_equal(spoilt, before)
    assert_array_equal(right, kept)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_in_memory_does_not_matter(order):
    matrix, right = np.array(positive(5), order=order), np.array(np.eye(5), order=order)
    assert_allclose(solved(factorized(matrix), right), np.linalg.inv(matrix), rtol=1e-8, atol=1e-10)
    assert_allclose(matrix, positive(5))


@pytest.mark.parametrize(
    "matrix",
    [
        np.diag([1.0, -1.0, 2.0]),
        np.diag([1.0, 2.0, 0.0]),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.diag([1.0, np.nan, 1.0]),
        np.diag([1.0, 1.0, np.inf]),
        np.array([[1.0, 0.0], [np.nan, 1.0]]),
        np.array([[-1.0]]),
    ],
    ids=["negative", "singular", "saddle", "nan inside", "infinite last", "nan below", "one"],
)
def test_what_is_not_positive_definite_is_refused(matrix):
    with pytest.raises(LinAlgError, match="not positive definite"):
        factorized(matrix)


@pytest.mark.parametrize("least", [1e-3, 1e-9])
def test_what_rounding_has_made_indefinite_is_divided_by_with_its_eigenvalues_lifted(least):
    axes = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))[0]
    matrix = axes @ np.diag([2.0, 1.0, 0.5, -1e-12]) @ axes.T
    right = np.arange(8.0).reshape(4, 2)
    wanted = axes @ np.diag([0.5, 1.0, 2.0, 1.0 / least]) @ axes.T @ right
    np.testing.assert_allclose(divided(right, matrix, least), wanted, rtol=1e-6)


def test_a_positive_definite_matrix_is_divided_by_as_it_is():
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(divided(np.eye(2), matrix, 1e3), np.linalg.inv(matrix), rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_are_found_in_the_order_in_which_they_come(seed):
    rows = np.random.default_rng(seed).integers(-1, 2, (20, 2)) * 0.1
    rows[3] = -rows[3] * 0.0  # zeros of both signs are the same
    first, place = same_rows(rows)
    kept = []
    for row, number in zip(rows.tolist(), place.tolist(), strict=True):
        if row not in kept:
            kept.append(row)
        assert kept.index(row) == number
    assert_array_equal(rows[first], kept)
    assert_array_equal(place[first], np.arange(len(first)))


@pytest.mark.parametrize("axes", [[], [1], [0, 2, 4], [0, 1, 2, 3, 4, 5]])
@pytest.mark.parametrize("number", [0, 1, 3])
def test_what_a_span_takes_out_is_the_projection_of_all_its_normals(axes, number):
    rng = np.random.default_rng([number, *axes])
    rows = rng.standard_normal((number, 6))
    rows[2:] = rows[:1] + 2.0 * rows[1:2]  # one that depends on the others
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    span = Span.of(np.isin(np.arange(6), axes), rows)
    normals = np.vstack([np.eye(6)[axes], rows])
    away = np.eye(6) - np.linalg.pinv(normals) @ normals
    covariance = positive(6)
    assert_allclose(span.taken_out(covariance), away @ covariance @ away, atol=1e-12)
    assert_allclose(span.basis @ span.basis.T, np.eye(len(span.basis)), atol=1e-12)
    assert_allclose(span.basis.T @ span.basis, np.eye(6) - away, atol=1e-12)


@pytest.mark.parametrize("number", [1, 2])
def test_what_rounding_has_left_of_rows_spans_nothing(number):
    assert len(spanned(1e-15 * np.ones((number, 3)))) == 0
