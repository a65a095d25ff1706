import multiprocessing
import pickle
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import connection
from typing import Any, final

import numpy as np

from zolal.crews._cargo import without_bases
from zolal.crews.base import BaseNumbers, too_slow
from zolal.errors import UnsupportedError
from zolal.estimators.base import QueryBatch
from zolal.evaluate import answer_queries, objective_alone
from zolal.faults import Answer
from zolal.problem import Problem


@dataclass(eq=False)
class _Worker:
    """One process, what it holds and what it is doing."""

    process: Any
    pipe: Any
    holds: set[int] = field(default_factory=set)
    batch: int = 0  # the last one that it was told of
    indices: list[int] = field(default_factory=list)
    deadline: float = np.inf


@final
class ProcessCrew:
    """`count` processes of our own. A base point goes to a worker once; a query is a number.

    A worker that takes too long is killed, one that dies is replaced; its query is answered as failed. Where the system can fork, workers
    inherit the problem, lambdas and all; elsewhere it must be picklable. sent_bytes counts all that was sent to workers.
    """

    def __init__(self, problem: Problem, count: int, timeout: float | None = None) -> None:
        self.problem, self.count, self.timeout = objective_alone(problem), count, timeout
        self.capacity = np.inf if problem.vectorized else count
        self.context: Any = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
        self.workers: list[_Worker] = []
        self.bases, self.pending = BaseNumbers(), list[int]()
        self.batches = self.sent_bytes = 0

    def begin(self, batch: QueryBatch) -> None:
        while len(self.workers) < self.count:
            self.workers.append(self._start())
        self.batches += 1
        self.batch, self.numbers, self.outline, self.pending = batch, self.bases.of(batch.bases), without_bases(batch), []

    def submit(self, index: int) -> None:
        self.pending.append(index)

    def collect(self) -> list[Answer]:
        self._dispatch()
        busy = {worker.pipe: worker for worker in self.workers if worker.indices}
        first = min(worker.deadline for worker in busy.values())
        ready = connection.wait(list(busy), None if first == np.inf else max(0.0, first - time.monotonic()))
        answers = [answer for pipe in ready for answer in self._receive(busy[pipe])]
        for worker in busy.values():
            if worker.indices and worker.deadline <= time.monotonic():
                answers += self._failed(worker, too_slow(self.timeout or 0.0), lost=False)
        return answers or self.collect()

    def cancel(self) -> list[Answer]:
        self.pending = []
        answers = []
        while any(worker.indices for worker in self.workers):
            answers += self.collect()
        return answers

    def close(self) -> None:
        for worker in self.workers:
            if worker.indices:
                worker.process.kill()
            worker.pipe.close()  # an idle worker ends at the end of its pipe
            worker.process.join()
        self.workers = []

    def _start(self) -> _Worker:
        ours, theirs = self.context.Pipe()
        inherited = [worker.pipe for worker in self.workers] + [ours] if self.context.get_start_method() == "fork" else []
        process = self.context.Process(target=_serve, args=(self.problem, theirs, inherited), daemon=True)
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise UnsupportedError(f"`workers` as processes need a problem that can be pickled on this system: {error}.") from error
        theirs.close()
        return _Worker(process, ours)

    def _replace(self, worker: _Worker) -> _Worker:
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()
        self.workers[self.workers.index(worker)] = fresh = self._start()
        return fresh

    def _dispatch(self) -> None:
        idle = [worker for worker in self.workers if not worker.indices]
        size = -(-len(self.pending) // len(idle)) if self.problem.vectorized and idle else 1
        for worker in idle:
            if self.pending:
                indices, self.pending = self.pending[:size], self.pending[size:]
                self._send(worker, indices)

    def _send(self, worker: _Worker, indices: list[int]) -> None:
        told = worker.batch == self.batches
        missing = {} if told else {number: self.bases.known[number] for number in self.numbers if number not in worker.holds}
        message = pickle.dumps((None if told else (self.outline, self.numbers, missing), indices), protocol=5)
        try:
            worker.pipe.send_bytes(message)
        except OSError:  # it died while it was idle
            return self._send(self._replace(worker), indices)
        self.sent_bytes += len(message)
        worker.holds, worker.batch, worker.indices = set(self.numbers), self.batches, indices
        worker.deadline = np.inf if self.timeout is None else time.monotonic() + self.timeout
        return None

    def _receive(self, worker: _Worker) -> list[Answer]:
        try:
            answers = [Answer(*answer) for answer in pickle.loads(worker.pipe.recv_bytes())]
        except (EOFError, OSError):
            worker.process.join()
            code = worker.process.exitcode
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            return self._failed(worker, f"A worker process was ended {how} during the evaluation.", lost=True)
        worker.indices, worker.deadline = [], np.inf
        return answers

    def _failed(self, worker: _Worker, failure: str, lost: bool) -> list[Answer]:
        self._replace(worker)
        return [Answer(i, np.nan, failure, lost=lost) for i in worker.indices]


def _serve(problem: Problem, pipe: Any, inherited: Sequence[Any]) -> None:
    """In the worker: answer queries until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started us decides what an interrupt means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in inherited:
        other.close()
    held: dict[int, Any] = {}
    batch: Any = None
    while True:
        try:
            told, indices = pickle.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        if told is not None:
            outline, numbers, parts = told
            held = {number: parts[number] if number in parts else held[number] for number in numbers}
            batch = replace(outline, bases=tuple(held[number] for number in numbers))
        pipe.send_bytes(pickle.dumps([tuple(answer) for answer in answer_queries(problem, batch, indices)]))
