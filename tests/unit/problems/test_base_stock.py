"""Base stock: the simulation agrees with a day-by-day loop and with the closed forms, and the optimum with SLSQP."""

import numpy as np
import pytest
from scipy.optimize import minimize

from zolal.errors import InvalidArgumentError
from zolal.problems import base_stock
from zolal.problems.base_stock import HOLDING, LEAD, MEANS, SPREADS


def by_days(levels, demand):
    """What a day took is ordered at night and comes LEAD nights later. All is full before the first day; LEAD days do not count."""
    stock, pipeline = np.array(levels, dtype=float), [np.zeros(len(levels))] * LEAD
    cost, unmet = [], []
    for today in demand:
        unmet.append(np.maximum(today - np.maximum(stock, 0.0), 0.0).sum())
        stock = stock - today
        cost.append(np.maximum(stock, 0.0) @ np.array(HOLDING))
        pipeline.append(today)
        stock = stock + pipeline.pop(0)
    return np.mean(cost[LEAD:]), 1.0 - np.mean(unmet[LEAD:]) / sum(MEANS)


def test_a_simulation_is_that_of_days_one_by_one():
    problem, levels = base_stock(days=500, seed=2), np.array([4.3, 8.5, 2.2])
    demand = np.random.default_rng([2, 500, 0xBA]).normal(MEANS, SPREADS, (500 + LEAD, len(MEANS)))
    assert (demand > 0.0).all()
    cost, outputs = problem.objective(levels)
    np.testing.assert_allclose([cost, outputs[0]], by_days(levels, demand), rtol=1e-12)


def test_the_means_of_simulations_are_the_closed_forms():
    problem = base_stock(days=500)
    model, x = problem.objective, problem.solution
    values = np.array([(cost, *outputs) for cost, outputs in (model(x) for _ in range(2000))])
    off = np.abs(values.mean(axis=0) - [model.cost(x), model.met(x)])
    assert (off <= 5.0 * values.std(axis=0) / np.sqrt(2000)).all()


@pytest.mark.parametrize("service", [0.9, 0.95, 0.99])
def test_the_solution_is_that_of_a_method_with_gradients(service):
    problem = base_stock(service)
    model = problem.objective
    limit = dict(type="ineq", fun=lambda x: model.met(x) - service)
    found = minimize(model.cost, problem.x0, constraints=[limit], method="SLSQP", options=dict(ftol=1e-14, maxiter=500))
    np.testing.assert_allclose(problem.solution, found.x, atol=1e-4)
    assert model.cost(problem.solution) <= found.fun + 1e-9
    assert problem.region.contains(problem.solution)


def test_a_service_level_is_between_a_half_and_one():
    with pytest.raises(InvalidArgumentError, match=r"`base_stock\(service=...\)` must be between 0.5 and 1, got 1.0"):
        base_stock(1.0)
