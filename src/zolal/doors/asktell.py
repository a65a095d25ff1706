"""The front door for those who evaluate by themselves: ask what to evaluate, tell the values, in any order and when they come."""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from zolal._array import Array
from zolal._checks import positive_int, require
from zolal.constraints import Outputs
from zolal.doors.arguments import Arguments, prepare
from zolal.doors.minimize import with_parameters
from zolal.errors import InvalidArgumentError, ObjectiveError
from zolal.estimators.base import Queries, SampleKey
from zolal.evaluation.evaluate import answered, draw_sample, read
from zolal.evaluation.faults import Answer, StandingLedger
from zolal.naming import NAMELESS, Naming
from zolal.problem import Problem
from zolal.regularizers import Regularizer
from zolal.result import Result
from zolal.runs.opened import opened
from zolal.sets import ConvexSet


@final
@dataclass(frozen=True, eq=False)
class AskedQuery:
    """One evaluation that is wanted. key: names it when its value is told. Its point and its sample are made when they are asked for."""

    key: str
    batch: Queries
    index: int
    draw: Callable[[Any], Any] | None
    naming: Naming = NAMELESS

    @property
    def point(self) -> Any:
        """Where to evaluate, shape (d,), or a dict or Series where x0 is one."""
        return self.naming.given(self.batch.point(self.index))

    @property
    def sample_key(self) -> SampleKey:
        """The identity of the sample xi: equal keys mean that the same noise, scenario or seed should be used."""
        return self.batch.query(self.index).sample

    @property
    def sample(self) -> Any:
        """xi itself, where the problem can draw it."""
        require(self.draw is not None, "sample", "be given to the problem before xi can be drawn", self.draw)
        return draw_sample(self.draw, self.sample_key)  # type: ignore[arg-type]


@final
@dataclass(frozen=True, eq=False)
class AskedBatch(Sequence[AskedQuery]):
    """The evaluations that are wanted now; an iteration's queries make up one batch. `points` makes all points as rows."""

    queries: tuple[AskedQuery, ...]

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, index: Any) -> Any:
        return self.queries[index]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(query.key for query in self.queries)

    @property
    def points(self) -> Array:
        """The points as rows, shape (queries, d)."""
        return self.queries[0].batch.rows(query.index for query in self.queries)


@final
class Optimizer:
    """A run that waits for its values. Arguments are those of `minimize`; fun may be None, and is never called.

    ask() gives the evaluations that are wanted and have not been told, None at the end; asking again changes nothing. tell(...) takes
    values by key, in any order and in parts; a value that is None, NaN or infinite has failed, and `on_error` says what becomes of it.
    result says what is known at any time. With `checkpoint`, every value is on record as soon as it is told, and `resume=True` goes on.

    asynchronous: ask(n) gives n evaluations more at any time, planned with those that have not been told; fewer, or none, where there is
    nothing to plan before another value is told: before the first one, and when the budget is given out or the run is about to end.

    >>> with zolal.Optimizer(None, [0.0, 0.0], maxfev=2000, rng=0, options=dict(step_size=0.2)) as opt:
    ...     while (batch := opt.ask()) is not None:
    ...         opt.tell({query.key: float(np.sum((query.point - 1.0) ** 2)) for query in batch})
    >>> opt.result.x.round(2).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        fun: Callable[..., Any] | Problem | None = None,
        x0: Any = None,
        *,
        bounds: Any = None,
        constraints: Any = (),
        region: ConvexSet | None = None,
        regularizer: Regularizer | None = None,
        sample: Callable[[np.random.Generator], Any] | None = None,
        gradient: Callable[[Array], Array] | None = None,
        method: str | None = None,
        geometry: Any = "auto",
        maxfev: float | None = None,
        tol: float = 1e-3,
        on_error: str = "retry",
        retries: int | None = None,
        rng: Any = None,
        callback: Callable[[Any], Any] | None = None,
        progress: bool = False,
        checkpoint: Any = None,
        resume: bool = False,
        x_scale: Any = None,
        confidence: float = 0.95,
        asynchronous: bool = False,
        start: Result | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self"}  # before any other name is bound here
        setup = prepare(Arguments(**given | dict(fun=_nobody if fun is None else fun)))
        self._stack = contextlib.ExitStack()
        self._session = self._stack.enter_context(opened(setup, checkpoint, resume, progress))
        self._given = set[str]()  # keys of queries that were given out one by one

    def ask(self, count: int | None = None) -> AskedBatch | None:
        """What is wanted and has not been told; None once the run has ended.

        count: so many that were not given before, which takes `asynchronous=True`; a value that failed may be asked for again.
        """
        if count is not None:
            return self._asked_more(positive_int("ask(count)", count))
        if isinstance(self._session.ledger, StandingLedger) and not self._session.ledger.wanted:
            self._more(1)
        self._given.update(self.missing)
        return self._batch(self.missing)

    def _asked_more(self, count: int) -> AskedBatch | None:
        if not self._session.setup.parameters.get("asynchronous"):
            raise InvalidArgumentError(f"`ask(count)` needs `Optimizer(..., asynchronous=True)`, got {count!r}.")
        left = [key for key in self.missing if key not in self._given]
        if len(left) < count and isinstance(self._session.ledger, StandingLedger):
            self._more(count - len(left))
            left = [key for key in self.missing if key not in self._given]
        self._given.update(left[:count])
        return self._batch(left[:count])

    def _more(self, count: int) -> None:
        self._session.more(count)
        if self.done:
            self.close()

    def _batch(self, keys: Iterable[str]) -> AskedBatch | None:
        ledger = self._session.ledger
        if ledger is None:
            return None
        draw, naming, wanted = self._session.setup.problem.sample, self._session.setup.naming, self.missing
        return AskedBatch(tuple(AskedQuery(key, ledger.batch, wanted[key], draw, naming) for key in keys))

    def tell(self, values: Mapping[str, Any] | Sequence[Any]) -> None:
        """Take values by key, or for all that `ask()` gives, in its order."""
        wanted = self.missing
        if not isinstance(values, Mapping):
            iterable = isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0  # an array of no dimension only poses as one
            require(iterable, "tell(values)", "be a dict by keys or a sequence of values", values)
            given = list(values)
            require(len(given) == len(wanted), "tell(values)", f"hold the {len(wanted)} values that were asked for", len(given))
            values = dict(zip(wanted, given, strict=True))
        for key in values:
            if key not in wanted:
                raise InvalidArgumentError(f"`tell(values)` must name queries that await a value, got {key!r}.")
        outputs = self._session.setup.problem.outputs
        answers = [_answer(wanted[key], value, outputs) for key, value in values.items()]
        self._given.difference_update(values)
        try:
            for answer in answers:
                if self.done:
                    break
                self._session.hear(answer)
                ledger = self._session.ledger
                if isinstance(ledger, StandingLedger) and ledger.end is None:  # else all that is told is heard before the run ends
                    self._session.settle()
            self._session.settle()
        finally:
            if self.done:
                self.close()

    @property
    def missing(self) -> dict[str, int]:
        """The keys that await a value."""
        ledger = self._session.ledger
        return {} if ledger is None else {self._key(i): i for i in ledger.wanted}

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._session.ledger is None

    @property
    def result(self) -> Result:
        """The result; while the run goes on, what is known of it, with status RUNNING."""
        setup = self._session.setup
        return setup.naming.told(with_parameters(self._session.result, setup), setup.start.form)

    def close(self) -> None:
        """Let go of the checkpoint's files; a run that has ended has done so by itself."""
        self._stack.close()

    def __enter__(self) -> "Optimizer":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[AskedBatch]:
        """The batches, one after the other, each once the one before is told."""
        while (batch := self.ask()) is not None:
            yield batch

    def _key(self, i: int) -> str:
        session = self._session
        if isinstance(session.ledger, StandingLedger):
            return f"query-{session.ledger.batch.number(i)}"
        return f"{'check' if session.checking else 'step'}-{session.batches}-{i}"


def _answer(i: int, value: Any, outputs: Outputs) -> Answer:
    if value is None:
        return Answer(i, math.nan, "No value was told.")
    try:
        number, more = read(outputs, value)
    except ObjectiveError as error:
        raise InvalidArgumentError(str(error).replace("The objective must return", "`tell(values)` must hold")) from None
    answer = answered(outputs, i, number, more)
    return answer if math.isfinite(number) else answer._replace(failure=f"The value told is {number}.")


def _nobody(*args: Any) -> Any:
    raise ObjectiveError("This run has no objective to call; its values are told.")
