"""What the Euclidean baselines share: an estimator, a step size, and which point they return."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from zolal._checks import positive, require
from zolal.estimators import Estimator, QueryBatch
from zolal.mirror import Euclidean
from zolal.schedules import Schedule, as_schedule
from zolal.solvers.base import Candidate, Solver, TrackedState, once_per_state

OUTPUTS = ("last", "best")

T = TypeVar("T", bound=TrackedState)


@dataclass(frozen=True)
class Baseline(Solver[T]):
    """A Euclidean solver around one estimator.

    estimator: gives G^k. step_size: eta > 0, a number or a function of the iteration. output_rule: "last" or "best" (least measured
    residual).
    """

    estimator: Estimator
    step_size: Any
    output_rule: str = field(default="last", kw_only=True)
    step_size_schedule: Schedule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.output_rule in OUTPUTS, self._name("output_rule"), f"be one of {OUTPUTS}", self.output_rule)
        self._set_schedules(step_size=positive)

    @once_per_state
    def ask(self, state: T) -> QueryBatch:
        return self.estimator.plan(state.memory, state.x, state.k)

    def output(self, state: T) -> Candidate:
        if state.k == 0 or self.output_rule == "best":
            return state.best
        return Candidate(state.z, state.multipliers, state.memory.gradient)

    def best(self, state: T) -> Candidate:
        return state.best

    def measures_at(self, state: T) -> tuple[Euclidean, float]:
        return Euclidean(), self.step_size_schedule(max(state.k - 1, 0))

    def _set_schedules(self, **checks: Any) -> None:
        for name, check in checks.items():
            object.__setattr__(self, f"{name}_schedule", as_schedule(self._name(name), getattr(self, name), check))

    def _name(self, argument: str) -> str:
        return f"{type(self).__name__}({argument}=...)"
