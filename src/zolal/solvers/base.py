"""A solver is a pure state machine: it says what to evaluate and is told the values."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from zolal._array import Array
from zolal.constraints import Outputs
from zolal.estimators.base import Memory, Queries
from zolal.kkt import KKT
from zolal.problem import Problem, SlackForm
from zolal.result import Status


class Candidate(NamedTuple):
    """A point z = (x, s) that a solver may return, with its multipliers and the gradient estimate that it was judged by."""

    z: Array
    multipliers: Array
    gradient: Array | None


class Reports(NamedTuple):
    """What is known of the outputs at a point: one entry per output. errors: standard errors."""

    values: np.ndarray
    errors: np.ndarray
    multipliers: np.ndarray
    multiplier_errors: np.ndarray

    def probabilities(self, outputs: Outputs, tol: float) -> np.ndarray:
        """That each output keeps its bounds to tol; NaN where its error is not known."""
        known, certain = np.isfinite(self.errors), self.errors == 0.0
        low, high = outputs.lower - tol - self.values, outputs.upper + tol - self.values
        normal, errors = NormalDist(), np.where(known & ~certain, self.errors, 1.0)
        doubtful = [normal.cdf(b / e) - normal.cdf(a / e) for a, b, e in zip(low, high, errors, strict=True)]
        return np.where(certain, (low <= 0.0) & (high >= 0.0), np.where(known, doubtful, np.nan))


class Certified(NamedTuple):
    """A candidate with what a solver knows of it by itself, without fresh evaluations.

    fun: f(x) + h(x) with its standard error. kkt: the measures at x. multiplier_errors: standard errors, one per row.
    deviations: the standard errors that are added to a stationarity before it counts as small. reports: of outputs, where there are any.
    """

    candidate: Candidate
    fun: float
    fun_error: float
    kkt: KKT
    multiplier_errors: np.ndarray | None = None
    deviations: float = 1.0
    reports: Reports | None = None


@dataclass(frozen=True, eq=False)
class State(ABC):
    """What every solver's state tells the loop. State k has taken k steps."""

    form: SlackForm
    seed: int
    k: int
    z: Array  # (x^k, s^k)
    c: Array  # c(z^k)
    stationarity: float  # measured at z^{k-1} with the gradient estimate of the step; NaN before the first step
    feasibility: float  # ||c(z^{k-1})||_p; at z^0 before the first step

    @property
    def x(self) -> Array:
        """x^k, without the slacks."""
        return self.form.variables(self.z)

    @property
    def fun(self) -> float:
        """f(x^k) where the solver has an estimate of its own; NaN otherwise."""
        return math.nan

    @property
    def fun_error(self) -> float:
        """The standard error of that."""
        return math.nan

    @property
    def stationarity_error(self) -> float:
        """The standard error of `stationarity` where the solver knows one; NaN otherwise."""
        return math.nan

    @property
    def begins_feasible(self) -> bool:
        """Whether the solver must begin where the constraints hold; others find the way there by their steps, which know slopes of f."""
        return False

    @property
    def stage(self) -> int:
        """The stage that the next step belongs to, for solvers that have several."""
        return 1

    @property
    def residual(self) -> float:
        """The larger of both measures; NaN before the first step."""
        return float(np.maximum(self.stationarity, self.feasibility))


@dataclass(frozen=True, eq=False)
class TrackedState(State):
    """The state of a solver with multipliers and an estimator, which remembers its best point."""

    multipliers: Array  # lambda^k
    memory: Memory  # what the estimator carries
    best: Candidate
    best_residual: float

    def advanced(self, z: Array, c: Array, here: Candidate, measures: tuple[float, float], **changes: Any) -> Self:
        """The state after a step to z: `here` is the point that the step left, with its measures."""
        stationarity, feasibility = measures
        residual = max(stationarity, feasibility)
        return replace(
            self,
            k=self.k + 1,
            z=z,
            c=c,
            stationarity=stationarity,
            feasibility=feasibility,
            best=here if residual < self.best_residual else self.best,
            best_residual=min(residual, self.best_residual),
            **changes,
        )


S = TypeVar("S", bound=State)


A = TypeVar("A", bound=Callable[..., Any])


def once_per_state(ask: A) -> A:
    """`ask` for which a state remembers its batch: the loop, the rules that count evaluations and `tell` itself all ask for it."""

    @functools.wraps(ask)
    def remembered(solver: Any, state: Any) -> Any:
        batch = state.__dict__.get("_batch")
        if batch is None:
            batch = ask(solver, state)
            object.__setattr__(state, "_batch", batch)
        return batch

    return remembered  # type: ignore[return-value]


class Solver(ABC, Generic[S]):
    """init, ask, tell: nothing is mutated, nothing is evaluated here."""

    restores: ClassVar[bool] = False  # whether every point is brought back to where the constraints hold, as far as that goes

    @abstractmethod
    def init(self, problem: Problem, x0: Array, seed: int) -> S:
        """The state before the first step."""

    def carried(self, state: S, multipliers: Array) -> S:
        """The first state with the multipliers of an earlier run, where the solver can begin with such."""
        return state

    @abstractmethod
    def ask(self, state: S) -> Queries:
        """What to evaluate next; the same answer for the same state."""

    @abstractmethod
    def tell(self, state: S, values: np.ndarray) -> S:
        """The state after one step with the values of `ask(state)`, in its order."""

    def waiting(self, state: S) -> int:
        """How many evaluations are under way, for a solver that hears of each as it comes; it asks for what it is told to make room for."""
        return 0

    def extended(self, state: S, count: int) -> S:
        """With so many more of them. In `tell`, NaN stands for what is still under way and an infinity for what has failed."""
        raise NotImplementedError

    @abstractmethod
    def output(self, state: S) -> Candidate:
        """The point that the solver would return now."""

    def best(self, state: S) -> Candidate:
        """What to return after a failure, where the output might be an iterate that failed: the output, unless it might be."""
        return self.output(state)

    @abstractmethod
    def measures_at(self, state: S) -> tuple[Any, float]:
        """The geometry on z and the step size in which stationarity is measured now."""

    def check_smoothing(self, state: S) -> float | None:
        """The length per coordinate of the final check's differences, where the solver knows better than its options."""
        return None

    def stationarity_tolerance(self, state: S, tol: float) -> float:
        """The stationarity that `tol` stands for."""
        return tol

    def own_check(self, state: S) -> int | None:
        """How many directions of two evaluations each the solver's own final check has; None where it has none of its own."""
        return None

    def check(self, state: S, count: int) -> Queries | None:
        """The solver's own final check along so many directions; None where it has none."""
        return None

    def certified(self, state: S, values: np.ndarray | None = None) -> Certified | None:
        """The output with its certificate, for solvers that know it by themselves. values: of their own final check."""
        return None

    def is_converged(self, state: S, tol: float) -> bool:
        """Whether all that the run measures by itself is at most tol."""
        return state.residual <= tol

    def ending(self, state: S) -> Status | None:
        """Why more evaluations would be useless, where they would."""
        return None

    def diagnosis(self, state: S) -> Status | None:
        """What has kept the run from a solution, where the solver can tell; asked at the end."""
        return None

    def advice(self, state: S) -> str:
        """A sentence for whoever has no solution yet and might do better otherwise; empty where there is nothing to say."""
        return ""
