"""Runs that take each value as it comes: whoever evaluates, in whatever order, resumed to the bit, within the budget."""

import contextlib
import math
import multiprocessing
import os
import shutil
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

import zolal
from zolal.errors import ConstraintError, InvalidArgumentError, UnsupportedError
from zolal.runs.checkpoint import folder as folders

D = 6
WEIGHTS = np.arange(1.0, D + 1.0)
SUM = LinearConstraint(np.ones((1, D)), 3.0, 3.0)


def smooth(x):
    return float(WEIGHTS @ (x - 1.0) ** 2 + np.sum((x - 1.0) ** 4))


def uneven(x):
    time.sleep(0.002 * (1 + int(1e6 * abs(x[0])) % 7))
    return smooth(x)


SOLUTION = minimize(smooth, np.zeros(D), constraints=[SUM], method="SLSQP", options=dict(ftol=1e-14)).x


def asynchronous(**more):
    return dict(constraints=[SUM], rng=0, tol=1e-4, asynchronous=True) | more


@pytest.mark.parametrize("workers", [1, 3, ThreadPoolExecutor, ProcessPoolExecutor], ids=["one", "processes", "threads", "pool"])
def test_the_solution_is_found_whoever_evaluates(workers):
    crew = workers if isinstance(workers, int) else workers(3)
    res = zolal.minimize(uneven, np.zeros(D), workers=crew, **asynchronous())
    assert res.success
    assert_allclose(res.x, SOLUTION, atol=2e-3)
    assert res.maxcv < 1e-12


def test_a_dask_cluster_evaluates_as_it_comes():
    distributed = pytest.importorskip("distributed")
    local = dict(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        res = zolal.minimize(uneven, np.zeros(D), workers=client, **asynchronous())
    assert res.success
    assert_allclose(res.x, SOLUTION, atol=2e-3)


def test_nobody_waits_for_the_slowest():
    """The second evaluation ends only after twenty others have; in batches that would be never."""
    calls, ended, met = (multiprocessing.Value("i", 0) for _ in range(3))

    def counted(x):
        with calls.get_lock():
            calls.value += 1
            is_second = calls.value == 2
        deadline = time.monotonic() + 60.0
        while is_second and ended.value < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        met.value += is_second and ended.value >= 20
        with ended.get_lock():
            ended.value += 1
        return smooth(x)

    res = zolal.minimize(counted, np.zeros(D), workers=4, **asynchronous())
    assert met.value == 1
    assert res.success


def arriving(opt, seed, most=4, fun=smooth, stop=10**9):
    """Tell values in an order of the seed's own, `most` under way; gives up after so many."""
    rng, under_way = np.random.default_rng(seed), {}
    while not opt.done and stop > 0:
        for query in opt.ask(most - len(under_way)) or () if len(under_way) < most else ():
            under_way[query.key] = query.point
        if under_way:
            key = sorted(under_way)[rng.integers(len(under_way))]
            opt.tell({key: fun(under_way.pop(key))})
            stop -= 1
        elif not opt.done:
            opt.tell([fun(query.point) for query in opt.ask()])  # the final check
    return under_way


def test_the_same_order_of_arrivals_gives_the_same_run_to_the_bit():
    runs = []
    for seed in (1, 1, 2):
        opt = zolal.Optimizer(None, np.zeros(D), **asynchronous(maxfev=90))
        arriving(opt, seed)
        runs.append(opt.result)
    assert_array_equal(runs[0].x, runs[1].x)
    assert runs[0].nfev == runs[1].nfev
    assert (runs[0].x != runs[2].x).any()


def test_what_was_asked_for_is_on_record_and_a_resumed_run_is_the_same_to_the_bit(tmp_path):
    def whole(folder):
        opt = zolal.Optimizer(None, np.zeros(D), checkpoint=folder, **asynchronous(maxfev=90))
        left = arriving(opt, 1, stop=33)
        return opt, left

    one, left = whole(tmp_path / "one")
    other, _ = whole(tmp_path / "other")
    other.close()
    other = zolal.Optimizer(None, np.zeros(D), checkpoint=tmp_path / "other", resume=True, **asynchronous(maxfev=90))
    again = other.ask(2)  # what was under way is given out again, first
    asked = other.ask()
    assert {query.key: query.point.tolist() for query in asked} == {key: point.tolist() for key, point in left.items()}
    assert [query.key for query in again] == [query.key for query in asked][:2]
    for opt in (one, other):
        opt.tell({key: smooth(point) for key, point in left.items()})
        arriving(opt, 5)
    assert_array_equal(one.result.x, other.result.x)
    assert one.result.nfev == other.result.nfev
    assert_array_equal(one.result.trace["fun"], other.result.trace["fun"])


def read_lines(path):
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def run_for_ever(folder):
    folders.SHORTEST_INTERVAL = 0.05  # so that there are states enough
    zolal.minimize(uneven, np.zeros(D), workers=2, checkpoint=folder, resume=True, **asynchronous(tol=1e-13, maxfev=4000))


def test_a_run_that_is_killed_goes_on_from_any_of_its_states_to_the_same_bits(tmp_path):
    context = multiprocessing.get_context("fork")
    for steps in (18, 36):  # a run may be at the solution, as far as rounding lets it, after 50
        child = context.Process(target=run_for_ever, args=(tmp_path / "killed",))
        child.start()
        while len(read_lines(tmp_path / "killed" / "trace.jsonl")) < steps:
            assert child.is_alive()
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
    shutil.copytree(tmp_path / "killed", tmp_path / "older")
    states = sorted((tmp_path / "older").glob("state-*.npz"), key=lambda path: int(path.stem.split("-")[1]))
    assert len(states) == 2
    states[-1].unlink()  # so that this one goes back to the state before, and hears the values since
    results = []
    for name in ("killed", "older"):
        given = asynchronous(tol=1e-13, maxfev=4000)
        opt = zolal.Optimizer(uneven, np.zeros(D), checkpoint=tmp_path / name, resume=True, **given)
        before = opt.result.nfev
        arriving(opt, 3, stop=30)
        results.append((before, opt.result.x, opt.result.nfev))
    assert results[0][0] == results[1][0] >= 36
    assert_array_equal(results[0][1], results[1][1])
    assert results[0][2] == results[1][2]


@pytest.mark.parametrize("maxfev", [3, 17, 40])
def test_the_budget_is_never_exceeded_and_is_used_up(maxfev):
    calls = multiprocessing.Value("i", 0)

    def counted(x):
        with calls.get_lock():
            calls.value += 1
        return smooth(x)

    res = zolal.minimize(counted, np.zeros(D), workers=3, rng=0, tol=1e-15, maxfev=maxfev, asynchronous=True)
    assert res.nfev == calls.value == maxfev


@pytest.mark.parametrize("on_error", ["retry", "skip"])
def test_values_that_fail_now_and_then_are_tried_again_or_done_without(on_error):
    calls = multiprocessing.Value("i", 0)

    def shaky(x):
        with calls.get_lock():
            calls.value += 1
            if calls.value % 7 == 5:
                raise OSError("no licence")
        return uneven(x)

    res = zolal.minimize(shaky, np.zeros(D), workers=3, on_error=on_error, maxfev=400, **asynchronous())
    assert res.success
    assert_allclose(res.x, SOLUTION, atol=2e-3)
    assert res.failures
    assert res.nfev == calls.value


def test_a_worker_that_dies_is_replaced_and_its_point_evaluated_again(tmp_path):
    flag = tmp_path / "flag"

    def deadly(x):
        if not flag.exists() and abs(x[0]) > 0.0:
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return uneven(x)

    res = zolal.minimize(deadly, np.zeros(D), workers=3, **asynchronous())
    assert flag.exists()
    assert res.success


def test_a_domain_is_no_end():
    def barrier(x):
        return float(x @ WEIGHTS - np.sum(np.log(x))) if x.min() > 0.0 else math.nan

    res = zolal.minimize(barrier, np.full(D, 2.0), workers=3, rng=0, tol=1e-5, asynchronous=True)
    assert_allclose(res.x, 1.0 / WEIGHTS, atol=5e-3)


def test_noise_is_seen():
    rng = np.random.default_rng(3)
    opt = zolal.Optimizer(None, np.zeros(D), constraints=[SUM], rng=0, tol=0.05, maxfev=1500, asynchronous=True)
    arriving(opt, 1, fun=lambda x: smooth(x) + 0.05 * rng.standard_normal())
    assert opt.result.success
    assert 0.0 < opt.result.fun_error < 0.05
    assert smooth(opt.result.x) < smooth(SOLUTION) + 0.05


def test_exact_and_simulated_constraints_hold():
    ball = NonlinearConstraint(lambda x: x @ x, -np.inf, 4.0, jac=lambda x: 2 * x)

    def simulator(x):
        return smooth(x), [float(x[0] + x[1])]

    opt = zolal.Optimizer(None, np.zeros(D), constraints=[ball, zolal.Simulated(upper=1.0)], rng=0, tol=1e-4, asynchronous=True)
    arriving(opt, 2, fun=simulator)
    rows = [dict(type="ineq", fun=lambda x: 4.0 - x @ x), dict(type="ineq", fun=lambda x: 1.0 - x[0] - x[1])]
    reference = minimize(smooth, np.zeros(D), constraints=rows, method="SLSQP", options=dict(ftol=1e-14))
    assert opt.result.success
    assert_allclose(smooth(opt.result.x), reference.fun, rtol=1e-3)
    assert opt.result.maxcv < 1e-4


def test_an_interrupt_ends_the_run_with_what_it_has():
    def interrupting(x):
        time.sleep(0.05)  # the run takes some seventy of these
        return smooth(x)

    timer = multiprocessing.get_context("fork").Process(target=_interrupt, args=(os.getpid(), 0.6))
    timer.start()
    res = zolal.minimize(interrupting, np.zeros(D), workers=2, **asynchronous(tol=1e-15, maxfev=100000))
    timer.join()
    assert res.status is zolal.Status.INTERRUPTED
    assert res.fun < smooth(np.full(D, 0.5))


def _interrupt(pid, seconds):
    time.sleep(seconds)
    os.kill(pid, signal.SIGINT)


@pytest.mark.parametrize(
    ("more", "error", "sentence"),
    [
        (dict(asynchronous="yes"), InvalidArgumentError, "`asynchronous` must be True or False, got 'yes'"),
        (
            dict(asynchronous=True, method="zo-sgd", options=dict(step_size=0.1)),
            InvalidArgumentError,
            "goes with method 'auto', got 'zo-sgd'",
        ),
        (dict(asynchronous=True, workers=map.__call__), UnsupportedError, "answer one by one, and a map does not"),
        (dict(asynchronous=True, sample=lambda rng: 0.0), UnsupportedError, "no samples"),
    ],
)
def test_what_cannot_be_asynchronous_is_said_before_anything_is_evaluated(more, error, sentence):
    def never(*args):
        raise AssertionError

    with pytest.raises(error, match=sentence):
        zolal.minimize(never, np.zeros(3), **more)


def test_more_is_asked_for_in_asynchronous_runs_alone():
    opt = zolal.Optimizer(None, np.zeros(3))
    with pytest.raises(InvalidArgumentError, match="asynchronous=True"):
        opt.ask(2)
    opt = zolal.Optimizer(None, np.zeros(3), asynchronous=True)
    with pytest.raises(InvalidArgumentError, match="ask"):
        opt.ask(0)
    assert len(opt.ask(5)) == 1  # the start, by whose value the others are planned
    assert len(opt.ask(5)) == 0
    opt.tell([1.0])
    assert len(opt.ask(5)) == 5
    assert len(opt.ask()) == 5


@pytest.mark.parametrize("outputs", [False, True])
def test_without_a_first_value_nothing_is_claimed(outputs):
    def fails(x):
        raise OSError("no licence")

    bound = [zolal.Simulated(upper=1.0)] if outputs else []
    res = zolal.minimize(fails, np.zeros(2), constraints=bound, on_error="skip", rng=0, maxfev=100, asynchronous=True)
    assert res.status is zolal.Status.TOO_MANY_FAILURES
    assert math.isnan(res.fun)
    assert not res.success


def test_a_callback_is_called_once_per_step_and_its_word_is_final():
    seen = []

    def stop(state):
        seen.append(state.k)
        return state.k == 4

    res = zolal.minimize(uneven, np.zeros(D), workers=3, callback=stop, **asynchronous())
    assert res.status is zolal.Status.CALLBACK
    assert seen == [1, 2, 3, 4]
    assert 4 <= res.nfev <= 8  # what was under way is waited for, and two at the end tell what the constraint costs


@pytest.mark.parametrize("most", [60, 100, 150, 250, 400])
def test_a_constraint_that_breaks_while_values_are_under_way_is_what_one_hears_of(most):
    calls = [0]

    def breaking(x):
        calls[0] += 1
        if calls[0] > most:
            raise RuntimeError("the table is gone")
        return x @ x

    rows = NonlinearConstraint(breaking, 2.0, 2.0, jac=lambda x: 2 * x)
    with ThreadPoolExecutor(4) as threads, contextlib.suppress(ConstraintError):
        res = zolal.minimize(uneven, np.full(D, 0.4), constraints=[rows], workers=threads, rng=0, tol=1e-12, maxfev=500, asynchronous=True)
        assert res.status in (zolal.Status.CONSTRAINT_FAILED, zolal.Status.STALLED)  # no way on from here, or none that is known


@pytest.mark.parametrize("saved", [0.0, 1e9])
def test_failed_calls_are_counted_over_any_number_of_resumes(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "SHORTEST_INTERVAL", saved)
    given = asynchronous(maxfev=30, retries=2)
    calls = 0
    for _ in range(6):
        opt = zolal.Optimizer(None, np.zeros(D), checkpoint=tmp_path, resume=True, **given)
        assert opt.result.nfev == calls
        if opt.ask() is None:
            break
        for _ in range(3):
            for query in list(opt.ask(2) or ())[:2]:
                if not opt.done:
                    opt.tell({query.key: None})
                    calls += 1
        opt.close()
    assert calls <= 30


def test_values_that_are_told_with_a_failure_are_on_record(tmp_path):
    given = asynchronous(retries=0, maxfev=60)
    opt = zolal.Optimizer(None, np.zeros(D), checkpoint=tmp_path, **given)
    opt.tell([smooth(opt.ask()[0].point)])
    one, two, three = opt.ask(3)
    opt.tell({one.key: None, two.key: smooth(two.point), three.key: smooth(three.point)})
    assert opt.result.status is zolal.Status.EVALUATION_FAILED
    assert opt.result.nfev == 4
    again = zolal.Optimizer(None, np.zeros(D), checkpoint=tmp_path, resume=True, **given)
    assert [query.key for query in again.ask()] == [one.key]
    assert again.result.nfev == 4


def test_no_query_is_given_out_twice():
    opt = zolal.Optimizer(None, np.zeros(D), **asynchronous())
    opt.tell([smooth(opt.ask()[0].point)])
    first = {query.key for query in opt.ask(2)}
    everything = {query.key for query in opt.ask()}
    assert first == everything
    assert not {query.key for query in opt.ask(3)} & everything


def test_a_thread_that_hangs_takes_the_time_of_no_other_evaluation():
    calls = multiprocessing.Value("i", 0)

    def hanging(x):
        with calls.get_lock():
            calls.value += 1
            hangs = calls.value == 5
        time.sleep(3.0 if hangs else 0.02)
        return smooth(x)

    with ThreadPoolExecutor(2) as threads:
        res = zolal.minimize(hanging, np.zeros(D), workers=threads, timeout=0.5, **asynchronous())
    assert res.success
    assert sum(count for _, count in res.failures) == 1
