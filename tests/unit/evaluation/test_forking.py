"""Workers among other processes and threads: many runs at once, programs that fork, objectives with processes of their own, daemons."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest
from numpy.testing import assert_array_equal

import zolal
from zolal.directions import Rademacher
from zolal.errors import WorkerError
from zolal.estimators import QueryBatch
from zolal.evaluation.crews import ProcessCrew
from zolal.evaluation.crews import processes as processes_module
from zolal.problem import Problem

FORK = multiprocessing.get_context("fork")
PATIENCE = 60  # seconds; a run takes some tenths of one
BATCH = QueryBatch((np.zeros(3),), 0.1, Rademacher(3, 2))


def bowl(x):
    return float((x - 1.0) @ (x - 1.0))


def solve(seed, workers=2, fun=bowl):
    return zolal.minimize(fun, np.zeros(3), workers=workers, maxfev=60, rng=seed, options=dict(step_size=0.05, num_directions=4))


@pytest.mark.parametrize("count", [2, 20])
def test_runs_in_threads_at_the_same_time_end_and_leave_no_process_behind(count):
    found, before = {}, set(psutil.Process().children())
    threads = [threading.Thread(target=lambda i=i: found.update({i: solve(i)}), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(found) == list(range(count))
    assert set(psutil.Process().children()) == before
    for seed in (0, count - 1):
        assert_array_equal(found[seed].x, solve(seed, workers=1).x)


@contextlib.contextmanager
def crew_of_two(fun):
    crew = ProcessCrew(Problem(fun, 3), 2)
    crew.begin(BATCH)
    try:
        yield crew
    finally:
        crew.close()


def asleep(ready, pipes):
    """In a process that the program forks for its own ends: tells whether it has an end of a crew's pipe, and stays."""
    ready.send(all(pipe.closed for pipe in pipes))
    time.sleep(10 * PATIENCE)


def test_a_process_that_the_program_forks_meanwhile_holds_no_end_of_our_pipes():
    ours, theirs = FORK.Pipe()
    with crew_of_two(lambda x: os.kill(os.getpid(), signal.SIGKILL)) as crew:
        child = FORK.Process(target=asleep, args=(theirs, [worker.pipe for worker in crew.workers]), daemon=True)
        child.start()
        assert ours.recv()
        crew.submit(0)
        (answer,) = crew.collect()  # would wait for ever if the child kept the worker's pipe open
        assert "was ended by SIGKILL" in answer.failure
        workers = [worker.process for worker in crew.workers]
    assert child.is_alive()
    assert all(worker.exitcode == 0 for worker in workers)  # idle workers have seen the end of their pipes
    child.kill()
    child.join()


ORPHANS = """
import multiprocessing, os, threading, time
import numpy as np
import zolal

def hold(state):
    words = [str(process.pid) for process in multiprocessing.active_children()]
    os.write(1, (" ".join(words) + "\\n").encode())  # whole, whoever else writes
    time.sleep(600)

def run():
    zolal.minimize(lambda x: float(x @ x), np.ones(2), workers=2, maxfev=200, rng=0, callback=hold, options=dict(step_size=0.05))

for _ in range(2):
    threading.Thread(target=run).start()
time.sleep(600)
"""


def test_workers_end_with_the_program_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True) as program:
        try:
            lines = [program.stdout.readline() for _ in range(2)]
            workers = [psutil.Process(int(pid)) for pid in max(lines, key=len).split()]
        finally:
            program.kill()
    assert len(workers) == 4
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE)
    assert not alive


def with_a_process_of_its_own(x):
    with FORK.Pool(1) as pool:
        return pool.map(bowl, [x])[0]


def test_an_objective_may_start_processes_in_its_worker():
    crew = ProcessCrew(Problem(with_a_process_of_its_own, 3), 2)
    try:
        crew.begin(BATCH)
        crew.submit(0)
        (answer,) = crew.collect()
    finally:
        crew.close()
    assert (answer.value, answer.failure) == (bowl(BATCH.point(0)), None)


def solve_and_send(end):
    end.send((solve(0).x, multiprocessing.current_process().daemon))


def test_a_daemonic_process_may_have_workers():
    ours, theirs = FORK.Pipe()
    child = FORK.Process(target=solve_and_send, args=(theirs,), daemon=True)
    child.start()
    assert ours.poll(PATIENCE)
    x, daemon = ours.recv()
    child.join()
    assert child.exitcode == 0
    assert daemon  # it is what it was
    assert_array_equal(x, solve(0, workers=1).x)


def test_a_system_without_room_for_a_process_is_told_in_a_sentence(monkeypatch):
    def full(*args):
        raise BlockingIOError(11, os.strerror(11))

    monkeypatch.setattr(processes_module, "piped", full)
    with pytest.raises(WorkerError, match=r"A worker process cannot be started: Resource temporarily unavailable\."):
        solve(0)
