"""The only place that calls the user's objective, and the loop that hands a batch out to whoever makes the calls."""

import hashlib
import math
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from zolal._array import to_numpy
from zolal._checks import shown
from zolal.constraints import Outputs
from zolal.errors import ObjectiveError, SampleError
from zolal.estimators.base import Queries, SampleKey
from zolal.evaluation.faults import Answer, Evaluation, Ledger
from zolal.problem import Problem

LONGEST = 2000  # characters of what an exception says
MISTAKES = (NameError, TypeError, AttributeError)  # that a wrong name or a wrong number of arguments raises


class Evaluator(Protocol):
    """Anything that turns a batch into values."""

    def __call__(self, batch: Queries) -> Evaluation: ...


class Crew(Protocol):
    """Whoever makes the calls: this thread, processes, an executor, a cluster. It may hold up to `capacity` queries at a time."""

    @property
    def capacity(self) -> float: ...

    @property
    def num_workers(self) -> int:
        """How many queries can be worked on at once; 0 where answers come all together and none before the last."""

    def begin(self, batch: Queries) -> None:
        """Queries of this batch follow."""

    def also(self, batch: Queries) -> None:
        """Queries of this batch follow, too; what was taken on before has its place in it and goes on."""

    def submit(self, index: int) -> None:
        """Take on a query."""

    def collect(self) -> list[Answer]:
        """The answers that have come; waits for the first."""

    def cancel(self) -> list[Answer]:
        """Drop what was taken on and not begun, and wait for the rest."""

    def close(self) -> None:
        """Let go of processes and threads."""


def evaluate(
    crew: Crew, ledger: Ledger, heard: Callable[[Answer], None] = lambda answer: None, held: Callable[..., Any] = lambda function: function
) -> None:
    """Have a crew answer what the ledger wants; answers are heard as they come, and failed queries go back to the crew.

    held: makes a function into one that nothing interrupts, so that of answers that come together none is lost.
    """
    queue = deque(ledger.wanted)
    waiting = 0
    if queue:
        crew.begin(ledger.batch)

    @held
    def take(answers: Iterable[Answer]) -> None:
        for answer in answers:
            heard(answer)
            if ledger.receive(answer):
                queue.append(answer.query)

    while (queue or waiting) and ledger.end is None:
        while queue and waiting < crew.capacity:
            crew.submit(queue.popleft())
            waiting += 1
        answers = crew.collect()
        waiting -= len(answers)
        take(answers)
    if waiting:
        take(crew.cancel())


def objective_alone(problem: Problem) -> Problem:
    """What a worker needs of a problem: it evaluates and knows of no constraints but which outputs there are."""
    return Problem(problem.objective, problem.dimension, problem.simulated, sample=problem.sample, vectorized=problem.vectorized)


def answer_queries(problem: Problem, batch: Queries, indices: Sequence[int]) -> list[Answer]:
    """Call the objective at the given queries of a batch: one by one, or in one block of rows."""
    return _answer_block(problem, batch, indices) if problem.vectorized else [_answer_one(problem, batch, i) for i in indices]


def _answer_one(problem: Problem, batch: Queries, i: int) -> Answer:
    try:
        args = [batch.point(i)]
        if problem.sample is not None:
            args.append(draw_sample(problem.sample, batch.query(i).sample))
        value, outputs = read(problem.outputs, problem.objective(*args))
    except Exception as error:
        return _failed(i, error)
    return answered(problem.outputs, i, value, outputs)


def _answer_block(problem: Problem, batch: Queries, indices: Sequence[int]) -> list[Answer]:
    try:
        args: list[Any] = [batch.rows(indices)]
        if problem.sample is not None:
            args.append([draw_sample(problem.sample, batch.query(i).sample) for i in indices])
        values, outputs = _read_rows(problem.outputs, problem.objective(*args), len(indices))
        if values.shape != (len(indices),) or values.dtype.kind not in "biuf":
            raise ObjectiveError(
                f"The vectorized objective must return {len(indices)} real numbers, got shape {values.shape} of dtype {values.dtype}."
            )
    except Exception as error:
        return [_failed(i, error) for i in indices]
    return [answered(problem.outputs, i, float(v), tuple(more)) for i, v, more in zip(indices, values, outputs.tolist(), strict=True)]


def read(outputs: Outputs, given: Any) -> tuple[float, tuple[float, ...]]:
    """What the objective returned: its value, and its outputs where constraints ask for some."""
    if not len(outputs):
        return as_value(given), ()
    value, more = outputs.parted(given)
    return as_value(value), outputs.read(more)


def _read_rows(outputs: Outputs, given: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for several rows at once."""
    if not len(outputs):
        return to_numpy(given), np.empty((count, 0))
    values, more = outputs.parted(given)
    return to_numpy(values), outputs.rows(more, count)


def answered(outputs: Outputs, i: int, value: float, more: tuple[float, ...]) -> Answer:
    """The answer to the i-th query; a number that is not finite makes it a failure."""
    wrong = _not_finite(value) or outputs.not_finite(more)
    return Answer(i, value if wrong is None or not math.isfinite(value) else np.nan, wrong, answered=wrong is not None, outputs=more)


def draw_sample(sample: Callable[[Any], Any], key: SampleKey) -> Any:
    """Xi of this identity: the user's `sample` on a generator that depends on the key alone."""
    identity = hashlib.blake2b("/".join(map(str, ("zolal/sample", *key))).encode(), digest_size=16).digest()
    generator = np.random.Generator(np.random.Philox(key=np.frombuffer(identity, dtype=np.uint64)))
    try:
        return sample(generator)
    except Exception as error:
        raise SampleError(f"`sample` raised {told_of(error)}.") from error


def as_value(value: Any) -> float:
    """A value of the objective as a float; raises unless it is one real number."""
    if isinstance(value, float):  # NumPy's own are such, too; to look at it as an array takes longer than anything else here
        return float(value)
    try:
        array = to_numpy(value)
    except ValueError:  # a ragged list
        array = np.asarray([value, None], dtype=object)[:1]
    if array.size != 1 or array.dtype.kind not in "biuf":
        if isinstance(value, tuple) and len(value) == 2:
            raise ObjectiveError(f"The objective returned a pair, {shown(value)}; outputs beside a value go with `Simulated` constraints.")
        got = f"shape {array.shape}" if array.size != 1 else shown(value)
        raise ObjectiveError(f"The objective must return one real number, got {got} of dtype {array.dtype}.")
    return float(array.reshape(-1)[0])


@final
@dataclass(frozen=True, eq=False)
class MapEvaluator:
    """One call of the objective per query, in this thread or through any map-like callable; the first failure ends the batch."""

    problem: Problem
    map: Callable[..., Iterable[Any]] = map

    def __call__(self, batch: Queries) -> Evaluation:
        ledger = Ledger(batch)
        evaluate(SerialCrew(self.problem) if self.map is map else MapCrew(self.problem, self.map), ledger)
        return ledger.evaluation


@final
@dataclass(frozen=True, eq=False)
class VectorizedEvaluator:
    """fun(X) on blocks of rows, or fun(X, samples) with one sample per row; blocks keep the memory bounded."""

    problem: Problem
    block_bytes: int = 1 << 27

    def __call__(self, batch: Queries) -> Evaluation:
        ledger = Ledger(batch)
        evaluate(SerialCrew(self.problem, self.block_bytes), ledger)
        return ledger.evaluation


@final
class SerialCrew:
    """The calling thread: one query at a time, or one block of rows. within: runs a call, perhaps with a limit on its time."""

    def __init__(
        self, problem: Problem, block_bytes: int = 1 << 27, within: Callable[[Callable[[], Any]], Any] = lambda call: call()
    ) -> None:
        self.problem, self.within = problem, within
        self.capacity: float = max(1, block_bytes // (8 * problem.dimension)) if problem.vectorized else 1
        self.num_workers = 1
        self.taken: list[int] = []

    def begin(self, batch: Queries) -> None:
        self.batch, self.taken = batch, []

    def also(self, batch: Queries) -> None:
        self.batch = batch

    def submit(self, index: int) -> None:
        self.taken.append(index)

    def collect(self) -> list[Answer]:
        taken, batch, self.taken = self.taken, self.batch, []
        try:
            answers: list[Answer] = self.within(lambda: answer_queries(self.problem, batch, taken))
            return answers
        except TimeoutError as error:
            return [Answer(i, np.nan, str(error)) for i in taken]

    def cancel(self) -> list[Answer]:
        return []

    def close(self) -> None:
        pass


@final
class MapCrew:
    """Any map-like callable, such as `Pool.map`; the description of the batch, base points included, goes out with the function."""

    capacity: float = np.inf
    num_workers = 0

    def __init__(self, problem: Problem, given: Callable[..., Iterable[Any]]) -> None:
        self.problem, self.map = objective_alone(problem), given

    def begin(self, batch: Queries) -> None:
        self.taken = list[int]()
        self.also(batch)

    def also(self, batch: Queries) -> None:
        self.call = _Call(self.problem, batch)

    def submit(self, index: int) -> None:
        self.taken.append(index)

    def collect(self) -> list[Answer]:
        taken, self.taken = self.taken, []
        answers: list[Answer] = []
        failure = ""
        try:
            answers.extend(self.map(self.call, taken))
        except Exception as error:  # the objective's own are values already
            failure = f"`workers` raised {told_of(error)}."
        failure = failure or f"`workers` returned {len(answers)} of {len(taken)} values."
        return answers + [Answer(i, np.nan, failure, lost=True) for i in taken[len(answers) :]]

    def cancel(self) -> list[Answer]:
        return []

    def close(self) -> None:
        pass


@final
@dataclass(frozen=True, eq=False)
class _Call:
    """The i-th evaluation of a batch."""

    problem: Problem
    batch: Queries

    def __call__(self, i: int) -> Answer:
        return Answer(*portable(answer_queries(self.problem, self.batch, [i])[0]))


def portable(answer: Answer) -> tuple[Any, ...]:
    """The answer as what can be sent to another process: an exception with its traceback as a note, or none where it cannot travel."""
    error = answer.error
    if error is not None:
        try:
            error.add_note("In the worker:\n" + "".join(traceback.format_exception(error)))
            error = pickle.loads(pickle.dumps(error))
        except Exception:  # made of what pickle does not know
            error = RuntimeError("".join(traceback.format_exception(error)))
    return tuple(answer._replace(error=error))


def told_of(error: BaseException) -> str:
    """The kind and the words of an exception, as far as it has any, and not more than a page of them."""
    try:
        words = str(error)
    except Exception:
        words = "(it cannot say why)"
    words = words if len(words) <= LONGEST else f"{words[:LONGEST]}..."
    return f"{type(error).__name__}: {words}"


def _failed(i: int, error: Exception) -> Answer:
    """What went wrong in an evaluation, in a sentence, and whether it is a malformed value or a slip of the pen."""
    ours = isinstance(error, (ObjectiveError, SampleError))
    raised = error.__cause__ if isinstance(error, SampleError) else error
    told = str(error) if ours else f"The objective raised {told_of(error)}."
    return Answer(i, np.nan, told, isinstance(error, ObjectiveError), mistake=isinstance(raised, MISTAKES), error=raised)


def _not_finite(value: float) -> str | None:
    return None if math.isfinite(value) else f"The objective returned {value}."
