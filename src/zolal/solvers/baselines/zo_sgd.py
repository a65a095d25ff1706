import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from zolal._array import Array, is_finite, norm
from zolal._checks import positive
from zolal.kkt import kkt_measures
from zolal.mirror import Euclidean, bregman_step
from zolal.problem import Problem, SlackForm
from zolal.schedules import Schedule
from zolal.solvers.base import Candidate, TrackedState
from zolal.solvers.baselines.baseline import Baseline


@final
@dataclass(frozen=True, eq=False)
class ZOSGDState(TrackedState):
    """The state of ZO-SGD after k steps; its multipliers are mu c(z^k), the quadratic penalty's estimate."""


@final
@dataclass(frozen=True)
class ZOSGD(Baseline[ZOSGDState]):
    """Projected zeroth-order stochastic gradient descent on a quadratic penalty: the plain floor (Ghadimi and Lan 2013).

    z^{k+1} = argmin_{z in Z} <(G^k, 0) + mu grad c(z^k)^T c(z^k), z> + h(x) + ||z - z^k||_2^2 / (2 eta)

    with the slack form z = (x, s) of the problem, G^k from the estimator at x^k, and mu fixed: Algorithm 1 with its multipliers held at 0.
    Its limit violates the constraints by about ||lambda*|| / mu. Differs from the original: it has no constraints, so the penalty
    and the projection are additions; its output x^R gave way to the last or the best iterate.

    estimator: gives G^k. step_size: eta_k > 0. penalty: mu_k > 0. output_rule: "last" or "best".
    """

    penalty: Any = 10.0
    penalty_schedule: Schedule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_schedules(penalty=positive)

    def init(self, problem: Problem, x0: Array, seed: int) -> ZOSGDState:
        form = SlackForm(problem, problem.equalities(x0))
        z = form.start(x0)
        c = form.value(z)
        # an unsupported combination is told before anything is evaluated
        bregman_step(Euclidean(), form.region, form.regularizer, z, 0.0 * z, self.step_size_schedule(0))
        best = Candidate(z, 0.0 * c, None)
        return ZOSGDState(form, seed, 0, z, c, math.nan, norm(c), 0.0 * c, self.estimator.start(seed), best, math.inf)

    def tell(self, state: ZOSGDState, values: np.ndarray) -> ZOSGDState:
        form, eta, mu = state.form, self.step_size_schedule(state.k), self.penalty_schedule(state.k)
        gradient, memory = self.estimator.absorb(state.memory, self.ask(state), values)
        theta = mu * state.c
        z = bregman_step(Euclidean(), form.region, form.regularizer, state.z, form.gradient(state.z, gradient, theta), eta)
        c = form.value(z) if is_finite(z) else state.c  # the loop ends a run that left the finite numbers
        measures = kkt_measures(Euclidean(), (state.z - z) / eta, state.c)
        return state.advanced(z, c, Candidate(state.z, theta, gradient), measures, multipliers=mu * c, memory=memory)
