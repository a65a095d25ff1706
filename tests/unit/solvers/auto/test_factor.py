"""The growing factor of K and what is solved by it, against inverses of the whole matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from zolal._array import EPS
from zolal.solvers.auto.factor import Factor, Scales, factorized_in_place, jitter, kernel, matrix

SCALES = Scales(curvature=0.6, third=0.2, noise=0.05, common=1.2, axes=0.4)


def data(d, n, seed=0):
    rng = np.random.default_rng([seed, d, n])
    offsets = 0.7 * rng.standard_normal((n, d)) / np.sqrt(d)
    return offsets, rng.standard_normal(n)


def covariance_of(offsets):
    upper = np.triu(matrix(offsets, SCALES, np.full(len(offsets), SCALES.noise)))
    return upper + np.triu(upper, 1).T


def built(offsets, values):
    return Factor.built(SCALES, np.full(len(offsets), SCALES.noise), offsets, values)


def grown(offsets, values, first):
    """Built of the first rows, and grown by the others one by one."""
    factor = built(offsets[:first], values[:first])
    for n in range(first, len(values)):
        factor = factor.grown(factor.sight(SCALES, offsets[n]), SCALES.noise, float(values[n]))
    return factor


@pytest.mark.parametrize(("d", "n", "first"), [(1, 5, 5), (3, 20, 1), (4, 40, 7), (3, 286, 286), (2, 276, 200)])
def test_everything_that_is_solved_is_what_the_inverse_says(d, n, first):
    offsets, values = data(d, n)
    factor = grown(offsets, values, first)
    inverse, columns, ones = np.linalg.inv(covariance_of(offsets)), offsets, np.ones(n)
    close = dict(rtol=1e-8, atol=1e-9)
    lower = np.tril(factor.lower)
    assert_allclose(lower @ lower.T, covariance_of(offsets), rtol=1e-10, atol=1e-12)
    assert_allclose(lower @ factor.columns, columns, **close)
    assert_allclose(factor.products, columns.T @ inverse @ columns, **close)
    assert_allclose(factor.with_ones, columns.T @ inverse @ ones, **close)
    assert_allclose(factor.with_values, columns.T @ inverse @ values, **close)
    assert factor.ones_square == pytest.approx(ones @ inverse @ ones, rel=1e-8)
    assert_array_equal(factor.offsets, offsets)
    assert (factor.dimension, factor.number) == (d, n)


@pytest.mark.parametrize("n", [1, 30, 521])
def test_solving_back_is_by_the_transpose(n):
    offsets, values = data(3, n)
    factor = built(offsets, values)
    for right in (values, np.column_stack([values, np.ones(n)])):
        assert_allclose(np.tril(factor.lower).T @ factor.solved_back(right), right, rtol=1e-9, atol=1e-9)


def test_the_mean_and_what_is_left_of_the_values_are_those_of_least_squares():
    """The columns are for what is asked of the factor; they change nothing in v, alpha and the square."""
    offsets, values = data(3, 25)
    factor, inverse = built(offsets, values), np.linalg.inv(covariance_of(offsets))
    mean = np.sum(inverse @ values) / np.sum(inverse)
    assert factor.mean == pytest.approx(mean, rel=1e-8)
    assert_allclose(factor.alpha, inverse @ (values - mean), rtol=1e-7, atol=1e-9)
    assert factor.square == pytest.approx((values - mean) @ inverse @ (values - mean), rel=1e-8)


def test_a_second_child_leaves_the_first_and_the_parent():
    offsets, values = data(3, 14)
    parent = built(offsets[:10], values[:10])

    def child(n):
        return parent.grown(parent.sight(SCALES, offsets[n]), SCALES.noise, float(values[n]))

    before, back, first = parent.columns.copy(), parent.solved_back(values[:10]), child(10)
    kept = first.columns.copy()
    second = child(11)
    assert_array_equal(parent.columns, before)
    assert_array_equal(parent.solved_back(values[:10]), back)
    assert_array_equal(first.columns, kept)
    assert not np.allclose(second.columns[-1], kept[-1])
    assert_array_equal(first.products, parent.products + np.outer(kept[-1], kept[-1]))


def test_what_lies_beyond_fourth_order_is_as_large_as_third_order_over_one_length():
    own = SCALES.beyond(1.0)
    assert own == pytest.approx(SCALES.third**2)
    assert SCALES.beyond(4.0) == pytest.approx(own * 2.0**10)  # at twice the length
    a = np.array([0.6, 0.8])
    plain = kernel(SCALES, a, a[None, :])[0]
    diagonal = matrix(a[None, :], SCALES, np.array([SCALES.noise]))[0, 0]
    assert diagonal == pytest.approx(plain + SCALES.noise + SCALES.third**2, rel=1e-12)


@pytest.mark.parametrize("d", [18, 20])
def test_a_second_child_is_right_where_an_array_happens_to_be_a_square(d):
    """Four rows have room for twenty: as many as there are offsets, or columns."""
    offsets, values = data(d, 5)
    parent = built(offsets[:4], values[:4])
    sight = parent.sight(SCALES, offsets[4])
    first, second = (parent.grown(sight, SCALES.noise, values[4]) for _ in range(2))
    assert_allclose(second.offsets, first.offsets)
    assert_allclose(second.columns, first.columns)
    assert_allclose(second.alpha, first.alpha)


@pytest.mark.parametrize("n", [127, 128, 129, 300])
def test_strips_of_the_matrix_fit_together(n):
    offsets, _ = data(3, n)
    upper = matrix(offsets, SCALES, np.full(n, SCALES.noise))
    for i in range(n - 1):
        assert_allclose(upper[i, i + 1 :], kernel(SCALES, offsets[i], offsets[i + 1 :]), rtol=1e-11, atol=1e-13)


def test_a_matrix_that_rounding_makes_indefinite_gets_a_longer_diagonal():
    """The same point again and again, without noise."""
    offsets = np.tile(data(3, 1)[0], (40, 1))
    factor = Factor.built(SCALES._replace(third=0.0), np.zeros(40), offsets, np.arange(40.0))
    lower, row = np.tril(factor.lower), kernel(SCALES._replace(third=0.0), offsets[0], offsets[:1])
    assert_allclose(lower @ lower.T, np.full((40, 40), row), rtol=1e-10)


def test_a_factor_takes_the_place_of_the_upper_triangle():
    whole = covariance_of(data(3, 20)[0])
    place = whole.copy()
    assert factorized_in_place(place)
    assert_allclose(np.triu(place).T @ np.triu(place), whole, rtol=1e-12)
    assert_array_equal(np.tril(place, -1), np.tril(whole, -1))
    assert not factorized_in_place(-whole)


def test_the_matrix_and_what_a_point_adds_to_it_are_those_of_the_kernel():
    offsets, _ = data(4, 12)
    whole = covariance_of(offsets)
    sight = built(offsets[:11], np.zeros(11)).sight(SCALES, offsets[11])
    for n, row in enumerate(whole):
        others = np.arange(12) != n
        assert_allclose(row[others], kernel(SCALES, offsets[n], offsets)[others], rtol=1e-12)
    assert sight.own == pytest.approx(whole[11, 11] - SCALES.noise, rel=1e-12)
    assert_allclose(sight.solved, np.linalg.solve(np.linalg.cholesky(whole[:11, :11]), whole[11, :11]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [2, 10, 100, 700])
def test_rounding_leaves_a_matrix_definite_whose_rows_say_all_the_same(n):
    errors = np.random.default_rng(n).uniform(-4.0, 4.0, (n, n)) * EPS  # a few times what the rounding of an entry is
    rounded = np.ones((n, n)) + 0.5 * (errors + errors.T) + jitter(n) * np.eye(n)
    assert factorized_in_place(rounded)
    assert np.diagonal(rounded).min() ** 2 > 0.25 * jitter(n)
