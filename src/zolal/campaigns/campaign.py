"""Tasks, and the campaign that runs those which the store does not hold yet."""

import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final, get_type_hints

from zolal.campaigns.outcomes import MisfitError, restored
from zolal.campaigns.store import Store
from zolal.errors import WorkerError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
DIED = "A process of the campaign died; the runs that had ended are stored, so run it again to go on."


T = TypeVar("T", bound="DataclassInstance")
T_co = TypeVar("T_co", bound="DataclassInstance", covariant=True)


@final
@dataclass(frozen=True)
class Task(Generic[T_co]):
    """One run: a function of a module, and its arguments. Tasks with equal keys are one run.

    function: its return annotation is a frozen dataclass or a union of some, which `restored` makes again. arguments: what JSON can hold.
    label: what a person is told.
    """

    function: Callable[..., T_co]
    arguments: dict[str, Any]
    label: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """The function by its module and name, and the arguments; `bench.probe:measure`, but `qcqp:measure` for one of `experiments`."""
        module = self.function.__module__.removeprefix("zolal.").removeprefix("experiments.")
        return json.dumps([f"{module}:{self.function.__name__}", self.arguments], sort_keys=True)

    def run(self) -> tuple[T_co, float]:
        """The outcome, and the processor seconds that it took."""
        started = time.process_time()
        outcome = self.function(**self.arguments)
        return outcome, time.process_time() - started

    def restored(self, stored: Any) -> T_co:
        """The outcome, from what the store holds of it; `MisfitError` where that is not what the function returns now."""
        outcome: T_co = restored(get_type_hints(self.function)["return"], stored)
        return outcome


@final
@dataclass(frozen=True)
class Campaign:
    """Runs tasks on several processes and keeps every outcome in the store; what is there already is not run again.

    workers: processes; 1 runs in this one. version: of zolal; outcomes of other versions are left alone and not used.
    tell: called with (done, total, label) after each task.
    """

    store: Store
    workers: int
    version: str
    tell: Callable[[int, int, str], None]
    known: dict[str, dict[str, Any]] = field(init=False, repr=False)
    asked: set[str] = field(init=False, repr=False, default_factory=set)  # the keys of all tasks so far

    def __post_init__(self) -> None:
        known = {record["key"]: record for record in self.store.records() if record.get("version") == self.version}
        object.__setattr__(self, "known", known)

    def complete(self, tasks: Sequence[Task[T]]) -> list[T]:
        """The outcomes of the tasks, in their order."""
        distinct = {task.key: task for task in tasks}
        found = {key: stored for key, task in distinct.items() if (stored := self._stored(task)) is not None}
        missing = [task for key, task in distinct.items() if key not in found]
        self.asked.update(distinct)
        for task, made, seconds in self._executed(missing):
            found[task.key] = self.keep(task, made, seconds)
            self.tell(len(found), len(distinct), task.label)
        return [found[task.key] for task in tasks]

    def keep(self, task: Task[T], made: T, seconds: float) -> T:
        """Store what a task came to, and the processor seconds that it took; returned is the outcome as the store holds it."""
        outcome = asdict(made)
        kept = task.restored(outcome)
        record = dict(key=task.key, version=self.version, label=task.label, seconds=round(seconds, 3), outcome=outcome)
        self.store.append(record)
        self.known[task.key] = record
        return kept

    def _stored(self, task: Task[T]) -> T | None:
        """The outcome that is known; None where there is none, or it is not what the function returns now."""
        if task.key not in self.known:
            return None
        try:
            return task.restored(self.known[task.key]["outcome"])
        except MisfitError:
            return None

    def complete_groups(self, groups: Sequence[Sequence[Task[T]]]) -> list[list[T]]:
        """The same, group by group; the first task of every group is run first, so what is interrupted is whole for fewer seeds."""
        self.complete([task for tasks in zip_longest(*groups) for task in tasks if task is not None])
        return [self.complete(group) for group in groups]

    @property
    def seconds(self) -> float:
        """The processor time of all tasks that were asked for, when they were run."""
        return float(sum(self.known[key]["seconds"] for key in self.asked))

    def _executed(self, tasks: list[Task[T]]) -> Iterator[tuple[Task[T], T, float]]:
        if self.workers == 1 or len(tasks) <= 1:
            for task in tasks:
                yield (task, *task.run())
            return
        # new interpreters rather than forks: compiled kernels and linear algebra keep threads that do not survive a fork
        with one_thread_each(), ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn")) as pool:
            running = _begun(pool, tasks)
            try:
                while running:
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        yield (running.pop(future), *future.result())
            except BrokenProcessPool as error:
                raise WorkerError(DIED) from error
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _begun(pool: ProcessPoolExecutor, tasks: list[Task[T]]) -> dict[Future[tuple[T, float]], Task[T]]:
    try:
        return {pool.submit(task.run): task for task in tasks}
    except (BrokenProcessPool, OSError) as error:  # a process that dies now closes what the next one would be started with
        raise WorkerError(DIED) from error


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Linear algebra with one thread in the processes that start inside: they are as many as the machine shall use."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
