"""What becomes of evaluations that fail: retried, skipped, or the end of the run."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np

from zolal._checks import nonnegative_int, positive, require
from zolal.estimators.base import Queries
from zolal.estimators.standing import Standing
from zolal.result import Status

POLICIES = ("retry", "skip", "raise")
SHARED_RETRIES = 3  # of a value that all directions of a batch need, under every policy but "raise"


class Answer(NamedTuple):
    """What came of one evaluation. lost: the worker was, so that nobody knows whether the call was made; it is not counted."""

    query: int
    value: float
    failure: str | None = None
    malformed: bool = False  # a value that is no real number: a mistake in the function, not bad luck
    lost: bool = False
    answered: bool = False  # the function gave a value, which is not finite: outside of its domain perhaps, no accident
    mistake: bool = False  # an exception that a slip of the pen makes, such as a NameError; at the first call nobody wants to go on
    error: BaseException | None = None  # what the function raised, where it can be had
    outputs: tuple[float, ...] = ()  # what it reported beside its value, where constraints ask for that


@final
@dataclass(frozen=True)
class FaultPolicy:
    """on_error: what happens to an evaluation that fails after its retries. timeout: the seconds that one evaluation may take.

    "retry": the run ends with its best point. "skip": the step goes on without it. "raise": an exception, at the first failure.
    retries: how often an evaluation is tried again; unless given 2 for "retry" and 0 otherwise.
    """

    on_error: str = "retry"
    retries: int | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        known = isinstance(self.on_error, str) and self.on_error in POLICIES
        require(known, "on_error", f"be one of {', '.join(map(repr, POLICIES))}", self.on_error)
        if self.retries is not None:
            nonnegative_int("retries", self.retries)
        if self.timeout is not None:
            positive("timeout", self.timeout)

    def retries_of(self, batch: Queries, i: int) -> int:
        """How often the i-th evaluation of the batch may be tried again."""
        if self.on_error == "raise":
            return self.retries or 0
        given = self.retries if self.retries is not None else 2 if self.on_error == "retry" else 0
        return max(given, SHARED_RETRIES) if self.on_error == "skip" and batch.is_shared(i) else given


STOP_AT_ONCE = FaultPolicy(retries=0)


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of a batch in its order; NaN for what failed or is missing. count: how many calls were made.

    failure: why the batch cannot be used, in words; values that were skipped under the policy are no failure. status: as what the
    run ends then. raising: whether the caller asked for an exception. error: what the function raised.
    """

    values: np.ndarray
    count: int
    failure: str | None = None
    malformed: bool = False
    status: Status = Status.EVALUATION_FAILED
    raising: bool = False
    error: BaseException | None = None
    outputs: np.ndarray | None = None  # one row per value, where constraints ask for some

    @property
    def told(self) -> np.ndarray:
        """What a solver is told: the values; with outputs a row for each evaluation, its value first."""
        return self.values if self.outputs is None else np.column_stack([self.values, self.outputs])


@dataclass(eq=False)
class Ledger:
    """The answers to one batch as they come, in any order. spare: calls beyond one per query that the budget allows.

    is_first: whether no value has come before this batch.
    """

    batch: Queries
    policy: FaultPolicy = STOP_AT_ONCE
    spare: float = np.inf
    is_first: bool = False
    values: np.ndarray = field(init=False)
    settled: np.ndarray = field(init=False)
    attempts: np.ndarray = field(init=False)
    outputs: np.ndarray | None = None
    count: int = 0
    end: dict[str, Any] | None = None  # why the batch cannot be used

    def __post_init__(self) -> None:
        size = len(self.batch)
        self.values, self.settled, self.attempts = np.full(size, np.nan), np.zeros(size, dtype=bool), np.zeros(size, dtype=int)

    @property
    def wanted(self) -> list[int]:
        """The queries that have no answer yet, or are to be tried again."""
        return [] if self.end else np.flatnonzero(~self.settled).tolist()

    @property
    def complete(self) -> bool:
        return self.end is not None or bool(self.settled.all())

    def takes(self, i: int) -> bool:
        """Whether there is such a query."""
        return 0 <= i < len(self.batch)

    @property
    def failed(self) -> bool:
        """Whether evaluations that failed have ended the batch, not the budget."""
        return self.end is not None and self.end.get("status") is not Status.MAX_EVALUATIONS

    def reopened(self) -> "Ledger":
        """A ledger that has the values of this one and wants what failed again, as far as the budget allows."""
        again = (self.attempts > 0) & ~np.isfinite(self.values)
        new = type(self)(self.batch, self.policy, self.spare - int(again.sum()), self.is_first)
        for i in np.flatnonzero(np.isfinite(self.values)).tolist():
            new.receive(Answer(i, float(self.values[i]), outputs=() if self.outputs is None else tuple(self.outputs[i].tolist())))
        new.count = self.count
        if new.spare < 0:
            new._end(Status.MAX_EVALUATIONS.sentence, status=Status.MAX_EVALUATIONS)
        return new

    def receive(self, answer: Answer) -> bool:
        """Take one answer; True where its query is to be tried again."""
        i = answer.query
        self.count += not answer.lost
        self.attempts[i] += 1
        if self.settled[i]:
            return False
        if answer.failure is None:
            self.values[i], self.settled[i] = answer.value, True  # also after the end: who goes on from here need not ask again
            self._keep(i, answer.outputs)
            return False
        if self.end is not None:
            return False
        if answer.malformed:
            return self._end(answer.failure, malformed=True)
        if answer.mistake and self.is_first and not np.isfinite(self.values).any():
            return self._end(answer.failure, raising=True, error=answer.error)
        if answer.answered and self.batch.optional:
            self.settled[i] = True  # for the solver a step that it rejects
            return False
        if self.attempts[i] <= self.policy.retries_of(self.batch, i):
            if self.spare < 1 and not answer.lost:
                return self._end(Status.MAX_EVALUATIONS.sentence, status=Status.MAX_EVALUATIONS)
            self.spare -= not answer.lost
            return True
        return self._give_up(i, answer.failure, answer.error)

    def _keep(self, i: int, outputs: tuple[float, ...]) -> None:
        if not outputs:
            return
        if self.outputs is None:
            self.outputs = np.full((len(self.values), len(outputs)), np.nan)
        self.outputs[i] = outputs

    def interrupt(self) -> None:
        """End the batch because the user asked to."""
        self._end(Status.INTERRUPTED.sentence, status=Status.INTERRUPTED)

    def _give_up(self, i: int, failure: str, error: BaseException | None) -> bool:
        told = failure if self.attempts[i] == 1 else f"{failure} It failed {self.attempts[i]} times."
        if self.policy.on_error != "skip":
            return self._end(told, raising=self.policy.on_error == "raise", error=error)
        self.settled[i] = True
        answered = np.where(self.settled, self.values, 0.0)  # what is still to come may turn out well
        if 2 * int(self.batch.kept(answered).sum()) < self.batch.directions.count:
            return self._end(f"{Status.TOO_MANY_FAILURES.sentence} The last one: {told}", status=Status.TOO_MANY_FAILURES)
        return False

    def _end(self, failure: str, **how: Any) -> bool:
        self.end = dict(failure=failure, **how)
        return False

    @property
    def evaluation(self) -> Evaluation:
        return Evaluation(self.values, self.count, outputs=self.outputs, **(self.end or {}))


@final
@dataclass(eq=False)
class StandingLedger(Ledger):
    """The answers to queries that are under way: complete with the first of them."""

    batch: Standing

    def __post_init__(self) -> None:
        width = self.batch.width
        self.values, self.attempts = np.full(width, np.nan), np.zeros(width, dtype=int)
        self.settled = np.ones(width, dtype=bool)
        self.settled[list(self.batch.slots)] = False

    @property
    def tried(self) -> tuple[tuple[int, int], ...]:
        """The queries that have failed and are still under way, and how often each has."""
        return tuple((slot, int(self.attempts[slot])) for slot in self.wanted if self.attempts[slot])

    def go_on(self, tried: tuple[tuple[int, int], ...], count: int) -> None:
        """From a ledger that had tried these queries and made so many calls that nobody else has counted."""
        for slot, attempts in tried:
            self.attempts[slot] = attempts
        self.count, self.spare = count, self.spare - count

    @property
    def complete(self) -> bool:
        return self.end is not None or bool(self.settled[list(self.batch.slots)].any())

    def takes(self, i: int) -> bool:
        return i in self.batch.slots

    @property
    def evaluation(self) -> Evaluation:
        """NaN for what is still under way, an infinity for what has failed."""
        values = self.values.copy()
        values[[slot for slot in self.batch.slots if self.settled[slot] and not np.isfinite(values[slot])]] = np.inf
        return replace(super().evaluation, values=values)
