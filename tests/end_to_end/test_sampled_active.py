"""Samples with something active: the point that is returned lies on it, and its gap and its multipliers come right."""

import numpy as np
import pytest

from zolal import Constraint, Problem
from zolal.sets import Box
from zolal.solvers.auto.slopes import Slopes

D = 10
BALL = Constraint(lambda x: np.array([x @ x]), -np.inf, 0.5, jac=lambda x: 2.0 * x[None, :])
ON_BALL = np.full(D, np.sqrt(0.05))
PRICE = (1.0 - ON_BALL[0]) / ON_BALL[0]
UPPER = np.where(np.arange(D) < 5, 0.5, 3.0)
ON_BOX = np.minimum(UPPER, 1.0)


def distance(x, xi):
    return float(np.sum((x - 1.0 + xi) ** 2))


def gap(x, solution):
    return distance(x, 0.0) - distance(solution, 0.0)


def runs(problem, budgets, seed):
    """What the solver would return after each number of evaluations."""
    solver, rng, used = Slopes(), np.random.default_rng(1000 + seed), 0
    state, found = solver.init(problem, np.zeros(D), seed), []
    for budget in budgets:
        while used < budget:
            survey = solver.ask(state)
            keys = [survey.query(i).sample for i in range(len(survey))]
            drawn = {key: problem.sample(rng) for key in dict.fromkeys(keys)}
            values = [problem.objective(survey.point(i), drawn[key]) for i, key in enumerate(keys)]
            state, used = solver.tell(state, np.asarray(values)), used + len(survey)
        candidate = solver.output(state)
        found.append((state.form.variables(candidate.z), candidate.multipliers))
    return found


def sampled(**parts):
    return Problem(distance, D, sample=lambda rng: rng.standard_normal(D), **parts)


def check_ball(budgets, seed):
    (early, _), (late, multipliers) = runs(sampled(constraints=[BALL]), budgets, seed)
    assert gap(late, ON_BALL) <= max(gap(early, ON_BALL) * (budgets[0] / budgets[1]) ** 0.5, 0.02)
    assert abs(late @ late - 0.5) <= 1e-6
    assert multipliers[0] == pytest.approx(PRICE, rel=0.1)


def check_box(budgets, seed):
    (early, _), (late, _) = runs(sampled(region=Box(-3.0, UPPER)), budgets, seed)
    assert gap(late, ON_BOX) <= max(gap(early, ON_BOX) * (budgets[0] / budgets[1]) ** 0.5, 0.05)
    np.testing.assert_array_equal(late[:5], 0.5)


@pytest.mark.parametrize("seed", [0])
def test_an_active_inequality_is_met_and_priced(seed):
    check_ball((500, 6000), seed)


@pytest.mark.parametrize("seed", [0, 1])
def test_active_bounds_are_met(seed):
    check_box((500, 6000), seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_gap_falls_at_least_like_the_root_of_the_evaluations(seed):
    check_ball((1000, 16000), seed)
    check_box((1000, 16000), seed)
