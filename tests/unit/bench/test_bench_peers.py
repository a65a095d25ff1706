"""The same problems for everyone: fair problems, an honest witness, processes with a limit, methods, profiles."""

import os
import time

import numpy as np
import pytest

from held_runs import holding
from zolal.bench import peers
from zolal.bench._apart import Unanswered, call_apart
from zolal.bench._contest import FAMILIES, SpentError, Verdict, Witness, contest
from zolal.bench._contestants import METHODS, NEEDS, available, measure
from zolal.bench.peers import Grid, Run
from zolal.report import report_bench
from zolal.report._profiles import LOOKS, shares


@pytest.mark.parametrize("family", FAMILIES)
def test_the_start_is_feasible_and_the_optimum_is_known(family):
    given = contest(family, 12, 1e-3, 0)
    witness = Witness(given, 10, 0)
    assert witness.feasible(given.start)
    assert witness.violation(given.problem.solution) < 1e-8
    assert given.range > 0.0
    assert witness.gap(given.value(given.start)) == pytest.approx(1.0)
    assert witness.gap(given.value(given.problem.solution)) == pytest.approx(0.0, abs=1e-12)


def test_the_witness_counts_and_stops_at_the_budget():
    given = contest("sphere", 5, 0.0, 0)
    witness = Witness(given, 2, 0)
    assert witness(given.start) == given.value(given.start)
    witness(given.start)
    with pytest.raises(SpentError):
        witness(given.start)
    assert witness.count == 2


def test_the_witness_keeps_the_first_feasible_point_that_is_near():
    given = contest("sphere", 5, 0.1, 0)
    witness = Witness(given, 10, 0)
    witness(3.0 * given.problem.solution)  # far from feasible, however good
    witness(given.start)
    witness(given.problem.solution)
    verdict = witness.verdict(given.start, 1.0)
    assert verdict.solved == [3, 3]
    assert verdict.best == pytest.approx(0.0, abs=1e-9)
    assert (verdict.gap, verdict.evaluations) == (pytest.approx(1.0), 3)
    assert 0.0 < verdict.overhead <= 1.0 / 3.0


def test_a_returned_point_solves_at_the_last_evaluation():
    given = contest("box", 5, 0.0, 0)
    witness = Witness(given, 10, 0)
    witness(given.start)
    assert witness.verdict(given.problem.solution, 1.0).solved == [1, 1]


def test_noise_has_the_stated_size():
    given = contest("probe", 6, 1e-2, 0)
    witness = Witness(given, 300, 0)
    errors = np.array([witness(given.start) for _ in range(300)]) - given.value(given.start)
    assert errors.std() == pytest.approx(1e-2 * given.range, rel=0.3)  # 7 standard errors


@pytest.mark.parametrize("method", METHODS)
def test_every_method_stays_within_the_budget(method):
    if method in NEEDS:
        pytest.importorskip(NEEDS[method])
    found = measure(method, "sphere", 4, 1e-3, 0, 160)
    assert 0 < found.evaluations <= 160
    assert found.gap is None or found.gap < 50.0


def test_the_automatic_method_and_scipy_solve_a_small_problem():
    for method in ("auto", "cobyla", "trust-constr"):
        assert measure(method, "probe", 4, 0.0, 0, 400).solved[0] is not None


def test_a_process_answers_is_late_or_fails():
    assert call_apart(pow, dict(base=2, exp=5), 20.0) == 32
    failed = call_apart(time.sleep, {}, 20.0)
    assert failed.why.startswith("TypeError: ")
    assert not failed.late
    started = time.monotonic()
    assert call_apart(sleeper, dict(seconds=600.0), 0.2) == Unanswered(None)
    assert time.monotonic() - started < 60.0


def sleeper(seconds):
    time.sleep(seconds)


def test_a_process_that_dies_has_given_no_answer():
    assert call_apart(os._exit, dict(status=1), 20.0) == Unanswered("its process ended without an answer")


def answer(gap, solved):
    return Verdict(100, gap, 1e-9, gap, solved, overhead=1e-4, seconds=1.0)


def held(folder, grid, outcome):
    """What a campaign finds whose store holds these outcomes; what has none is not in the store."""
    kept = [
        (task, found)
        for d in grid.dimensions
        for family in grid.families
        for method in grid.installed
        for task in grid.tasks(method, d, family)
        if (found := outcome(method, d, family)) is not None
    ]
    return peers.run(holding(folder, kept), grid)


def test_a_method_without_an_answer_is_not_tried_further(tmp_path):
    def outcome(method, d, family):
        if method == "cobyqa" and d >= 30:
            return Unanswered(None) if (d, family) == (30, FAMILIES[0]) else None
        return answer(1e-3, [50, 40])

    found = held(tmp_path, Grid(1, (10, 30, 100), (0.0,), FAMILIES[:2]), outcome)
    cells = {row[0]: row[1:] for row in found.tables[0].rows}
    assert cells["SciPy COBYQA"] == ("1.0e-03 / 1e-09 (2 of 2)", "no answer", "not tried")
    assert cells["zolal auto"] == ("1.0e-03 / 1e-09 (2 of 2)",) * 3
    tried = [one for one in found.details if one.method == "cobyqa" and one.outcome is not None]
    assert len(tried) == 3


def test_who_comes_first_is_told(tmp_path):
    counts = {"cobyqa": 20, "auto": 30}
    grid = Grid(1, (10,), (0.0,), FAMILIES[:1])
    found = held(tmp_path, grid, lambda method, *_: answer(0.1, [counts.get(method), None]))
    winners = next(table for table in found.tables if table.name == "peers-winners")
    assert winners.rows == [("10", "0", "SciPy COBYQA", "SciPy COBYQA: 1 of 1, 20; zolal auto: 1 of 1, 30")]


def test_methods_may_be_left_out(tmp_path):
    found = held(tmp_path, Grid(1, (10,), (0.0,), FAMILIES[:1], methods=("auto", "cobyla")), lambda *_: answer(0.1, [30, 20]))
    assert all([row[0] for row in table.rows] == ["zolal auto", "SciPy COBYLA"] for table in found.tables if table.name != "peers-winners")
    assert {one.method for one in found.details} == {"auto", "cobyla"}


def test_profiles_count_solved_problems_by_evaluations_per_variable():
    runs = [Run("auto", "probe", 9, 0.0, answer(0.0, [count, 5])) for count in (20, 10, None)]
    runs.append(Run("auto", "probe", 9, 0.0, None))
    budgets, solved = shares(runs, 0.01)
    assert budgets.tolist() == [0.0, 1.0, 2.0]
    assert solved.tolist() == [0.0, 0.25, 0.5]


def test_the_report_draws_every_method(tmp_path):
    found = held(tmp_path, Grid(1, (10, 300), (0.0, 1e-3)), lambda *_: answer(0.1, [30, 20]))
    report = report_bench(found)
    (drawing,) = report.drawings
    assert drawing.png.startswith(b"\x89PNG")
    assert len(drawing.figure.axes) == 4
    assert set(available()) <= set(LOOKS) == set(METHODS)
