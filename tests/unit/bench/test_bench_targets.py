"""The benchmarks with targets, on their smallest sizes, and their verdicts on hand-made runs."""

import numpy as np
import pytest

from held_runs import holding
from registry import DIGIT, PEOPLE
from zolal.bench import _quadratics, attack, fairness, probe, qcqp, sparse
from zolal.problems import AttackSet
from zolal.problems import fairness as fairness_problem
from zolal.problems import qcqp as dense


def counted(*queries):
    return [_quadratics.Measured(count, 0.01, 2000) for count in queries]


def test_the_residual_at_the_solution_is_nothing_and_at_the_start_is_not():
    problem = dense(16)
    assert _quadratics.residual(problem, problem.solution) < 1e-12
    g, x = problem.gradient(problem.x0), problem.x0
    assert _quadratics.residual(problem, x) == pytest.approx(np.linalg.norm(g - (g @ x) / (x @ x) * x), rel=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_quadratic_is_watched_until_its_target(kind):
    found = _quadratics.measure(kind, 64, 12.0, 0)
    assert found.queries <= found.evaluations <= 12 * 64
    assert found.residual <= _quadratics.TARGET


def test_a_quadratic_that_runs_out_of_queries_has_no_count():
    assert _quadratics.measure("dense", 64, 0.5, 0).queries is None


@pytest.mark.parametrize(
    ("queries", "verdicts", "measured"),
    [
        ((1536, 1843), (True, True), "1.65 (1.5 … 1.8)"),
        ((1536, 2300), (True, False), "1.87 (1.5 … 2.25)"),
        ((1500, 2600), (False, False), "2 (1.46 … 2.54)"),
        ((1500, None), (False, False), "1.46, 1 of 2 reached"),
    ],
)
def test_the_dense_target_is_met_when_every_seed_meets_it(tmp_path, queries, verdicts, measured):
    grid = qcqp.Grid(2, (1024,))
    (claim,) = qcqp.run(holding(tmp_path, zip(grid.tasks(1024), counted(*queries), strict=True)), grid).claims
    assert ((claim.met, claim.aimed), claim.measured) == (verdicts, measured)


@pytest.mark.parametrize(
    ("queries", "part", "factor"), [(300, True, True), (30_000, True, False), (40_000, False, False), (None, False, False)]
)
def test_the_sparse_targets_are_asked_at_the_largest_dimension(tmp_path, queries, part, factor):
    grid = sparse.Grid(1, (1024, 2**16))
    tasks = [task for d in grid.dimensions for task in grid.tasks(d)]
    small, large, fewer = sparse.run(holding(tmp_path, zip(tasks, counted(200, queries), strict=True)), grid).claims
    assert (small.met, large.met, fewer.met) == (None, part, factor)


def test_the_probe_is_solved_and_judged():
    found = probe.measure(5, 200, 0)
    assert abs(found.gap) < 0.05
    assert found.violation < 1e-5
    assert found.evaluations <= 200


def test_the_probes_targets_are_those_of_each_size(tmp_path):
    grid, gaps = probe.Grid(1), (1e-4, 4e-3, 5e-3)
    tasks = [task for size in grid.sizes for task in grid.tasks(size)]
    outcomes = [probe.Measured(100, gap, violation, 1.0, "CONVERGED") for gap, violation in zip(gaps, (1e-9, 1e-5, 2e-5), strict=True)]
    claims = probe.run(holding(tmp_path, zip(tasks, outcomes, strict=True)), grid).claims
    assert [(claim.met, claim.aimed) for claim in claims[::2]] == [(True, True), (True, False), (True, False)]
    assert [claim.met for claim in claims[1::2]] == [True, True, False]


def test_success_of_an_attack_is_the_first_evaluation_of_negative_margin():
    meter = attack.Meter(DIGIT)
    gradient = DIGIT.gradient(np.zeros(6))
    points = [np.zeros(6), 10.0 * gradient, -100.0 * gradient, -200.0 * gradient]
    for point in points:
        meter(point)
    assert meter.count == 4
    assert meter.success == next(i + 1 for i, point in enumerate(points) if DIGIT.margin(point) < 0.0)


def digits(radius):
    return AttackSet(DIGIT.classifier, np.stack([DIGIT.image, DIGIT.image]), np.array([2, 2]), radius=radius)


def test_attacks_are_counted_over_images_each_with_its_own_seed():
    counts, one = attack.all_attacked(digits(1.0), 1).queries, digits(1.0)[0]
    assert counts == [attack.queries_for(one, 10_000), attack.queries_for(one, 10_001)]
    assert all(0 < count <= 300 for count in counts)


def test_an_attack_without_success_has_no_count():
    assert attack.all_attacked(digits(1e-6), 0).queries == [None, None]


@pytest.mark.parametrize(
    ("first", "second", "verdicts", "successes"),
    [
        ([10, 20, 30, 90], [10, 20, 30, 91], (True, True, True), "4 of 4"),
        ([10, 20, 30, 90], [10, 20, 40, None], (False, False, False), "3.5 (3 … 4) of 4"),
    ],
)
def test_attack_targets(tmp_path, first, second, verdicts, successes):
    grid = attack.Grid(2, 4)
    claims = attack.run(holding(tmp_path, zip(grid.tasks(), map(attack.Measured, (first, second)), strict=True)), grid).claims
    assert [claim.case for claim in claims] == ["successes", "median", "90th percentile"]
    assert tuple(claim.met for claim in claims) == verdicts
    assert claims[0].measured == successes


def test_passes_are_evaluations_times_the_batch_over_the_rows():
    problem = fairness_problem(PEOPLE, 0.4, batch_size=8)
    rows = len(PEOPLE.labels)
    found = fairness.passes_for(problem, 8, 200.0, 0)
    assert 0.0 < found.least_at <= found.spent <= 200.0
    assert (found.spent * rows / 8).is_integer()
    assert found.passes is None or found.passes <= found.spent
    assert found.passes is None or max(getattr(found, name) for name in fairness.MEASURES) <= fairness.TOLERANCE


def test_a_fairness_run_over_its_passes_is_shown_as_such(tmp_path):
    last = dict(spent=10.0, feasibility=0.0, stationarity=0.02, slackness=0.0, least=0.011, least_at=8.0)
    grid = fairness.Grid(2, 10.0)
    outcomes = [fairness.Measured(passes=passes, **last) for passes in (9.0, None)]
    found = fairness.run(holding(tmp_path, zip(grid.tasks(), outcomes, strict=True)), grid)
    assert (found.claims[0].met, found.claims[0].aimed) == (False, False)
    assert [row[1] for row in found.tables[0].rows] == ["9.0", "> 10"]
    assert "85.46 passes for Algorithm 1 and does not say how it counts them" in found.lead[0]
