"""Quadratic programmes against CLARABEL, in units from 1e-6 to 1e3, and rows that depend on each other or cannot hold."""

import cvxpy
import numpy as np
import pytest
from numpy.testing import assert_allclose

from zolal.linearization import Linearization
from zolal.solvers.auto.programme import nearest, solve, steepest


def random_rows(rng, d, unit, equalities, others):
    """Linearization that hold at some step of length `unit` within the bounds, each in a size of its own."""
    m = equalities + others
    inside = unit * rng.uniform(-0.5, 0.5, d)
    jacobian = rng.standard_normal((m, d)) * 10 ** rng.uniform(-2, 2, (m, 1))
    value, at = unit * rng.standard_normal(m), jacobian @ inside
    slack = unit * np.linalg.norm(jacobian, axis=1) * rng.uniform(0.0, 0.5, (2, m))
    low, high = value + at - slack[0], value + at + slack[1]
    kind = rng.integers(0, 3, m)
    low, high = np.where(kind == 0, -np.inf, low), np.where(kind == 1, np.inf, high)
    low[:equalities] = high[:equalities] = (value + at)[:equalities]
    return Linearization(value, jacobian, low, high)


def by_clarabel(hessian, gradient, rows, lower, upper, unit):
    """The same in units of `unit`: the step and the multipliers."""
    d, size = len(gradient), float(np.max(np.diagonal(hessian)))
    p = cvxpy.Variable(d)
    scaled = rows.jacobian / rows.lengths[:, None]
    low, high = ((bound - rows.value) / (rows.lengths * unit) for bound in (rows.lower, rows.upper))
    equal, below, above = rows.are_equalities, np.isfinite(high) & ~rows.are_equalities, np.isfinite(low) & ~rows.are_equalities
    limits = [scaled[equal] @ p == low[equal], scaled[below] @ p <= high[below], scaled[above] @ p >= low[above]]
    limits += [p[i] >= lower[i] / unit for i in range(d) if np.isfinite(lower[i])]
    limits += [p[i] <= upper[i] / unit for i in range(d) if np.isfinite(upper[i])]
    cost = 0.5 * cvxpy.quad_form(p, cvxpy.psd_wrap(hessian / size)) + (gradient / (size * unit)) @ p
    problem = cvxpy.Problem(cvxpy.Minimize(cost), limits)
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    prices = np.zeros(len(rows.value))
    prices[equal] = limits[0].dual_value
    prices[below] += limits[1].dual_value
    prices[above] -= limits[2].dual_value
    return unit * p.value, prices * size * unit / rows.lengths


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize(("equalities", "others"), [(0, 0), (2, 0), (0, 4), (2, 4)])
def test_the_step_and_its_multipliers_are_those_of_an_interior_point_method(unit, equalities, others):
    for seed in range(4):
        rng = np.random.default_rng([seed, equalities, others])
        d = 6
        half = rng.standard_normal((d, d))
        hessian, gradient = (half @ half.T + 0.1 * np.eye(d)) * 50.0, 500.0 * unit * rng.standard_normal(d)
        rows = random_rows(rng, d, unit, equalities, others)
        lower = np.where(rng.uniform(size=d) < 0.5, -unit * rng.uniform(0.5, 1.0, d), -np.inf)
        upper = np.where(rng.uniform(size=d) < 0.5, unit * rng.uniform(0.5, 1.0, d), np.inf)
        found = solve(hessian, gradient, rows, lower, upper, unit)
        step, multipliers = by_clarabel(hessian, gradient, rows, lower, upper, unit)
        assert_allclose(found.step, step, atol=2e-5 * unit)
        forces = np.abs(multipliers * rows.lengths) if len(rows.value) else np.ones(1)
        assert_allclose(found.multipliers * rows.lengths, multipliers * rows.lengths, atol=1e-4 * max(forces.max(), 500.0 * unit))


def test_a_multiplier_is_positive_at_an_upper_bound_and_negative_at_a_lower_one():
    rows = Linearization(np.zeros(2), np.eye(2), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    found = solve(np.eye(2), np.array([-5.0, 5.0]), rows, np.full(2, -np.inf), np.full(2, np.inf), 1.0)
    assert_allclose(found.step, [1.0, -1.0])
    assert_allclose(found.multipliers, [4.0, -4.0])


def test_multipliers_make_the_gradient_vanish():
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 5, 1.0, 2, 0)
    found = solve(np.eye(5), np.arange(5.0), rows, np.full(5, -np.inf), np.full(5, np.inf), 1.0)
    assert_allclose(np.arange(5.0) + found.step + rows.jacobian.T @ found.multipliers, 0.0, atol=1e-8)


@pytest.mark.parametrize("bound", [np.inf, 2.0])
def test_dependent_equalities_are_solved_as_one(bound):
    one = np.array([1.0, 1.0, 1.0])
    rows = Linearization(np.zeros(3), np.stack([one, 2.0 * one, [1.0, 0.0, 0.0]]), np.array([0.6, 1.2, 0.1]), np.array([0.6, 1.2, 0.1]))
    found = solve(np.eye(3), np.zeros(3), rows, np.full(3, -bound), np.full(3, bound), 1.0)
    assert_allclose(found.step, [0.1, 0.25, 0.25], atol=1e-9)
    assert_allclose(found.step + rows.jacobian.T @ found.multipliers, 0.0, atol=1e-9)


def test_dependent_equalities_with_an_active_bound_are_solved_as_one():
    one = np.array([1.0, 1.0, 1.0])
    rows = Linearization(np.zeros(2), np.stack([one, 2.0 * one]), np.array([0.6, 1.2]), np.array([0.6, 1.2]))
    found = solve(np.eye(3), np.array([5.0, 0.0, 0.0]), rows, np.full(3, -0.1), np.full(3, 1.0), 1.0)
    assert_allclose(found.step, [-0.1, 0.35, 0.35], atol=1e-8)


@pytest.mark.parametrize("equal", [True, False])
def test_rows_that_cannot_hold_leave_a_step_that_is_finite(equal):
    """The same row at 1 and at 2, or at most 1 and at least 2."""
    low, high = (np.array([1.0, 2.0]), np.array([1.0, 2.0])) if equal else (np.array([-np.inf, 2.0]), np.array([1.0, np.inf]))
    rows = Linearization(np.zeros(2), np.ones((2, 3)), low, high)
    found = solve(np.eye(3), np.ones(3), rows, np.full(3, -5.0), np.full(3, 5.0), 1.0)
    assert np.isfinite(found.step).all()
    assert np.isfinite(found.multipliers).all()


def test_a_row_that_the_bounds_forbid_gives_way_to_the_bounds():
    rows = Linearization(np.zeros(1), np.ones((1, 2)), np.array([5.0]), np.array([5.0]))
    found = solve(np.eye(2), np.zeros(2), rows, np.full(2, -1.0), np.full(2, 1.0), 1.0)
    assert (np.abs(found.step) <= 1.0).all()
    assert found.step.sum() > 1.0


def test_a_row_without_a_gradient_harms_nothing():
    rows = Linearization(np.zeros(2), np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.0, 0.5]), np.array([0.0, 0.5]))
    found = solve(np.eye(2), np.array([0.0, -1.0]), rows, np.full(2, -3.0), np.full(2, 3.0), 1.0)
    assert_allclose(found.step, [0.5, 1.0], atol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize(("equalities", "others"), [(2, 0), (0, 4), (2, 3)])
def test_the_nearest_step_is_the_shortest_to_where_rows_and_bounds_hold(unit, equalities, others):
    for seed in range(4):
        rng = np.random.default_rng([seed, equalities, others, 1])
        rows = random_rows(rng, 6, unit, equalities, others)
        lower, upper = np.full(6, -0.6 * unit), np.full(6, 0.6 * unit)
        found = nearest(rows, lower, upper)
        step, _ = by_clarabel(np.eye(6), np.zeros(6), rows, lower, upper, unit)
        assert_allclose(found, step, atol=2e-5 * unit)
        assert rows.distance(rows.value + rows.jacobian @ found) <= 1e-8 * unit
        assert ((found >= lower) & (found <= upper)).all()


def test_a_fixed_variable_stays_where_it_is():
    rows = Linearization(np.zeros(1), np.ones((1, 3)), np.array([1.0]), np.array([1.0]))
    lower, upper = np.array([0.0, -9.0, -9.0]), np.array([0.0, 9.0, 9.0])
    assert_allclose(nearest(rows, lower, upper), [0.0, 0.5, 0.5], atol=1e-9)
    found = solve(np.eye(3), np.array([-7.0, 0.0, 0.0]), rows, lower, upper, 1.0)
    assert_allclose(found.step, [0.0, 0.5, 0.5], atol=1e-9)


def test_a_steepest_step_is_a_projection():
    none = Linearization(np.empty(0), np.empty((0, 3)), np.empty(0), np.empty(0))
    lower, upper = np.array([-0.1, -9.0, -9.0]), np.full(3, 9.0)
    found = steepest(0.5, np.array([1.0, -2.0, 0.0]), none, lower, upper, 1.0)
    assert_allclose(found.step, [-0.1, 1.0, 0.0])
    total = Linearization(np.zeros(1), np.ones((1, 3)), np.zeros(1), np.zeros(1))
    found = steepest(0.5, np.array([1.0, -2.0, 0.0]), total, np.full(3, -9.0), upper, 1.0)
    assert_allclose(found.step, -0.5 * (np.array([1.0, -2.0, 0.0]) + 1.0 / 3.0), atol=1e-9)


def test_distances_ignore_what_is_rounding_and_see_what_is_not_finite():
    rows = Linearization(np.array([1e6]), np.array([[2.0, 0.0]]), np.array([1e6]), np.array([1e6]))
    assert rows.distance(np.array([1e6 * (1 + 2e-16)])) == 0.0
    assert rows.distance(np.array([1e6 + 4.0])) == pytest.approx(2.0)
    assert rows.distance(np.array([np.nan])) == np.inf


@pytest.mark.filterwarnings("error")
def test_a_row_that_hardly_reacts_is_farther_than_numbers_go():
    row = Linearization(np.full(1, 1e65), np.full((1, 2), 1e-90), np.full(1, -np.inf), np.zeros(1))
    assert row.distance(row.value) == np.inf


@pytest.mark.parametrize("tiny", [1e-120, 1e-160, 1e-170, 0.0])
@pytest.mark.parametrize("bound", [np.inf, 1.0])
def test_a_gradient_that_is_next_to_nothing_counts_as_none(tiny, bound):
    """As that of a rate whose smooth predictions are all certain."""
    jacobian = np.array([[tiny, -tiny], [0.0, tiny], [1.0, 1.0]])
    rows = Linearization(np.array([1e-11, 1e-13, -1.0]), jacobian, np.zeros(3), np.zeros(3))
    found = solve(np.eye(2), np.array([0.5, -0.5]), rows, np.full(2, -bound), np.full(2, bound), 1.0)
    assert_allclose(found.step, [0.0, 1.0], atol=1e-9)
    assert np.isfinite(found.multipliers).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_distance_of_one_row_is_that_of_the_same_row_twice(seed):
    """Two equal rows are as far away as one, times the root of 2."""
    rng = np.random.default_rng(seed)
    value, slope, low = rng.choice([0.0, 1e-17, 1.0, -3.0]), rng.standard_normal((1, 3)), rng.choice([-np.inf, -1.0, 0.0])
    one = Linearization(np.array([value]), slope, np.array([low]), np.zeros(1))
    two = Linearization(np.full(2, value), np.vstack([slope, slope]), np.full(2, low), np.zeros(2))
    assert one.distance(one.value) == pytest.approx(two.distance(two.value) / np.sqrt(2.0), rel=1e-14)
    assert one.own_distance == one.distance(one.value)
    assert one.at(np.array([5.0])).own_distance == pytest.approx(5.0 / np.linalg.norm(slope))
    assert one.distance(np.array([np.nan])) == two.distance(np.full(2, np.nan)) == np.inf
