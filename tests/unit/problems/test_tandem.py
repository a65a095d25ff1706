"""Three servers in a row: the simulation agrees with a loop and with the closed form, and the optimum with brute force."""

import itertools

import numpy as np
import pytest

from zolal.errors import InvalidArgumentError
from zolal.problems import tandem
from zolal.problems.tandem import departures


def test_departures_are_those_of_lindleys_recursion(rng):
    arrivals, services = np.cumsum(rng.exponential(1.0, 300)), rng.exponential(0.8, 300)
    last, loop = 0.0, []
    for arrival, service in zip(arrivals, services, strict=True):
        last = max(arrival, last) + service
        loop.append(last)
    np.testing.assert_allclose(departures(arrivals, services), loop, rtol=1e-12)


def test_the_mean_of_simulations_is_the_closed_form():
    problem = tandem(customers=4000, seed=3)
    times = [problem.objective(problem.solution)[1][0] for _ in range(600)]
    assert abs(np.mean(times) - problem.objective.time(problem.solution)) <= 5.0 * np.std(times) / np.sqrt(600)


def test_no_grid_point_that_keeps_the_limit_is_cheaper():
    problem = tandem(limit=2.0)
    model, best = problem.objective, problem.solution
    grid = [best[i] + np.linspace(-0.6, 0.6, 41) for i in range(3)]
    kept = [model.cost(np.array(point)) for point in itertools.product(*grid) if model.time(np.array(point)) <= 2.0 + 1e-12]
    assert min(kept) == pytest.approx(model.cost(best), rel=1e-12)


def test_a_simulation_is_not_repeated_but_a_problem_is():
    first, again = tandem(seed=5), tandem(seed=5)
    values = [first.objective(first.x0)[1] for _ in range(2)]
    assert values[0] != values[1]
    assert values == [again.objective(again.x0)[1] for _ in range(2)]
    assert first.objective(first.x0)[0] == first.objective.cost(first.x0)


def test_a_limit_is_positive():
    with pytest.raises(InvalidArgumentError, match=r"`tandem\(limit=...\)` must be .*positive.*, got 0"):
        tandem(limit=0)
