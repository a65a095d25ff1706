import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, final

import numpy as np

from zolal.estimators.base import Queries
from zolal.evaluation.crews._cargo import Absent, Cargo, Spool, answer_cargo, needed, packed
from zolal.evaluation.crews.base import BaseNumbers, FuturesCrew, timed_answers
from zolal.evaluation.faults import Answer
from zolal.problem import Problem

PROBLEM = 0  # the number of the problem among the parts of a cargo


@final
class ExecutorCrew(FuturesCrew):
    """Any `concurrent.futures` executor. Threads share the batch; other workers get queries as numbers.

    No task can be meant for a certain worker. Processes of this machine find the problem and the base points in files. Elsewhere the first
    tasks of a batch carry the new base points, one task per worker; a worker that still lacks a part says so and gets it with the task
    sent again.
    """

    def __init__(self, problem: Problem, executor: Any, timeout: float | None = None) -> None:
        super().__init__(problem, timeout)
        self.executor = executor
        self.shares_memory = isinstance(executor, ThreadPoolExecutor)
        self.spool = Spool() if isinstance(executor, ProcessPoolExecutor) else None
        self.owner, self.bases, self.packed = uuid.uuid4().hex, BaseNumbers(), b""
        self.wanted: dict[int, int] = {}  # how many more tasks are to carry each part
        self.carriers: dict[Any, tuple[int, ...]] = {}  # the parts that tasks under way carry

    @property
    def num_workers(self) -> int:
        return getattr(self.executor, "_max_workers", None) or 1

    def begin(self, batch: Queries) -> None:
        self.carriers = {}
        super().begin(batch)

    def also(self, batch: Queries) -> None:
        super().also(batch)
        if self.shares_memory:
            return
        self.packed = self.packed or packed(self.problem)
        self.numbers = self.bases.of(batch.bases)
        self.parts = {PROBLEM: self.packed} | self.bases.known
        self.wanted = {number: self.wanted.get(number, self.num_workers) for number in self.parts}
        if self.spool is not None and all(isinstance(base, np.ndarray) for base in batch.bases):
            self.spool.keep(self.parts)

    def launch(self, indices: list[int]) -> Any:
        if self.shares_memory:
            return self.executor.submit(timed_answers, self.problem, self.batch, indices, self.patience)
        outline, numbers = needed(self.batch, self.numbers, indices)
        numbers = (PROBLEM, *numbers)

        def send(parts: dict[int, Any]) -> Any:
            return self.executor.submit(answer_cargo, Cargo(self.owner, outline, numbers, parts, indices, self.patience))

        if self.spool is not None and self.spool.parts:
            return send({number: self.spool.parts[number] for number in numbers})
        carried = {number: self.parts[number] for number in numbers if self.wanted[number] > 0}
        future = send(carried)
        self.carriers[future] = tuple(carried)
        for number in carried:
            self.wanted[number] -= 1
        return future

    def outcome(self, future: Any, indices: list[int]) -> list[Answer]:
        self.carriers.pop(future, None)
        try:
            found = future.result()
        except BaseException as error:  # a cancelled future's error is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            return self.lost(indices, error)
        if isinstance(found, Absent):
            under_way = {number for numbers in self.carriers.values() for number in numbers}
            for number in set(found.numbers) - under_way:  # one at a time: it may go to a worker that has the part
                self.wanted[number] = max(self.wanted[number], 1)
            return []
        answers, seconds = found
        return self.noted([Answer(*answer) for answer in answers], seconds)

    def close(self) -> None:
        super().close()
        if self.spool is not None:
            self.spool.close()
