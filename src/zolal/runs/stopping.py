"""When to stop, and why: rules that combine with | and &."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from zolal.result import Status
from zolal.solvers.base import Solver, State


class Stop(NamedTuple):
    """A reason to stop."""

    status: Status
    sentence: str


@final
@dataclass(frozen=True, eq=False)
class Progress:
    """What a rule may look at: the state, the evaluations so far and those that the next step would take."""

    state: State
    nfev: int
    solver: Solver[Any]

    @property
    def next_cost(self) -> int:
        """The evaluations of the next step; asked for only by rules that need it."""
        return max(1, len(self.solver.ask(self.state)))


class StoppingRule(ABC):
    """progress -> Stop or None."""

    @abstractmethod
    def __call__(self, progress: Progress) -> Stop | None: ...

    def __or__(self, other: "StoppingRule") -> "StoppingRule":
        return AnyOf(self, other)

    def __and__(self, other: "StoppingRule") -> "StoppingRule":
        return AllOf(self, other)


@final
@dataclass(frozen=True)
class AnyOf(StoppingRule):
    """Stops when the first or the second rule does; the first one's reason comes first."""

    first: StoppingRule
    second: StoppingRule

    def __call__(self, progress: Progress) -> Stop | None:
        return self.first(progress) or self.second(progress)


@final
@dataclass(frozen=True)
class AllOf(StoppingRule):
    """Stops when both rules do, and gives both reasons under the first one's status."""

    first: StoppingRule
    second: StoppingRule

    def __call__(self, progress: Progress) -> Stop | None:
        one, other = self.first(progress), self.second(progress)
        return Stop(one.status, f"{one.sentence} {other.sentence}") if one and other else None


@final
@dataclass(frozen=True)
class MaxEvaluations(StoppingRule):
    """Stops where the next step would pass the limit, so that the limit is never exceeded."""

    limit: int

    def __call__(self, progress: Progress) -> Stop | None:
        spent = progress.nfev + progress.next_cost > self.limit
        return Stop(Status.MAX_EVALUATIONS, Status.MAX_EVALUATIONS.sentence) if spent else None


@final
@dataclass(frozen=True)
class MaxIterations(StoppingRule):
    """Stops after so many steps."""

    limit: int

    def __call__(self, progress: Progress) -> Stop | None:
        return Stop(Status.MAX_ITERATIONS, Status.MAX_ITERATIONS.sentence) if progress.state.k >= self.limit else None


@final
@dataclass(frozen=True)
class ResidualBelow(StoppingRule):
    """Stops when all that the run measures by itself is at most tol, after so many steps at the earliest."""

    tol: float
    earliest: int = 0

    def __call__(self, progress: Progress) -> Stop | None:
        below = progress.state.k >= self.earliest and progress.solver.is_converged(progress.state, self.tol)
        return Stop(Status.CONVERGED, Status.CONVERGED.sentence) if below else None


@final
@dataclass(frozen=True)
class Infeasible(StoppingRule):
    """Stops where a solver that restores its points to the constraints began outside of them, and is hardly nearer after some steps.

    Where it is known from the first that the constraints contradict each other, it stops at once.
    """

    tol: float
    at_start: float  # the violation there, after all that the solver tried
    contradicting: bool = False  # whether a search has shown that no step helps; kinks and rounding can hide it
    patience: int = 20  # steps, each with a bounded number of calls of the constraints
    nearer: float = 0.1  # of the violation at the start: what is worth going on for

    def __call__(self, progress: Progress) -> Stop | None:
        sentence = Status.INFEASIBLE.sentence
        if self.contradicting:
            return Stop(Status.INFEASIBLE, f"{sentence} A search ended here, where no step lessens the violations; nothing was evaluated.")
        return Stop(Status.INFEASIBLE, sentence) if self._hopeless(progress) else None

    def _hopeless(self, progress: Progress) -> bool:
        state = progress.state
        late = progress.solver.restores and self.at_start > self.tol and state.k >= self.patience
        return late and state.feasibility > max(self.tol, self.nearer * self.at_start)


@final
@dataclass(frozen=True)
class SolverEnds(StoppingRule):
    """Stops when the solver says that more evaluations would be useless."""

    def __call__(self, progress: Progress) -> Stop | None:
        status = progress.solver.ending(progress.state)
        return None if status is None else Stop(status, status.sentence)


@final
@dataclass(frozen=True)
class Callback(StoppingRule):
    """Stops when the user's function of the state, called after every step, returns True or raises StopIteration, as in SciPy."""

    function: Callable[[Any], Any]
    after: int = 0  # the last step that it has been told of

    def __call__(self, progress: Progress) -> Stop | None:
        if progress.state.k <= self.after:
            return None
        try:
            answer = self.function(progress.state)
        except StopIteration:
            answer = True
        return Stop(Status.CALLBACK, Status.CALLBACK.sentence) if isinstance(answer, (bool, np.bool_)) and answer else None
