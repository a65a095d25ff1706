"""Steps where outputs do not hold: against brute force and against SLSQP on the same models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from zolal import Constraint, Problem
from zolal.problem import SlackForm
from zolal.sets import WholeSpace
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.eased import eased
from zolal.solvers.auto.reported import OutputRow
from zolal.solvers.auto.step import Model, Stepper
from zolal.solvers.auto.terrain import Terrain

D = 4
LINE = Constraint(lambda x: x.sum(), 0.0, 0.0, jac=lambda x: np.ones(D))


def terrain_of(rows, constraints=()):
    problem = Problem(lambda x: 0.0, D, constraints=list(constraints), region=WholeSpace())
    known = Terrain.of(SlackForm(problem, problem.equalities(np.zeros(D))), np.ones(D), np.zeros(D))
    return known.with_outputs(tuple(rows))


def random_rows(rng, number, low=-np.inf, high=-0.3):
    """Models around 0 that are violated there."""
    halves = 0.2 * rng.standard_normal((number, D, D))
    return [OutputRow(np.zeros(D), 0.0, rng.standard_normal(D), half + half.T, low, high) for half in halves]


def broken(rows, u):
    return sum(abs(row.at(u) - np.clip(row.at(u), row.low, row.high)) / np.linalg.norm(row.gradient) for row in rows)


def test_where_outputs_hold_nothing_is_eased():
    terrain = terrain_of(random_rows(np.random.default_rng(0), 2, high=0.1))
    assert eased(terrain, np.zeros(D), 0.5) == (terrain, None)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("radius", [0.05, 0.3, 2.0])
def test_the_start_lies_nearer_within_its_part_of_the_radius_and_keeps_what_is_exact(seed, radius):
    rows = random_rows(np.random.default_rng(seed), 2)
    terrain = terrain_of(rows, [LINE])
    reached, start = eased(terrain, np.zeros(D), radius)
    assert start is not None
    assert np.linalg.norm(start) <= CONSTANTS.eased * radius * (1.0 + 1e-9)
    assert broken(rows, start) < broken(rows, np.zeros(D))
    assert abs(start.sum()) < 1e-10
    for old, new in zip(rows, reached.outputs, strict=True):
        assert new.low <= new.at(start) <= new.high
        assert new.high == max(old.high, old.at(start))


def test_a_single_straight_output_is_approached_along_its_slope():
    row = OutputRow(np.zeros(D), 0.0, np.array([0.0, 2.0, 0.0, 0.0]), np.zeros((D, D)), 3.0, np.inf)
    reached, start = eased(terrain_of([row]), np.zeros(D), 0.5)
    assert_allclose(start, [0.0, 0.4, 0.0, 0.0], atol=1e-9)
    assert reached.outputs[0].low == pytest.approx(0.8)
    _, whole = eased(terrain_of([row]), np.zeros(D), 10.0)
    assert_allclose(whole, [0.0, 1.5, 0.0, 0.0], atol=1e-8)


def test_where_nothing_is_nearer_the_violations_of_the_centre_are_kept():
    """o = 1 + |u|^2 <= 0.5 is least at the centre."""
    row = OutputRow(np.zeros(D), 1.0, np.zeros(D), 2.0 * np.eye(D), -np.inf, 0.5)
    reached, start = eased(terrain_of([row]), np.zeros(D), 0.5)
    assert start is None
    assert (reached.outputs[0].low, reached.outputs[0].high) == (-np.inf, 1.0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("high", [0.2, -0.3])
def test_a_step_over_models_is_as_good_as_that_of_slsqp(seed, high):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 2, high=high)
    terrain, radius = terrain_of(rows), 1.0
    half = rng.standard_normal((D, D))
    model = Model(np.zeros(D), rng.standard_normal(D), half @ half.T)
    reached, start = eased(terrain, np.zeros(D), radius)
    begin = np.zeros(D) if start is None else start
    step = Stepper(reached).minimiser(model, reached.rows(begin), radius, np.zeros((D, D)), start, np.zeros(2))
    for row in reached.outputs:
        assert row.at(step.point) <= row.high + 1e-9
    limits = [dict(type="ineq", fun=lambda u, row=row: row.high - row.at(u)) for row in reached.outputs]
    limits.append(dict(type="ineq", fun=lambda u: radius**2 - u @ u))
    best = min(
        (minimize(model.change, begin + 0.1 * rng.standard_normal(D), constraints=limits, method="SLSQP") for _ in range(4)),
        key=lambda r: r.fun,
    )
    assert step.gain == pytest.approx(-model.change(step.point), abs=1e-12)
    assert step.gain >= -best.fun - 0.08 * (abs(best.fun) + model.change(begin))  # the ball is kept to a twentieth
    assert np.linalg.norm(step.point) <= 1.06 * radius


def test_multipliers_of_outputs_balance_the_slopes_at_the_step():
    """Over one straight output and far inside the ball, grad m + y grad o = 0."""
    row = OutputRow(np.zeros(D), 0.0, np.array([1.0, 0.0, 0.0, 0.0]), np.zeros((D, D)), 0.1, np.inf)
    terrain, model = terrain_of([row]), Model(np.zeros(D), np.array([0.2, 0.1, 0.0, 0.0]), np.eye(D))
    reached, start = eased(terrain, np.zeros(D), 1.0)
    step = Stepper(reached).minimiser(model, reached.rows(start), 1.0, np.zeros((D, D)), start, np.zeros(1))
    assert_allclose(step.point, [0.1, -0.1, 0.0, 0.0], atol=1e-6)
    assert_allclose(step.multipliers, [-0.3], atol=1e-5)
    assert_array_equal(terrain.equal, [False])
