from typing import Any, final

from zolal.crews._cargo import Cargo, deliver, packed, without_bases
from zolal.crews.base import BaseNumbers, FuturesCrew
from zolal.estimators.base import QueryBatch
from zolal.faults import Answer
from zolal.problem import Problem

PROBLEM = 0  # the number of the problem among the parts of a cargo


@final
class DaskCrew(FuturesCrew):
    """A Dask cluster. The problem and each base point are scattered to all workers once; tasks name them and carry a few numbers.

    A worker that dies takes nothing with it: Dask runs its tasks elsewhere, and where parts were lost they are scattered again.
    """

    def __init__(self, problem: Problem, client: Any, timeout: float | None = None) -> None:
        super().__init__(problem, timeout)
        self.client, self.bases = client, BaseNumbers()
        self.scattered: dict[int, Any] = {}
        self.owner = f"{client.id}-{id(self)}"
        self.packed, self.threads = packed(problem), 1

    @property
    def num_workers(self) -> int:
        return self.threads

    def begin(self, batch: QueryBatch) -> None:
        super().begin(batch)
        self.threads = max(1, sum(self.client.nthreads().values()))
        self.numbers = self.bases.of(batch.bases)
        self.outline = without_bases(batch)
        self.scattered = {number: future for number, future in self.scattered.items() if number in (PROBLEM, *self.numbers)}

    def launch(self, indices: list[int]) -> Any:
        self._scatter()
        numbers = (PROBLEM, *self.numbers)
        cargo = Cargo(self.owner, self.outline, numbers, {}, indices)
        return self.client.submit(_deliver, cargo, *(self.scattered[number] for number in numbers), pure=False)

    def outcome(self, future: Any, indices: list[int]) -> list[Answer] | None:
        try:
            answers, seconds = future.result()
        except BaseException as error:  # a cancelled future's error is no Exception
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
        for number in (PROBLEM, *self.numbers):
            if number not in self.scattered:
                part = self.packed if number == PROBLEM else self.bases.known[number]
                self.scattered[number] = self._sent(part)

    def _sent(self, part: Any) -> Any:
        try:
            return self.client.scatter(part, broadcast=True, direct=True, hash=False)
        except (OSError, TimeoutError):  # workers that only the scheduler can reach
            return self.client.scatter(part, broadcast=True, direct=False, hash=False)


def _deliver(cargo: Cargo, *parts: Any) -> Any:
    """In the worker, with the parts that Dask has brought there."""
    cargo.parts.update(zip(cargo.numbers, parts, strict=True))
    return deliver(cargo)
