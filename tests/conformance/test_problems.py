"""Every problem: its gradient is that of its mean, its samples repeat, its start is inside, its optimum is one."""

import numpy as np
import pytest

from registry import PROBLEMS

problems = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
solved = pytest.mark.parametrize("problem", [p for p in PROBLEMS.values() if p.solution is not None], ids=lambda p: str(p.dimension))


def draw(problem, seed=0):
    """The arguments after x: one sample, or none for an objective without noise."""
    return () if problem.sample is None else (problem.sample(np.random.default_rng(seed)),)


@problems
def test_the_start_is_in_the_region_and_values_are_numbers(problem):
    assert problem.region.contains(problem.x0)
    first, again = (draw(problem) for _ in range(2))
    assert np.isfinite(float(problem.objective(problem.x0, *first)))
    assert problem.objective(problem.x0, *first) == problem.objective(problem.x0, *again)


@pytest.mark.parametrize("problem", [p for p in PROBLEMS.values() if p.vectorized], ids=lambda p: type(p.objective).__name__)
def test_rows_have_the_values_of_their_points(problem, rng):
    points = problem.x0 + 0.3 * rng.standard_normal((5, problem.dimension))
    samples = [draw(problem, seed) for seed in (0, 0, 1, 2, 2)]
    alone = [problem.objective(x, *xi) for x, xi in zip(points, samples, strict=True)]
    together = problem.objective(points, *map(list, zip(*samples, strict=True)))
    np.testing.assert_allclose(together, alone, rtol=1e-13)


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
    samples = [draw(problem, seed) for seed in range(2000 if problem.sample else 1)]
    x, steps = problem.solution, 1e-3 * np.eye(problem.dimension)
    slopes = np.array([[(problem.objective(x + e, *xi) - problem.objective(x - e, *xi)) / 2e-3 for e in steps] for xi in samples])
    # 18 means of 2000 normal slopes: false alarm below 18 * P(|z| > 5.5) = 7e-7; without noise the slopes are exact
    assert (np.abs(slopes.mean(0) - problem.gradient(x)) <= 5.5 * slopes.std(0) / np.sqrt(len(samples)) + 1e-6).all()


@solved
def test_no_feasible_point_nearby_is_better_than_the_optimum(problem):
    """In the Lagrangian, which equals the objective where the constraints hold; the mean objective is that of xi = 0."""
    equalities, x, lam = problem.equalities(problem.solution), problem.solution, problem.multipliers
    rng = np.random.default_rng(2)

    def lagrangian(z):
        noiseless = (np.zeros(problem.dimension),) if problem.sample else ()
        return problem.objective(z, *noiseless) + problem.regularizer.value(z) + lam @ equalities.value(z, np.empty(0))

    for scale in (1e-3, 1e-2):
        for z in x + scale * rng.standard_normal((100, problem.dimension)):
            assert lagrangian(problem.region.project(z)) >= lagrangian(x) - 1e-12
