"""What travels to a worker that shares no memory: a batch without its base points, and the parts that the worker does not have yet."""

import pickle
import sys
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast, final

import numpy as np

from zolal.errors import UnsupportedError
from zolal.estimators.base import Queries
from zolal.estimators.standing import Standing
from zolal.evaluation.crews.base import timed_answers
from zolal.evaluation.evaluate import portable
from zolal.problem import Problem

HELD = 12  # parts that a worker keeps
_held: OrderedDict[tuple[str, int], Any] = OrderedDict()  # of this worker


class Absent(NamedTuple):
    """A worker's answer where it lacks parts of the cargo."""

    numbers: tuple[int, ...]


@final
@dataclass(frozen=True, eq=False)
class Cargo:
    """Queries of one batch for one worker. numbers: of the problem and of the base points. parts: those that are sent along.

    patience: the seconds after which no more queries are begun.
    """

    owner: str
    outline: Queries  # without base points
    numbers: tuple[int, ...]
    parts: dict[int, Any]
    indices: list[int]
    patience: float


class Spooled(NamedTuple):
    """A part that lies in a file, for workers on the same machine."""

    path: str

    def load(self) -> Any:
        return unpacked(Path(self.path).read_bytes()) if self.path.endswith(".pickle") else np.load(self.path, allow_pickle=False)


@final
class Spool:
    """A temporary folder with parts for all workers of one machine: each part is written once, whoever reads it."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="zolal-", ignore_cleanup_errors=True)
        self.parts: dict[int, Spooled] = {}
        self.written_bytes = 0

    def keep(self, parts: dict[int, Any]) -> None:
        """Hold these parts and no others; bytes are a problem, everything else an array."""
        for number in [number for number in self.parts if number not in parts]:
            Path(self.parts.pop(number).path).unlink()
        for number, part in parts.items():
            if number not in self.parts:
                path = Path(self.folder.name) / (f"{number}.pickle" if isinstance(part, bytes) else f"{number}.npy")
                path.write_bytes(part) if isinstance(part, bytes) else np.save(path, part)
                self.written_bytes += path.stat().st_size
                self.parts[number] = Spooled(str(path))

    def close(self) -> None:
        self.folder.cleanup()


def without_bases(batch: Queries) -> Queries:
    """The few numbers that describe a batch beside its base points."""
    return batch.with_bases(())


def needed(batch: Queries, numbers: tuple[int, ...], indices: list[int]) -> tuple[Queries, tuple[int, ...]]:
    """What describes some queries of a batch, and the numbers of the base points that they need: of queries under way their own alone."""
    if not isinstance(batch, Standing):
        return without_bases(batch), numbers
    part = batch.only(indices)
    return without_bases(part), tuple(numbers[batch.slots.index(slot)] for slot in part.slots)


def answer_cargo(cargo: Cargo) -> Any:
    """In the worker: the answers to the cargo's queries with their seconds, or what is missing."""
    for number, part in cargo.parts.items():
        if (cargo.owner, number) not in _held:
            held = unpacked(part) if isinstance(part, bytes) else part.load() if isinstance(part, Spooled) else part
            _held[cargo.owner, number] = held
    found = [_held.get((cargo.owner, number)) for number in cargo.numbers]
    if missing := tuple(number for number, part in zip(cargo.numbers, found, strict=True) if part is None):
        return Absent(missing)
    for number in cargo.numbers:
        _held.move_to_end((cargo.owner, number))
    while len(_held) > HELD:
        _held.popitem(last=False)
    batch = cargo.outline.with_bases(tuple(found[1:]))
    answers, seconds = timed_answers(cast(Problem, found[0]), batch, cargo.indices, cargo.patience)
    return [portable(answer) for answer in answers], seconds


def packed(problem: Problem) -> bytes:
    """The problem as bytes for another process; functions that have no importable name need cloudpickle, which Dask brings along."""
    try:
        import cloudpickle
    except ImportError:
        cloudpickle = None
    try:
        return pickle.dumps(problem) if cloudpickle is None else cloudpickle.dumps(problem)
    except Exception as error:
        hint = "" if cloudpickle else "; with cloudpickle installed, lambdas and local functions travel too"
        raise UnsupportedError(f"The problem cannot be sent to these `workers`: {type(error).__name__}: {error}{hint}.") from error


def unpacked(data: bytes) -> Problem:
    problem: Problem = pickle.loads(data)
    return problem


def travels_by_value(module_name: str) -> None:
    """Have the functions of a module that workers cannot import sent as code, where cloudpickle is there to do it."""
    try:
        import cloudpickle
    except ImportError:
        return
    cloudpickle.register_pickle_by_value(sys.modules[module_name])
