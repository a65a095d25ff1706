import math
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from zolal._array import Array, is_finite
from zolal._checks import nonnegative, positive, require
from zolal.estimators import Estimator, Momentum, QueryBatch
from zolal.kkt import kkt_measures
from zolal.mirror import Euclidean, MirrorMap, bregman_step
from zolal.problem import Problem, SlackForm
from zolal.schedules import Schedule, as_schedule
from zolal.solvers.base import Candidate, Solver, TrackedState, once_per_state
from zolal.solvers.mdlal.lagrangian import penalized_multipliers, update_multipliers
from zolal.theory import Settings

OUTPUTS = ("last", "best", "random", "average")


@final
@dataclass(frozen=True, eq=False)
class MDLALState(TrackedState):
    """The state of Algorithm 1 after k steps."""

    random: Candidate  # z^R, R uniform on {0, ..., k-1}
    mean: Array  # the average of z^0, ..., z^{k-1}


@final
@dataclass(frozen=True)
class MDLAL(Solver[MDLALState]):
    """Algorithm 1: the mirror descent linearized augmented Lagrangian method.

    for k = 0, 1, ...
        s^k       from the estimator                                                               (3.3)
        x^{k+1} = argmin_{x in X} <s^k + grad c(x^k)^T (lambda^k + mu c(x^k)), x> + h(x) + V(x^k, x) / eta      (3.4)
        lambda^{k+1} = lambda^k + rho_k c(x^k)

    Implements Algorithm 1, label `algo`. Differs from the paper: eta and mu may depend on k; the paper's output x^R is one of
    four rules.

    estimator: gives s^k. step_size: eta_k > 0. penalty: mu_k > 0. dual_step: rho_k >= 0 (the paper asks for rho_k < mu).
    mirror: v. output_rule: "last", "best" (least measured residual), "random" (the paper's x^R) or "average".
    """

    estimator: Estimator
    step_size: Any
    penalty: Any
    dual_step: Any
    mirror: MirrorMap = field(default_factory=Euclidean)
    output_rule: str = "last"
    step_size_schedule: Schedule = field(init=False, repr=False, compare=False)
    penalty_schedule: Schedule = field(init=False, repr=False, compare=False)
    dual_step_schedule: Schedule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.output_rule in OUTPUTS, "MDLAL(output_rule=...)", f"be one of {OUTPUTS}", self.output_rule)
        for name, check in (("step_size", positive), ("penalty", positive), ("dual_step", nonnegative)):
            object.__setattr__(self, f"{name}_schedule", as_schedule(f"MDLAL({name}=...)", getattr(self, name), check))

    @classmethod
    def from_theory(cls, settings: Settings, output_rule: str = "random") -> "MDLAL":
        """Algorithm 1 with the parameters that Theorems 5.3 and 5.4 prescribe; run it for `settings.parameters.K` steps."""
        a, geometry = settings.parameters, settings.geometry
        estimator = Momentum(a.n, a.nu, geometry.directions.kind, a.n_0, momentum=a.alpha)
        return cls(estimator, a.eta, a.mu, a.rho / a.K, geometry.mirror, output_rule)

    def init(self, problem: Problem, x0: Array, seed: int) -> MDLALState:
        fits = self.mirror.dimension in (None, problem.dimension)
        require(fits, "geometry", f"have {problem.dimension} variables as the problem has", self.mirror.dimension)
        form = SlackForm(problem, problem.equalities(x0))
        z = form.start(x0)
        c = form.value(z)
        # an unsupported combination is told before anything is evaluated
        bregman_step(form.geometry(self.mirror), form.region, form.regularizer, z, 0.0 * z, self.step_size_schedule(0))
        start = Candidate(z, 0.0 * c, None)
        _, feasibility = kkt_measures(self.mirror, 0.0 * z, c)
        return MDLALState(form, seed, 0, z, c, math.nan, feasibility, 0.0 * c, self.estimator.start(seed), start, math.inf, start, 0.0 * z)

    def carried(self, state: MDLALState, multipliers: Array) -> MDLALState:
        return replace(state, multipliers=multipliers)

    @once_per_state
    def ask(self, state: MDLALState) -> QueryBatch:
        return self.estimator.plan(state.memory, state.x, state.k)

    def tell(self, state: MDLALState, values: np.ndarray) -> MDLALState:
        form, k, eta = state.form, state.k, self.step_size_schedule(state.k)
        s, memory = self.estimator.absorb(state.memory, self.ask(state), values)
        theta = penalized_multipliers(state.multipliers, state.c, self.penalty_schedule(k))
        mirror = form.geometry(self.mirror)
        z = bregman_step(mirror, form.region, form.regularizer, state.z, form.gradient(state.z, s, theta), eta)
        here = Candidate(state.z, theta, s)
        return state.advanced(
            z,
            form.value(z) if is_finite(z) else state.c,  # the loop ends a run that left the finite numbers
            here,
            kkt_measures(mirror, (state.z - z) / eta, state.c),
            multipliers=update_multipliers(state.multipliers, state.c, self.dual_step_schedule(k)),
            memory=memory,
            random=here if self.output_rule == "random" and _uniform(state.seed, k) * (k + 1) < 1.0 else state.random,
            mean=state.mean + (state.z - state.mean) / (k + 1) if self.output_rule == "average" else state.mean,
        )

    def output(self, state: MDLALState) -> Candidate:
        if state.k == 0 or self.output_rule == "best":
            return state.best
        if self.output_rule == "random":
            return state.random
        z = state.mean if self.output_rule == "average" else state.z
        c = state.form.value(z) if self.output_rule == "average" else state.c
        return Candidate(z, penalized_multipliers(state.multipliers, c, self.penalty_schedule(state.k - 1)), state.memory.gradient)

    def best(self, state: MDLALState) -> Candidate:
        return state.best

    def measures_at(self, state: MDLALState) -> tuple[MirrorMap, float]:
        return state.form.geometry(self.mirror), self.step_size_schedule(max(state.k - 1, 0))


def _uniform(seed: int, k: int) -> float:
    """A uniform number in [0, 1) for the choice of R: keeping z^k with probability 1/(k+1) leaves every k equally likely."""
    return float(np.random.default_rng([seed & (2**64 - 1), seed >> 64, k, 0x52]).random())
