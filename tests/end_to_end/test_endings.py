"""How a run ends, as its user sees it: a status for each cause, and a message that says why, how good the point is, and what to do."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, rosen

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


def contradicting(res):
    """The promises of an end before the first evaluation."""
    assert res.status is Status.INFEASIBLE
    assert not res.success
    assert res.message.startswith(Status.INFEASIBLE.sentence)
    assert res.message.endswith(Status.INFEASIBLE.advice)
    assert res.nfev == 0
    assert np.isnan(res.fun)


def unused(*args):
    raise AssertionError("the objective must not be called")


def test_contradicting_constraints_end_with_the_least_violation_and_the_constraint():
    calls = []
    counted = NonlinearConstraint(lambda x: calls.append(1) or x @ x, -np.inf, -1.0, jac=lambda x: 2 * x)
    res = zolal.minimize(unused, np.ones(3), constraints=[LinearConstraint(np.eye(3), -9, 9), counted], rng=0)
    contradicting(res)
    assert "constraint 2 is violated by 1.0e+00" in res.message
    assert res.maxcv == pytest.approx(1.0, abs=1e-3)
    assert len(calls) < 10_000


@pytest.mark.parametrize("sample", [None, lambda rng: rng.standard_normal(3)], ids=["values", "samples"])
def test_the_point_of_an_infeasible_run_is_the_one_that_violates_least(sample):
    res = zolal.minimize(unused, np.zeros(3), constraints=APART, sample=sample, rng=0)
    contradicting(res)
    assert res.maxcv == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("region", [zolal.sets.Simplex(), zolal.sets.L2Ball(1.0), zolal.sets.L1Ball(1.0)], ids=repr)
def test_the_region_may_contradict_the_constraints(region):
    first = NonlinearConstraint(lambda x: x[0], 1.1, np.inf)
    res = zolal.minimize(unused, np.full(4, 0.25), constraints={"first": first}, region=region, rng=0)
    contradicting(res)
    assert "first is violated by 1.0e-01" in res.message
    assert region.contains(res.x)


@pytest.mark.parametrize(("one", "other"), [(1.0, 1e6), (1e6, 1.0), (1e3, 1e6), (1e6, 1e6)])
def test_contradictions_are_seen_whatever_the_units_of_the_rows(one, other):
    rows = [LinearConstraint(one * np.ones((1, 3)), one, np.inf), LinearConstraint(other * np.ones((1, 3)), -np.inf, 0.0)]
    contradicting(zolal.minimize(unused, np.zeros(3), constraints=rows, rng=0))


@pytest.mark.parametrize("one", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("other", [1e-6, 1.0, 1e6])
def test_constraints_that_can_hold_are_never_called_contradicting_whatever_their_units(one, other):
    rows = [NonlinearConstraint(lambda x: one * (x @ x - 4), 0, 0), NonlinearConstraint(lambda x: other * (x[0] * x[1] - 1), 0, 0)]
    res = zolal.minimize(lambda x: (x - 1) @ (x - 1), np.zeros(3), constraints=rows, rng=0)
    assert res.success


def test_kinks_hide_a_contradiction_for_some_steps():
    kinked = NonlinearConstraint(lambda x: np.abs(x - [0.3, 0.7]).sum() + 0.1 * np.abs(x[0] - x[1]), -np.inf, -1.0)
    res = zolal.minimize(lambda x: x @ x, np.ones(2), constraints=kinked, rng=0)
    assert res.status is Status.INFEASIBLE
    assert res.nfev < 30


def test_contradicting_constraints_end_a_run_that_waits_for_values_and_one_that_is_kept(tmp_path):
    with zolal.Optimizer(None, np.zeros(3), constraints=APART) as waiting:
        assert waiting.ask() is None
    contradicting(waiting.result)
    first = zolal.minimize(unused, np.zeros(3), constraints=APART, checkpoint=tmp_path)
    again = zolal.minimize(unused, np.zeros(3), constraints=APART, checkpoint=tmp_path, resume=True)
    contradicting(again)
    assert np.array_equal(first.x, again.x)


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
    explained(zolal.minimize(lambda x: float(np.sum(np.abs(x) ** 1.5) + 1e-3 * x[0]), np.zeros(6), maxfev=10, rng=0), Status.NO_IMPROVEMENT)


@pytest.mark.parametrize("sigma", [0.0, 0.1])
@pytest.mark.parametrize("maxfev", [2, 3, 4, 5])
def test_a_budget_that_is_too_small_to_learn_anything_is_called_spent(maxfev, sigma):
    res = zolal.minimize(noisy(lambda x: (x - 1) @ (x - 1), sigma), np.zeros(5), maxfev=maxfev, rng=0)
    assert res.status is Status.MAX_EVALUATIONS
    assert ("are 7 evaluations, and a run needs several times as many." in res.message) == (not res.x.any())
    assert res.nfev <= maxfev


@pytest.mark.parametrize("seed", range(5))
def test_noise_that_hides_the_objective_is_told_with_what_to_do(seed):
    res = zolal.minimize(noisy(lambda x: 0.0, 1.0, seed), np.zeros(4), maxfev=400, rng=seed)
    explained(res, Status.TOO_NOISY)
    assert "sample=" in res.message
    np.testing.assert_array_equal(res.x, np.zeros(len(res.x)))  # nothing is known to be better than the start


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
    res = zolal.minimize(lambda x: 3.0, np.zeros(4), rng=0)
    explained(res, Status.NO_REACTION)
    np.testing.assert_array_equal(res.x, np.zeros(4))


def test_a_plateau_that_only_a_ridge_interrupts_shows_no_reaction():
    res = zolal.minimize(lambda x: 5.0 if 0.0 < x[0] < 0.3 else 1.0, np.zeros(2), maxfev=1000, rng=0)
    assert res.status is Status.NO_REACTION
    assert res.nfev < 100


@pytest.mark.parametrize(("size", "status"), [(0.0, Status.NO_REACTION), (1e-200, Status.NO_REACTION), (1e100, Status.NO_IMPROVEMENT)])
def test_sizes_that_have_no_squares_end_in_a_sentence(size, status):
    res = zolal.minimize(lambda x: size * float((x - 1.0) @ (x - 1.0)), np.zeros(3), rng=0)
    assert res.status is status
    assert np.isfinite(res.x).all()


@pytest.mark.parametrize("size", [1e-120, 1e-30, 1e30, 1e60])
def test_any_size_that_has_a_square_is_solved(size):
    res = zolal.minimize(lambda x: size * float((x - 1.0) @ (x - 1.0)), np.zeros(3), rng=0)
    assert res.success
    np.testing.assert_allclose(res.x, 1.0, atol=1e-2)


def test_equalities_that_fix_everything_are_a_solution():
    rows = zolal.Constraint(lambda x: np.array([x[0] * x[1] - 2.0, x[0] - x[1] - 1.0]), 0.0, 0.0)
    res = zolal.minimize(lambda x: float(x @ x), np.array([3.0, 2.0]), constraints=rows, rng=0)
    assert res.success
    np.testing.assert_allclose(res.x, [2.0, 1.0], atol=1e-9)


@pytest.mark.parametrize(
    ("fun", "x0", "bounds"),
    [
        (lambda x: x @ x, np.zeros(4), None),
        (lambda x: 3.0 + (x - 1) @ (x - 1), np.ones(4), None),
        (lambda x: (x - 1) @ (x - 1), np.zeros(4), [(-1, 0)] * 4),
        (lambda x: 5.0 + np.sum(np.cosh(x)), np.zeros(6), None),  # whose first looks foretell slopes of nothing
        (lambda x: 5.0 + rosen(x), np.ones(6), None),
    ],
    ids=["zero", "shifted", "at bounds", "alike", "curved valley"],
)
def test_a_start_that_is_a_solution(fun, x0, bounds):
    res = zolal.minimize(fun, x0, bounds=bounds, rng=0)
    assert res.status is Status.OPTIMAL_START
    assert res.success
    assert res.message.startswith("The start is a solution already.")
    assert res.nfev < 40
    assert np.array_equal(res.x, x0)


@pytest.mark.parametrize("width", [1e3, 1e5, 1e20])
@pytest.mark.parametrize("fun", [lambda x: (x - 1) @ (x - 1), rosen], ids=["bowl", "curved valley"])
@pytest.mark.parametrize("seed", range(3))
def test_a_start_in_loose_bounds_is_no_solution_because_f_is_huge_elsewhere(fun, width, seed):
    res = zolal.minimize(fun, np.zeros(2), bounds=[(-width, width)] * 2, maxfev=300, rng=seed)
    assert fun(res.x) <= 1e-3
    assert res.success
    assert res.fun == fun(res.x)


@pytest.mark.parametrize("most", [5, 20, 40])
@pytest.mark.parametrize("fun", [lambda x: (x - 1) @ (x - 1), rosen], ids=["bowl", "curved valley"])
def test_nor_is_it_where_the_budget_ends_before_f_has_fallen(fun, most):
    res = zolal.minimize(fun, np.zeros(2), bounds=[(-1e5, 1e5)] * 2, maxfev=most, rng=0)
    assert not res.success or fun(res.x) <= 1e-3


@pytest.mark.parametrize("d", [3, 400])
def test_bounds_that_are_meant_to_be_none_are_none(d):
    bowl = lambda x: (x - 1) @ (x - 1)  # noqa: E731
    bounded, free = (zolal.minimize(bowl, np.zeros(d), bounds=bounds, maxfev=1000, rng=0) for bounds in ([(-1e20, 1e20)] * d, None))
    assert np.array_equal(bounded.x, free.x)
    assert bowl(free.x) <= 0.02 * d


def test_the_value_of_a_start_is_the_one_that_was_evaluated():
    res = zolal.minimize(rosen, np.zeros(2), bounds=[(-1e10, 1e10)] * 2, maxfev=12, rng=0)
    assert np.array_equal(res.x, np.zeros(2))
    assert res.fun == 1.0


def test_a_second_value_that_is_missing_twice_is_asked_for_again_before_a_success():
    calls = []

    def fun(x):
        calls.append(x)
        return np.nan if len(calls) in (2, 3) else (x - 1) @ (x - 1)

    res = zolal.minimize(fun, np.zeros(30), maxfev=400, rng=0)
    assert res.success
    assert res.nfev < 60


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


@pytest.mark.parametrize("width", [1e2, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_nor_is_it_with_noise(width, seed):
    res = zolal.minimize(noisy(rosen, 0.03, seed), np.zeros(4), bounds=[(-width, width)] * 4, maxfev=250, rng=seed)
    assert not res.success or rosen(res.x) <= 0.03


@pytest.mark.parametrize("seed", range(3))
def test_noisy_bowls_in_loose_bounds_are_soon_told_to_be_solved(seed):
    bowl = lambda x: (x - 1) @ (x - 1)  # noqa: E731
    res = zolal.minimize(noisy(bowl, 0.03, seed), np.zeros(4), bounds=[(-1e4, 1e4)] * 4, maxfev=250, rng=seed)
    assert res.success
    assert bowl(res.x) <= 1e-4
    assert res.nfev < 60
