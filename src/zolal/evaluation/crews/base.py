"""What crews share: a limit on the time of a call, numbers for base points, and the way of those who answer through futures."""

import math
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from zolal._array import Array, to_numpy
from zolal.estimators.base import Queries
from zolal.evaluation.evaluate import answer_queries, objective_alone, told_of
from zolal.evaluation.faults import Answer
from zolal.problem import Problem


def too_slow(timeout: float) -> str:
    return f"An evaluation took longer than timeout={timeout:g} s."


@final
@dataclass(frozen=True)
class TimeLimit:
    """Runs a call in a thread of its own and gives up waiting after so many seconds; a thread cannot be ended, so it is left behind."""

    seconds: float

    def __call__(self, call: Callable[[], Any]) -> Any:
        answers: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=lambda: answers.put(_tried(call)), daemon=True).start()
        try:
            value, error = answers.get(timeout=min(self.seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            raise TimeoutError(too_slow(self.seconds)) from None
        if error is not None:
            raise error
        return value


def _tried(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """What a call gives, or what it raises."""
    try:
        return call(), None
    except BaseException as error:
        return None, error


class BaseNumbers:
    """A number for each base point; one that comes again in the next batch keeps its number, so that nobody needs it twice."""

    def __init__(self) -> None:
        self.known: dict[int, Array] = {}
        self.last = 0

    def of(self, bases: Sequence[Array]) -> tuple[int, ...]:
        """The numbers of a batch's base points; those of earlier batches are forgotten."""
        numbers = tuple(self._number(base) for base in bases)
        self.known = dict(zip(numbers, bases, strict=True))
        return numbers

    def _number(self, base: Array) -> int:
        for number, array in self.known.items():
            if _identical(array, base):
                return number
        self.last += 1
        return self.last


def _identical(one: Array, other: Array) -> bool:
    """Whether two arrays are the same to the bit."""
    if one is other:
        return True
    if type(one) is not type(other) or one.dtype != other.dtype or one.shape != other.shape:
        return False
    a, b = (np.ascontiguousarray(to_numpy(array)).view(f"u{one.dtype.itemsize}") for array in (one, other))
    return np.array_equal(a, b)


def timed_answers(problem: Problem, batch: Queries, indices: Sequence[int], patience: float = math.inf) -> tuple[list[Answer], float]:
    """The answers and the seconds that they took. After `patience` seconds no more queries are begun, and the rest is left out."""
    started = time.perf_counter()
    answers: list[Answer] = []
    size = len(indices) if problem.vectorized else 1
    while len(answers) < len(indices) and (not answers or time.perf_counter() - started < patience):
        answers += answer_queries(problem, batch, indices[len(answers) : len(answers) + size])
    return answers, time.perf_counter() - started


class FuturesCrew(ABC):
    """A crew that works through futures: tasks of a few queries each, answers taken as they come."""

    task_seconds = 0.02  # queries that are quicker than this travel together
    per_worker = 4  # tasks per worker and batch at the least, so that nobody waits long for the last one
    not_worth = 0.05  # of `task_seconds`: a shorter task takes more time to send than it saves
    overrun = 2.0  # times `task_seconds`, after which a task gives back what it has not begun: queries may come to take longer
    look_seconds = math.inf  # between two looks at whether there is still anybody to wait for

    def __init__(self, problem: Problem, timeout: float | None) -> None:
        self.problem, self.timeout = objective_alone(problem), timeout
        self.seconds = 0.0  # per query, as measured
        self.tasks: dict[Any, tuple[list[int], float]] = {}  # each future with its queries and its deadline
        self.pending: list[int] = []
        self.finished: queue.Queue[Any] = queue.Queue()
        self.abandoned: list[Any] = []  # futures that took too long and could not be cancelled

    @property
    def capacity(self) -> float:
        """All at once; when time is limited as many as there are workers who are free, so that none of it is spent in a queue."""
        if self.timeout is None:
            return math.inf
        self.abandoned = [future for future in self.abandoned if not future.done()]
        return max(1, self.num_workers - len(self.abandoned))

    @property
    @abstractmethod
    def num_workers(self) -> int: ...

    @property
    def patience(self) -> float:
        """The seconds after which a task begins no more queries."""
        return self.overrun * self.task_seconds

    @abstractmethod
    def launch(self, indices: list[int]) -> Any:
        """A future for the answers of these queries and their seconds."""

    @abstractmethod
    def outcome(self, future: Any, indices: list[int]) -> list[Answer]:
        """The answers of a future that is done, in any order; queries without one are sent again."""

    def drop(self, future: Any) -> bool:
        """Give up a future; whether nobody works on it any more."""
        return bool(future.cancel())

    def gone(self) -> Exception | None:
        """Why no answer will come any more, where that is known."""
        return None

    def fetch(self, futures: list[Any]) -> None:  # noqa: B027
        """These futures are done, and their outcomes are asked for next; a chance to get them together."""

    def begin(self, batch: Queries) -> None:
        self.pending, self.tasks, self.finished = [], {}, queue.Queue()
        self.also(batch)

    def also(self, batch: Queries) -> None:
        self.batch = batch

    def submit(self, index: int) -> None:
        self.pending.append(index)

    def collect(self) -> list[Answer]:
        answers: list[Answer] = []
        while not answers:
            answers += self._dispatch()
            answers += self._wait() if self.tasks and not answers else []
        return answers

    def cancel(self) -> list[Answer]:
        for future in list(self.tasks):
            if future.cancel():
                self.tasks.pop(future, None)
        answers: list[Answer] = []
        while self.tasks:
            answers += self._wait()
        return answers

    def close(self) -> None:
        for future in self.tasks:
            future.cancel()
        self.tasks = {}

    def noted(self, answers: list[Answer], seconds: float) -> list[Answer]:
        """The answers, their time remembered for the size of the next tasks."""
        self.seconds = seconds / max(len(answers), 1) if self.seconds == 0.0 else 0.8 * self.seconds + 0.2 * seconds / max(len(answers), 1)
        return answers

    def lost(self, indices: list[int], error: BaseException) -> list[Answer]:
        return [Answer(i, np.nan, f"`workers` raised {told_of(error)}.", lost=True) for i in indices]

    def _dispatch(self) -> list[Answer]:
        """Launch what is pending, as long as nobody knows how long a query takes only two for each worker; what cannot be is lost."""
        known = self.seconds > 0.0 or self.problem.vectorized
        count = len(self.pending) if known else min(len(self.pending), max(2 * self.num_workers - len(self.tasks), 0))
        ready, self.pending = self.pending[:count], self.pending[count:]
        tasks, failed = self._num_tasks(count), list[Answer]()
        parts = [ready[count * i // tasks : count * (i + 1) // tasks] for i in range(tasks)]
        for indices in parts:
            try:
                future = self.launch(indices)
            except Exception as error:  # an executor that is shut down or broken
                failed += self.lost(indices, error)
                continue
            self.tasks[future] = indices, math.inf if self.timeout is None else time.monotonic() + self.timeout
            future.add_done_callback(self.finished.put)
        return failed

    def _num_tasks(self, count: int) -> int:
        """Into how many tasks so many queries go: the same number for each worker, none of them much longer than `task_seconds`.

        Fewer, where they would be so short that sending them took longer.
        """
        if self.problem.vectorized:
            return min(count, self.num_workers)
        if self.timeout is not None or self.seconds == 0.0:
            return count  # so that each answer comes as soon as there is one
        lengths = count * self.seconds / self.task_seconds  # of all of them
        for_each = max(self.per_worker, math.ceil(lengths / self.num_workers))
        return min(count, self.num_workers * for_each, max(1, math.ceil(lengths / self.not_worth)))

    def _wait(self) -> list[Answer]:
        """The answers of the futures that are done, waiting for the first or for a deadline."""
        deadline = min(min(deadline for _, deadline in self.tasks.values()), time.monotonic() + self.look_seconds)
        patience = min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)
        try:
            done = [self.finished.get(timeout=None if deadline == math.inf else patience)]
        except queue.Empty:
            return self._overdue() or self._given_up()
        while not self.finished.empty():
            done.append(self.finished.get_nowait())
        done = [future for future in done if future in self.tasks]
        self.fetch(done)
        return [answer for future in done for answer in self._harvest(future)]

    def _harvest(self, future: Any) -> list[Answer]:
        indices, _ = self.tasks.pop(future)
        answers = self.outcome(future, indices)
        answered = {answer.query for answer in answers}
        self.pending += [i for i in indices if i not in answered]
        return answers

    def _overdue(self) -> list[Answer]:
        late = [future for future, (_, deadline) in self.tasks.items() if deadline <= time.monotonic()]
        answers = []
        for future in late:
            if not self.drop(future):
                self.abandoned.append(future)
            answers += [Answer(i, np.nan, too_slow(self.timeout or 0.0)) for i in self.tasks.pop(future)[0]]
        return answers

    def _given_up(self) -> list[Answer]:
        """All tasks as lost, where no answer will come any more."""
        error = self.gone()
        if error is None:
            return []
        tasks, self.tasks = self.tasks, {}
        return [answer for indices, _ in tasks.values() for answer in self.lost(indices, error)]
