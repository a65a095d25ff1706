"""The exact constraints in scaled variables: the way back to them, and which regions are made of bounds and smooth rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from zolal import Constraint, Problem
from zolal.problem import SlackForm
from zolal.sets import Box, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace
from zolal.solvers.auto.terrain import Terrain, described


def terrain_of(x0, constraints=(), region=None, units=1.0):
    x0 = np.asarray(x0)
    problem = Problem(lambda x: 0.0, len(x0), constraints=constraints, region=WholeSpace() if region is None else region)
    units = np.broadcast_to(np.asarray(units, dtype=float), x0.shape)
    return Terrain.of(SlackForm(problem, problem.equalities(x0)), units, x0)


SPHERE = Constraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)
TORUS = Constraint(
    lambda x: np.array([np.sin(x[0]) - x[1] ** 2, np.exp(x[2]) * x[0] - 1.0]),
    0.0,
    0.0,
    jac=lambda x: np.array([[np.cos(x[0]), -2 * x[1], 0.0, 0.0], [np.exp(x[2]), 0.0, np.exp(x[2]) * x[0], 0.0]]),
)


def ellipsoid(units):
    return Constraint(lambda x: (x / units) @ (x / units), 1.0, 1.0, jac=lambda x: 2 * x / units**2)


@pytest.mark.parametrize("units", [np.ones(4), np.array([1e-3, 1e3, 1.0, 10.0])], ids=["alike", "unlike"])
@pytest.mark.parametrize("seed", range(5))
def test_curved_equalities_are_reached_to_rounding(seed, units):
    row = ellipsoid(units)
    terrain = terrain_of(units, row, units=units)
    point, left, value = terrain.restored(np.random.default_rng(seed).standard_normal(4))
    assert left <= 1e-12
    assert row.fun(terrain.outward(point)) == pytest.approx(1.0, abs=1e-12)
    assert_allclose(value, terrain.values(point))


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.xfail(strict=False, reason="least squares end early")) for seed in (3, 4))]
)
def test_the_start_is_feasible_even_where_the_units_do_not_suit_the_constraint(seed):
    terrain = terrain_of(np.ones(4), SPHERE, units=[1e-3, 1e3, 1.0, 10.0])
    start = terrain.start(terrain.inward(np.random.default_rng(seed).standard_normal(4)), seed)
    x = terrain.outward(start)
    assert x @ x == pytest.approx(1.0, abs=1e-8)


def test_several_curved_equalities_are_reached_to_rounding():
    terrain = terrain_of(np.ones(4), TORUS)
    point, left, _ = terrain.restored(np.array([0.8, 0.5, 0.1, 2.0]))
    assert left <= 1e-12
    assert_allclose(TORUS.fun(point), 0.0, atol=1e-12)
    assert point[3] == 2.0


@pytest.mark.parametrize("seed", range(5))
def test_restoration_keeps_the_bounds(seed):
    terrain = terrain_of(np.full(4, 0.5), SPHERE, Box(0.2, 0.7))
    u = 0.5 + np.random.default_rng(seed).standard_normal(4)
    point, left, _ = terrain.restored(u)
    assert left <= 1e-12
    assert ((point >= 0.2) & (point <= 0.7)).all()


def test_an_inequality_that_holds_moves_nothing():
    terrain = terrain_of(np.zeros(3), Constraint(lambda x: x @ x, -np.inf, 4.0, jac=lambda x: 2 * x))
    u = np.array([1.0, 0.5, 0.2])
    point, left, _ = terrain.restored(u)
    assert left == 0.0
    assert_allclose(point, u, rtol=0, atol=0)


def test_a_point_that_cannot_be_restored_is_said_to_be_far():
    terrain = terrain_of(np.ones(3), Constraint(lambda x: x @ x, -np.inf, -1.0, jac=lambda x: 2 * x))
    point, left, _ = terrain.restored(np.ones(3))
    assert left > 0.1
    assert np.isfinite(point).all()


UNLIKE = np.array([0.5, 2.0, 1.0, 1.5, 0.7, 3.0])
REGIONS = {
    "ball": L2Ball(1.5),
    "simplex": Simplex(2.0),
    "ball and simplex": Product([(L2Ball(0.7), 2), (Simplex(1.0), 4)]),
    "box, ball and free": Product([(Box(-0.2, 0.3), 2), (L2Ball(1.0), 3), (WholeSpace(), 1)]),
    "nonnegative and ball": Product([(NonNegative(), 3), (L2Ball(0.5), 3)]),
}


@pytest.mark.parametrize("units", [1.0, UNLIKE], ids=["alike", "unlike"])
@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS.keys())
def test_what_is_restored_lies_in_the_region(region, units):
    units = np.broadcast_to(np.asarray(units, dtype=float), (6,))
    terrain = terrain_of(region.project(np.full(6, 0.1)), (), region, units)
    for seed in range(8):
        point, left, _ = terrain.restored(3.0 * np.random.default_rng(seed).standard_normal(6) / units)
        assert left <= 1e-12
        assert region.contains(terrain.outward(point), 1e-12)


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS.keys())
def test_a_short_way_out_of_the_region_is_undone_in_any_units(region):
    units = np.array([1e-2, 10.0, 1.0, 3.0, 0.1, 50.0])
    x = region.project(np.random.default_rng(9).standard_normal(6))
    terrain = terrain_of(x, (), region, units)
    for seed in range(8):
        point, left, _ = terrain.restored(terrain.inward(x) + 1e-3 * np.random.default_rng(seed).standard_normal(6))
        assert left <= 1e-12
        assert region.contains(terrain.outward(point), 1e-11)


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS.keys())
def test_a_region_and_an_equality_hold_together(region):
    row = Constraint(lambda x: x[0] - x[4] + x[5] ** 2, 0.05, 0.05, jac=lambda x: np.array([1.0, 0, 0, 0, -1.0, 2 * x[5]]))
    terrain = terrain_of(region.project(np.full(6, 0.1)), row, region)
    for seed in range(5):
        point, left, _ = terrain.restored(region.project(0.5 * np.random.default_rng(seed).standard_normal(6)))
        assert left <= 1e-10
        assert region.contains(terrain.outward(point), 1e-10)
        assert row.fun(point) == pytest.approx(0.05, abs=1e-10)


def test_bounds_hold_to_the_last_bit_in_the_users_units():
    region = Box(np.array([0.1, -1e5]), np.array([0.3, 7e4]))
    terrain = terrain_of([0.2, 0.0], (), region, units=[0.07, 3e4])
    for seed in range(200):
        x = terrain.outward(terrain.clipped(10.0 * np.random.default_rng(seed).standard_normal(2)))
        assert region.contains(x, 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_was_evaluated_is_evaluated_again_to_the_last_bit(dtype):
    rng = np.random.default_rng(3)
    x0 = rng.standard_normal(400).astype(dtype)
    terrain = terrain_of(x0, region=Box(-3.0 + 0.0 * x0, 3.0 + 0.0 * x0), units=rng.uniform(0.1, 10.0, 400))
    asked = terrain.clipped(rng.standard_normal(400) * 3.0 / terrain.units)
    x = terrain.outward(asked)
    assert (terrain.outward(terrain.as_evaluated(asked)) == x).all()
    assert_allclose(terrain.as_evaluated(asked) * terrain.units, x, rtol=1e-15 if dtype is np.float64 else 1e-7)


@pytest.mark.parametrize("d", [10, 50])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_start_where_gradients_are_parallel_is_left(d, unit):
    """x0 = (1, ..., 1) with sum(x) = 1 and x.x = 1/2: no step along both gradients mends both rows."""
    rows = Constraint(
        lambda x: np.array([x.sum() / unit - 1.0, x @ x / unit**2 - 0.5]),
        jac=lambda x: np.stack([np.ones(d) / unit, 2 * x / unit**2]),
    )
    terrain = terrain_of(unit * np.ones(d), rows, units=unit)
    start = terrain.start(np.ones(d), 0)
    assert np.abs(terrain.values(start)).max() <= 1e-9


def test_the_start_is_the_same_for_the_same_seed():
    terrain = terrain_of(
        np.ones(8), Constraint(lambda x: np.array([x.sum() - 1.0, x @ x - 0.5]), jac=lambda x: np.stack([x * 0 + 1, 2 * x]))
    )
    assert_allclose(terrain.start(np.ones(8), 3), terrain.start(np.ones(8), 3), rtol=0, atol=0)


def domain_of_the_logarithm(x):
    return np.array([np.log(x[0]) + x[1]]) if x[0] > 0 else np.array([np.nan])


def test_a_constraint_that_is_not_finite_somewhere_is_survived():
    row = Constraint(domain_of_the_logarithm, 0.0, 0.0, jac=lambda x: np.array([[1 / x[0], 1.0]]))
    terrain = terrain_of([1.0, 0.5], row)
    point, left, _ = terrain.restored(np.array([0.5, 3.0]))
    assert left <= 1e-12
    assert point[0] > 0.0
    _, far, value = terrain.restored(np.array([-1.0, 0.0]))
    assert far == np.inf
    assert np.isnan(value).all()


def test_a_start_near_the_edge_of_a_constraints_domain_finds_the_constraint():
    row = Constraint(domain_of_the_logarithm, 0.0, 0.0, jac=lambda x: np.array([[1 / x[0], 1.0]]))
    terrain = terrain_of([1e-3, 0.0], row)
    start = terrain.start(np.array([1e-3, 0.0]), 0)
    assert abs(domain_of_the_logarithm(start)[0]) <= 1e-9


@pytest.mark.parametrize("region", [L1Ball(1.0), LqBall(3.0, 1.0), Product([(Box(0.0, 1.0), 2), (L1Ball(1.0), 2)])], ids=repr)
def test_regions_with_edges_are_not_described(region):
    assert described(region, 4) is None


def test_what_is_described_has_the_bounds_and_rows_of_the_set():
    lower, upper, extras = described(Product([(Box(-1.0, 2.0), 1), (Simplex(3.0), 2), (L2Ball(2.0), 2)]), 5)
    assert_allclose(lower, [-1.0, 0.0, 0.0, -np.inf, -np.inf])
    assert_allclose(upper, [2.0, np.inf, np.inf, np.inf, np.inf])
    x = np.array([0.0, 1.0, 1.5, 3.0, 4.0])
    total, ball = extras
    assert total.value(x) == pytest.approx(-0.5)
    assert_allclose(total.gradient(x), [0, 1, 1, 0, 0])
    assert ball.value(x) > 0.0
    assert ball.value(np.array([0, 0, 0, 1.2, 1.6])) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS.keys())
def test_derivatives_of_the_rows_are_those_of_their_values(region):
    terrain = terrain_of(region.project(np.full(6, 0.1)), SPHERE, region, [0.5, 2.0, 1.0, 3.0, 0.1, 5.0])
    u = np.random.default_rng(0).uniform(0.1, 0.5, 6)
    rows, h = terrain.rows(u), 1e-6
    slopes = np.stack([(terrain.values(u + h * e) - terrain.values(u - h * e)) / (2 * h) for e in np.eye(6)], axis=1)
    assert_allclose(rows.jacobian, slopes, rtol=1e-6, atol=1e-6)


def test_without_bounds_or_rows_the_terrain_is_free():
    assert terrain_of(np.ones(2)).is_free
    assert not terrain_of(np.ones(2), region=NonNegative()).is_free
    assert not terrain_of(np.ones(2), SPHERE).is_free
