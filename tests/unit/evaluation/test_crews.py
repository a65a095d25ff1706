"""Whoever evaluates, the run is the same to the bit; base points travel once; workers that die or dawdle are told and replaced."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import NonlinearConstraint

import zolal
from zolal.directions import Rademacher
from zolal.estimators import QueryBatch
from zolal.evaluation.crews import ExecutorCrew, ProcessCrew, as_crew
from zolal.evaluation.crews.base import timed_answers
from zolal.evaluation.evaluate import evaluate
from zolal.evaluation.faults import FaultPolicy, Ledger
from zolal.problem import Problem

X0 = np.array([0.5, -0.5, 0.25])
FORK = multiprocessing.get_context("fork")


def noisy(x, xi):
    return float((x - 1.0) @ (x - 1.0) + np.cos(x[0]) + xi @ x)


def rows(X, samples):
    return np.array([noisy(x, xi) for x, xi in zip(X, samples, strict=True)])


def draw(rng):
    return rng.normal(size=3)


def sphere(x):
    return x @ x


def solve(workers=1, fun=noisy, **arguments):
    """A run with two base points per batch, slacks, samples and a final check."""
    constraint = NonlinearConstraint(sphere, -np.inf, 1.0, jac=lambda x: 2 * x)
    options = dict(step_size=0.05, num_directions=4)
    arguments = dict(sample=draw, constraints=constraint, maxfev=200, rng=0, options=options) | arguments
    return zolal.minimize(fun, X0, workers=workers, **arguments)


def same(one, other):
    names = ("x", "fun", "fun_error", "nfev", "nit", "multipliers", "maxcv", "status", "message", "failures")
    return all(np.array_equal(one[name], other[name], equal_nan=name in ("fun", "fun_error")) for name in names) and all(
        np.array_equal(one.trace[name], other.trace[name], equal_nan=True) for name in one.trace
    )


class Rows:
    """A batch of so many queries; the point of each is its number."""

    def __init__(self, count):
        self.count, self.bases = count, ()

    def __len__(self):
        return self.count

    def point(self, i):
        return np.array([float(i)])


def test_a_task_that_has_taken_too_long_leaves_out_what_it_has_not_begun():
    begun = []

    def slow(x):
        begun.append(int(x[0]))
        time.sleep(0.02)
        return float(x[0])

    answers, seconds = timed_answers(Problem(slow, 1), Rows(50), list(range(50)), patience=0.05)
    assert [answer.query for answer in answers] == begun == list(range(len(begun)))
    assert 1 < len(begun) < 10
    assert seconds >= 0.05
    one, _ = timed_answers(Problem(slow, 1), Rows(50), [7, 8], patience=0.0)
    assert [answer.query for answer in one] == [7]  # it always gets on
    assert len(timed_answers(Problem(slow, 1), Rows(50), list(range(5)))[0]) == 5


@pytest.mark.parametrize(("pause", "tasks"), [(0.0, 1), (0.03, 5)])
def test_cheap_queries_travel_in_one_task_and_those_that_became_slow_are_shared_out(pause, tasks):
    sizes, begun = [], []

    class Counting(ThreadPoolExecutor):
        def submit(self, function, problem, batch, indices, *more):
            sizes.append(len(indices))
            return super().submit(function, problem, batch, indices, *more)

    def fun(x):
        begun.append(x[0])
        time.sleep(pause)
        return float(x[0])

    with Counting(4) as threads:
        crew = ExecutorCrew(Problem(fun, 1), threads)
        crew.seconds = 1e-7  # as batches before have been
        ledger = Ledger(QueryBatch((np.zeros(1),), 1.0, Rademacher(1, 50)), FaultPolicy())
        evaluate(crew, ledger)
    assert ledger.complete
    assert len(begun) == len(ledger.batch) == sizes[0] == 100
    assert len(sizes) >= tasks  # what came back after some hundredths of a second, everybody got a share of


class Unknown(Executor):
    """An executor of which nobody knows where its workers are, nor how many."""

    def __init__(self):
        self.inner = ThreadPoolExecutor(1)

    def submit(self, fn, /, *args, **kwargs):
        return self.inner.submit(fn, *args, **kwargs)


@pytest.mark.parametrize("vectorized", [False, True], ids=["one by one", "rows"])
def test_processes_threads_executors_and_maps_give_the_run_of_the_calling_thread(vectorized):
    reference = solve()
    arguments = dict(fun=rows, vectorized=True) if vectorized else {}
    assert same(reference, solve(1, **arguments))
    assert same(reference, solve(2, **arguments))
    assert same(reference, solve(-1, **arguments))
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2, mp_context=FORK) as processes, FORK.Pool(2) as pool:
        for workers in (threads, processes, Unknown(), threads.map, pool.map):
            assert same(reference, solve(workers, **arguments)), workers


def test_answers_are_taken_in_the_order_in_which_they_come():
    def fun(x, xi):
        time.sleep(0.002 * (xi[0] > 0))
        return noisy(x, xi)

    with ThreadPoolExecutor(8) as threads:
        assert same(solve(), solve(threads, fun=fun))


@pytest.mark.parametrize("workers", [2, "threads", "processes"])
def test_lambdas_and_closures_can_be_evaluated_elsewhere(workers):
    shift = np.array([1.0, 0.0, -1.0])
    reference = solve(fun=lambda x, xi, a: a * noisy(x - shift, xi), args=(2.0,))
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=FORK) as processes:
        chosen = dict(threads=threads, processes=processes).get(workers, workers)
        assert same(reference, solve(chosen, fun=lambda x, xi, a: a * noisy(x - shift, xi), args=(2.0,)))


def first(x):
    return float(x[0])


D, N = 100_000, 64


def batches(count):
    """Batches as a run asks for them: x^k beside x^{k-1}, 64 queries each."""
    points = [np.full(D, float(k)) for k in range(count + 1)]
    return [QueryBatch((points[k + 1], points[k]), 0.1, Rademacher(D, N // 4, iteration=k)) for k in range(count)]


def answered(crew, batch):
    assert len(batch) == N
    ledger = Ledger(batch)
    evaluate(crew, ledger)
    assert_array_equal(ledger.values, [batch.point(i)[0] for i in range(N)])


def test_two_processes_get_less_than_three_copies_of_x_per_iteration():
    crew = ProcessCrew(Problem(first, D), 2)
    try:
        first_batch, *following = batches(5)
        answered(crew, first_batch)
        before = crew.sent_bytes
        for batch in following:
            answered(crew, batch)
        assert (crew.sent_bytes - before) / (len(following) * 8 * D) < 2.1  # one new x^k for each of the two
    finally:
        crew.close()


class Weighed(Executor):
    """Two processes of which nobody knows that they are on this machine; counts what is sent to them."""

    _max_workers = 2

    def __init__(self):
        self.inner, self.sent = ProcessPoolExecutor(2, mp_context=FORK), 0

    def submit(self, fn, /, *args):
        self.sent += len(pickle.dumps((fn, args)))
        return self.inner.submit(fn, *args)


def test_two_processes_of_an_executor_get_less_than_three_copies_of_x_per_iteration():
    with ProcessPoolExecutor(2, mp_context=FORK) as executor:
        crew = ExecutorCrew(Problem(first, D), executor)
        first_batch, *following = batches(9)
        answered(crew, first_batch)
        before = crew.spool.written_bytes
        for batch in following:
            answered(crew, batch)
        assert (crew.spool.written_bytes - before) / (len(following) * 8 * D) < 1.1  # through a file that both read
        crew.close()


def test_workers_that_may_be_anywhere_get_base_points_with_a_few_tasks_and_say_what_they_lack():
    executor = Weighed()
    with executor.inner:
        crew = ExecutorCrew(Problem(first, D), executor)
        first_batch, *following = batches(9)
        answered(crew, first_batch)
        sent = [executor.sent]
        for batch in following:
            answered(crew, batch)
            sent.append(executor.sent)
        # two where each of the two takes a carrying task first, which a busy machine does not promise; one per task would be at least 8
        assert np.median(np.diff(sent)) / (8 * D) < 6


def test_a_base_point_that_differs_by_the_sign_of_zero_is_another_one():
    crew = ProcessCrew(Problem(lambda x: float(np.copysign(1.0, x[0])), 2), 2)
    try:
        for zero in (0.0, -0.0):
            batch = QueryBatch((np.full(2, zero),), 0.1, Rademacher(2, 1))
            ledger = Ledger(batch)
            evaluate(crew, ledger)
            assert ledger.values[0] == np.copysign(1.0, zero)
    finally:
        crew.close()


class Once:
    """Does something the first time that it is called anywhere, told by a file."""

    def __init__(self, path, action):
        self.path, self.action = path, action

    def __call__(self, x, xi):
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return noisy(x, xi)
        return self.action()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_function_that_takes_its_worker_down_is_tried_again_and_changes_nothing(tmp_path, how):
    res = solve(2, fun=Once(tmp_path / "done", lambda: os.kill(os.getpid(), how)))
    reference = solve()
    assert res.failures == ((f"A worker process was ended by {how.name} during the evaluation.", 1),)
    assert_array_equal(res.x, reference.x)
    assert (res.nfev, res.fun, res.nit) == (reference.nfev, reference.fun, reference.nit)


def test_a_function_that_always_takes_its_worker_down_ends_the_run():
    res = solve(2, fun=lambda x, xi: os._exit(3))
    assert res.status is zolal.Status.EVALUATION_FAILED
    assert "with exit code 3 during the evaluation. It failed 3 times." in res.message
    assert_array_equal(res.x, X0)


def test_a_worker_that_is_killed_while_idle_is_replaced():
    crew = as_crew(Problem(first, 3), 2)
    try:
        batch = QueryBatch((X0,), 0.1, Rademacher(3, 2))
        for _ in range(2):
            ledger = Ledger(batch)
            evaluate(crew, ledger)
            assert ledger.evaluation.failure is None
            for worker in crew.workers:
                worker.process.kill()
                worker.process.join()
    finally:
        crew.close()


def linger():
    time.sleep(300)


@pytest.mark.parametrize("workers", [1, 2, "threads"])
def test_an_evaluation_that_takes_too_long_is_told_and_tried_again(tmp_path, workers):
    """The limit is one that a quick evaluation keeps on a busy machine too; the call that is stuck outlasts the run."""
    end = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        stuck = Once(tmp_path / "done", lambda: end.wait(300) and 0.0)
        res = solve(threads if workers == "threads" else workers, fun=stuck, timeout=3.0, maxfev=201)
        end.set()
    reference = solve()
    assert res.failures == (("An evaluation took longer than timeout=3 s.", 1),)
    assert_array_equal(res.x, reference.x)
    assert res.nfev == reference.nfev + 1  # the call that took too long is counted


def test_a_thread_that_is_stuck_gets_no_more_to_do_until_it_is_back():
    end = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        crew = ExecutorCrew(Problem(lambda x: end.wait(300) and 0.0, 3), threads, timeout=0.05)
        assert crew.capacity == 2
        crew.begin(QueryBatch((X0,), 0.1, Rademacher(3, 1)))
        crew.submit(0)
        (answer,) = crew.collect()
        assert "longer than timeout=0.05 s" in answer.failure
        (stuck,) = crew.abandoned
        assert crew.capacity == 1
        end.set()
        stuck.result(60)
        assert crew.capacity == 2


def deaf():
    """Takes long, and does not listen to what it is told."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    linger()


@pytest.mark.parametrize(("fun", "how"), [(linger, signal.SIGTERM), (deaf, signal.SIGKILL)])
def test_a_worker_process_that_takes_too_long_is_told_to_end_and_then_killed(fun, how, monkeypatch):
    monkeypatch.setattr("zolal.evaluation.crews.processes.GRACE_SECONDS", 0.2)
    crew = ProcessCrew(Problem(lambda x: fun(), 3), 2, timeout=0.1)
    batch = QueryBatch((X0,), 0.1, Rademacher(3, 1))
    crew.begin(batch)
    old = [worker.process for worker in crew.workers]
    ledger = Ledger(batch)
    evaluate(crew, ledger)
    crew.close()
    assert "longer than timeout=0.1 s" in ledger.evaluation.failure
    assert all(process.exitcode == -how for process in old)


def test_an_executor_that_is_shut_down_ends_the_run_and_is_named():
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    res = solve(threads)
    assert res.status is zolal.Status.EVALUATION_FAILED
    assert "`workers` raised RuntimeError: cannot schedule new futures" in res.message
    assert res.nfev == 0


def test_a_pool_that_breaks_ends_the_run_and_is_named():
    with ProcessPoolExecutor(2, mp_context=FORK) as processes:
        res = solve(processes, fun=lambda x, xi: os._exit(1))
    assert res.status is zolal.Status.EVALUATION_FAILED
    assert "`workers` raised BrokenProcessPool" in res.message


def test_calls_that_have_not_begun_are_not_made_after_a_failure():
    calls = []

    def fun(x, xi):
        calls.append(1)
        time.sleep(0.01)
        raise ConnectionError("gone")

    with ThreadPoolExecutor(2) as threads:
        res = solve(threads, fun=fun, retries=0)
    assert res.nfev == len(calls) < 8


def test_a_task_that_was_cancelled_by_somebody_is_lost():
    class Cancelled(Executor):
        def submit(self, fn, /, *args):
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    ledger = Ledger(QueryBatch((X0,), 0.1, Rademacher(3, 1)), FaultPolicy(retries=1))
    evaluate(ExecutorCrew(Problem(first, 3), Cancelled()), ledger)
    assert "`workers` raised CancelledError" in ledger.evaluation.failure
    assert ledger.evaluation.count == 0
