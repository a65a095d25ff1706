import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, final

from zolal.crews._cargo import Absent, Cargo, deliver, packed, without_bases
from zolal.crews.base import BaseNumbers, FuturesCrew, timed_answers
from zolal.estimators.base import QueryBatch
from zolal.faults import Answer
from zolal.problem import Problem

PROBLEM = 0  # the number of the problem among the parts of a cargo


@final
class ExecutorCrew(FuturesCrew):
    """Any `concurrent.futures` executor. Threads share the batch; other workers get queries as numbers.

    No task can be meant for a certain worker, so the first tasks of a batch carry the new base points, one task per worker; a worker that
    still lacks a part says so and gets it with the task sent again.
    """

    def __init__(self, problem: Problem, executor: Any, timeout: float | None = None) -> None:
        super().__init__(problem, timeout)
        self.executor = executor
        self.shares_memory = isinstance(executor, ThreadPoolExecutor)
        self.owner, self.bases = uuid.uuid4().hex, BaseNumbers()
        self.carried: dict[int, int] = {}  # how often each part was sent

    @property
    def num_workers(self) -> int:
        return getattr(self.executor, "_max_workers", None) or 1

    def begin(self, batch: QueryBatch) -> None:
        super().begin(batch)
        if self.shares_memory:
            return
        self.numbers = self.bases.of(batch.bases)
        self.carried = {number: self.carried.get(number, 0) for number in (PROBLEM, *self.numbers)}
        self.outline = without_bases(batch)
        if self.carried[PROBLEM] == 0:
            self.packed = packed(self.problem)

    def launch(self, indices: list[int]) -> Any:
        if self.shares_memory:
            return self.executor.submit(timed_answers, self.problem, self.batch, indices)
        return self._send(indices, tuple(number for number, sent in self.carried.items() if sent < self.num_workers))

    def outcome(self, future: Any, indices: list[int]) -> list[Answer] | None:
        try:
            found = future.result()
        except BaseException as error:  # a cancelled future's error is no Exception
            return self.lost(indices, error)
        if isinstance(found, Absent):
            for number in found.numbers:
                self.carried[number] = min(self.carried[number], self.num_workers - 1)
            return None
        answers, seconds = found
        return self.noted([Answer(*answer) for answer in answers], seconds)

    def _send(self, indices: list[int], numbers: tuple[int, ...]) -> Any:
        parts = {number: self.packed if number == PROBLEM else self.bases.known[number] for number in numbers}
        future = self.executor.submit(deliver, Cargo(self.owner, self.outline, (PROBLEM, *self.numbers), parts, indices))
        for number in numbers:
            self.carried[number] += 1
        return future
