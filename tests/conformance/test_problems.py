"""Every problem: its gradient is that of its mean, its samples repeat, its start is inside, its optimum is one."""

import numpy as np
import pytest

from registry import PROBLEMS

problems = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
solved = pytest.mark.parametrize("problem", [p for p in PROBLEMS.values() if p.solution is not None], ids=lambda p: str(p.dimension))


@problems
def test_the_start_is_in_the_region_and_values_are_numbers(problem):
    assert problem.region.contains(problem.x0)
    xi = problem.sample(np.random.default_rng(0))
    assert np.isscalar(float(problem.objective(problem.x0, xi)))
    assert problem.objective(problem.x0, xi) == problem.objective(problem.x0, problem.sample(np.random.default_rng(0)))


@problems
def test_constraint_derivatives_are_those_of_their_values(problem):
    equalities, x = problem.equalities(problem.x0), problem.x0
    y = np.linspace(1.0, 2.0, equalities.num_rows)
    slacks = equalities.initial_slacks(x)
    pulled, _ = equalities.vjp(x, y)
    steps = 1e-6 * np.eye(problem.dimension)
    numerical = [(y @ (equalities.value(x + e, slacks) - equalities.value(x - e, slacks))) / 2e-6 for e in steps]
    np.testing.assert_allclose(pulled, numerical, rtol=1e-6, atol=1e-8)


@solved
def test_the_gradient_is_that_of_the_mean_over_samples(problem):
    rng = np.random.default_rng(1)
    samples = [problem.sample(rng) for _ in range(2000)]
    x, steps = problem.solution, 1e-3 * np.eye(problem.dimension)
    slopes = np.array([[(problem.objective(x + e, xi) - problem.objective(x - e, xi)) / 2e-3 for e in steps] for xi in samples])
    # 18 means of 2000 normal slopes: false alarm below 18 * P(|z| > 5.5) = 7e-7
    assert (np.abs(slopes.mean(0) - problem.gradient(x)) <= 5.5 * slopes.std(0) / np.sqrt(len(samples)) + 1e-6).all()


@solved
def test_no_feasible_point_nearby_is_better_than_the_optimum(problem):
    """In the Lagrangian, which equals the objective where the constraints hold; the mean objective is that of xi = 0."""
    equalities, x, lam = problem.equalities(problem.solution), problem.solution, problem.multipliers
    rng = np.random.default_rng(2)

    def lagrangian(z):
        return problem.objective(z, np.zeros(problem.dimension)) + problem.regularizer.value(z) + lam @ equalities.value(z, np.empty(0))

    for scale in (1e-3, 1e-2):
        for z in x + scale * rng.standard_normal((100, problem.dimension)):
            assert lagrangian(problem.region.project(z)) >= lagrangian(x) - 1e-12
