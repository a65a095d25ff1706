"""Whole runs of the baselines on problems whose solutions are known; how near they come is measured, not promised."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

import zolal
from zolal.problems import l1_box, simplex_lp, sphere_quadratic

OPTIONS = dict(num_directions=32, share_base=True, momentum=lambda k: 1 / (1 + k / 5))
PROBLEMS = {"sphere": sphere_quadratic(10, noise=0.01), "simplex-lp": simplex_lp(10, noise=0.01), "l1-box": l1_box(10, noise=0.01)}
STEPS = {"sphere": 0.2, "simplex-lp": 0.05, "l1-box": 0.1}
METHODS = {"szo-conex": dict(dual_step=1.0, inner_steps=20, proximal=0.2), "zo-penalty": {}}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_primal_and_dual_solutions_are_found(method, name):
    problem, options = PROBLEMS[name], OPTIONS | METHODS[method] | dict(step_size=STEPS[name])
    result = zolal.minimize(problem, method=method, maxfev=12_000, tol=1e-5, rng=1, options=options)
    assert np.linalg.norm(result.x - problem.solution) <= 0.1
    np.testing.assert_allclose(result.multipliers, problem.multipliers, atol=0.1)
    assert result.maxcv <= 1e-2
    assert problem.region.contains(result.x)
    assert 11_500 <= result.nfev <= 12_000


def test_zo_sgd_stops_where_the_quadratic_penalty_does():
    """At a minimiser of f + (mu/2) c^2 the multiplier is mu c, so the constraint stays violated by about lambda / mu."""
    problem, mu = PROBLEMS["sphere"], 10.0
    result = zolal.minimize(problem, method="zo-sgd", maxfev=10_000, tol=1e-5, rng=1, options=OPTIONS | dict(step_size=0.05, penalty=mu))
    assert result.maxcv == pytest.approx(problem.multipliers[0] / mu, rel=0.15)
    np.testing.assert_allclose(result.multipliers, mu * 0.5 * (result.x @ result.x - 1.0), rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_active_and_inactive_inequalities_get_multipliers_of_the_right_sign(method):
    target = np.array([0.9, 0.3, -0.4])
    result = zolal.minimize(
        lambda x, xi: 0.5 * (x - target) @ (x - target) + 0.01 * xi @ x,
        np.zeros(3),
        constraints=[LinearConstraint(np.ones((1, 3)), -np.inf, 0.2), Bounds([-np.inf, -5.0, -0.3], [np.inf, 5.0, np.inf])],
        sample=lambda rng: rng.standard_normal(3),
        method=method,
        maxfev=8_000,
        rng=0,
        tol=1e-5,
        options=OPTIONS | METHODS[method] | dict(step_size=0.1),
    )
    # x = target - lam + (0, 0, nu): the sum binds, and the bound on x_2; the bounds on x_0 and x_1 do not
    np.testing.assert_allclose(result.x, [0.55, -0.05, -0.3], atol=0.03)
    np.testing.assert_allclose(result.multipliers, [0.35, 0.0, 0.0, -0.45], atol=0.05)
    assert result.multipliers[0] >= 0 >= result.multipliers[3]
    assert not np.any(result.multipliers[1:3])
    assert result.maxcv <= 5e-3


@pytest.mark.parametrize("method", METHODS)
def test_from_an_infeasible_start_the_constraint_is_met(method):
    problem = PROBLEMS["sphere"]
    options = OPTIONS | METHODS[method] | dict(step_size=0.1)
    result = zolal.minimize(problem, 2.0 * problem.x0, method=method, maxfev=10_000, rng=3, tol=1e-5, options=options)
    assert result.maxcv <= 1e-2
    assert np.linalg.norm(result.x - problem.solution) <= 0.15


@pytest.mark.parametrize("method", [*METHODS, "zo-sgd"])
def test_evaluations_are_counted_as_for_algorithm_1(method):
    """n + 1 values a step with a shared base, 2n without, and twice n for the final check."""
    problem = sphere_quadratic(5)
    for share_base, cost in ((True, 9), (False, 16)):
        options = dict(step_size=0.05, num_directions=8, share_base=share_base, max_iterations=7)
        result = zolal.minimize(problem, method=method, maxfev=1000, rng=0, tol=1e-9, options=options)
        assert (result.nit, result.nfev) == (7, 7 * cost + 16)
        np.testing.assert_array_equal(result.trace["nfev"], cost * np.arange(1, 8))
