"""What the orthogonal directions promise beside what all directions do: sweeps without waste, and the fast transform behind them."""

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from zolal._hadamard import fwht
from zolal.directions import Orthogonal, _wave
from zolal.directions._permutation import WHOLE, part, permuted
from zolal.errors import InvalidArgumentError

identities = dict(seed=st.integers(0, 2**70), sweep=st.integers(0, 10**6))


@pytest.mark.parametrize("exponent", range(8))
def test_the_fast_transform_is_the_normalised_hadamard_matrix(exponent):
    n = 2**exponent
    H, x = scipy.linalg.hadamard(n) / math.sqrt(n), np.random.default_rng(exponent).standard_normal((3, n))
    np.testing.assert_allclose(fwht(x), x @ H, atol=1e-13)
    for xp in (pytest.importorskip("array_api_strict"), pytest.importorskip("torch")):
        np.testing.assert_allclose(np.asarray(fwht(xp.asarray(x))), x @ H, atol=1e-13)


def test_the_fast_transform_wants_a_power_of_two():
    with pytest.raises(InvalidArgumentError) as error:
        fwht(np.ones(6))
    assert str(error.value) == "`fwht(x)` must have a power of two as its last length, got 6."


@settings(max_examples=40)
@given(dimension=st.integers(1, 70), **identities)
def test_a_sweep_is_an_orthogonal_basis_in_every_dimension(dimension, seed, sweep):
    U = Orthogonal(dimension, dimension, seed, start=sweep * dimension).rows()
    np.testing.assert_allclose(U @ U.T, dimension * np.eye(dimension), atol=1e-10)
    np.testing.assert_allclose(U.T @ U, dimension * np.eye(dimension), atol=1e-10)


@settings(max_examples=40)
@given(dimension=st.integers(1, 40), start=st.integers(0, 200), count=st.integers(1, 130), seed=st.integers(0, 99))
def test_directions_go_on_where_the_last_ones_ended(dimension, start, count, seed):
    whole, first = Orthogonal(dimension, count + 7, seed, start=start).rows(), Orthogonal(dimension, 7, seed, start=start).rows()
    np.testing.assert_array_equal(np.concatenate([first, Orthogonal(dimension, count, seed, iteration=5, start=start + 7).rows()]), whole)


def test_the_next_sweep_is_another_basis():
    first, second = (Orthogonal(64, 64, 1, start=64 * sweep).rows() for sweep in (0, 1))
    assert np.abs(first @ second.T).max() < 64 - 1e-9


@pytest.mark.parametrize("dimension", [1, 7, 48, 64, 1000])
def test_the_moment_constant_bounds_every_direction(dimension):
    U = Orthogonal(dimension, dimension).rows()
    for p in (2.0, 3.0, 13.8):
        largest = (np.linalg.norm(U, p, axis=1) ** 2).max()
        assert largest <= Orthogonal.moment_constant(dimension, p) * (1.0 + 1e-12)
        if p == 2.0 or dimension in (1, 64):
            assert largest == pytest.approx(Orthogonal.moment_constant(dimension, p), rel=1e-12)


@pytest.mark.parametrize("dimension", [3, 6, 7, 48, 1001])
def test_rows_are_those_of_the_hartley_transform_up_to_their_signs(dimension):
    """The naive matrix cos(2 pi r i / d) + sin(2 pi r i / d): each direction is one of its rows, and no entry exceeds sqrt(2)."""
    U = Orthogonal(dimension, dimension, seed=3).rows()
    r = np.arange(dimension)
    angles = 2.0 * np.pi * np.outer(r, r) / dimension
    naive = np.abs(np.cos(angles) + np.sin(angles))
    order = [np.argmin(np.abs(naive - np.abs(row)).max(axis=1)) for row in U]
    np.testing.assert_allclose(np.abs(U), naive[order], atol=1e-9)
    assert np.abs(U).max() <= math.sqrt(2.0) + 1e-12


@pytest.mark.parametrize("dimension", [6, 7, 9, 100])
def test_the_fast_transforms_are_the_naive_products(dimension):
    directions = Orthogonal(dimension, dimension + 3, seed=5, start=dimension - 1)
    U, rng = directions.rows(), np.random.default_rng(dimension)
    w, v = rng.standard_normal(dimension + 3), rng.standard_normal(dimension)
    np.testing.assert_allclose(directions.combine(w), w @ U, atol=1e-10)
    np.testing.assert_allclose(directions.dot(v), U @ v, atol=1e-10)


GOLDEN = ["+--+-+++-++-", "++--+--+++++"]


def test_the_stream_of_rows_is_what_it_always_was():
    rows = [Orthogonal(6, 2, seed=7, start=11).rows().ravel(), Orthogonal(4, 3, seed=12345678901234567890, iteration=3).rows().ravel()]
    assert ["".join("0+-"[int(np.sign(value))] for value in row) for row in rows] == GOLDEN


def test_a_bad_start_gets_one_clear_sentence():
    with pytest.raises(InvalidArgumentError) as error:
        Orthogonal(4, 2, start=-1)
    assert str(error.value) == "`Orthogonal(start=...)` must be a nonnegative integer, got -1."


@pytest.mark.parametrize("size", [1, 2, 7, 320, WHOLE, WHOLE + 1])
def test_parts_of_a_permutation_are_those_of_the_whole(size):
    keys = (3, 1, 4, 1)
    whole = permuted(np.arange(size, dtype=np.uint64), size, keys)
    assert sorted(whole) == list(range(size))
    third = size // 3
    np.testing.assert_array_equal(np.concatenate([part(0, third, size, keys), part(third, size - third, size, keys)]), whole)


def test_waves_are_cosine_plus_sine():
    """In extended precision; the angle is a multiple of an eighth of 2 pi / d, so that it is folded without rounding."""
    for d in (1, 3, 7, 1_000, 4_097, 99_991):
        k = np.arange(d)
        angles = 2.0 * np.arccos(np.longdouble(-1.0)) * k / d
        assert np.max(np.abs(_wave.entries(k, d) - (np.cos(angles) + np.sin(angles)))) < 1e-15  # some roundings of numbers up to sqrt(2)
