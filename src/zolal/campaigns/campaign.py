"""Tasks, and the campaign that runs those which the store does not hold yet."""

import importlib
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, final

from zolal.campaigns.store import Store
from zolal.errors import WorkerError

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@final
@dataclass(frozen=True)
class Task:
    """One run, described by plain values: a function of this package by name, and its arguments. Equal tasks are one run.

    function: "module:name", the module being one of `zolal.experiments`, or a dotted one of `zolal` such as "bench.scaling".
    arguments: what JSON can hold. label: what a person is told.
    """

    function: str
    arguments: dict[str, Any]
    label: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        return json.dumps([self.function, self.arguments], sort_keys=True)

    def run(self) -> tuple[dict[str, Any], float]:
        """The outcome, and the processor seconds that it took."""
        module, name = self.function.split(":")
        function = getattr(importlib.import_module(f"zolal.{module}" if "." in module else f"zolal.experiments.{module}"), name)
        started = time.process_time()
        outcome = function(**self.arguments)
        return outcome, time.process_time() - started


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

    def complete(self, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """The outcomes of the tasks, in their order."""
        distinct = {task.key: task for task in tasks}
        missing = [task for key, task in distinct.items() if key not in self.known]
        self.asked.update(distinct)
        done = len(distinct) - len(missing)
        for task, outcome, seconds in self._executed(missing):
            record = dict(key=task.key, version=self.version, label=task.label, seconds=round(seconds, 3), outcome=outcome)
            self.store.append(record)
            self.known[task.key] = record
            done += 1
            self.tell(done, len(distinct), task.label)
        return [self.known[task.key]["outcome"] for task in tasks]

    def complete_groups(self, groups: Sequence[Sequence[Task]]) -> list[list[dict[str, Any]]]:
        """The same, group by group; the first task of every group is run first, so what is interrupted is whole for fewer seeds."""
        self.complete([task for tasks in zip_longest(*groups) for task in tasks if task is not None])
        return [self.complete(group) for group in groups]

    @property
    def seconds(self) -> float:
        """The processor time of all tasks that were asked for, when they were run."""
        return float(sum(self.known[key]["seconds"] for key in self.asked))

    def _executed(self, tasks: list[Task]) -> Iterator[tuple[Task, dict[str, Any], float]]:
        if self.workers == 1 or len(tasks) <= 1:
            for task in tasks:
                yield (task, *task.run())
            return
        # new interpreters rather than forks: compiled kernels and linear algebra keep threads that do not survive a fork
        with one_thread_each(), ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn")) as pool:
            running = {pool.submit(task.run): task for task in tasks}
            try:
                while running:
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in ended:
                        yield (running.pop(future), *future.result())
            except BrokenProcessPool as error:
                raise WorkerError(
                    "A process of the campaign died; the runs that had ended are stored, so run it again to go on."
                ) from error
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


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
