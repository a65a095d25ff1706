"""The paper's subproblem (3.4) is solved exactly: for every mirror map, every supported set and every regularizer."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimality import naive_gradient, optimality_residual
from references import membership, minimum, penalty, potential

from registry import DIMENSION, LQ_MAPS, MIRROR_MAPS, SEPARABLE_REGULARIZERS, SETS
from zolal.errors import InvalidArgumentError, UnsupportedError
from zolal.mirror import Block, Euclidean, SmoothedLq, bregman_step
from zolal.regularizers import L1, BlockSum, ElasticNet, GroupL2, Zero
from zolal.sets import Box, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace

SETS_OF_A_STEP = {  # q is the geometry's, d the dimension, r a size
    "whole space": lambda q, d, r: WholeSpace(),
    "box": lambda q, d, r: Box(-r, 0.5 * r),
    "box away from zero": lambda q, d, r: Box(0.2 * r, r),
    "box of vectors": lambda q, d, r: Box(-r * np.arange(1, d + 1) / d, np.where(np.arange(d) % 3 == 0, np.inf, 0.1 * r)),
    "nonnegative": lambda q, d, r: NonNegative(),
    "l1 ball": lambda q, d, r: L1Ball(r),
    "l2 ball": lambda q, d, r: L2Ball(r),
    "lq ball": lambda q, d, r: LqBall(q, r),
    "simplex": lambda q, d, r: Simplex(r),
    "product": lambda q, d, r: Product([(Simplex(r), 1 + d // 3), (Box(-1.0, 1.0), 1 + d // 4), (L2Ball(r), 2), (LqBall(q, r), 1 + d)]),
}
SYMMETRIC = {"whole space", "l1 ball", "l2 ball", "lq ball", "box"}  # x and 0 between x and -x: no step overshoots its dual point
every_set = pytest.mark.parametrize("kind", SETS_OF_A_STEP)
every_separable = pytest.mark.parametrize("h", SEPARABLE_REGULARIZERS, ids=repr)
every_map = pytest.mark.parametrize("mirror", [Euclidean(), *LQ_MAPS], ids=repr)


@dataclass
class Case:
    """A subproblem whose numbers span many magnitudes."""

    kind: str
    mirror: object
    dimension: int = 7
    size: float = 1.0
    spread: float = 1.0
    slope: float = 1.0
    step_size: float = 0.3
    seed: int = 0

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        self.region = SETS_OF_A_STEP[self.kind](self.mirror.q, self.dimension, self.size)
        d = self.region.dimension or self.dimension
        self.x = self.region.project(self.spread * rng.standard_normal(d))
        self.g = self.slope * rng.standard_normal(d) * rng.choice([1.0, 1.0, 1e-3, 0.0], d)

    def solve(self, h):
        return bregman_step(self.mirror, self.region, h, self.x, self.g, self.step_size)

    def residual(self, h, new):
        return optimality_residual(self.mirror, self.region, h, self.x, self.g, self.step_size, new)


def powers(low, high):
    return st.floats(low, high).map(lambda e: 10.0**e)


exponents = st.floats(2.0, 100.0) | st.sampled_from([2.0, 2.5, 3.0, 4.0, 13.8, 100.0])
sizes = dict(
    dimension=st.sampled_from([1, 2, 7, 300]), size=powers(-3, 3), spread=powers(-4, 4), slope=powers(-12, 12),
    step_size=powers(-3, 3), seed=st.integers(0, 10**6),
)  # fmt: skip


@every_separable
@every_set
@given(p=exponents, delta=powers(-8, 0), data=st.data())
def test_the_step_satisfies_the_optimality_condition(kind, h, p, delta, data):
    case = data.draw(st.builds(Case, st.just(kind), st.just(SmoothedLq(p, delta)), **sizes))
    new = case.solve(h)
    assert np.isfinite(new).all()
    assert case.region.contains(new)
    assert case.residual(h, new) <= 1e-9


@every_separable
@every_set
@every_map
def test_the_step_of_every_registered_map_satisfies_the_optimality_condition(mirror, kind, h):
    for seed, slope in enumerate([1e-6, 1.0, 1e6]):
        case = Case(kind, mirror, slope=slope, seed=seed)
        new = case.solve(h)
        assert case.region.contains(new)
        assert case.residual(h, new) <= 1e-9


@every_separable
@pytest.mark.parametrize("kind", sorted(SYMMETRIC))
@given(p=exponents, delta=powers(-8, 0), data=st.data())
def test_no_coordinate_overshoots_the_sign_of_its_dual_point(kind, h, p, delta, data):
    case = data.draw(st.builds(Case, st.just(kind), st.just(SmoothedLq(p, delta)), **sizes))
    gradient, push = naive_gradient(case.mirror, case.x), case.step_size * case.g
    dual = np.where(np.abs(gradient - push) > 1e-12 * (np.abs(gradient) + np.abs(push)), gradient - push, 0.0)
    assert (np.sign(case.solve(h)) * np.sign(dual) >= 0).all()


@pytest.mark.parametrize(
    ("kind", "p", "delta"),
    [
        ("box", 3.0, 1e-2),
        ("box", 27.6, 1e-3),
        ("simplex", 3.0, 1e-2),
        ("simplex", 27.6, 1e-3),
        ("l2 ball", 27.6, 1e-3),
        ("lq ball", 3.0, 1e-2),
    ],
)
def test_the_step_is_exact_for_a_million_variables(kind, p, delta):
    case = Case(kind, SmoothedLq(p, delta), dimension=10**6)
    new = case.solve(Zero())
    assert case.region.contains(new)
    assert case.residual(Zero(), new) <= 1e-9


@every_separable
@every_set
@pytest.mark.parametrize("mirror", [SmoothedLq(2.0, 0.1), SmoothedLq(3.0, 0.1), SmoothedLq(3.0, 1.0)], ids=repr)
def test_the_step_agrees_with_an_interior_point_solver(mirror, kind, h):
    case = Case(kind, mirror, dimension=4, seed=3)
    y = cp.Variable(case.x.size)
    linear = case.step_size * case.g - naive_gradient(mirror, case.x)
    minimum(potential(mirror, y) + linear @ y + case.step_size * penalty(h, y), membership(case.region, y))
    np.testing.assert_allclose(case.solve(h), y.value, atol=2e-5)


@every_separable
@pytest.mark.parametrize("region", SETS, ids=repr)
def test_the_euclidean_step_agrees_with_an_interior_point_solver(region, h, rng):
    x, g, y = region.project(rng.standard_normal(DIMENSION)), 3.0 * rng.standard_normal(DIMENSION), cp.Variable(DIMENSION)
    minimum(g @ y + penalty(h, y) + cp.sum_squares(y - x) / (2 * 0.4), membership(region, y))
    np.testing.assert_allclose(bregman_step(Euclidean(), region, h, x, g, 0.4), y.value, atol=2e-5)


@pytest.mark.parametrize("region", [WholeSpace(), NonNegative(), L2Ball(0.7), L2Ball(3.0)], ids=repr)
@pytest.mark.parametrize("weight", [0.0, 0.4, 2.0])
def test_the_euclidean_step_with_groups_agrees_with_an_interior_point_solver(region, weight, rng):
    h, x, g = GroupL2(weight, [2, 3, 1]), region.project(rng.standard_normal(6)), 3.0 * rng.standard_normal(6)
    y = cp.Variable(6)
    minimum(g @ y + penalty(h, y) + cp.sum_squares(y - x) / (2 * 0.4), membership(region, y))
    np.testing.assert_allclose(bregman_step(Euclidean(), region, h, x, g, 0.4), y.value, atol=2e-5)


@every_separable
@every_set
@given(p=exponents, delta=powers(-6, 0), seed=st.integers(0, 10**6))
def test_the_step_beats_every_other_point_by_their_divergence(kind, h, p, delta, seed):
    case = Case(kind, SmoothedLq(p, delta), seed=seed)
    linear = case.step_size * case.g - naive_gradient(case.mirror, case.x)

    def objective(y):
        return case.mirror.potential(y) + linear @ y + case.step_size * h.value(y)

    new, other = case.solve(h), case.region.project(2.0 * np.random.default_rng(seed + 1).standard_normal(case.x.size))
    rounding = 1e-10 * sum(case.mirror.potential(y) + np.abs(linear) @ np.abs(y) for y in (new, other))
    assert objective(other) >= objective(new) + case.mirror.divergence(new, other) - rounding


@every_map
@every_set
def test_a_zero_gradient_leaves_the_point_where_it_is(mirror, kind):
    case = Case(kind, mirror, slope=0.0)
    np.testing.assert_allclose(case.solve(Zero()), case.x, rtol=1e-10, atol=1e-10)


@every_set
def test_the_step_changes_nothing_that_it_is_given(kind):
    case = Case(kind, SmoothedLq(4.0, 1e-2))
    x, g = case.x.copy(), case.g.copy()
    new = case.solve(L1(0.3))
    new[:] = -1.0
    assert case.x.tolist() == x.tolist()
    assert case.g.tolist() == g.tolist()


SPLIT_REGION = Product([(Simplex(), 3), (Box(-1.0, 1.0), 1), (L2Ball(0.5), 2)])
SPLIT_TERMS = BlockSum([(L1(0.5), 3), (Zero(), 1), (ElasticNet(0.1, 0.4), 2)])


@pytest.mark.parametrize("h", [*SEPARABLE_REGULARIZERS, SPLIT_TERMS], ids=repr)
@given(seed=st.integers(0, 10**6))
def test_a_block_map_takes_one_step_per_block(h, seed):
    rng, maps = np.random.default_rng(seed), [(SmoothedLq(5.0, 1e-2), 3), (Euclidean(), 1), (SmoothedLq(3.0, 0.1), 2)]
    x, g = SPLIT_REGION.project(rng.standard_normal(6)), rng.standard_normal(6)
    terms = [part for part, _ in h.parts] if isinstance(h, BlockSum) else [h] * 3
    cuts = [slice(0, 3), slice(3, 4), slice(4, 6)]
    parts = zip(maps, SPLIT_REGION.parts, terms, cuts, strict=True)
    expected = [bregman_step(m, part, term, x[cut], g[cut], 0.3) for (m, _), (part, _), term, cut in parts]
    np.testing.assert_array_equal(bregman_step(Block(maps), SPLIT_REGION, h, x, g, 0.3), np.concatenate(expected))


@pytest.mark.parametrize("h", [*SEPARABLE_REGULARIZERS, SPLIT_TERMS], ids=repr)
@given(p=exponents, delta=powers(-8, 0), seed=st.integers(0, 10**6))
def test_a_block_may_hold_several_factors_of_a_product(h, p, delta, seed):
    rng, mirror = np.random.default_rng(seed), Block([(SmoothedLq(p, delta), 4), (Euclidean(), 2)])
    x, g = SPLIT_REGION.project(rng.standard_normal(6)), rng.standard_normal(6)
    new = bregman_step(mirror, SPLIT_REGION, h, x, g, 0.3)
    assert optimality_residual(mirror, SPLIT_REGION, h, x, g, 0.3, new) <= 1e-9


@given(p=exponents, delta=powers(-8, 0), slope=powers(-6, 6), seed=st.integers(0, 10**6))
def test_one_smoothed_map_over_a_product_couples_its_blocks(p, delta, slope, seed):
    rng, mirror = np.random.default_rng(seed), SmoothedLq(p, delta)
    x, g = SPLIT_REGION.project(rng.standard_normal(6)), slope * rng.standard_normal(6)
    new = bregman_step(mirror, SPLIT_REGION, SPLIT_TERMS, x, g, 0.3)
    assert SPLIT_REGION.contains(new)
    assert optimality_residual(mirror, SPLIT_REGION, SPLIT_TERMS, x, g, 0.3, new) <= 1e-9


def test_the_coupled_step_is_not_the_blockwise_one():
    mirror, x, g = SmoothedLq(5.0, 1e-2), np.full(6, 0.1), np.linspace(-1.0, 1.0, 6)
    region = Product([(Box(-1.0, 1.0), 3), (WholeSpace(), 3)])
    alone = bregman_step(mirror, Box(-1.0, 1.0), Zero(), x[:3], g[:3], 0.3)
    assert np.abs(bregman_step(mirror, region, Zero(), x, g, 0.3)[:3] - alone).max() > 1e-3


@pytest.mark.parametrize(
    ("mirror", "region", "h", "supported"),
    [
        (SmoothedLq(3.0, 0.1), LqBall(1.2, 1.0), Zero(), "LqBall(q=1.5, ...)"),
        (SmoothedLq(3.0, 0.1), LqBall(3.0, 1.0), Zero(), "WholeSpace, Box, NonNegative, Simplex, L1Ball, L2Ball"),
        (SmoothedLq(3.0, 0.1), WholeSpace(), GroupL2(0.4, [2, 4]), "Zero, L1, ElasticNet"),
        (SmoothedLq(3.0, 0.1), SPLIT_REGION, BlockSum([(Zero(), 2), (Zero(), 4)]), "a Product with the same blocks"),
        (Euclidean(), Simplex(), GroupL2(0.4, [2, 4]), "GroupL2 on WholeSpace, NonNegative and L2Ball"),
        (Euclidean(), Box(0.0, 1.0), BlockSum([(Zero(), 2), (Zero(), 4)]), "a Product with the same blocks or WholeSpace"),
        (MIRROR_MAPS[-1], Box(0.0, 1.0), Zero(), "WholeSpace or a Product whose factors make up its blocks (4, 2)"),
        (MIRROR_MAPS[-1], Product([(Simplex(), 3), (Simplex(), 3)]), Zero(), "the blocks (4, 2)"),
        (MIRROR_MAPS[-1], WholeSpace(), GroupL2(0.4, [4, 2]), "Zero, L1, ElasticNet or a BlockSum over its blocks (4, 2)"),
    ],
)
def test_an_unsupported_combination_names_the_supported_ones(mirror, region, h, supported):
    with pytest.raises(UnsupportedError) as error:
        bregman_step(mirror, region, h, region.project(np.full(6, 0.1)), np.ones(6), 0.1)
    assert supported in str(error.value)
    assert isinstance(error.value, NotImplementedError)


@pytest.mark.parametrize("step_size", [0.0, -1.0, float("nan"), float("inf"), "1"])
def test_a_bad_step_size_gets_one_clear_sentence(step_size):
    with pytest.raises(InvalidArgumentError) as error:
        bregman_step(Euclidean(), WholeSpace(), Zero(), np.ones(2), np.ones(2), step_size)
    assert str(error.value) == f"`bregman_step(step_size=...)` must be a positive number, got {step_size!r}."
