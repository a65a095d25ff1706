import math
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from zolal._array import Array, dot, is_finite, like
from zolal._checks import nonnegative, positive, positive_int
from zolal.mirror import Euclidean, bregman_step
from zolal.problem import Problem
from zolal.schedules import Schedule, momentum_weight
from zolal.solvers.base import Candidate
from zolal.solvers.baselines.baseline import Baseline
from zolal.solvers.baselines.native import LinearModel, NativeState, clip_rows, row_limits, start


@final
@dataclass(frozen=True, eq=False)
class SZOConExState(NativeState):
    """The state of SZO-ConEx: inner step t of the proximal problem around `center`."""

    center: Array  # x-hat, where the proximal problem was made
    number: int  # of the proximal problem, from 1
    t: int  # inner steps that it has taken
    linearized: Array  # l_g(x_t)
    previous: Array  # l_g(x_{t-1})
    mean: Array  # the average of x_1, ..., x_t with the weights gamma
    weight: float  # sum_{i<t} gamma_i / gamma_{t-1}

    @property
    def stage(self) -> int:
        return self.number


@final
@dataclass(frozen=True)
class SZOConEx(Baseline[SZOConExState]):
    """SZO-ConEx: constraint extrapolation with a zeroth-order gradient, inside proximal steps (Nguyen and Balasubramanian 2022).

    for each center x-hat (first x^0), from x_0 = x_{-1} = x-hat, y_0 the last multipliers, for t = 0, ..., T-1:
        l_g(x_t) = g(x_{t-1}) + J(x_{t-1}) (x_t - x_{t-1}) + kappa ||x_t - x-hat||^2,         l_g(x_0) = l_g(x_{-1}) = g(x_0)
        q_t      = (1 + theta) l_g(x_t) - theta l_g(x_{t-1})
        y_{t+1}  = [y_t + r q_t]_+
        x_{t+1}  = argmin_{x in X} <G_t + J(x_t)^T y_{t+1}, x> + h(x) + (mu + kappa sum_i y_{t+1,i}) ||x - x-hat||^2
                                                                                     + ||x - x_t||^2 / (2 eta)
    x-hat = sum_t gamma_t x_{t+1} / sum_t gamma_t,    gamma_t theta_t = gamma_{t-1}

    G_t comes from the estimator at x_t; g and J are exact. It is ConEx of Boob, Deng and Lan (2022) for min f + h + mu ||. - x-hat||^2
    subject to g + kappa ||. - x-hat||^2 <= 0, the added squares being the composite terms. One `tell` is one inner step.
    mu = kappa = 0 with a large T is the method for convex problems.

    Differs from the original: constraints are exact; equalities have free multipliers, rows with two sides [-L, 0] the dual step
    y - r clip(y/r, -L, 0) with y = y_t + r q_t, and both no square; y_0 is kept from one proximal problem to the next;
    the last or the best iterate is returned, not a random center.

    estimator: gives G_t. step_size: eta > 0; dual_step: r = 1/tau > 0; extrapolation: theta in (0, 1]: numbers or functions of t.
    proximal: mu >= 0. constraint_proximal: kappa >= 0. inner_steps: T. output_rule: "last" or "best".
    """

    dual_step: Any = 1.0
    extrapolation: Any = 1.0
    proximal: float = 1.0
    constraint_proximal: float = 0.0
    inner_steps: int = 50
    dual_step_schedule: Schedule = field(init=False, repr=False, compare=False)
    extrapolation_schedule: Schedule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_schedules(dual_step=positive, extrapolation=momentum_weight)
        for name, check in (("proximal", nonnegative), ("constraint_proximal", nonnegative), ("inner_steps", positive_int)):
            check(self._name(name), getattr(self, name))

    def init(self, problem: Problem, x0: Array, seed: int) -> SZOConExState:
        form, z, c, g, feasibility = start(problem, x0, self.step_size_schedule(0))
        best = Candidate(z, 0.0 * c, None)
        tracked = (0.0 * c, self.estimator.start(seed), best, math.inf)
        return SZOConExState(form, seed, 0, z, c, math.nan, feasibility, *tracked, g, x0, 1, 0, g, g, x0, 0.0)

    def tell(self, state: SZOConExState, values: np.ndarray) -> SZOConExState:
        x, t = state.x, state.t
        eta, r, theta = self.step_size_schedule(t), self.dual_step_schedule(t), self.extrapolation_schedule(t)
        gradient, memory = self.estimator.absorb(state.memory, self.ask(state), values)
        limits = row_limits(state.form.equalities)
        kappa = like(np.where(np.isinf(limits), self.constraint_proximal, 0.0), state.g)
        y = state.multipliers + r * ((1.0 + theta) * state.linearized - theta * state.previous)
        y = y - r * clip_rows(y / r, like(limits, y))
        model = LinearModel.at(state.form, x, state.g)
        pulled = model.pull(y)
        x_next = _prox(state, gradient + pulled, self.proximal + dot(kappa, y), eta)
        weight = 1.0 + theta * state.weight
        mean = state.mean + (x_next - state.mean) / weight
        if t + 1 == self.inner_steps:
            moved = state.moved(mean, gradient, pulled, y, eta, memory=memory)
            fresh = dict(t=0, linearized=moved.g, previous=moved.g, mean=mean, weight=0.0)
            return replace(moved, center=mean, number=state.number + 1, **fresh)
        off_center = x_next - state.center
        linearized = model.ahead(x_next) + kappa * dot(off_center, off_center) if is_finite(x_next) else state.linearized
        changes = dict(t=t + 1, linearized=linearized, previous=state.linearized, mean=mean, weight=weight, memory=memory)
        return state.moved(x_next, gradient, pulled, y, eta, **changes)

    def measures_at(self, state: SZOConExState) -> tuple[Euclidean, float]:
        return Euclidean(), self.step_size_schedule(max(state.t - 1, 0))


def _prox(state: SZOConExState, g: Array, weight: float, eta: float) -> Array:
    """Argmin over x in X of <g, x> + h(x) + weight ||x - x-hat||^2 + ||x - x_t||^2 / (2 eta): both squares make one, about a mean."""
    problem, shrink = state.form.problem, 1.0 + 2.0 * eta * weight
    middle = (state.x + 2.0 * eta * weight * state.center) / shrink
    return bregman_step(Euclidean(), problem.region, problem.regularizer, middle, g, eta / shrink)
