"""The paper's Algorithms 1 and 2, in every geometry."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

from zolal._checks import nonnegative, positive, positive_int, require
from zolal.estimators import Estimator
from zolal.methods.base import Check, Method, Options, as_mirror
from zolal.schedules import Schedule, as_schedule
from zolal.solvers import MDLAL, MultiStage, Stage
from zolal.solvers.mdlal import OUTPUTS
from zolal.theory import stage_penalties


@dataclass(frozen=True, kw_only=True)
class MDLALOptions(Options):
    """Options of method "mdlal": those of every method (`Options`), and

    penalty: mu. dual_step: rho_k, below mu. delta: the smoothing of the mirror map when `geometry` is a number above 2.
    output: "last", "best", "random", "average".
    """

    penalty: Any = 10.0
    dual_step: Any = 1.0
    momentum: Any = 0.5
    delta: float = 1e-3

    scheduled: ClassVar[Mapping[str, Check]] = {**Options.scheduled, "penalty": positive, "dual_step": nonnegative}
    plain: ClassVar[Mapping[str, Check]] = dict(delta=nonnegative)
    outputs: ClassVar[tuple[str, ...]] = OUTPUTS

    def solver(self, estimator: Estimator, checked: Mapping[str, Any], geometry: Any) -> MDLAL:
        mirror = as_mirror(geometry, checked["delta"])
        return MDLAL(estimator, checked["step_size"], checked["penalty"], checked["dual_step"], mirror, self.output)


@final
@dataclass(frozen=True, kw_only=True)
class MultiStageOptions(MDLALOptions):
    """Options of method "multistage": those of "mdlal" for its last stage, and how the stages before lead there.

    penalty and dual_step: of the last stage, numbers. initial_penalty: mu_1, above 1/2; then mu_{s+1} = min(2 mu_s^2, penalty).
    stage_steps: steps of each stage but the last. A stage with a smaller penalty takes longer steps, step_size * min(penalty / mu_s,
    step_growth), and its dual steps are in the same proportion to its penalty.
    """

    initial_penalty: float = 1.0
    stage_steps: int = 25
    step_growth: float = 10.0

    def method(self, geometry: Any) -> Method:
        """The solver that these options describe."""
        penalty, dual_step = positive("options['penalty']", self.penalty), nonnegative("options['dual_step']", self.dual_step)
        steps = positive_int("options['stage_steps']", self.stage_steps)
        growth = positive("options['step_growth']", self.step_growth)
        step_size = as_schedule("options['step_size']", self.step_size, positive)
        shared = {field.name: getattr(self, field.name) for field in dataclasses.fields(MDLALOptions)}
        first, between = positive("options['initial_penalty']", self.initial_penalty), f"exceed 1/2 and be at most the penalty, {penalty}"
        require(0.5 < first <= penalty, "options['initial_penalty']", between, first)
        stages = []
        for mu in stage_penalties(first, penalty):
            longer = min(penalty / mu, growth)
            stage = MDLALOptions(
                **(shared | dict(step_size=_scaled(step_size, longer), penalty=mu, dual_step=dual_step * mu / penalty))
            ).method(geometry)
            stages.append(Stage(stage.solver, steps))
        stages[-1] = Stage(stages[-1].solver)
        return stage._replace(solver=MultiStage(stages))


def _scaled(schedule: Schedule, factor: float) -> Schedule:
    return lambda k: factor * schedule(k)
