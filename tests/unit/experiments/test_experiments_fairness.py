"""Section 7.3: data passes, the readings of the stopping rule, and a whole small experiment on random data."""

from dataclasses import replace

import numpy as np
import pytest

from zolal.campaigns import Campaign, Store
from zolal.evaluation.evaluate import VectorizedEvaluator
from zolal.experiments import fairness as experiment
from zolal.experiments._readings import Curve, First, MinibatchEvaluator, Point, Readings, measure_at
from zolal.problems import FairnessData, fairness
from zolal.runs.stopping import Progress

CHOICE = experiment.Choice(0.5)


def random_data(rows=300, d=6):
    rng = np.random.default_rng(11)
    draw = [rng.integers(0, 2, size=(rows, d)).astype(float) for _ in range(2)]
    labels = np.where(draw[0] @ rng.standard_normal(d) > 0.0, 1.0, -1.0)
    return FairnessData("random", draw[0], labels, draw[1], rng.uniform(size=rows) < 0.3, tuple(map(str, range(d))))


def test_the_cap_is_what_the_paper_prints():
    assert [experiment.cap(rows) for rows in (32561, 22605)] == [954, 663]
    assert [round(experiment.passes(k, rows), 2) for k, rows in ((954, 32561), (663, 22605))] == [120.01, 120.13]


def test_passes_are_counted_in_three_ways():
    assert [experiment.passes(10, 256, count) for count in experiment.COUNTS] == [160.0, 16.0 + 9 * 32.0, 90.0]


@pytest.mark.parametrize("method", experiment.METHODS)
def test_the_minibatch_is_drawn_once_and_gives_the_same_values(method):
    problem, solver = fairness(random_data(), 0.3), experiment.solver(method, CHOICE)
    batch = solver.ask(solver.init(problem, problem.x0, 4))
    np.testing.assert_array_equal(MinibatchEvaluator(problem)(batch).values, VectorizedEvaluator(problem)(batch).values)
    assert len(batch) == 9


def test_the_residual_is_that_of_the_paper():
    problem, solver = fairness(random_data(), 0.5), experiment.solver("mdlal", experiment.Choice(0.7))
    state = solver.init(problem, problem.x0, 1)
    for _ in range(5):
        state = solver.tell(state, MinibatchEvaluator(problem)(solver.ask(state)).values)
    model, x, s, eta = problem.objective, state.x, float(state.z[-1]), 0.7
    pres = abs(model.constraint(x) + s)
    lam = float(state.multipliers[0]) + 1.0 * (model.constraint(x) + s)
    along_x = model.gradient(x) + lam * model.constraint_gradient(x)
    along_s = (s - max(s - eta * lam, 0.0)) / eta
    point = measure_at(model, Progress(state, 0, solver))
    assert point.residual == pytest.approx(max(pres, np.hypot(np.linalg.norm(along_x), along_s)), rel=1e-12)
    assert point.stationarity == pytest.approx(model.diagnostics(x).stationarity, rel=1e-12)


def test_a_baseline_has_the_common_criterion_alone():
    problem, solver = fairness(random_data(), 0.5), experiment.solver("zo-penalty", CHOICE)
    point = measure_at(problem.objective, Progress(solver.init(problem, problem.x0, 1), 0, solver))
    assert point.residual is None
    assert point.value("common") == max(point.feasibility, point.stationarity, point.slackness)


def test_readings_end_at_the_first_check_that_meets_the_criterion():
    """Along a real run, against a naive reading of all its points."""
    problem, solver = fairness(random_data(), 0.05, 5000), experiment.solver("mdlal", experiment.Choice(2.0))
    readings, state, points = Readings(problem, ("residual", "common"), (1, 7)), solver.init(problem, problem.x0, 1), []
    while len(points) < 400:
        progress = Progress(state, 0, solver)
        points.append(measure_at(problem.objective, progress))
        if readings(progress) is not None:
            break
        state = solver.tell(state, MinibatchEvaluator(problem)(solver.ask(state)).values)
    for (criterion, interval), found in readings.first.items():
        assert found == next(point for point in points[::interval] if point.value(criterion) <= 1e-2)
    ends = [found.k for found in readings.first.values()]
    assert max(ends) == points[-1].k
    assert len(set(ends)) > 2  # so that the readings differ


def test_a_cell_tells_mean_and_sample_deviation_and_counts_capped_runs():
    end, curve = Point(100, 0.0, 0.009, 0.0, 0.01), Curve([0, 6], [1.0, 0.5], [0.0, 0.0])
    runs = [
        experiment.Measured(4096, 0.1, "CONVERGED", [First("residual", 1, end)], end, 0.01, curve),
        experiment.Measured(4096, 0.1, "MAX_ITERATIONS", [First("residual", 1, None)], replace(end, k=120), 0.01, curve),
    ]
    cell = experiment.Cell(experiment.Name("a9a", "mdlal", 1.0), CHOICE, runs)
    assert cell.passes() == (110.0, pytest.approx(np.sqrt(200.0)))
    assert cell.capped() == 1
    assert cell.measured("stationarity") == (0.009, 0.0)


def test_a_whole_experiment_is_run_once(monkeypatch, tmp_path):
    """On two sets of data beside the paper's, one of which has a printed step."""
    for name in ("printed", "tuned"):
        monkeypatch.setitem(experiment.DATA, name, random_data)
    monkeypatch.setitem(experiment.PRINTED_STEPS, "printed", 0.6)
    told, grid = [], experiment.Grid(("printed", "tuned"), (0.5, 1.0), 2, 1)
    found = experiment.reproduce(Campaign(Store(tmp_path), 1, "test", lambda *what: told.append(what)), grid)
    assert [cell.name.method for cell in found.table] == 2 * list(experiment.METHODS)
    assert [(cell.name.data, cell.name.multiple) for cell in found.weights] == [(name, m) for name in grid.data for m in (0.5, 1.0)]
    assert found.table[0].choice.step_size == 0.6
    assert [cell.name.data for cell in found.tuned] == ["printed"]
    assert all(end.k <= experiment.cap(300) for cell in found.table for end in cell.ends())
    before = len(told)
    again = experiment.reproduce(Campaign(Store(tmp_path), 1, "test", lambda *what: told.append(what)), grid)
    assert len(told) == before
    assert again == found


def test_a9a_ends_within_the_cap(public_data):
    outcome = experiment.measure("a9a", "mdlal", 0.5, 0, vars(experiment.Choice(0.6)), pilot=True)
    assert outcome.ended == "CONVERGED"
    assert 150 < outcome.first[0].point.k < 954
