import contextlib
import multiprocessing
import os
import pickle
import signal
import time
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import Any, final

import numpy as np

from zolal._threads import at_most
from zolal.errors import UnsupportedError, WorkerError
from zolal.estimators.base import Queries
from zolal.evaluation.crews._cargo import without_bases
from zolal.evaluation.crews._forking import as_worker, closed, piped
from zolal.evaluation.crews.base import BaseNumbers, too_slow
from zolal.evaluation.evaluate import answer_queries, objective_alone, portable
from zolal.evaluation.faults import Answer
from zolal.problem import Problem

READY = b"ready"
START_SECONDS, START_TIMES = 20.0, 5  # that a worker may take to say that it is there, and how many are given that chance
MOMENT = 0.001  # seconds between two looks at a process that is ending
GRACE_SECONDS = 5.0  # that an objective has to end what it has started, once its worker is told to end
AHEAD = 2  # queries that a worker has, so that it need not wait for us between two


@dataclass(eq=False)
class _Worker:
    """One process, what it holds and what it is doing."""

    process: Any
    pipe: Any
    holds: set[int] = field(default_factory=set)
    batch: int = 0  # the last one that it was told of
    tasks: list[list[int]] = field(default_factory=list)  # the queries of each message that has no answer yet; it works on the first
    deadline: float = np.inf
    ready: bool = False


@final
class ProcessCrew:
    """`count` processes of our own. A base point goes to a worker once; a query is a number, and the next one waits in the worker's pipe.

    A worker that takes too long is killed, one that dies is replaced; its query is answered as failed. Where the system can fork, workers
    inherit the problem, lambdas and all; elsewhere it must be picklable. sent_bytes counts all that was sent to workers.
    """

    def __init__(self, problem: Problem, count: int, timeout: float | None = None) -> None:
        self.problem, self.num_workers, self.timeout = objective_alone(problem), count, timeout
        self.capacity = np.inf if problem.vectorized else AHEAD * count
        self.context: Any = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
        self.workers: list[_Worker] = []
        self.bases, self.pending = BaseNumbers(), list[int]()
        self.batches = self.sent_bytes = 0

    def begin(self, batch: Queries) -> None:
        if not self.workers:
            batch.point(len(batch) - 1)  # what it takes to make a point is loaded once, and not by each worker
        self.pending = []
        self.also(batch)

    def also(self, batch: Queries) -> None:
        while len(self.workers) < self.num_workers:
            self.workers.append(self._start())
        for worker in self.workers[:]:
            self._await(worker)
        self.batches += 1
        self.numbers, self.outline = self.bases.of(batch.bases), without_bases(batch)

    def submit(self, index: int) -> None:
        self.pending.append(index)

    def collect(self) -> list[Answer]:
        answers: list[Answer] = []
        while not answers:
            self._dispatch()
            busy = {worker.pipe: worker for worker in self.workers if worker.tasks}
            first = min(worker.deadline for worker in busy.values())
            ready = connection.wait(list(busy), None if first == np.inf else max(0.0, first - time.monotonic()))
            answers = [answer for pipe in ready for answer in self._receive(busy[pipe])]
            for worker in busy.values():
                if worker in self.workers and worker.deadline <= time.monotonic():
                    answers += self._failed(worker, too_slow(self.timeout or 0.0), lost=False)
        return answers

    def cancel(self) -> list[Answer]:
        answers = []
        self.pending = []
        while any(worker.tasks for worker in self.workers):
            answers += self.collect()
            self.pending = []  # what waited behind a worker that died
        return answers

    def close(self) -> None:
        for worker in self.workers:
            if worker.tasks:
                worker.process.terminate()
        for worker in self.workers:
            closed(worker.pipe)  # an idle worker ends at the end of its pipe
            if worker.tasks:
                _see_off(worker.process)
            worker.process.join()
        self.workers = []

    def _start(self) -> _Worker:
        threads = max(1, (os.cpu_count() or 1) // self.num_workers)
        try:
            return _Worker(
                *piped(self.context, lambda end: self.context.Process(target=_serve, args=(self.problem, end, threads), daemon=True))
            )
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise UnsupportedError(f"`workers` as processes need a problem that can be pickled on this system: {error}.") from error
        except OSError as error:  # of processes or of open files there are too many
            raise WorkerError(f"A worker process cannot be started: {error.strerror or error}.") from error

    def _await(self, worker: _Worker) -> _Worker:
        """The worker once it says that it is there. One that a fork has left hanging, for the program's other threads, is replaced."""
        for _ in range(START_TIMES):
            if not worker.ready and worker.pipe.poll(START_SECONDS):
                with contextlib.suppress(EOFError, OSError):
                    worker.ready = worker.pipe.recv_bytes() == READY
            if worker.ready:
                return worker
            worker = self._replace(worker)
        raise UnsupportedError(f"`workers` as processes do not start on this system: {START_TIMES} in a row gave no sign of life.")

    def _replace(self, worker: _Worker) -> _Worker:
        worker.process.terminate()
        _see_off(worker.process)
        closed(worker.pipe)
        self.workers[self.workers.index(worker)] = fresh = self._start()
        return fresh

    def _dispatch(self) -> None:
        """Hand out what is pending: first to those who have nothing, then one ahead."""
        for ahead in range(1 if self.problem.vectorized else AHEAD):
            ready = [worker for worker in self.workers if len(worker.tasks) == ahead]
            size = -(-len(self.pending) // len(ready)) if self.problem.vectorized and ready else 1
            for worker in ready:
                if self.pending:
                    indices, self.pending = self.pending[:size], self.pending[size:]
                    self._send(worker, indices)

    def _send(self, worker: _Worker, indices: list[int]) -> None:
        told = worker.batch == self.batches
        missing = {} if told else {number: self.bases.known[number] for number in self.numbers if number not in worker.holds}
        message = pickle.dumps((None if told else (self.outline, self.numbers, missing), indices), protocol=5)
        try:
            worker.pipe.send_bytes(message)
        except OSError:  # it has died: while idle, or over a query whose loss will show when we listen to it
            if worker.tasks:
                self.pending = indices + self.pending
            else:
                self._send(self._await(self._replace(worker)), indices)
            return
        self.sent_bytes += len(message)
        worker.holds, worker.batch = set(self.numbers), self.batches
        worker.tasks.append(indices)
        if len(worker.tasks) == 1:
            worker.deadline = self._deadline()

    def _deadline(self) -> float:
        return np.inf if self.timeout is None else time.monotonic() + self.timeout

    def _receive(self, worker: _Worker) -> list[Answer]:
        try:
            answers = [Answer(*answer) for answer in pickle.loads(worker.pipe.recv_bytes())]
        except (EOFError, OSError):
            code = _exit_code(worker.process)
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            return self._failed(worker, f"A worker process was ended {how} during the evaluation.", lost=True)
        worker.tasks.pop(0)
        worker.deadline = self._deadline() if worker.tasks else np.inf
        return answers

    def _failed(self, worker: _Worker, failure: str, lost: bool) -> list[Answer]:
        """The query that the worker was at has failed; those that waited behind it go to others."""
        self._await(self._replace(worker))
        self.pending = [i for task in worker.tasks[1:] for i in task] + self.pending
        return [Answer(i, np.nan, failure, lost=lost) for i in worker.tasks[0]]


def _see_off(process: Any) -> None:
    """Wait for a process that was told to end: its objective may first end its own programs, as `zolal.Command` does; not for ever."""
    process.join(GRACE_SECONDS)
    process.kill()
    process.join()


def _exit_code(process: Any) -> int:
    """The exit code of a process that has ended; another thread that looks after processes may learn of it a moment before us."""
    while process.exitcode is None:
        process.join()
        time.sleep(MOMENT if process.exitcode is None else 0.0)
    return int(process.exitcode)


def _serve(problem: Problem, pipe: Any, threads: int) -> None:
    """In the worker: answer queries until the pipe ends. threads: its share of the cores, so that workers do not crowd each other out."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # first of all, so that one that hangs below can be ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started us decides what an interrupt means
    as_worker()
    at_most(threads)
    held: dict[int, Any] = {}
    batch: Any = None
    parent = os.getppid()
    with contextlib.suppress(EOFError, OSError):  # whoever started us is gone, or needs us no more
        pipe.send_bytes(READY)
        while True:
            told, indices = pickle.loads(pipe.recv_bytes())
            if os.getppid() != parent:  # nobody is left to hear what still waits in the pipe
                return
            if told is not None:
                outline, numbers, parts = told
                held = {number: parts[number] if number in parts else held[number] for number in numbers}
                batch = outline.with_bases(tuple(held[number] for number in numbers))
            pipe.send_bytes(pickle.dumps([portable(answer) for answer in answer_queries(problem, batch, indices)]))
