"""The automatic solver: a belief over quadratics for few variables, over slopes for many and for samples."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from zolal._array import Array
from zolal._cached import cached_property
from zolal.errors import UnsupportedError
from zolal.estimators.base import Queries
from zolal.mirror import Euclidean, MirrorMap
from zolal.problem import Problem
from zolal.result import Status
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.priced import Priced, PricedState
from zolal.solvers.auto.slopes import Slopes, SlopesState
from zolal.solvers.auto.state import ModelledState
from zolal.solvers.base import Candidate, Certified, Solver

AutoState = ModelledState | SlopesState | PricedState


@final
@dataclass(frozen=True)
class Auto(Solver[AutoState]):
    """Whichever of both fits the problem; every parameter comes from what the run sees (docs/auto.md).

    mirror: v; Euclidean unless a geometry is asked for. x_scale: the units of the variables, where they are given.
    confidence: with which outputs are to keep their bounds. asynchronous: whether each value is taken as it comes.
    """

    restores: ClassVar[bool] = True

    mirror: MirrorMap = field(default_factory=Euclidean)
    x_scale: Any = None
    confidence: float = 0.95
    asynchronous: bool = False

    def init(self, problem: Problem, x0: Array, seed: int) -> AutoState:
        member = self.chosen(problem)
        if self.x_scale is not None and not isinstance(member, Modelled):
            raise UnsupportedError(
                f"`x_scale` goes with at most {CONSTANTS.most_variables} variables, no samples, no regularizer, the Euclidean geometry "
                "and a region of bounds, balls and simplices; otherwise scale the variables of `fun` itself."
            )
        if self.asynchronous and not isinstance(member, Modelled):
            raise UnsupportedError(
                f"`asynchronous=True` goes with at most {CONSTANTS.most_variables} variables, no samples, no regularizer, the Euclidean "
                f"geometry and a region of bounds, balls and simplices, got {problem.dimension} variables; otherwise evaluations come in "
                "batches, which `workers` share."
            )
        return member.init(problem, x0, seed)

    def chosen(self, problem: Problem) -> Solver[Any]:
        """The quadratic belief where its factors are affordable and X is made of bounds and smooth rows; slopes otherwise."""
        few = problem.dimension <= CONSTANTS.most_variables and (problem.sample is None or bool(problem.simulated))
        plain = isinstance(self.mirror, Euclidean) and problem.regularizer.elastic_weights == (0.0, 0.0)
        if few and plain and Modelled.can_take(problem):
            return self._modelled
        return Priced(self.mirror, self.confidence) if problem.simulated else Slopes(self.mirror)

    @cached_property
    def _modelled(self) -> Modelled:
        return Modelled(self.x_scale, self.confidence, self.asynchronous)

    def _member(self, state: AutoState) -> Solver[Any]:
        if isinstance(state, ModelledState):
            return self._modelled
        return Priced(self.mirror, self.confidence) if isinstance(state, PricedState) else Slopes(self.mirror)

    def ask(self, state: AutoState) -> Queries:
        return self._member(state).ask(state)

    def waiting(self, state: AutoState) -> int:
        return self._member(state).waiting(state)

    def extended(self, state: AutoState, count: int) -> AutoState:
        return self._member(state).extended(state, count)

    def tell(self, state: AutoState, values: np.ndarray) -> AutoState:
        return self._member(state).tell(state, values)

    def output(self, state: AutoState) -> Candidate:
        return self._member(state).output(state)

    def measures_at(self, state: AutoState) -> tuple[MirrorMap, float]:
        return self._member(state).measures_at(state)

    def check_smoothing(self, state: AutoState) -> float | None:
        return self._member(state).check_smoothing(state)

    def stationarity_tolerance(self, state: AutoState, tol: float) -> float:
        return self._member(state).stationarity_tolerance(state, tol)

    def own_check(self, state: AutoState) -> int | None:
        return self._member(state).own_check(state)

    def check(self, state: AutoState, count: int) -> Queries | None:
        return self._member(state).check(state, count)

    def certified(self, state: AutoState, values: np.ndarray | None = None) -> Certified | None:
        return self._member(state).certified(state, values)

    def is_converged(self, state: AutoState, tol: float) -> bool:
        return self._member(state).is_converged(state, tol)

    def ending(self, state: AutoState) -> Status | None:
        return self._member(state).ending(state)

    def diagnosis(self, state: AutoState) -> Status | None:
        return self._member(state).diagnosis(state)

    def advice(self, state: AutoState) -> str:
        return self._member(state).advice(state)
