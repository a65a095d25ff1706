"""How batches are evaluated: values, samples, failures and counts, one by one and in rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from zolal.directions import Gaussian
from zolal.errors import ObjectiveError
from zolal.estimators import QueryBatch, SampleKey
from zolal.evaluation.evaluate import MapEvaluator, VectorizedEvaluator, as_value, draw_sample
from zolal.problem import Problem

D = 5


def wave(x):
    return float(np.sin(x) @ np.arange(1.0, D + 1))


def wave_rows(X):
    return np.array([wave(x) for x in X])


def batch(n=7, share_base=False, bases=2, seed=3):
    points = tuple(np.linspace(-1, 1, D) + i for i in range(bases))
    return QueryBatch(points, 0.1, Gaussian(D, n, seed=seed, iteration=2), share_base)


ONE_NUMBER = [3, 3.0, True, np.float32(3), np.int8(3), np.array(3.0), np.array([3.0]), np.array([[3]]), [3.0]]


@pytest.mark.parametrize("value", ONE_NUMBER, ids=repr)
def test_one_real_number_in_any_wrapping_is_a_value(value):
    assert as_value(value) == float(np.reshape(value, ())[()])
    assert type(as_value(value)) is float


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_still_a_value(value):
    assert_array_equal(as_value(value), value)


NO_NUMBER = [
    1j,
    np.complex64(1),
    "3",
    b"3",
    None,
    [],
    [1.0, 2.0],
    np.ones((2, 1)),
    {},
    {"f": 1.0},
    object(),
    [1.0, [2.0, 3.0]],
    np.datetime64("2020"),
]


@pytest.mark.parametrize("value", NO_NUMBER, ids=lambda value: type(value).__name__)
def test_anything_else_is_refused_in_one_sentence(value):
    with pytest.raises(ObjectiveError, match="must return one real number, got"):
        as_value(value)


def test_a_number_that_numpy_does_not_know_is_refused_with_its_value():
    with pytest.raises(ObjectiveError, match=r"Fraction\(1, 3\)"):
        as_value(Fraction(1, 3))


keys = st.builds(SampleKey, st.integers(0, 2**128), st.integers(0, 2**40), st.integers(0, 9), st.integers(0, 2**40))


@given(key=keys)
def test_a_sample_is_a_pure_function_of_its_key(key):
    first = draw_sample(lambda rng: rng.normal(size=4), key)
    draw_sample(lambda rng: rng.normal(size=9), SampleKey(0, 0, 0, 0))
    assert_array_equal(first, draw_sample(lambda rng: rng.normal(size=4), SampleKey(*key)))


@given(key=keys, other=keys)
def test_different_keys_give_different_samples(key, other):
    drawn = [tuple(draw_sample(lambda rng: rng.integers(2**63, size=4), k)) for k in (key, other)]
    assert (drawn[0] == drawn[1]) == (key == other)


@pytest.mark.parametrize("field", SampleKey._fields)
def test_samples_are_independent_across_every_part_of_the_key(field):
    draws = np.array([draw_sample(lambda rng: rng.normal(size=16), SampleKey(1, 1, 1, 1)._replace(**{field: i})) for i in range(800)])
    correlation = np.corrcoef(np.hstack([draws[:-1], draws[1:]]).T)
    off_diagonal = correlation[~np.eye(32, dtype=bool)]
    # |r| sqrt(n) is normal: 496 correlations, each beyond 5.5 deviations with probability 4e-8, false-alarm rate 2e-5
    assert np.abs(off_diagonal).max() * np.sqrt(800) < 5.5
    assert abs(draws.mean()) * np.sqrt(draws.size) < 5


@pytest.mark.parametrize("share_base", [False, True])
@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_rows_in_blocks_give_the_values_of_single_calls(share_base, rows):
    queries = batch(share_base=share_base)
    one = MapEvaluator(Problem(wave, D))(queries)
    many = VectorizedEvaluator(Problem(wave_rows, D, vectorized=True), block_bytes=8 * D * rows)(queries)
    assert_array_equal(many.values, one.values)
    assert one.count == many.count == len(queries) == (2 * 8 if share_base else 2 * 14)
    assert one.failure is many.failure is None


@pytest.mark.parametrize("share_base", [False, True])
def test_blocks_keep_each_row_with_its_sample(share_base):
    queries, draw = batch(share_base=share_base), (lambda rng: rng.normal(size=D))
    one = MapEvaluator(Problem(lambda x, xi: wave(x + xi), D, sample=draw))(queries)
    rows = Problem(lambda X, xis: wave_rows(X + np.array(xis)), D, sample=draw, vectorized=True)
    assert_array_equal(VectorizedEvaluator(rows, block_bytes=8 * D * 4)(queries).values, one.values)


def test_blocks_are_as_small_as_asked():
    sizes = []
    problem = Problem(lambda X: sizes.append(len(X)) or X[:, 0], D, vectorized=True)
    VectorizedEvaluator(problem, block_bytes=8 * D * 10 + 7)(batch())
    assert sizes == [10, 10, 8]


def test_single_calls_stop_at_the_first_failure_and_say_which():
    calls = []

    def fun(x):
        calls.append(x)
        return 1.0 if len(calls) < 4 else 1 / 0

    found = MapEvaluator(Problem(fun, D))(batch())
    assert found.count == len(calls) == 4
    assert_array_equal(np.isnan(found.values), [False] * 3 + [True] * 25)
    assert found.failure.startswith("The objective raised ZeroDivisionError: division by zero")
    assert not found.malformed


def test_a_block_that_fails_counts_its_rows_and_ends_the_batch():
    blocks = []

    def fun(X):
        blocks.append(len(X))
        return np.where(np.arange(len(X)) == 2, np.nan, 1.0) if len(blocks) == 2 else np.ones(len(X))

    found = VectorizedEvaluator(Problem(fun, D, vectorized=True), block_bytes=8 * D * 10)(batch())
    assert found.count == sum(blocks) == 20
    assert found.failure == "The objective returned nan."
    assert np.isnan(found.values[[12, *range(20, 28)]]).all()


def test_a_block_of_the_wrong_shape_is_malformed():
    found = VectorizedEvaluator(Problem(lambda X: X, D, vectorized=True))(batch())
    assert found.malformed
    assert "must return 28 real numbers, got shape (28, 5)" in found.failure


def test_a_value_that_is_no_number_is_malformed():
    found = MapEvaluator(Problem(lambda x: x, D))(batch())
    assert found.malformed
    assert found.count == 1
    assert "got shape (5,)" in found.failure


def test_any_map_gives_the_values_in_order():
    def backwards(function, items):
        return [function(i) for i in reversed(items)][::-1]

    one, other = MapEvaluator(Problem(wave, D))(batch()), MapEvaluator(Problem(wave, D), backwards)(batch())
    assert_array_equal(one.values, other.values)
