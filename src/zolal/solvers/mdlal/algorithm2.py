import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from zolal._array import Array
from zolal._checks import positive_int, require
from zolal.estimators import Queries
from zolal.mirror import MirrorMap
from zolal.problem import Problem
from zolal.solvers.base import Candidate, Solver, State
from zolal.solvers.mdlal.algorithm1 import MDLAL
from zolal.theory import Settings


@final
@dataclass(frozen=True)
class Stage:
    """One run of a solver, Algorithm 1 in the paper, with its own parameters, for so many steps; None: until the run is stopped."""

    solver: Solver[Any]
    num_steps: int | None = None


@final
@dataclass(frozen=True, eq=False)
class MultiStageState(State):
    """The state of Algorithm 2: that of the current stage, and how many steps all stages have taken."""

    inner: Any
    number: int

    @property
    def stage(self) -> int:
        return self.number

    @property
    def multipliers(self) -> Array:
        """lambda of the current stage."""
        return self.inner.multipliers


@final
@dataclass(frozen=True)
class MultiStage(Solver[MultiStageState]):
    """Algorithm 2: Algorithm 1 from stage to stage, each with a larger penalty and from where the last one ended.

    for s = 1, ..., T: run Algorithm 1 from x_s^0 with mu_s, lambda = 0 and fresh samples;  x_{s+1}^0 = its output

    Implements Algorithm 2, label `algo:restart`. Differs from the paper: x_1^0 is the given start (printed x^0 and x-tilde^0); the
    stages' parameters are given by whoever builds them (`from_theory`, or practical rules); each stage's output follows its own rule.
    Slacks of inequalities start anew in each stage, at s = [-g(x)]_+ for the x where the last one ended, while the paper's z = (x, s) is
    carried along. Row by row this s makes |c| least, and f does not depend on s: neither ||c|| nor the gap Delta_0 at the stage's start
    is larger than with the old slacks, and Theorem 6.2 stands.

    stages: in their order; all but the last have a number of steps.
    """

    stages: Sequence[Stage]

    def __post_init__(self) -> None:
        require(len(self.stages) > 0, "MultiStage(stages=...)", "hold at least one stage", self.stages)
        for stage in self.stages[:-1]:
            positive_int("MultiStage(stages=...) num_steps", stage.num_steps)
        object.__setattr__(self, "stages", tuple(self.stages))

    @classmethod
    def from_theory(cls, stages: Sequence[Settings], output_rule: str = "random") -> "MultiStage":
        """Algorithm 2 with the parameters of Theorem 6.2, as `zolal.theory.stage_settings` gives them; run it for the sum of all K_s."""
        return cls([Stage(MDLAL.from_theory(stage, output_rule), stage.parameters.K) for stage in stages])

    def init(self, problem: Problem, x0: Array, seed: int) -> MultiStageState:
        inner = self.stages[0].solver.init(problem, x0, stage_seed(seed, 1))
        return MultiStageState(inner.form, seed, 0, inner.z, inner.c, inner.stationarity, inner.feasibility, inner, 1)

    def ask(self, state: MultiStageState) -> Queries:
        return self._solver(state).ask(state.inner)

    def tell(self, state: MultiStageState, values: np.ndarray) -> MultiStageState:
        inner, number = self._solver(state).tell(state.inner, values), state.stage
        measured = inner
        if inner.k == self.stages[number - 1].num_steps and number < len(self.stages):
            x, number = inner.form.variables(self._solver(state).output(inner).z), number + 1
            inner = self.stages[number - 1].solver.init(inner.form.problem, x, stage_seed(state.seed, number))
        return replace(
            state,
            k=state.k + 1,
            z=inner.z,
            c=inner.c,
            stationarity=measured.stationarity,
            feasibility=measured.feasibility,
            inner=inner,
            number=number,
        )

    def output(self, state: MultiStageState) -> Candidate:
        return self._solver(state).output(state.inner)

    def best(self, state: MultiStageState) -> Candidate:
        return self._solver(state).best(state.inner)

    def measures_at(self, state: MultiStageState) -> tuple[MirrorMap, float]:
        return self._solver(state).measures_at(state.inner)

    def _solver(self, state: MultiStageState) -> Solver[Any]:
        return self.stages[state.stage - 1].solver


def stage_seed(seed: int, stage: int) -> int:
    """A seed of its own for every stage, so that directions and samples are fresh."""
    return int.from_bytes(hashlib.blake2b(f"zolal/stage/{seed}/{stage}".encode(), digest_size=8).digest(), "little")
