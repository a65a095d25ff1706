"""Whole runs on problems whose primal and dual solutions are known, in the Euclidean and in an l_q geometry."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

import zolal
from zolal.problems import inventory, l1_box, simplex_lp, sphere_quadratic

OPTIONS = dict(num_directions=32, share_base=True, momentum=lambda k: 1 / (1 + k / 5))
RUNS = {
    "sphere-2": (sphere_quadratic(10, noise=0.01), 2, dict(step_size=0.2, penalty=3.0)),
    "sphere-4": (sphere_quadratic(10, noise=0.01), 4, dict(step_size=0.2, penalty=3.0)),
    "simplex-lp-2": (simplex_lp(10, noise=0.01), 2, dict(step_size=0.05, penalty=3.0)),
    "simplex-lp-4": (simplex_lp(10, noise=0.01), 4, dict(step_size=0.05, penalty=3.0)),
    "l1-box-2": (l1_box(10, noise=0.01), 2, dict(step_size=0.05, penalty=1.0, dual_step=0.5)),
    "l1-box-4": (l1_box(10, noise=0.01), 4, dict(step_size=0.1, penalty=1.0, dual_step=0.5)),
}


@pytest.mark.parametrize("name", RUNS)
def test_primal_and_dual_solutions_are_found(name):
    problem, geometry, options = RUNS[name]
    result = zolal.minimize(problem, geometry=geometry, maxfev=30_000, tol=1e-5, rng=1, options=OPTIONS | options)
    assert np.linalg.norm(result.x - problem.solution) <= 0.08
    np.testing.assert_allclose(result.multipliers, problem.multipliers, atol=0.06)
    assert result.maxcv <= 5e-3
    assert problem.region.contains(result.x)
    assert 29_000 <= result.nfev <= 30_000
    assert result.status is zolal.Status.MAX_EVALUATIONS


@pytest.mark.parametrize("problem", [sphere_quadratic(6), simplex_lp(6), l1_box(6)], ids=["sphere", "lp", "l1-box"])
def test_known_solutions_are_kkt_points(problem):
    """0 in grad f + J^T multipliers + dh + N_X, by a projected gradient step that goes nowhere; the values are the problem's own."""
    x, lam = problem.solution, problem.multipliers
    equalities = problem.equalities(x)
    assert equalities.violation(x) <= 1e-9
    pulled, _ = equalities.vjp(x, lam)
    step = zolal.bregman_step(zolal.mirror.Euclidean(), problem.region, problem.regularizer, x, problem.gradient(x) + pulled, 0.1)
    np.testing.assert_allclose(step, x, atol=1e-7)
    sampled = np.mean([problem.objective(x, problem.sample(np.random.default_rng(seed))) for seed in range(4000)])
    differences = [problem.objective(x + 1e-3 * e, np.zeros(6)) - problem.objective(x - 1e-3 * e, np.zeros(6)) for e in np.eye(6)]
    np.testing.assert_allclose(np.array(differences) / 2e-3, problem.gradient(x), atol=1e-9)
    assert sampled == pytest.approx(problem.objective(x, np.zeros(6)), abs=5 * 0.1 * 3 / np.sqrt(4000))


@pytest.mark.parametrize("geometry", [2, 4])
def test_active_and_inactive_inequalities_get_their_multipliers(geometry):
    target, scale = np.array([0.9, 0.3, -0.4]), 0.2

    def fun(x, xi):
        return 0.5 * (x - target) @ (x - target) + 0.01 * xi @ x

    constraints = [LinearConstraint(np.ones((1, 3)), -np.inf, scale), Bounds([-np.inf, -5.0, -0.3], np.inf)]
    options = OPTIONS | dict(step_size=0.1, penalty=3.0)
    result = zolal.minimize(
        fun,
        np.zeros(3),
        constraints=constraints,
        sample=lambda rng: rng.standard_normal(3),
        geometry=geometry,
        maxfev=20_000,
        rng=0,
        options=options,
    )
    # x = target - lam + (0, 0, nu): the sum binds, and the bound on x_2: 0.9 + 0.3 - 2 lam - 0.3 = 0.2, nu = -0.3 + 0.4 + 0.35
    np.testing.assert_allclose(result.x, [0.55, -0.05, -0.3], atol=0.02)
    np.testing.assert_allclose(result.multipliers, [0.35, 0.0, 0.0, -0.45], atol=0.03)
    assert result.maxcv <= 5e-3


def test_from_an_infeasible_start_the_constraint_is_met():
    problem = sphere_quadratic(10, noise=0.01)
    result = zolal.minimize(problem, 2.0 * problem.x0, maxfev=20_000, rng=3, tol=1e-5, options=OPTIONS | dict(step_size=0.1, penalty=3.0))
    assert result.maxcv <= 5e-3
    assert np.linalg.norm(result.x - problem.solution) <= 0.1


def test_the_shop_costs_less_and_keeps_its_constraints():
    problem = inventory()
    result = zolal.minimize(problem, maxfev=3_000, rng=0, tol=1e-2)
    rng = np.random.default_rng(1)
    demands = np.concatenate([problem.sample(rng) for _ in range(500)])
    assert problem.objective(result.x, demands) <= 0.9 * problem.objective(problem.x0, demands)
    assert result.maxcv <= 1e-8
    assert abs(result.fun - problem.objective(result.x, demands)) <= 5 * result.fun_error
