"""What becomes of failed evaluations: retried, skipped without a bias, raised, or the end of the run; none is lost from the count."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import NonlinearConstraint

import zolal
from registry import ESTIMATORS
from zolal import Status
from zolal.directions import Rademacher
from zolal.estimators import Memory, QueryBatch
from zolal.estimators._filter import Filter
from zolal.estimators.innovation import Innovation, InnovationMemory
from zolal.estimators.standing import Standing
from zolal.evaluation.faults import Answer, FaultPolicy, Ledger, StandingLedger
from zolal.kkt import refine_gradient

X0 = np.array([0.5, -0.5])
FAULTS = {"nan": lambda: np.nan, "inf": lambda: np.inf, "-inf": lambda: -np.inf, "raises": lambda: 1 / 0}


def bowl(x):
    return float((x - 1.0) @ (x - 1.0))


class Flaky:
    """Fails at the calls whose numbers are given."""

    def __init__(self, calls, fault=lambda: np.nan, function=bowl):
        self.calls, self.fault, self.function, self.count = set(calls), fault, function, 0

    def __call__(self, x):
        self.count += 1
        return self.fault() if self.count - 1 in self.calls else self.function(x)


def solve(fun, maxfev=300, **arguments):
    arguments = dict(rng=0, options=dict(step_size=0.05, num_directions=4)) | arguments
    return zolal.minimize(fun, X0, maxfev=maxfev, **arguments)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_failure_that_goes_away_leaves_the_run_as_it_would_have_been(fault):
    fun = Flaky([3, 50, 51], fault)
    res, reference = solve(fun, maxfev=299), solve(bowl, maxfev=296)
    assert_array_equal(res.x, reference.x)
    assert_array_equal(res.trace["stationarity"], reference.trace["stationarity"])
    assert res.nfev == fun.count == reference.nfev + 3
    assert sum(count for _, count in res.failures) == 3


def test_retries_are_as_many_as_asked_for():
    for retries in (0, 1, 4):
        fun = Flaky(range(10, 100))  # in the second step all but two of 16 fail, and each has its turn before the first one's last
        res = solve(fun, retries=retries)
        assert res.status is Status.EVALUATION_FAILED
        assert fun.count == res.nfev == 10 + 14 * retries + 1
        assert (f"It failed {retries + 1} times." in res.message) == (retries > 0)


def test_retries_do_not_exceed_the_budget():
    rng = np.random.default_rng(0)
    fun = Flaky([], function=lambda x: np.nan if rng.random() < 0.3 else bowl(x))
    res = solve(fun, maxfev=200, retries=50)
    assert res.nfev == fun.count <= 200
    assert res.status in (Status.MAX_EVALUATIONS, Status.EVALUATION_FAILED)
    assert res.nit > 3


def test_raise_raises_at_the_first_failure():
    fun = Flaky([40], lambda: 1 / 0)
    with pytest.raises(zolal.ObjectiveError, match="The objective raised ZeroDivisionError"):
        solve(fun, on_error="raise")
    assert fun.count == 41


def test_skip_goes_on_without_what_failed():
    fun = Flaky([9, 30, 77])
    res = solve(fun, on_error="skip")
    assert res.nfev == fun.count
    assert res.status is Status.MAX_EVALUATIONS
    assert res.failures == (("The objective returned nan.", 3),)
    assert np.isfinite(res.x).all()
    assert not np.array_equal(res.x, solve(bowl).x)


def test_skip_ends_a_run_whose_evaluations_mostly_fail_with_its_best_point():
    xs, fun = [X0], Flaky(range(60, 1000))
    res = solve(fun, on_error="skip", callback=lambda state: xs.append(state.x))
    assert res.status is Status.TOO_MANY_FAILURES
    assert not res.success
    assert "More than half" in res.message
    assert_array_equal(res.x, xs[np.argmin(res.trace["stationarity"])])
    assert res.nfev == fun.count < 80


@pytest.mark.parametrize("share_base", [False, True])
def test_a_run_survives_many_failures_and_still_finds_the_solution(share_base):
    rng = np.random.default_rng(5)
    sphere = NonlinearConstraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)
    res = zolal.minimize(
        lambda x: np.nan if rng.random() < 0.05 else bowl(x),
        X0,
        constraints=sphere,
        on_error="skip",
        maxfev=12_000,
        rng=0,
        options=dict(step_size=0.02, num_directions=16, penalty=20.0, dual_step=10.0, share_base=share_base, momentum=0.3),
    )
    assert_allclose(res.x, np.sqrt([0.5, 0.5]), atol=0.02)
    assert sum(count for _, count in res.failures) > 100


def test_a_malformed_value_is_a_mistake_and_never_retried():
    fun = Flaky([20], lambda: np.ones(3))
    res = solve(fun, on_error="skip", retries=5)
    assert res.status is Status.EVALUATION_FAILED
    assert fun.count == 21


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if not isinstance(e, Innovation)], ids=repr)
def test_skipped_queries_leave_the_estimate_of_the_directions_that_remain(estimator):
    """Against the mean over the remaining directions, written out one by one."""
    rng = np.random.default_rng(1)
    d, x, previous = 6, rng.normal(size=6), rng.normal(size=6)
    memory = Memory(3, previous, rng.normal(size=d))
    batch = estimator.plan(memory, x, k=2)
    values = rng.normal(size=len(batch))
    values[[1, len(batch) - 1]] = np.nan  # both are of moved points
    kept = batch.kept(values)
    assert 0 < kept.sum() < kept.size
    slopes, rows = batch.slopes(values), batch.directions.rows()
    gradient, _ = estimator.absorb(memory, batch, values)
    keep = 1.0 - estimator.momentum_schedule(2) if hasattr(estimator, "momentum_schedule") else 0.0
    expected = np.mean([slopes[0, j] * rows[j] for j in np.flatnonzero(kept)], axis=0)
    if len(batch.bases) == 2:
        expected = expected + keep * (memory.gradient - np.mean([slopes[1, j] * rows[j] for j in np.flatnonzero(kept)], axis=0))
    assert_allclose(gradient, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if isinstance(e, Innovation)], ids=repr)
def test_skipped_queries_correct_nothing(estimator):
    """S after a batch of which two values are missing: corrections along the other directions, written out one by one."""
    rng = np.random.default_rng(1)
    d, x = 6, rng.normal(size=6)
    memory = InnovationMemory(3, x, rng.normal(size=d), used=0, filter=Filter(d))
    batch = estimator.plan(memory, x, k=2)
    values = rng.normal(size=len(batch))
    values[[1, len(batch) - 1]] = np.nan
    kept, slopes, rows = batch.kept(values), batch.slopes(values)[0], batch.directions.rows()
    assert 0 < kept.sum() < kept.size
    gradient, after = estimator.absorb(memory, batch, values)
    there = np.flatnonzero(kept)
    errors = slopes[there] - rows[there] @ memory.gradient
    variance = (0.5 if estimator.central else 2.0) * (estimator.noise / batch.smoothing) ** 2
    gains, _ = Filter(d).absorb(errors, np.full(len(there), variance))
    expected = memory.gradient + sum(g * e * rows[j] for g, e, j in zip(gains, errors, there, strict=True)) / max(d, batch.directions.count)
    assert_allclose(gradient, expected, rtol=1e-12, atol=1e-12)
    assert after.used == batch.directions.count


@pytest.mark.parametrize("share_base", [False, True])
def test_estimates_with_skipped_queries_are_unbiased(share_base):
    """For a quadratic the estimate's mean is the gradient; values go missing at random, 3000 estimates, t-tests over six coordinates."""
    rng = np.random.default_rng(2)
    d, matrix = 6, np.diag(np.linspace(-1.0, 2.0, 6))
    x, g = np.linspace(-1.0, 1.0, d), rng.normal(size=d)
    estimator = zolal.estimators.TwoPoint(4, 0.1, share_base=share_base)
    estimates = []
    for seed in range(3000):
        batch = estimator.plan(Memory(seed), x, k=0)
        values = np.array([0.5 * p @ matrix @ p + g @ p for p in map(batch.point, range(len(batch)))])
        missing = rng.random(len(batch)) < 0.25
        missing[0] &= not share_base  # a base value that all need is tried again
        values[missing] = np.nan
        if batch.kept(values).any():
            estimates.append(estimator.absorb(Memory(seed), batch, values)[0])
    assert len(estimates) > 2500
    p = scipy.stats.ttest_1samp(np.array(estimates), matrix @ x + g).pvalue
    assert p.min() > 1e-6  # false-alarm rate 6e-6


def test_the_final_check_leaves_skipped_directions_out():
    rng = np.random.default_rng(3)
    d, n = 5, 12
    prior, values = rng.normal(size=d), rng.normal(size=2 * n)
    full, small = (QueryBatch((np.zeros(d),), 0.5, Rademacher(d, count, seed=4)) for count in (n, n - 2))
    skipped = values.copy()
    skipped[-4:] = np.nan  # the last two directions
    for one, other in zip(refine_gradient(prior, full, skipped), refine_gradient(prior, small, values[:-4]), strict=True):
        assert_allclose(one, other, rtol=1e-12)


def test_a_ledger_takes_answers_in_any_order_and_knows_what_it_lacks():
    batch = QueryBatch((X0,), 0.1, Rademacher(2, 2))
    ledger = Ledger(batch, FaultPolicy(retries=1))
    assert ledger.wanted == [0, 1, 2, 3]
    assert not ledger.receive(Answer(2, 5.0))
    assert ledger.receive(Answer(0, np.nan, "It failed."))
    assert ledger.wanted == [0, 1, 3]
    for i in (3, 0, 1):
        assert not ledger.complete
        ledger.receive(Answer(i, float(i)))
    assert ledger.complete
    assert_array_equal(ledger.evaluation.values, [0.0, 1.0, 5.0, 3.0])
    assert ledger.evaluation.count == 5


def test_an_answer_that_comes_twice_is_counted_and_changes_nothing():
    ledger = Ledger(QueryBatch((X0,), 0.1, Rademacher(2, 2)))
    ledger.receive(Answer(1, 2.0))
    ledger.receive(Answer(1, 3.0))
    assert ledger.values[1] == 2.0
    assert ledger.count == 2


def test_a_ledger_that_failed_opens_again_for_what_failed_within_its_budget():
    batch = QueryBatch((X0,), 0.1, Rademacher(2, 2))
    for spare, wanted in ((2, [0, 2, 3]), (1, [0, 2, 3]), (0, [])):
        ledger = Ledger(batch, FaultPolicy(retries=0), spare)
        ledger.receive(Answer(1, 5.0))
        ledger.receive(Answer(0, np.nan, "It failed."))
        assert ledger.failed
        again = ledger.reopened()
        assert again.wanted == wanted
        assert (again.count, again.values[1]) == (2, 5.0)
        assert again.evaluation.status is (Status.EVALUATION_FAILED if wanted else Status.MAX_EVALUATIONS)


def test_failures_that_are_all_different_are_counted_together_in_the_end():
    numbers = iter(range(10_000))
    res = solve(Flaky(range(0, 10_000, 3), lambda: int(f"a{next(numbers)}")), maxfev=2000)
    assert len(res.failures) == 101
    assert res.failures[-1][0] == "Another failure."
    assert sum(count for _, count in res.failures) > 300


def under_way(slots, before=None, **more):
    points = tuple(np.full(2, float(slot)) for slot in slots)
    ledger = StandingLedger(Standing(points, slots, tuple(range(10, 10 + len(slots))), Rademacher(2, 1, seed=3), optional=True), **more)
    if before is not None:
        ledger.go_on(before.tried, before.count)
    return ledger


def test_what_is_under_way_is_complete_with_its_first_answer():
    ledger = under_way((0, 2))
    assert ledger.wanted == [0, 2]
    assert not ledger.complete
    assert ledger.takes(2)
    assert not ledger.takes(1)
    ledger.receive(Answer(2, 1.5))
    assert ledger.complete
    assert ledger.wanted == [0]
    assert_array_equal(ledger.evaluation.told, [np.nan, np.nan, 1.5])
    assert not under_way(()).complete


def test_what_has_failed_for_good_is_told_apart_from_what_is_still_under_way():
    ledger = under_way((0, 1), policy=FaultPolicy("skip"))
    ledger.receive(Answer(1, np.nan, "It broke."))
    assert_array_equal(ledger.evaluation.told, [np.nan, np.inf])


def test_what_was_tried_of_a_query_is_remembered_while_others_come_and_go():
    first = under_way((0, 1), policy=FaultPolicy("retry", retries=1), spare=5)
    assert first.receive(Answer(0, np.nan, "It broke."))  # once more
    second = under_way((0, 1, 2), before=first, policy=FaultPolicy("retry", retries=1), spare=4)
    assert second.count == 1
    assert second.spare == 3
    assert not second.receive(Answer(0, np.nan, "It broke."))
    assert second.end["failure"] == "It broke. It failed 2 times."


def test_points_under_way_have_samples_of_their_own_and_can_be_sent_by_themselves():
    batch = under_way((0, 3)).batch
    assert batch.query(3).sample == (3, 11, 0, 0)
    alone = batch.only([3])
    assert len(alone.bases) == 1
    assert_array_equal(alone.point(3), [3.0, 3.0])
    assert_array_equal(batch.rows([3, 0]), [[3.0, 3.0], [0.0, 0.0]])
    assert batch.width == 4
