"""What the benchmarks share, and the draw of random cases: counting, blindness, noise, verdicts."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from held_runs import holding
from zolal import minimize
from zolal.bench import scaling
from zolal.bench._cases import FAMILIES, NOISES, PER_SEED, SMOOTH, case
from zolal.bench.base import Claim, Counted, Finding, blinded, solve, spread
from zolal.campaigns import Campaign, Store
from zolal.problem import Problem
from zolal.problems import l1_box, probe, qcqp
from zolal.report import report_bench
from zolal.result import Status
from zolal.tables import Table


def test_every_call_and_every_row_counts():
    rows, single = Counted(qcqp(8)), Counted(l1_box(4))
    rows(np.zeros((5, 8)))
    rows(np.zeros(8))
    single(np.zeros(4), np.zeros(4))
    assert (rows.count, single.count) == (6, 1)
    assert rows.seconds > 0.0


def test_the_count_is_that_of_the_run_and_within_the_budget():
    problem = probe(5)
    result, meter = solve(problem, problem.x0, 200, 0)
    assert meter.count == result.nfev <= 200


def test_the_method_is_given_a_seed_and_a_budget_and_sees_no_gradient():
    """The run is, bit for bit, that of a user who has the values, the set and the constraints alone."""
    known = qcqp(8)
    result, _ = solve(known, known.x0, 50, 3)
    bare = Problem(known.objective, 8, known.constraints, known.region, vectorized=True)
    want = minimize(bare, known.x0, maxfev=50, rng=3)
    np.testing.assert_array_equal(result.x, want.x)
    assert (result.nfev, result.nit, result.seed, result.status) == (want.nfev, want.nit, want.seed, want.status)


@pytest.mark.parametrize("place", ["objective", "watch"])
def test_a_run_that_is_interrupted_interrupts_the_command(place):
    def press(now):
        if now == place:
            os.kill(os.getpid(), signal.SIGINT)

    problem = probe(5)
    meter = Counted(replace(problem, objective=lambda x: press("objective") or problem.objective(x)))
    with pytest.raises(KeyboardInterrupt):
        solve(problem, problem.x0, 200, 3, lambda *_: press("watch"), meter)
    assert meter.count < 200


def test_a_watch_can_stop_a_run():
    problem = probe(5)
    result, meter = solve(problem, problem.x0, 2000, 0, lambda state, meter: meter.count >= 30)
    assert result.status is Status.CALLBACK
    assert 30 <= meter.count < 200


def test_what_diagnostics_know_is_hidden():
    problem = blinded(qcqp(8), np.sum)
    assert (problem.objective, problem.gradient, problem.solution) == (np.sum, None, None)


def test_a_spread_tells_what_was_not_reached():
    assert spread([2.0, 1.0, 3.0]) == "2 (1 … 3)"
    assert spread([2.0, 2.0]) == "2"
    assert spread([2.0, None, 2.0]) == "2, 2 of 3 reached"
    assert spread([None]) == "0 of 1 reached"


def test_claims_become_a_table_with_verdicts():
    claims = [Claim("gap", "≤ 1", "0.5", True, "≤ 0.1", False), Claim("other", "—", "7", None)]
    report = report_bench(Finding("name", "Title", ["lead"], claims, [Table("more", "More", ("a",), [("1",)])]))
    assert report.tables[0].columns == ("what", "target", "measured", "verdict", "aim", "reached")
    assert report.tables[0].rows[0] == ("gap", "≤ 1", "0.5", "met", "≤ 0.1", "missed")
    assert report.tables[0].rows[1][3:] == ("—", "—", "—")
    assert [table.name for table in report.tables] == ["name", "more"]


def test_a_case_is_a_function_of_its_number():
    first, again = case(13), case(13)
    assert first.facts == again.facts
    xi = (np.ones(first.dimension + 1),) if first.problem.sample else ()
    x = first.problem.x0
    assert [first.problem.objective(x, *xi) for _ in range(3)] == [again.problem.objective(x, *xi) for _ in range(3)]


def test_every_family_meets_every_noise_once_per_seed():
    facts = [case(number, small=True) for number in range(PER_SEED)]
    assert {(one.family, one.noise) for one in facts} == {(family, noise) for family in FAMILIES for noise in NOISES}
    assert all(one.dimension <= 8 for one in facts)
    assert len(scaling.Grid(10).tasks()) == 550
    quick = {task.arguments["number"] % len(FAMILIES) for task in scaling.Grid.quick(1).tasks()}
    assert quick == set(range(len(FAMILIES)))


@pytest.mark.parametrize("number", range(PER_SEED))
def test_the_solution_of_a_case_is_feasible_and_the_noise_has_its_size(number):
    drawn = case(number, small=True)
    problem, rng = drawn.problem, np.random.default_rng(1)
    x = problem.solution
    assert problem.equalities(problem.x0).violation(x) <= 1e-9 * drawn.constraints
    assert problem.region.contains(problem.x0)
    assert drawn.range >= abs(drawn.value(problem.x0) - drawn.optimum) * (1.0 - 1e-12)
    values = np.array([problem.objective(x, *((problem.sample(rng),) if problem.sample else ())) for _ in range(400)])
    errors = (values + problem.regularizer.value(x) - drawn.optimum) / drawn.range
    largest = dict(none=1e-12, multiplicative=1.3, samples=2.0).get(drawn.noise, 2.0 if drawn.noise == "heavy tails" else 1.3)
    assert errors.std() <= largest * (drawn.level or 1.0)
    if drawn.noise == "additive":
        assert errors.std() >= 0.75 * drawn.level  # 7 standard errors of a standard deviation over 400


@pytest.mark.parametrize("family", SMOOTH)
@pytest.mark.parametrize("d", [5, 20])
def test_no_feasible_point_near_the_solution_of_a_smooth_family_is_better(family, d):
    problem = SMOOTH[family](d, 3)
    rows = problem.constraints[0].jacobian_at(problem.solution)
    best = problem.objective(problem.solution)
    for t in np.random.default_rng(4).standard_normal((50, d)):
        along = t - np.linalg.pinv(rows) @ (rows @ t)
        for length in (1e-3, 0.1, 1.0):
            assert problem.objective(problem.solution + length * along) > best
    slope = approx_fprime(problem.solution, problem.objective, 1e-7)
    assert np.linalg.norm(slope - np.linalg.pinv(rows) @ (rows @ slope)) <= 1e-3 * (1.0 + np.linalg.norm(slope))


def test_a_smooth_case_may_have_a_unit_for_each_variable():
    drawn = [case(number, small=True) for number in range(200)]
    assert {one.own_units for one in drawn if one.family in SMOOTH} == {True, False}
    assert not any(one.own_units for one in drawn if one.family not in SMOOTH)
    sizes = next(np.abs(one.problem.x0) for one in drawn if one.own_units)
    assert sizes.max() > 100 * sizes.min()


def test_verdicts_on_points():
    drawn = case(3, small=True)  # the probe without noise
    solution, start = drawn.problem.solution, drawn.problem.x0
    found = scaling.judge(drawn, solution)
    assert (found.diverged, found.feasible, found.near) == (False, True, True)
    lost = scaling.judge(drawn, np.full_like(solution, np.nan))
    assert (lost.diverged, lost.feasible, lost.gap) == (True, False, None)
    away = scaling.judge(drawn, 1e3 * start)
    assert (away.diverged, away.near) == (True, False)


def test_worse_than_a_feasible_start_is_divergence():
    drawn = next(one for one in (case(number, small=True) for number in range(60)) if one.family == "sphere" and not one.far)
    opposite = scaling.judge(drawn, -drawn.problem.solution)
    assert opposite.feasible
    assert opposite.diverged == (opposite.gap > opposite.start_gap + scaling.NEAR)


def test_a_campaign_of_cases_goes_on_where_it_was(tmp_path):
    grid, told = scaling.Grid.quick(1), []
    made = scaling.measure(1, True)
    held = [task for task in grid.tasks() if task.label != "case 100"]
    holding(tmp_path, [(task, replace(made, number=task.arguments["number"])) for task in held])
    found = scaling.run(Campaign(Store(tmp_path), 1, "v", lambda *args: told.append(args)), grid)
    assert told == [(22, 22, "case 100")]
    again = scaling.run(holding(tmp_path, []), grid)
    assert found == again
    assert {claim.case for claim in found.claims} == {"diverged", "feasible", "within 5 % of the optimum"}
    assert [row[0] for row in found.tables[-1].rows] == [str(number) for number in range(0, 110, 5)]


def test_problems_of_a_case_are_not_vectorized():
    assert not any(isinstance(one.problem, Problem) and one.problem.vectorized for one in map(case, range(6)))
    assert replace(case(0).problem).sample is None
