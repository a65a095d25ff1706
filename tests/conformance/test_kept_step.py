"""The step that keeps the penalty's curvature is exact: every mirror map, every supported set and regularizer, equalities or intervals."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimality import naive_gradient, optimality_residual
from references import membership, minimum, penalty, potential
from test_bregman_step import SETS_OF_A_STEP, every_map, every_separable, every_set

from zolal.mirror import Euclidean, Linearization, SmoothedLq, Subproblem, kept_curvature_step
from zolal.regularizers import L1, Zero
from zolal.sets import Box, WholeSpace

D = 6


def case(kind, mirror, h, seed, equalities=False, m=2, mu=30.0, eta=0.3):
    """A subproblem with m random rows, its linearization, multipliers and penalty."""
    rng = np.random.default_rng(seed)
    region = SETS_OF_A_STEP[kind](mirror.q, D, 1.0)
    d = region.dimension or D
    x, s = region.project(rng.standard_normal(d)), rng.standard_normal(d)
    lower = rng.uniform(-0.3, 0.0, m)
    upper = lower if equalities else np.where(rng.random(m) < 0.4, np.inf, lower + rng.uniform(0.0, 0.3, m))
    model = Linearization(0.3 * rng.standard_normal(m), rng.standard_normal((m, d)) / np.sqrt(d), lower, upper)
    return Subproblem(mirror, region, h, x, s, eta), model, rng.standard_normal(m), mu


def distances(problem, model, lam, mu, step):
    """How far the answer is from both optimality conditions, relative to their pieces."""
    g = problem.s + model.jacobian.T @ step.multipliers
    inner = optimality_residual(problem.mirror, problem.region, problem.regularizer, problem.x, g, problem.step_size, step.x)
    w = model.value + model.jacobian @ (step.x - problem.x) + lam / mu
    price = mu * (w - np.clip(w, model.lower, model.upper))
    return inner, np.abs(step.multipliers - price).max() / (1 + np.abs(price).max())


@every_map
@every_set
@every_separable
def test_the_step_satisfies_both_optimality_conditions(kind, mirror, h):
    for seed in range(3):
        problem, model, lam, mu = case(kind, mirror, h, seed, equalities=seed == 0)
        inner, outer = distances(problem, model, lam, mu, kept_curvature_step(problem, model, lam, mu))
        assert inner <= 1e-8
        assert outer <= 1e-7


@every_set
@pytest.mark.parametrize("mirror", [Euclidean(), SmoothedLq(4.0, 1e-2)], ids=repr)
@pytest.mark.parametrize("h", [Zero(), L1(0.3)], ids=repr)
def test_an_interior_point_method_finds_nothing_better(kind, mirror, h):
    problem, model, lam, mu = case(kind, mirror, h, seed=5)
    step = kept_curvature_step(problem, model, lam, mu)
    y, slack = cp.Variable(len(problem.x)), cp.Variable(len(lam))
    w = model.value + model.jacobian @ (y - problem.x) + lam / mu - slack
    cost = (
        problem.s @ y
        + penalty(h, y)
        + (potential(mirror, y) - naive_gradient(mirror, problem.x) @ y) / problem.step_size
        + mu / 2 * cp.sum_squares(w)
    )
    finite = np.flatnonzero(np.isfinite(model.upper))
    best = minimum(cost, [*membership(problem.region, y), slack >= model.lower, *(slack[i] <= model.upper[i] for i in finite)])
    y.value = step.x
    at = model.value + model.jacobian @ (step.x - problem.x) + lam / mu
    slack.value = np.clip(at, model.lower, model.upper)
    assert float(cost.value) <= best + 1e-6 * (1 + abs(best))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 5), log_mu=st.floats(-2, 6))
def test_the_whole_space_has_woodburys_closed_form(seed, m, log_mu):
    mu, eta = 10.0**log_mu, 0.3
    problem, model, lam, _ = case("whole space", Euclidean(), Zero(), seed, equalities=True, m=m)
    model = Linearization(model.value, model.jacobian, 0 * lam, 0 * lam)
    J, c = model.jacobian, model.value
    direct = problem.x - np.linalg.solve(np.eye(D) / eta + mu * J.T @ J, problem.s + J.T @ (lam + mu * c))
    np.testing.assert_allclose(kept_curvature_step(problem, model, lam, mu).x, direct, rtol=1e-7, atol=1e-9)


def test_without_rows_it_is_the_plain_step():
    problem = Subproblem(Euclidean(), Box(0.0, 1.0), Zero(), np.array([0.5, 0.5]), np.array([1.0, -4.0]), 0.25)
    empty = np.zeros(0)
    assert kept_curvature_step(problem, Linearization(empty, np.zeros((0, 2)), empty, empty), empty, 1.0).x.tolist() == [0.25, 1.0]


def test_a_large_penalty_satisfies_the_linearized_constraint():
    problem, model, lam, _ = case("box", Euclidean(), Zero(), 1, equalities=True, m=1)
    model = Linearization(model.value, model.jacobian, np.zeros(1), np.zeros(1))
    new = kept_curvature_step(problem, model, 0 * lam, 1e8).x
    assert abs(model.value + model.jacobian @ (new - problem.x))[0] <= 1e-6


def test_rows_are_scaled_to_unit_gradients():
    model = Linearization(np.array([3.0, 1.0]), np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([-5.0, 0.0]), np.array([10.0, 0.0]))
    scaled, lengths = model.scaled()
    assert lengths.tolist() == [5.0, 1.0]
    assert (scaled.value.tolist(), scaled.lower.tolist(), scaled.upper.tolist()) == ([0.6, 1.0], [-1.0, 0.0], [2.0, 0.0])
    np.testing.assert_allclose(scaled.jacobian, [[0.6, 0.8], [0.0, 0.0]])


def test_other_backends_take_the_same_step():
    problem, model, lam, mu = case("box", Euclidean(), L1(0.1), 3)
    expected = kept_curvature_step(problem, model, lam, mu)
    for xp in (pytest.importorskip("array_api_strict"), pytest.importorskip("torch")):
        there = Subproblem(problem.mirror, problem.region, problem.regularizer, xp.asarray(problem.x), xp.asarray(problem.s), 0.3)
        rows = Linearization(model.value, xp.asarray(model.jacobian), model.lower, model.upper)
        np.testing.assert_allclose(np.asarray(kept_curvature_step(there, rows, lam, mu).x), expected.x, atol=1e-9)


def test_the_whole_space_is_recognised():
    assert Subproblem(Euclidean(), WholeSpace(), Zero(), np.zeros(2), np.zeros(2), 1.0).is_linear
    assert not Subproblem(Euclidean(), WholeSpace(), L1(0.1), np.zeros(2), np.zeros(2), 1.0).is_linear


@pytest.mark.parametrize("room", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("price", [0.0, 0.5, 1.0, 1.001, 3.0])
def test_an_active_inequality_is_reached_from_inside_whatever_its_price_was(room, price):
    """x lies inside by `room`, the step pushes outwards: it must end on the constraint, not stay inside at the old price."""
    d = 10
    rows = Linearization(np.array([-room]), np.full((1, d), d**-0.5), np.array([-np.inf]), np.array([0.0]))
    problem = Subproblem(Euclidean(), WholeSpace(), Zero(), np.zeros(d), np.full(d, -(d**-0.5)), 0.5)
    step = kept_curvature_step(problem, rows, np.array([price]), 2e4)
    expected = (0.5 - room + price / 2e4) / (0.5 + 1.0 / 2e4)  # y = mu (-room + eta (1 - y) + price/mu)
    assert step.multipliers[0] == pytest.approx(max(expected, 0.0), rel=1e-9)
    assert step.x.sum() * d**-0.5 == pytest.approx(room, abs=2e-4)
