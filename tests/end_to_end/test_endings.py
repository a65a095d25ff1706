"""How a run ends, as its user sees it: a status for each cause, and a message that says why, how good the point is, and what to do."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

import zolal
from zolal import Status

APART = [LinearConstraint(np.ones((1, 3)), 1.0, np.inf), LinearConstraint(np.ones((1, 3)), -np.inf, 0.0)]


def noisy(function, sigma, seed=0):
    rng = np.random.default_rng(seed)
    return lambda x: function(x) + sigma * rng.standard_normal()


def explained(res, status):
    """The promises of every ending that is no success."""
    assert res.status is status
    assert not res.success
    assert res.message.startswith(status.sentence)
    assert res.message.endswith(status.advice)
    assert status.advice
    assert np.isfinite(res.fun)


def test_contradicting_constraints_end_with_the_least_violation_and_the_constraint():
    calls = []
    counted = NonlinearConstraint(lambda x: calls.append(1) or x @ x, -np.inf, -1.0, jac=lambda x: 2 * x)
    res = zolal.minimize(lambda x: x @ x, np.ones(3), constraints=[LinearConstraint(np.eye(3), -9, 9), counted], rng=0)
    explained(res, Status.INFEASIBLE)
    assert "constraint 2 is violated by 1.0e+00" in res.message
    assert res.maxcv == pytest.approx(1.0, abs=1e-3)
    assert res.nfev < 30
    assert len(calls) < 10_000


def test_the_point_of_an_infeasible_run_is_the_one_that_violates_least():
    res = zolal.minimize(lambda x: x @ x, np.zeros(3), constraints=APART, rng=0)
    explained(res, Status.INFEASIBLE)
    assert res.maxcv == pytest.approx(0.5, abs=1e-6)
    assert res.fun == pytest.approx(res.x @ res.x)


def test_contradicting_constraints_end_a_run_with_samples_early():
    res = zolal.minimize(
        lambda x, xi: (x - xi) @ (x - xi), np.zeros(3), sample=lambda rng: rng.standard_normal(3), constraints=APART, maxfev=5000, rng=0
    )
    explained(res, Status.INFEASIBLE)
    assert res.nfev < 1000


@pytest.mark.parametrize(
    "fun",
    [lambda x: x[0] - x[1], lambda x: x[0] ** 3 - x[1], lambda x: -x @ x, noisy(lambda x: x[0] - x[1], 0.1)],
    ids=["linear", "cubic", "concave", "noisy"],
)
def test_an_objective_that_falls_for_ever_is_called_unbounded(fun):
    res = zolal.minimize(fun, np.full(3, 0.1), rng=0)
    explained(res, Status.UNBOUNDED)
    assert res.nfev < 300


def test_an_objective_that_falls_for_ever_is_called_unbounded_with_samples_too():
    res = zolal.minimize(lambda x, xi: x[0] - x[1] + xi * x[2], np.full(3, 0.1), sample=lambda rng: rng.normal(), maxfev=3000, rng=0)
    explained(res, Status.UNBOUNDED)


def test_a_solution_that_is_far_away_is_no_unbounded_objective():
    res = zolal.minimize(lambda x: float(np.sum((x - 1e9) ** 2)), np.zeros(3), rng=0)
    assert res.status is Status.CONVERGED
    assert res.success


def test_where_nothing_better_than_the_start_is_found():
    res = zolal.minimize(lambda x: float(np.sum(x**2) + 1e-3 * x[0]), np.zeros(20), maxfev=15, rng=0)
    explained(res, Status.NO_IMPROVEMENT)


@pytest.mark.parametrize("seed", range(5))
def test_noise_that_hides_the_objective_is_told_with_what_to_do(seed):
    res = zolal.minimize(noisy(lambda x: 0.0, 1.0, seed), np.zeros(4), maxfev=400, rng=seed)
    explained(res, Status.TOO_NOISY)
    assert "sample=" in res.message


@pytest.mark.parametrize("seed", range(5))
def test_noise_as_large_as_the_range_within_bounds(seed):
    fun = noisy(lambda x: 0.1 * (x - 1) @ (x - 1), 2.0, seed)
    res = zolal.minimize(fun, np.zeros(4), bounds=[(-1, 1)] * 4, maxfev=200, rng=seed)
    explained(res, Status.TOO_NOISY)


@pytest.mark.parametrize("seed", range(5))
def test_noise_that_leaves_the_objective_to_be_seen_does_not_stop_a_run(seed):
    res = zolal.minimize(noisy(lambda x: (x - 1) @ (x - 1), 0.1, seed), np.zeros(4), maxfev=600, rng=seed)
    assert res.status is Status.CONVERGED
    assert res.success


def test_an_objective_that_does_not_react():
    explained(zolal.minimize(lambda x: 3.0, np.zeros(4), rng=0), Status.NO_REACTION)


@pytest.mark.parametrize(
    ("fun", "x0", "bounds"),
    [
        (lambda x: x @ x, np.zeros(4), None),
        (lambda x: 3.0 + (x - 1) @ (x - 1), np.ones(4), None),
        (lambda x: (x - 1) @ (x - 1), np.zeros(4), [(-1, 0)] * 4),
    ],
    ids=["zero", "shifted", "at bounds"],
)
def test_a_start_that_is_a_solution(fun, x0, bounds):
    res = zolal.minimize(fun, x0, bounds=bounds, rng=0)
    assert res.status is Status.OPTIMAL_START
    assert res.success
    assert res.message.startswith("The start is a solution already.")
    assert res.nfev < 40
    assert np.array_equal(res.x, x0)


def test_a_start_that_had_to_be_moved_is_no_solution():
    res = zolal.minimize(lambda x: (x - 1) @ (x - 1), np.full(3, 0.3), constraints=NonlinearConstraint(lambda x: x @ x, 1.0, 1.0), rng=0)
    assert res.status is Status.CONVERGED
    assert res.success


@pytest.mark.parametrize("fun", [lambda x: np.max(np.abs(x - 1)), lambda x: np.max(np.abs(x - 1)) + 0.1 * x @ x], ids=["max", "curved"])
def test_kinks_are_suspected_where_steps_shrink_and_the_slope_stays(fun):
    res = zolal.minimize(fun, np.zeros(10), maxfev=3000, rng=0)
    explained(res, Status.NONSMOOTH)
    assert "f_i(x) <= t" in res.message


def test_the_message_names_the_limit_that_tol_stands_for_and_what_it_is_relative_to():
    scale = 5e6
    res = zolal.minimize(lambda x: scale * float(np.sum((x - 1) ** 2)), np.zeros(4), rng=0)
    assert res.success
    limit = res.stationarity_limit
    assert limit > 1e-3 * scale
    assert f"to be at most {limit:.1e}: tol 1e-03 times the largest gradient seen, {limit / 1e-3:.1e}" in res.message


def test_an_absolute_tol_is_printed_as_such():
    options = dict(step_size=0.1)
    res = zolal.minimize(
        lambda x: x @ x, np.ones(2), constraints=LinearConstraint(np.ones((1, 2)), 0, 9), maxfev=200, rng=0, options=options
    )
    assert "to be at most tol 1e-03" in res.message
    assert "(tol 1e-03, absolute)" in res.message
    assert res.stationarity_limit == 1e-3


def test_a_spent_budget_says_how_to_go_on():
    res = zolal.minimize(lambda x: float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)), np.zeros(10), maxfev=100, rng=0)
    assert res.status is Status.MAX_EVALUATIONS
    assert "`start=res`" in res.message


def test_every_status_has_a_sentence_and_every_end_without_a_solution_has_advice():
    for status in Status:
        assert status.sentence.endswith(".")
        assert bool(status.advice) == (status not in (Status.CONVERGED, Status.OPTIMAL_START, Status.RUNNING))
