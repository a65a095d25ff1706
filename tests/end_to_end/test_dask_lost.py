"""Dask clusters that are gone, empty, or lose worker after worker: a result with its best point, within the time limits given."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import zolal

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

X0 = np.zeros(5)
QUIET = {"distributed.logging.distributed": "critical", "distributed.comm.timeouts.connect": "2s"}


def bowl(x):
    return float((x - 1.0) @ (x - 1.0))


def solve(workers, fun=bowl, **arguments):
    arguments = dict(maxfev=600, rng=3, options=dict(step_size=0.05, num_directions=8)) | arguments
    return zolal.minimize(fun, X0, workers=workers, **arguments)


@contextlib.contextmanager
def cluster_of(count, **given):
    """A cluster; in this process unless `processes` is given."""
    local = dict(n_workers=count, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50) | given
    with dask.config.set(QUIET), distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as client:
        yield cluster, client


def check_ended(res, started, seconds):
    assert res.status is zolal.Status.EVALUATION_FAILED
    assert not res.success
    assert np.isfinite(res.x).all()
    assert time.monotonic() - started < seconds


def test_a_cluster_without_workers_ends_within_its_time_limit():
    with cluster_of(0) as (_, client):
        started = time.monotonic()
        res = solve(client, timeout=0.5, retries=1)
        check_ended(res, started, 20)
    assert "took longer than timeout=0.5 s. It failed 2 times." in res.message


def test_workers_that_come_later_are_waited_for():
    """As an adaptive cluster has none before there are tasks."""
    with cluster_of(0) as (cluster, client):
        timer = threading.Timer(1.0, lambda: cluster.scale(1))
        timer.start()
        res = solve(client, maxfev=100)
        timer.join()
    assert_array_equal(res.x, solve(1, maxfev=100).x)


def test_a_client_that_is_closed_ends_the_run_with_its_start():
    with cluster_of(0) as (_, client):
        pass
    started = time.monotonic()
    res = solve(client)
    check_ended(res, started, 20)
    assert "`workers` raised " in res.message
    assert_array_equal(res.x, X0)


def test_a_cluster_that_closes_in_mid_run_leaves_the_best_point(tmp_path):
    with cluster_of(1) as (cluster, client):
        started = time.monotonic()
        res = solve(client, callback=lambda state: cluster.close() if state.k == 3 else None, checkpoint=tmp_path / "run")
        check_ended(res, started, 60)
    assert res.nit >= 3
    assert bowl(res.x) < bowl(X0)
    resumed = solve(1, checkpoint=tmp_path / "run", resume=True)
    assert_array_equal(resumed.x, solve(1).x)


@contextlib.contextmanager
def scheduler_process():
    """A scheduler of its own with one worker, and the address; both are processes that can be killed."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--no-show"]
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        stack.callback(scheduler.kill)
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard", "--nthreads", "1", "--no-nanny"]
        worker = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        stack.callback(worker.kill)
        yield scheduler, address


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_scheduler_that_is_killed_or_hangs_leaves_the_best_point(how):
    with dask.config.set(QUIET), scheduler_process() as (scheduler, address):
        client = distributed.Client(address, timeout=30)
        client.wait_for_workers(1, timeout=60)
        started = time.monotonic()
        fun = lambda x: float((x - 1.0) @ (x - 1.0))  # noqa: E731  # by value: the worker cannot import this file
        res = solve(client, fun, timeout=2.0, retries=1, callback=lambda state: os.kill(scheduler.pid, how) if state.k == 3 else None)
        check_ended(res, started, 120)
        assert res.nit == 3
        scheduler.kill()
        with contextlib.suppress(Exception):
            client.close(timeout=1)


@pytest.mark.slow
def test_workers_that_die_again_and_again_end_the_run():
    with cluster_of(2, processes=True) as (_, client):
        client.wait_for_workers(2, timeout=120)
        started = time.monotonic()
        res = solve(client, fun=lambda x: os._exit(1), retries=0)
        check_ended(res, started, 300)
    assert "`workers` raised " in res.message  # KilledWorker, or that what they held is gone
    assert_array_equal(res.x, X0)
