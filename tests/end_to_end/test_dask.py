"""A real local Dask cluster: the same bits, few copies of x, and workers that die in mid-batch."""

import contextlib
import os
import signal
import time

import numpy as np
import psutil
import pytest
from numpy.testing import assert_array_equal

import zolal
from zolal.directions import Rademacher
from zolal.estimators import QueryBatch
from zolal.evaluation.crews import as_crew
from zolal.evaluation.evaluate import evaluate
from zolal.evaluation.faults import Ledger
from zolal.problem import Problem

distributed = pytest.importorskip("distributed")


@contextlib.contextmanager
def cluster_of_two():
    import dask

    local = dict(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    quiet = dask.config.set({"distributed.logging.distributed": "critical"})
    with quiet, distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster_of_two() as client:
        yield client


@pytest.fixture
def doomed():
    """A cluster of one test's own: nobody else meets workers that come and go."""
    with cluster_of_two() as client:
        yield client


def solve(workers, act=lambda: None, **arguments):
    """A run whose functions are local, hence no worker can import them. act: what an evaluation does first."""
    target = np.linspace(-1.0, 1.0, 5)

    def fun(x, xi):
        act()
        return float((x - target) @ (x - target) + 0.1 * xi @ x)

    options = dict(step_size=0.05, num_directions=8)
    arguments = dict(sample=lambda rng: rng.normal(size=5), maxfev=600, rng=3, options=options) | arguments
    return zolal.minimize(fun, np.zeros(5), workers=workers, **arguments)


def check_same(one, other):
    for name in ("x", "fun", "fun_error", "nfev", "nit", "status", "message", "failures"):
        assert_array_equal(one[name], other[name])
    for name in one.trace:
        assert_array_equal(one.trace[name], other.trace[name])


def test_a_client_and_its_executor_give_the_run_of_the_calling_thread(client):
    reference = solve(1)
    check_same(solve(client), reference)
    check_same(solve(client.get_executor()), reference)


def held_by_the_scheduler(dask_scheduler):
    """What is there after a run, and stays for good."""
    spans = dask_scheduler.extensions["spans"].spans.values()
    return dict(tasks=len(dask_scheduler.tasks), spans=len(spans), groups=sum(len(span.groups) for span in spans))


def test_a_run_leaves_one_record_of_its_tasks_with_the_scheduler_however_many_batches_it_had(client):
    before = client.run_on_scheduler(held_by_the_scheduler)
    res = solve(client, maxfev=3000, tol=1e-12)
    assert res.nit > 50
    for _ in range(100):
        after = client.run_on_scheduler(held_by_the_scheduler)
        if after["tasks"] <= before["tasks"]:
            break
        time.sleep(0.1)  # what was let go is told to the scheduler a moment later
    assert after["tasks"] <= before["tasks"]
    assert after["spans"] <= before["spans"] + 2
    assert after["groups"] <= before["groups"] + 2


def solve_and_kill(client, pids, flag, **arguments):
    """After the third step the first evaluation to come kills these workers, its own one last."""

    def kill():
        time.sleep(0.002)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(flag)
            for pid in sorted(pids, key=lambda pid: pid == os.getpid()):
                os.kill(pid, signal.SIGKILL)

    return solve(client, kill, callback=lambda state: flag.touch() if state.k == 3 else None, **arguments)


def test_killing_one_worker_in_mid_batch_and_then_all_with_what_they_held_leaves_the_result_of_the_serial_run(doomed, tmp_path):
    reference, flag = solve(1), tmp_path / "flag"
    check_same(solve_and_kill(doomed, list(doomed.run(os.getpid).values())[:1], flag), reference)
    assert not flag.exists()
    doomed.wait_for_workers(2, timeout=120)  # another one takes the place of the dead
    res = solve_and_kill(doomed, list(doomed.run(os.getpid).values()), flag, retries=9)
    assert not flag.exists()
    assert_array_equal(res.x, reference.x)
    assert (res.nfev, res.nit, res.fun, res.status) == (reference.nfev, reference.nit, reference.fun, reference.status)


def test_two_workers_get_less_than_three_copies_of_x_per_iteration(client):
    d, rounds = 1_000_000, 4
    crew = as_crew(Problem(lambda x: float(x[0]), d), client)
    points = [np.full(d, float(k)) for k in range(rounds + 2)]
    sent = []
    for k in range(rounds + 1):
        batch = QueryBatch((points[k + 1], points[k]), 0.1, Rademacher(d, 16, iteration=k))
        ledger, before = Ledger(batch), psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        evaluate(crew, ledger)
        sent.append(psutil.net_io_counters(pernic=True)["lo"].bytes_sent - before)  # by anybody on this machine
        assert len(batch) == 64
        assert_array_equal(ledger.values, [batch.point(i)[0] for i in range(64)])
    assert min(sent[1:]) / (8 * d) < 3  # the first sends x^{-1} too; the least, since others may send in the meantime
