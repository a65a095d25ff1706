import time
from dataclasses import replace
from typing import Any, final

from zolal.estimators.base import Queries
from zolal.evaluation.crews._cargo import Cargo, answer_cargo, packed, without_bases
from zolal.evaluation.crews.base import BaseNumbers, FuturesCrew
from zolal.evaluation.faults import Answer
from zolal.problem import Problem

SMALL = 1 << 16  # bytes of a base point that goes out with each task rather than by itself
COUNT_SECONDS = 2.0  # between two looks at how many threads the cluster has
PROBLEM = 0  # the number of the problem among the parts of a cargo


@final
class DaskCrew(FuturesCrew):
    """A Dask cluster. The problem and each base point are scattered to all workers once; tasks name them and carry a few numbers.

    Small base points go out with the tasks, which is quicker. A worker that dies takes nothing with it: Dask runs its tasks elsewhere, and
    where parts were lost they are scattered again.
    """

    task_seconds, per_worker = 0.1, 2  # a task costs client and scheduler some milliseconds

    def __init__(self, problem: Problem, client: Any, timeout: float | None = None) -> None:
        super().__init__(problem, timeout)
        self.client, self.bases = client, BaseNumbers()
        self.scattered: dict[int, Any] = {}
        self.fetched: dict[Any, Any] = {}
        self.owner = f"{client.id}-{id(self)}"
        self.packed, self.threads, self.next_count = packed(self.problem), 1, 0.0

    @property
    def num_workers(self) -> int:
        return self.threads

    def begin(self, batch: Queries) -> None:
        super().begin(batch)
        if time.monotonic() > self.next_count:
            self.threads = max(1, sum(self.client.nthreads().values()))
            self.next_count = time.monotonic() + COUNT_SECONDS
        self.numbers = self.bases.of(batch.bases)
        self.outline = without_bases(batch)
        self.scattered = {number: future for number, future in self.scattered.items() if number in (PROBLEM, *self.numbers)}

    def launch(self, indices: list[int]) -> Any:
        self._scatter()
        small = {number: base for number, base in self.bases.known.items() if number not in self.scattered}
        cargo = Cargo(self.owner, self.outline, (PROBLEM, *self.numbers), small, indices)
        return self.client.submit(_answer_scattered, cargo, list(self.scattered), *self.scattered.values(), pure=False)

    def fetch(self, futures: list[Any]) -> None:
        """In one message, not one each."""
        finished = [future for future in futures if future.status == "finished"]
        try:
            self.fetched = dict(zip(finished, self.client.gather(finished), strict=True))
        except Exception:  # a worker died with some of them; `outcome` asks for each by itself
            self.fetched = {}

    def outcome(self, future: Any, indices: list[int]) -> list[Answer] | None:
        try:
            answers, seconds = self.fetched.pop(future, None) or future.result()
        except BaseException as error:  # a cancelled future's error is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            self.scattered = {}
            return self.lost(indices, error)
        return self.noted([Answer(*answer) for answer in answers], seconds)

    def cancel(self) -> list[Answer]:
        self.close()
        return []

    def close(self) -> None:
        if self.tasks:
            self.client.cancel(list(self.tasks))
        self.tasks = {}

    def _scatter(self) -> None:
        if PROBLEM not in self.scattered:
            self.scattered[PROBLEM] = self._sent(self.packed)
        for number, base in self.bases.known.items():
            if number not in self.scattered and base.size * base.dtype.itemsize > SMALL:
                self.scattered[number] = self._sent(base)

    def _sent(self, part: Any) -> Any:
        try:
            return self.client.scatter(part, broadcast=True, direct=True, hash=False)
        except (OSError, TimeoutError):  # workers that only the scheduler can reach
            return self.client.scatter(part, broadcast=True, direct=False, hash=False)


def _answer_scattered(cargo: Cargo, numbers: list[int], *parts: Any) -> Any:
    """In the worker, with the parts that Dask has brought there."""
    return answer_cargo(replace(cargo, parts=cargo.parts | dict(zip(numbers, parts, strict=True))))
