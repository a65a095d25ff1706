import contextlib
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, final

from zolal.estimators.base import Queries
from zolal.evaluation.crews._cargo import Cargo, answer_cargo, needed, packed
from zolal.evaluation.crews.base import BaseNumbers, FuturesCrew, TimeLimit
from zolal.evaluation.faults import Answer
from zolal.problem import Problem

SMALL = 1 << 16  # bytes of a base point that goes out with each task rather than by itself
COUNT_SECONDS = 2.0  # between two looks at how many threads the cluster has
CALL_SECONDS = 30.0  # that the cluster may take to answer a message; less where evaluations are to take less
PROBLEM = 0  # the number of the problem among the parts of a cargo


@final
class DaskCrew(FuturesCrew):
    """A Dask cluster. The problem and each base point are scattered to all workers once; tasks name them and carry a few numbers.

    Small base points go out with the tasks, which is quicker, and so does everything where there are no workers yet or nothing can be
    scattered. A worker that dies takes nothing with it: Dask runs its tasks elsewhere, and where parts were lost they are scattered again.
    A cluster that is gone, or does not answer, loses queries as a worker that dies does; it raises nothing.

    All tasks are of one group by the first word of their keys. A scheduler keeps a record of each group for good (dask/distributed#7977)
    and makes a new one where the last task of a group was forgotten; so one task that does nothing is held on to from batch to batch.
    """

    task_seconds, per_worker = 0.1, 2  # a task costs client and scheduler some milliseconds
    look_seconds = 2.0

    def __init__(self, problem: Problem, client: Any, timeout: float | None = None) -> None:
        super().__init__(problem, timeout)
        self.client, self.bases = client, BaseNumbers()
        self.scattered: dict[int, Any] = {}
        self.fetched: dict[Any, Any] = {}
        self.owner, self.launched, self.anchor = uuid.uuid4().hex, 0, None
        self.packed, self.threads, self.next_count, self.next_scatter = packed(self.problem), 0, 0.0, 0.0
        self.limit = TimeLimit(CALL_SECONDS if timeout is None else min(timeout, CALL_SECONDS))

    @property
    def num_workers(self) -> int:
        return max(1, self.threads)

    def also(self, batch: Queries) -> None:
        super().also(batch)
        if time.monotonic() > self.next_count:
            self.threads = self._asked(lambda: sum(self.client.nthreads().values())) or 0
            self.next_count = time.monotonic() + COUNT_SECONDS
        self.numbers = self.bases.of(batch.bases)
        self.scattered = {number: future for number, future in self.scattered.items() if number in (PROBLEM, *self.numbers)}
        if self.threads and (self.anchor is None or self.anchor.status not in ("pending", "finished")):
            self.anchor = self._asked(lambda: self._submit(_nothing))

    def launch(self, indices: list[int]) -> Any:
        outline, numbers = needed(self.batch, self.numbers, indices)
        parts = {PROBLEM: self.packed} | {number: self.bases.known[number] for number in numbers}
        if self.threads and time.monotonic() >= self.next_scatter:
            self._scatter(parts)
        carried = {number: part for number, part in parts.items() if number not in self.scattered}
        cargo = Cargo(self.owner, outline, (PROBLEM, *numbers), carried, indices, self.patience)
        return self._submit(_answer_scattered, cargo, list(self.scattered), *self.scattered.values())

    def _submit(self, function: Callable[..., Any], *given: Any) -> Any:
        self.launched += 1
        return self.client.submit(function, *given, key=f"zolal-{self.launched}-{self.owner}", pure=False)

    def fetch(self, futures: list[Any]) -> None:
        """In one message, not one each; where a worker died with some of them, `outcome` asks for each by itself."""
        finished = [future for future in futures if future.status == "finished"]
        values = self._asked(lambda: self.client.gather(finished)) or []
        self.fetched = dict(zip(finished, values, strict=False))

    def outcome(self, future: Any, indices: list[int]) -> list[Answer]:
        try:
            answers, seconds = self.fetched.pop(future, None) or self.limit(future.result)
        except BaseException as error:  # a cancelled future's error is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            self.scattered = {}
            return self.lost(indices, error)
        return self.noted([Answer(*answer) for answer in answers], seconds)

    def drop(self, future: Any) -> bool:
        self._asked(future.cancel)
        return bool(future.done())

    def gone(self) -> Exception | None:
        return ConnectionError("the client has lost its cluster") if self.client.status == "closed" else None

    def cancel(self) -> list[Answer]:
        self.close()
        return []

    def close(self) -> None:
        if self.tasks:
            self._asked(lambda: self.client.cancel(list(self.tasks)))
        self.tasks, self.anchor = {}, None

    def _asked(self, question: Callable[[], Any]) -> Any:
        """What the cluster says; None where it does not answer in time, or cannot any more."""
        with contextlib.suppress(Exception):
            return self.limit(question)

    def _scatter(self, parts: dict[int, Any]) -> None:
        """Send what is large, and the problem, to all workers by itself; where that fails it goes along with the tasks for a while."""
        for number, part in parts.items():
            large = number == PROBLEM or part.size * part.dtype.itemsize > SMALL
            if number in self.scattered or not large:
                continue
            sent = self._sent(part)
            if sent is None:
                self.next_scatter = time.monotonic() + CALL_SECONDS
                return
            self.scattered[number] = sent

    def _sent(self, part: Any) -> Any:
        """What stands for the part in tasks: sent directly, or through the scheduler where workers can be reached by that alone."""
        how = dict(broadcast=True, hash=False, timeout=self.limit.seconds)
        directly = self._asked(lambda: self.client.scatter(part, direct=True, **how))
        return directly or self._asked(lambda: self.client.scatter(part, direct=False, **how))


def _nothing() -> None:
    """In the worker."""


def _answer_scattered(cargo: Cargo, numbers: list[int], *parts: Any) -> Any:
    """In the worker, with the parts that Dask has brought there."""
    return answer_cargo(replace(cargo, parts=cargo.parts | dict(zip(numbers, parts, strict=True))))
