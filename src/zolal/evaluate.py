"""How batches are evaluated: the only place that calls the user's objective."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from zolal._array import to_numpy
from zolal.errors import ObjectiveError, SampleError
from zolal.estimators.base import QueryBatch, SampleKey
from zolal.problem import Problem


@final
@dataclass(frozen=True)
class Evaluation:
    """The values of a batch in its order; NaN for what failed, with the first failure in words. count: how many calls were made."""

    values: np.ndarray
    count: int
    failure: str | None = None
    malformed: bool = False  # the failure is a value that is no real number: a mistake in the function, not bad luck


class Evaluator(Protocol):
    """Anything that turns a batch into values."""

    def __call__(self, batch: QueryBatch) -> Evaluation: ...


def draw_sample(sample: Callable[[Any], Any], key: SampleKey) -> Any:
    """Xi of this identity: the user's `sample` on a generator that depends on the key alone."""
    identity = hashlib.blake2b("/".join(map(str, ("zolal/sample", *key))).encode(), digest_size=16).digest()
    generator = np.random.Generator(np.random.Philox(key=np.frombuffer(identity, dtype=np.uint64)))
    try:
        return sample(generator)
    except Exception as error:
        raise SampleError(f"`sample` raised {type(error).__name__}: {error}.") from error


def as_value(value: Any) -> float:
    """A value of the objective as a float; raises unless it is one real number."""
    try:
        array = to_numpy(value)
    except ValueError:  # a ragged list
        array = np.asarray([value, None], dtype=object)[:1]
    if array.size != 1 or array.dtype.kind not in "biuf":
        shown = f"shape {array.shape}" if array.size != 1 else f"{value!r}"
        raise ObjectiveError(f"The objective must return one real number, got {shown} of dtype {array.dtype}.")
    return float(array.reshape(-1)[0])


@final
@dataclass(frozen=True, eq=False)
class MapEvaluator:
    """One call of the objective per query, through any map-like callable; the built-in map is serial."""

    problem: Problem
    map: Callable[..., Iterable[Any]] = map

    def __call__(self, batch: QueryBatch) -> Evaluation:
        values: list[float] = []
        first: tuple[str | None, bool] = None, False
        try:
            for value, failure, malformed in self.map(_Call(self.problem, batch), range(len(batch))):
                values.append(value)
                first = (failure, malformed) if first[0] is None else first
                if failure is not None and self.map is map:  # other maps have made the remaining calls already
                    break
        except Exception as error:  # the objective's own are values already
            first = (f"`workers` raised {type(error).__name__}: {error}.", False)
        if first[0] is None and len(values) < len(batch):
            first = (f"`workers` returned {len(values)} of {len(batch)} values.", False)
        padding = [np.nan] * (len(batch) - len(values))
        return Evaluation(np.asarray(values + padding), len(values), *first)


@final
@dataclass(frozen=True, eq=False)
class _Call:
    """The i-th evaluation of a batch: (value, failure, malformed)."""

    problem: Problem
    batch: QueryBatch

    def __call__(self, i: int) -> tuple[float, str | None, bool]:
        try:
            args = [self.batch.point(i)]
            if self.problem.sample is not None:
                args.append(draw_sample(self.problem.sample, self.batch.query(i).sample))
            value = as_value(self.problem.objective(*args))
        except Exception as error:
            return np.nan, *_told(error)
        return value, _not_finite(value), False


@final
@dataclass(frozen=True, eq=False)
class VectorizedEvaluator:
    """fun(X) on blocks of rows, or fun(X, samples) with one sample per row; blocks keep the memory bounded."""

    problem: Problem
    block_bytes: int = 1 << 27

    def __call__(self, batch: QueryBatch) -> Evaluation:
        rows = max(1, self.block_bytes // (8 * self.problem.dimension))
        values = np.full(len(batch), np.nan)
        for start in range(0, len(batch), rows):
            stop = min(start + rows, len(batch))
            try:
                values[start:stop] = self._block(batch, start, stop)
            except Exception as error:
                return Evaluation(values, stop, *_told(error))
            failures = [text for text in map(_not_finite, values[start:stop]) if text]
            if failures:
                return Evaluation(values, stop, failures[0])
        return Evaluation(values, len(batch))

    def _block(self, batch: QueryBatch, start: int, stop: int) -> np.ndarray:
        args: list[Any] = [batch.points(start, stop)]
        if self.problem.sample is not None:
            args.append([draw_sample(self.problem.sample, batch.query(i).sample) for i in range(start, stop)])
        values = to_numpy(self.problem.objective(*args))
        if values.shape != (stop - start,) or values.dtype.kind not in "biuf":
            raise ObjectiveError(
                f"The vectorized objective must return {stop - start} real numbers, got shape {values.shape} of dtype {values.dtype}."
            )
        return values


def _told(error: Exception) -> tuple[str, bool]:
    """What went wrong in an evaluation, in a sentence, and whether it is a malformed value."""
    if isinstance(error, (ObjectiveError, SampleError)):
        return str(error), isinstance(error, ObjectiveError)
    return f"The objective raised {type(error).__name__}: {error}.", False


def _not_finite(value: float) -> str | None:
    return None if np.isfinite(value) else f"The objective returned {value}."
