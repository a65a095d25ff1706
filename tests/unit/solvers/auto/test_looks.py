"""How far the solver for few variables looks, and when it looks again at what it has seen."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from regression import belief_of

from zolal import Problem
from zolal.sets import Box
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.plan import Here, looked_at

D, K = 2, 4


def looks_of(n, repeats, ks):
    """Where the looks of some iterations go, with the belief: of n values of x_0 about 0."""
    solver, rng = Modelled(), np.random.default_rng(n)
    points = np.vstack([np.zeros(D), 0.1 * rng.standard_normal((n - 1, D))])
    belief = belief_of(points, points[:, 0] + 0.01 * rng.standard_normal(n), repeats=repeats, length=0.1)
    state = replace(solver.init(Problem(lambda x: 0.0, D), np.zeros(D), 0), belief=belief, radius=0.1, last_length=0.1)
    terrain = state.terrain
    here = Here.at(terrain, terrain.rows(belief.centre), belief, state.radius)
    return belief, np.array([solver._look(replace(state, k=k), terrain, here).asked for k in ks])


def test_looks_under_noise_have_two_lengths_by_turns():
    belief, asked = looks_of(30, Repeats(0.001, 4), range(4))
    longest = min(belief.best_radius(), CONSTANTS.longest_look * 0.1)
    assert CONSTANTS.look_lengths[0] != CONSTANTS.look_lengths[1]
    assert_allclose(np.linalg.norm(asked, axis=1), longest * np.resize(CONSTANTS.look_lengths, 4))


def test_looks_without_noise_go_half_of_what_a_step_may_go():
    _, asked = looks_of(30, Repeats(), range(4))
    quarters = np.log(CONSTANTS.look_radius * 0.1 / np.linalg.norm(asked, axis=1)) / np.log(4.0)  # shorter beside a known point
    assert_allclose(quarters, np.round(np.maximum(quarters, 0.0)), atol=1e-9)


@pytest.mark.parametrize("at_once", [4, 5])
def test_once_there_is_plenty_all_looks_but_a_few_go_to_points_that_were_seen(at_once):
    every, n = CONSTANTS.look_elsewhere, max(at_once * CONSTANTS.at_once, CONSTANTS.most_points)
    belief, asked = looks_of(n, Repeats(0.001, 4), at_once * np.array([1, every - 1, every, 2 * every, 2 * every + 1]))
    seen = [bool((belief.points == point).all(axis=1).any()) for point in asked]
    assert seen == [True, True, False, False, True]


@pytest.mark.parametrize(("n", "repeats", "plenty"), [(599, Repeats(0.1, 3), False), (600, Repeats(0.1, 3), True), (700, Repeats(), False)])
def test_there_is_plenty_once_noisy_values_are_as_many_as_one_can_factorise(n, repeats, plenty):
    assert CONSTANTS.most_points == 600
    assert belief_of(np.zeros((n, 2)), np.zeros(n), repeats=repeats).is_plenty is plenty


@pytest.mark.parametrize(("near", "plenty"), [(15, False), (16, True)])
def test_far_values_are_not_plenty_however_many_they_are(near, plenty):
    """A quadratic of two variables has 6 coefficients, and 10 values are to spare."""
    points = np.vstack([np.zeros((near, 2)), np.full((600, 2), 1.1)])
    belief = belief_of(points, np.zeros(len(points)), repeats=Repeats(0.1, 3), length=1.0)
    assert 1.1 * np.sqrt(2.0) > CONSTANTS.again
    assert belief.is_plenty is plenty


def test_a_look_beside_a_known_point_goes_less_far():
    covariance, axis = np.diag([4.0, 1.0]), np.array([1.0, 0.0])
    solver = Modelled()
    state = solver.init(Problem(lambda x: 0.0, 2), np.zeros(2), 0)
    terrain = state.terrain
    belief = belief_of(np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]]), np.array([0.0, 1.0, 0.0]), length=1.0)
    here = Here.at(terrain, terrain.rows(belief.centre), belief, 1.0)
    ways = [looked_at(terrain, here, covariance, axis, 1.0, False, np.array(seen)) for seen in ([[5.0, 0.0]], [[0.9, 0.1]])]
    assert_allclose(np.linalg.norm(ways, axis=1), [1.0, 0.25])


@pytest.mark.parametrize(("beside", "again"), [([-1.0, 0.3], False), ([-1.0, 0.0], True)])
def test_a_noisy_look_that_bounds_lead_to_a_known_place_goes_to_where_a_value_says_most(beside, again):
    """All looks along x_0 end at its bound; where that end has many values, one at the start says more than another there."""
    state, here = at_a_corner(beside)
    asked = Modelled()._look(state, state.terrain, here, np.diag([1.0, 1e-9])).asked
    assert_allclose(asked, [0.0, 0.0] if again else [-1.0, 0.0], atol=1e-3)


@pytest.mark.parametrize("is_near", [False, True])
def test_near_a_solution_it_goes_where_a_claim_is_least_sure(monkeypatch, is_near):
    """What a claim takes to be as uneven as it may be is least known along x_1, whatever is believed."""
    state, here = at_a_corner([-1.0, 0.0])
    here = replace(here, believed=here.believed._replace(covariance=np.diag([1.0, 1e-9])), measured=None)
    wary = replace(here, believed=here.believed._replace(covariance=np.diag([1e-9, 1.0])))
    monkeypatch.setattr(Modelled, "_wary", lambda self, state: (state, wary))
    state = replace(state, stationarity=0.0, error=0.0, gradient_size=1.0 if is_near else -1.0)
    asked = Modelled()._look(state, state.terrain, here).asked
    assert_allclose(np.abs(asked), [0.0, 0.5] if is_near else [0.0, 0.0], atol=1e-3)


def at_a_corner(beside):
    """A state with values at the start, on both sides of x_1, and beside x_0's lower bound, most of them twice; and what it says."""
    rng = np.random.default_rng(0)
    problem = Problem(lambda x: 0.0, D, region=Box([-1.0, -0.5], [0.0, 0.5]))  # as wide as its units
    points = np.array([[0.0, 0.0], [0.0, 0.4], [0.0, -0.4], beside])
    values = points[:, 0] + 0.01 * rng.standard_normal(4)
    belief = belief_of(points, values, repeats=Repeats(0.001, 4), length=3.0).but(weights=np.array([1.0, 100.0, 100.0, 50.0]))
    state = replace(Modelled().init(problem, np.zeros(D), 0), belief=belief, radius=2.0, last_length=1.0)
    return state, Here.at(state.terrain, state.terrain.rows(belief.centre), belief, state.radius)


def planned_looks(n, monkeypatch):
    """After a plan by n values of x_0 about 0: the state, and how many plans there are from then on."""
    solver, rng = Modelled(), np.random.default_rng(n)
    points = np.vstack([np.zeros(D), 0.1 * rng.standard_normal((n - 1, D))])
    belief = belief_of(points, points[:, 0] + 0.01 * rng.standard_normal(n), repeats=Repeats(0.001, 4), length=0.1)
    state = replace(solver.init(Problem(lambda x: 0.0, D), np.zeros(D), 0), belief=belief, radius=0.1, last_length=0.1, k=K)
    here = Here.at(state.terrain, state.terrain.rows(belief.centre), belief, state.radius)
    plans = []
    monkeypatch.setattr(Modelled, "planned", lambda self, state, terrain: plans.append(state.k) or state)
    return solver, solver._look(state, state.terrain, here), plans


@pytest.mark.parametrize(("n", "number"), [(600, 600 // CONSTANTS.at_once), (100, 1)])
def test_one_belief_plans_as_many_looks_as_hardly_change_it(n, number, monkeypatch):
    solver, state, plans = planned_looks(n, monkeypatch)
    belief, asked = state.belief, []
    for _ in range(number):
        assert not plans
        asked.append(state.asked)
        state = solver.tell(state, np.array([belief.value + belief.foretold(state.asked).change]))
    assert plans == [K + number]
    assert len(np.unique(asked, axis=0)) == number
    assert all((belief.points == point).all(axis=1).any() for point in asked) is (n == 600)


def test_looks_that_were_planned_together_end_where_a_value_moves_the_centre_or_does_not_come(monkeypatch):
    for value in (-10.0, np.inf):
        solver, state, plans = planned_looks(600, monkeypatch)
        assert state.next_looks
        state = solver.tell(state, np.array([value]))
        assert plans == [K + 1]
        assert not state.next_looks
