"""What every benchmark shares: evaluations that are counted, a run without options, and claims with their targets."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from zolal.doors.minimize import minimize
from zolal.problem import Problem
from zolal.result import Result, Status
from zolal.tables import Table

METHOD = "auto"


class Counted:
    """An objective that counts: one per call, or one per row where it takes rows. seconds: spent inside."""

    def __init__(self, problem: Problem) -> None:
        self.fun, self.vectorized = problem.objective, problem.vectorized
        self.count, self.seconds = 0, 0.0

    def __call__(self, x: Any, *xi: Any) -> Any:
        self.count += len(x) if self.vectorized and np.ndim(x) == 2 else 1
        started = time.perf_counter()
        value = self.fun(x, *xi)
        self.seconds += time.perf_counter() - started
        return value


def blinded(problem: Problem, objective: Callable[..., Any]) -> Problem:
    """The problem as a user has it: with this objective, and without the gradient and the solution that only diagnostics may see."""
    return replace(problem, objective=objective, gradient=None, solution=None, multipliers=None)


def solve(
    problem: Problem,
    x0: Any,
    budget: int,
    seed: int,
    watch: Callable[[Any, Any], Any] | None = None,
    meter: Any = None,
    tol: float | None = None,
) -> tuple[Result, Any]:
    """One run of `minimize` with a seed and a budget and no other option.

    watch: called with the state and the meter after each step, to measure; returning True stops.
    meter: an objective that counts, `Counted` unless given. tol: given only where a run is to go on until `watch` stops it.
    """
    meter = Counted(problem) if meter is None else meter
    callback = None if watch is None else lambda state: watch(state, meter)
    accuracy: dict[str, Any] = {} if tol is None else dict(tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a start outside the region is projected, with a warning
        result = minimize(blinded(problem, meter), x0, method=METHOD, maxfev=budget, rng=seed, callback=callback, **accuracy)
    if result.status in (Status.INTERRUPTED, Status.RUNNING):  # `minimize` ends in a result; here it is the command that was interrupted
        raise KeyboardInterrupt
    return result, meter


@final
@dataclass(frozen=True)
class Claim:
    """A line of the main table: what was asked for, what came out, whether that is enough; `met` is None where nothing is asked."""

    case: str
    target: str
    measured: str
    met: bool | None
    aim: str = ""
    aimed: bool | None = None


@final
@dataclass(frozen=True)
class Finding:
    """What a benchmark found. lead: what is measured and how, in a paragraph or two. seconds: of processor time."""

    name: str
    title: str
    lead: list[str]
    claims: list[Claim]
    tables: list[Table] = field(default_factory=list)
    seconds: float = 0.0
    details: Any = None  # for drawings


def spread(values: Sequence[float | None], digits: int = 3) -> str:
    """The median with the least and the largest in brackets; None stands for what was not reached."""
    reached = sorted(value for value in values if value is not None)
    if not reached:
        return f"0 of {len(values)} reached"
    low, middle, high = (f"{value:.{digits}g}" for value in (reached[0], float(np.median(reached)), reached[-1]))
    text = middle if low == high else f"{middle} ({low} … {high})"
    return text if len(reached) == len(values) else f"{text}, {len(reached)} of {len(values)} reached"
