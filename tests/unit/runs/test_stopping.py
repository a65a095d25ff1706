"""Stopping rules: each gives its reason, and they combine with | and &."""

from types import SimpleNamespace

import numpy as np
import pytest

from zolal.result import Status
from zolal.runs.stopping import AllOf, AnyOf, Callback, Infeasible, MaxEvaluations, MaxIterations, Progress, ResidualBelow


def progress(k=3, nfev=10, next_cost=4, residual=0.5):
    solver = SimpleNamespace(ask=lambda state: range(next_cost), is_converged=lambda state, tol: state.residual <= tol)
    return Progress(SimpleNamespace(k=k, residual=residual), nfev, solver)


@pytest.mark.parametrize(("limit", "stops"), [(13, True), (14, False), (15, False), (9, True)])
def test_max_evaluations_stops_where_the_next_step_would_pass_the_limit(limit, stops):
    stop = MaxEvaluations(limit)(progress(nfev=10, next_cost=4))
    assert (stop is not None) == stops
    assert stop is None or (stop.status, stop.sentence) == (Status.MAX_EVALUATIONS, "The evaluation budget is spent.")


@pytest.mark.parametrize(("limit", "stops"), [(2, True), (3, True), (4, False)])
def test_max_iterations_stops_after_so_many_steps(limit, stops):
    stop = MaxIterations(limit)(progress(k=3))
    assert (stop is not None) == stops
    assert stop is None or stop.status == Status.MAX_ITERATIONS


@pytest.mark.parametrize(("residual", "stops"), [(0.1, True), (0.09, True), (0.11, False), (np.nan, False), (np.inf, False)])
def test_residual_below_stops_at_tol_and_not_before_anything_is_measured(residual, stops):
    stop = ResidualBelow(0.1)(progress(residual=residual))
    assert (stop is not None) == stops
    assert stop is None or stop.status == Status.CONVERGED


@pytest.mark.parametrize(("answer", "stops"), [(True, True), (np.True_, True), (False, False), (None, False), (1, False), ("stop", False)])
def test_a_callback_stops_when_it_returns_true(answer, stops):
    assert (Callback(lambda state: answer)(progress()) is not None) == stops


def test_a_callback_is_not_called_before_the_first_step():
    seen = []
    rule = Callback(lambda state: seen.append(state.k))
    for k in range(3):
        assert rule(progress(k=k)) is None
    assert seen == [1, 2]


@pytest.mark.parametrize(
    ("k", "at_start", "now", "restores", "stops"),
    [
        (20, 1.0, 0.9, True, True),
        (19, 1.0, 0.9, True, False),  # it may still come nearer
        (20, 1.0, 0.05, True, False),  # it does
        (20, 1e-4, 0.9, True, False),  # it began where the constraints hold
        (20, 1.0, 0.9, False, False),  # a method that comes to the constraints slowly
    ],
)
def test_a_violation_that_stays_is_called_infeasible_where_points_are_restored(k, at_start, now, restores, stops):
    given = Progress(SimpleNamespace(k=k, feasibility=now), 10, SimpleNamespace(restores=restores))
    stop = Infeasible(1e-3, at_start)(given)
    assert (stop is not None) == stops
    assert stop is None or stop.status is Status.INFEASIBLE


def test_known_contradictions_stop_at_once():
    given = Progress(SimpleNamespace(k=0, feasibility=1.0), 0, SimpleNamespace(restores=True))
    assert Infeasible(1e-3, 1.0, contradicting=True)(given).status is Status.INFEASIBLE


def test_or_stops_with_either_and_gives_the_first_reason():
    rule = MaxIterations(3) | MaxEvaluations(5)
    assert isinstance(rule, AnyOf)
    assert rule(progress(k=3, nfev=10)).status == Status.MAX_ITERATIONS
    assert rule(progress(k=1, nfev=10)).status == Status.MAX_EVALUATIONS
    assert rule(progress(k=1, nfev=0)) is None


def test_and_stops_with_both_and_gives_both_reasons():
    rule = ResidualBelow(1.0) & MaxIterations(3)
    assert isinstance(rule, AllOf)
    assert rule(progress(k=2, residual=0.5)) is None
    assert rule(progress(k=3, residual=2.0)) is None
    stop = rule(progress(k=3, residual=0.5))
    assert stop.status == Status.CONVERGED
    assert stop.sentence == f"{Status.CONVERGED.sentence} {Status.MAX_ITERATIONS.sentence}"


def test_rules_nest():
    rule = (ResidualBelow(0.1) & MaxIterations(2)) | MaxEvaluations(100)
    assert rule(progress(k=2, residual=0.05)).status == Status.CONVERGED
    assert rule(progress(k=1, residual=0.05)) is None
    assert rule(progress(k=1, residual=0.05, nfev=97)).status == Status.MAX_EVALUATIONS


@pytest.mark.parametrize("status", Status)
def test_every_status_has_a_sentence(status):
    assert status.sentence.endswith(".")
    assert status.sentence[0].isupper()


def test_a_callback_stops_with_stop_iteration_as_in_scipy():
    def stop(state):
        raise StopIteration

    assert Callback(stop)(progress()).status == Status.CALLBACK


def test_residual_below_waits_for_its_earliest_step():
    rule = ResidualBelow(1.0, earliest=4)
    assert rule(progress(k=3)) is None
    assert rule(progress(k=4)).status == Status.CONVERGED


def test_max_iterations_does_not_ask_what_a_step_would_cost():
    assert (MaxIterations(3) | MaxEvaluations(5))(Progress(SimpleNamespace(k=3), 0, None)).status == Status.MAX_ITERATIONS


def test_a_callback_is_not_told_of_a_step_twice():
    seen = []
    rule = Callback(lambda state: seen.append(state.k), after=2)
    for k in (1, 2, 3):
        rule(progress(k=k))
    assert seen == [3]
