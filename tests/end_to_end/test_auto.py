"""The automatic method, with no options but a seed and a budget: how few queries it takes, and what it never does."""

import numpy as np
import pytest

from zolal import Constraint, Problem, Status, minimize
from zolal._hadamard import fwht
from zolal.problems import l1_box, simplex_lp, sphere_quadratic
from zolal.sets import Box, L2Ball


def probe(dimension, seed, noise=1e-3, scales=(1.0, 1.0, 1.0)):
    """min ||x - t||^2 + noise s.t. sum(x) = 1, <x, x> = 1/2, with f, x and c scaled; its optimum, and f without noise."""
    F, X, C = scales
    rng, values = np.random.default_rng([seed, dimension]), np.random.default_rng([seed, dimension, 1])
    t = rng.standard_normal(dimension) / np.sqrt(dimension)
    along = (t - t.mean()) / np.linalg.norm(t - t.mean())
    solution = 1 / dimension + np.sqrt(0.5 - 1 / dimension) * along

    def f(x):
        return F * float((x / X - t) @ (x / X - t))

    rows = Constraint(
        lambda x: C * np.array([x.sum() / X - 1, x @ x / X**2 - 0.5]), jac=lambda x: C * np.stack([np.ones(dimension) / X, 2 * x / X**2])
    )
    return lambda x: f(x) + F * noise * values.standard_normal() if noise else f(x), f, rows, X * solution, X * np.ones(dimension)


@pytest.mark.parametrize("seed", range(2))
def test_the_noisy_probe_is_solved_to_a_half_percent(seed):
    noisy, f, rows, solution, x0 = probe(50, seed)
    found = minimize(noisy, x0, constraints=rows, method="auto", maxfev=3000, rng=seed)
    assert f(found.x) <= 1.005 * f(solution)
    assert found.maxcv <= 1e-5
    assert found.nfev <= 3000


@pytest.mark.parametrize("scales", [(1e6, 1e-3, 1e4), (1e-6, 1e3, 1e-4), (1e-6, 1e-3, 1e4)], ids=str)
def test_scales_of_f_x_and_c_do_not_matter(scales):
    noisy, f, rows, solution, x0 = probe(20, 1, 1e-3, scales)
    found = minimize(noisy, x0, constraints=rows, method="auto", maxfev=2500, rng=0)
    assert f(found.x) <= 1.02 * f(solution)
    assert found.maxcv <= 1e-8 * scales[2]


def test_the_printed_qcqp_takes_a_little_more_than_two_queries_per_variable():
    d = 256
    rng = np.random.default_rng(0)
    eigenvalues = rng.permutation(np.concatenate([np.linspace(-0.05, -0.01, d // 2), np.linspace(0.01, 0.05, d // 2)]))
    beta = rng.standard_normal(d)
    b = fwht(beta / np.linalg.norm(beta))

    def gradient(x):
        return fwht(eigenvalues * fwht(x)) + b

    sphere = Constraint(lambda x: (x @ x - 1) / 2, jac=lambda x: x)
    problem = Problem(lambda x: 0.5 * x @ (gradient(x) + b), d, sphere, L2Ball(2.5), gradient=gradient, x0=np.full(d, d**-0.5))
    found = minimize(problem, method="auto", maxfev=3 * d, rng=0)
    assert found.kkt.euclidean <= 1e-2


def test_a_sparse_problem_takes_far_fewer_queries_than_variables():
    d, rng = 4096, np.random.default_rng(3)
    a, b, x0 = rng.uniform(-0.05, 0.05, d), np.zeros(d), np.zeros(d)
    b[rng.choice(d, 4, replace=False)], x0[0] = [0.5, -0.5, 0.5, 0.5], 1.0
    sphere = Constraint(lambda x: (x @ x - 1) / 2, jac=lambda x: x)
    problem = Problem(lambda x: 0.5 * x @ (a * x) + b @ x, d, sphere, L2Ball(2.5), gradient=lambda x: a * x + b, x0=x0)
    found = minimize(problem, method="auto", maxfev=d // 4, rng=0)
    assert found.kkt.euclidean <= 1e-2


@pytest.mark.parametrize("make", [sphere_quadratic, simplex_lp, l1_box])
def test_known_solutions_are_found_from_noisy_values(make):
    problem = make(10)
    found = minimize(problem, method="auto", maxfev=4000, rng=0)

    def f(x):
        return problem.objective(x, np.zeros(10)) + problem.regularizer.value(x)

    start, best = f(problem.x0), f(problem.solution)
    assert f(found.x) - best <= 0.05 * max(start - best, abs(best))
    assert found.maxcv <= 1e-6


def test_exact_values_are_recognised_and_the_run_stops_by_itself():
    target = np.linspace(-1, 1, 10)
    found = minimize(lambda x: float((x - target) @ (x - target)), np.zeros(10), method="auto", maxfev=20_000, rng=0)
    assert found.status is Status.CONVERGED
    assert found.success
    assert found.nfev < 1000
    np.testing.assert_allclose(found.x, target, atol=2e-3)


def test_an_inequality_holds_and_has_a_nonnegative_multiplier():
    total = Constraint(lambda x: x.sum(), -np.inf, 3.0, jac=lambda x: np.ones((1, 6)))
    found = minimize(lambda x: float((x - 1) @ (x - 1)), np.zeros(6), constraints=total, method="auto", maxfev=2000, rng=0)
    np.testing.assert_allclose(found.x, np.full(6, 0.5), atol=1e-3)
    assert found.multipliers[0] == pytest.approx(1.0, abs=1e-2)
    assert found.maxcv <= 1e-8


def test_what_cannot_be_satisfied_is_called_not_feasible():
    impossible = Constraint(lambda x: x @ x, -2.0, -1.0, jac=lambda x: 2 * x)
    found = minimize(lambda x: float(x.sum()), np.ones(4), bounds=[(-1, 1)] * 4, constraints=impossible, method="auto", maxfev=300, rng=0)
    assert not found.success
    assert "not feasible" in found.message
    assert np.isfinite(found.x).all()


def test_the_result_is_never_worse_than_a_feasible_start():
    """A start at the optimum and noise as large as the range: whatever the run does, it must not return something surely worse."""
    for seed in range(3):
        values = np.random.default_rng(seed)
        found = minimize(
            lambda x, values=values: float(np.abs(x).sum() ** 0.5) + 0.5 * values.standard_normal(), np.zeros(8), region=Box(-1.0, 1.0),
            method="auto", maxfev=400, rng=seed,
        )  # fmt: skip
        assert np.abs(found.x).sum() ** 0.5 <= 1.0


def test_another_geometry_may_be_asked_for():
    problem = sphere_quadratic(10, noise=0.0)
    found = minimize(problem, method="auto", geometry=3, maxfev=3000, rng=0)
    assert problem.objective(found.x, np.zeros(10)) <= problem.objective(problem.solution, np.zeros(10)) + 1e-2


def test_heavy_tails_and_multiplicative_noise_are_survived():
    noisy, f, rows, solution, x0 = probe(20, 2, 0.0)
    for number, corrupted in enumerate((lambda v, g: v + 1e-3 * g.standard_t(1.5), lambda v, g: v * (1 + 0.01 * g.standard_normal()))):
        values = np.random.default_rng(number)
        found = minimize(lambda x, c=corrupted, g=values: c(noisy(x), g), x0, constraints=rows, method="auto", maxfev=3000, rng=0)
        assert f(found.x) <= 1.05 * f(solution)
