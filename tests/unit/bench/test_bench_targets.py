"""The benchmarks with targets, on their smallest sizes, and their verdicts on hand-made runs."""

import numpy as np
import pytest

from registry import DIGIT, PEOPLE
from zolal.bench import _quadratics, attack, fairness, probe, qcqp, sparse
from zolal.campaigns import Campaign, Store, Task
from zolal.problems import AttackSet
from zolal.problems import fairness as fairness_problem
from zolal.problems import qcqp as dense


@pytest.fixture
def campaign(tmp_path):
    return Campaign(Store(tmp_path), 1, "v", lambda *_: None)


def answering(monkeypatch, outcomes):
    """Every task ends at once, with the next of these outcomes."""
    waiting = iter(outcomes)
    monkeypatch.setattr(Task, "run", lambda task: (next(waiting), 1.0))


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


def test_the_dense_target_is_met_when_every_seed_meets_it(monkeypatch, campaign):
    answering(monkeypatch, [_quadratics.Measured(count, 0.01, 2000) for count in (1536, 1843)])
    (claim,) = qcqp.run(campaign, qcqp.Grid(2, (1024,))).claims
    assert (claim.met, claim.aimed, claim.measured) == (True, True, "1.65 (1.5 … 1.8)")


def test_a_censored_run_misses_every_target(monkeypatch, campaign):
    answering(monkeypatch, [_quadratics.Measured(count, 0.01, 2000) for count in (1500, None)])
    (claim,) = qcqp.run(campaign, qcqp.Grid(2, (1024,))).claims
    assert (claim.met, claim.aimed) == (False, False)
    assert "1 of 2 reached" in claim.measured


@pytest.mark.parametrize(
    ("queries", "part", "factor"), [(300, True, True), (30_000, True, False), (40_000, False, False), (None, False, False)]
)
def test_the_sparse_targets_are_asked_at_the_largest_dimension(monkeypatch, campaign, queries, part, factor):
    answering(monkeypatch, [_quadratics.Measured(count, 0.01, 2000) for count in (200, queries)])
    small, large, fewer = sparse.run(campaign, sparse.Grid(1, (1024, 2**16))).claims
    assert (small.met, large.met, fewer.met) == (None, part, factor)


def test_the_probe_is_solved_and_judged():
    found = probe.measure(5, 600, 0)
    assert abs(found.gap) < 0.05
    assert found.violation < 1e-5
    assert found.evaluations <= 600


def test_the_probes_targets_are_those_of_each_size(monkeypatch, campaign):
    answering(monkeypatch, [probe.Measured(100, gap, 1e-9, 1.0, "CONVERGED") for gap in (1e-4, 4e-3, 5e-3)])
    claims = probe.run(campaign, probe.Grid(1)).claims
    assert [(claim.met, claim.aimed) for claim in claims[::2]] == [(True, True), (True, False), (True, False)]
    assert [claim.met for claim in claims[1::2]] == [True] * 3


def test_success_of_an_attack_is_the_first_evaluation_of_negative_margin():
    meter = attack.Meter(DIGIT)
    gradient = DIGIT.gradient(np.zeros(6))
    points = [np.zeros(6), 10.0 * gradient, -100.0 * gradient, -200.0 * gradient]
    for point in points:
        meter(point)
    assert meter.count == 4
    assert meter.success == next(i + 1 for i, point in enumerate(points) if DIGIT.margin(point) < 0.0)


def test_attacks_are_counted_over_images_and_seeds(monkeypatch, campaign):
    images = AttackSet(DIGIT.classifier, np.stack([DIGIT.image, DIGIT.image]), np.array([2, 2]), radius=1.0)
    monkeypatch.setattr(attack, "attack_images", lambda count: images)
    monkeypatch.setattr(attack, "BUDGET", 300)
    found = attack.run(campaign, attack.Grid(1, 2))
    counts = campaign.complete(attack.Grid(1, 2).tasks())[0].queries
    assert len(counts) == 2
    assert all(count is None or 0 < count <= 300 for count in counts)
    assert [claim.case for claim in found.claims] == ["successes", "median", "90th percentile"]


def test_attack_targets(monkeypatch, campaign):
    answering(monkeypatch, [attack.Measured([10, 20, 30, 90]), attack.Measured([10, 20, 40, None])])
    successes, median, tail = attack.run(campaign, attack.Grid(2, 4)).claims
    assert (successes.met, median.met, tail.met) == (False, False, False)
    assert successes.measured == "3.5 (3 … 4) of 4"


def test_passes_are_evaluations_times_the_batch_over_the_rows(monkeypatch, campaign):
    monkeypatch.setattr(fairness, "fairness", lambda name, batch_size: fairness_problem(PEOPLE, 0.4, batch_size=8))
    monkeypatch.setattr(fairness, "BATCH", 8)
    found = fairness.measure(200.0, 0)
    assert found.spent <= 200.0
    assert found.passes is None or found.passes <= found.spent
    assert found.least_at <= found.spent
    assert found.passes is None or max(getattr(found, name) for name in fairness.MEASURES) <= fairness.TOLERANCE


def test_a_fairness_run_over_its_passes_is_shown_as_such(monkeypatch, campaign):
    last = dict(spent=10.0, feasibility=0.0, stationarity=0.02, slackness=0.0, least=0.011, least_at=8.0)
    answering(monkeypatch, [fairness.Measured(passes=passes, **last) for passes in (9.0, None)])
    found = fairness.run(campaign, fairness.Grid(2, 10.0))
    assert (found.claims[0].met, found.claims[0].aimed) == (False, False)
    assert [row[1] for row in found.tables[0].rows] == ["9.0", "> 10"]
    assert "85.46 passes for Algorithm 1 and does not say how it counts them" in found.lead[0]
