"""What every regularizer promises: its value, and the exact minimiser of ||y - x||^2 / 2 + step h(y)."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from references import blocks, minimum, penalty

from registry import DIMENSION, REGULARIZERS, members_of
from zolal.errors import InvalidArgumentError
from zolal.regularizers import L1, BlockSum, ElasticNet, GroupL2, Regularizer, Zero

norm = np.linalg.norm
vectors = arrays(float, DIMENSION, elements=st.floats(-10, 10)).map(lambda x: np.where(np.abs(x) < 1e-100, 0.0, x))
steps = st.integers(-6, 6).map(lambda e: 10.0**e)
every_regularizer = pytest.mark.parametrize("h", REGULARIZERS, ids=repr)


def naive_value(h, x):
    """h(x) by loops over coordinates and groups."""
    match h:
        case Zero():
            return 0.0
        case L1():
            return sum(h.weight * abs(v) for v in x)
        case ElasticNet():
            return sum(h.l1 * abs(v) + h.l2 * v * v / 2 for v in x)
        case GroupL2():
            groups = np.split(x, np.cumsum(h.sizes)[:-1])
            return sum(h.weight * sum(v * v for v in group) ** 0.5 for group in groups)
        case BlockSum():
            return sum(naive_value(part, block) for part, block in blocks(h, x))


@every_regularizer
@given(x=vectors)
def test_value_agrees_with_loops_over_coordinates(h, x):
    assert h.value(x) == pytest.approx(naive_value(h, x), rel=1e-13)


@every_regularizer
@given(x=vectors, y=vectors, t=st.floats(0, 1))
def test_value_is_convex_and_zero_at_zero(h, x, y, t):
    between = t * h.value(x) + (1 - t) * h.value(y)
    assert h.value(t * x + (1 - t) * y) <= between + 1e-12 * (1 + between)
    assert h.value(np.zeros(DIMENSION)) == 0.0


@every_regularizer
@given(x=vectors, y=vectors, step=steps)
def test_prox_satisfies_its_optimality_condition(h, x, y, step):
    p = h.prox(x, step)
    subgradient = (x - p) / step  # of h at p: h(y) >= h(p) + <subgradient, y - p> for every y
    error = 1e-13 * (norm(x) / step + h.value(y)) * (1 + norm(y) + norm(p))
    assert h.value(y) >= h.value(p) + subgradient @ (y - p) - error


@every_regularizer
@pytest.mark.parametrize("step", [1e-3, 0.7, 20.0])
def test_prox_agrees_with_an_interior_point_solver(h, step, rng):
    x, y = 3.0 * rng.standard_normal(DIMENSION), cp.Variable(DIMENSION)
    minimum(cp.sum_squares(y - x) / 2 + step * penalty(h, y), [])
    np.testing.assert_allclose(h.prox(x, step), y.value, atol=1e-6)


@every_regularizer
@given(x=vectors, y=vectors, step=steps)
def test_prox_is_nonexpansive(h, x, y, step):
    assert norm(h.prox(x, step) - h.prox(y, step)) <= norm(x - y) + 1e-14 * (norm(x) + norm(y))


@every_regularizer
@given(x=vectors)
def test_elastic_weights_describe_the_value(h, x):
    if h.elastic_weights is None:
        assert isinstance(h, (GroupL2, BlockSum))
    else:
        l1, l2 = h.elastic_weights
        assert h.value(x) == pytest.approx(l1 * np.abs(x).sum() + l2 * (x @ x) / 2, rel=1e-13)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: L1(-0.1), "`L1(weight=...)` must be a nonnegative number, got -0.1."),
        (lambda: L1(np.nan), "`L1(weight=...)` must be a nonnegative number, got nan."),
        (lambda: L1(None), "`L1(weight=...)` must be a nonnegative number, got None."),
        (lambda: ElasticNet(-1, 0), "`ElasticNet(l1=...)` must be a nonnegative number, got -1."),
        (lambda: ElasticNet(0, np.inf), "`ElasticNet(l2=...)` must be a nonnegative number, got inf."),
        (lambda: GroupL2(-1, [1]), "`GroupL2(weight=...)` must be a nonnegative number, got -1."),
        (lambda: GroupL2(1, [2, 0]), "`GroupL2(sizes=...)` must be a positive integer, got 0."),
        (lambda: GroupL2(1, [1.5]), "`GroupL2(sizes=...)` must be a positive integer, got 1.5."),
        (
            lambda: BlockSum([L1(1.0)]),
            "`BlockSum([(regularizer, size), ...])` must hold at least one pair of a Regularizer and its size, got L1(weight=1.0).",
        ),
        (lambda: BlockSum([(L1(1), -2)]), "`BlockSum([(regularizer, size), ...]) size` must be a positive integer, got -2."),
        (lambda: BlockSum([]), "`BlockSum([(regularizer, size), ...])` must hold at least one pair of a Regularizer and its size, got []."),
    ],
)
def test_a_bad_argument_gets_one_clear_sentence(make, sentence):
    with pytest.raises(InvalidArgumentError) as error:
        make()
    assert str(error.value) == sentence


def test_the_registry_holds_every_regularizer():
    members = {Zero, L1, ElasticNet, GroupL2, BlockSum}
    assert {type(h) for h in REGULARIZERS} == members == members_of(Regularizer)
