import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from zolal._array import Array, like, norm, rounding, to_numpy
from zolal._checks import positive, positive_int, require
from zolal.mirror import Euclidean, bregman_step
from zolal.problem import Problem
from zolal.solvers.base import Candidate
from zolal.solvers.baselines.baseline import Baseline
from zolal.solvers.baselines.native import LinearModel, NativeState, row_limits, start
from zolal.solvers.baselines.prox_linear import DualBall, Sides

SATURATED = 1.0 - 1e-6  # of rho; below it the linearized constraints are met


@final
@dataclass(frozen=True, eq=False)
class ZOPenaltyState(NativeState):
    """The state of ZO-Penalty: so many steps of the current stage, at its penalty."""

    rho: float
    number: int  # of the stage, from 1
    steps: int  # that the stage has taken
    saturated: int  # how many of them had ||y|| = rho

    @property
    def stage(self) -> int:
        return self.number


@final
@dataclass(frozen=True)
class ZOPenalty(Baseline[ZOPenaltyState]):
    """ZO-Penalty: an exact l2 penalty minimised by stochastic prox-linear steps (Wang, Ma and Yuan 2017).

    x^{k+1} = argmin_{x in X} <G^k, x> + h(x) + rho ||[g(x^k) + J(x^k) (x - x^k)]||_2 + ||x - x^k||_2^2 / (2 eta)

    is a step on f(x) + h(x) + rho ||[g(x)]||_2, where [v] is what v violates: v in the rows of equalities, its positive part in those of
    inequalities, the distance to [-L, 0] in two-sided ones. G^k comes from the estimator; g and J are exact. The subproblem is
    solved through its dual, one variable per row (`_prox_linear`): y^{k+1} with ||y^{k+1}|| <= rho, which is
    the multiplier, and x^{k+1} = argmin_{x in X} <G^k + J^T y^{k+1}, x> + h(x) + ||x - x^k||^2 / (2 eta).

    rho stays for a stage of T steps. It is multiplied by its growth at the end of one where more than half of the steps had
    ||y|| = rho: at that price the linearized constraints were not met.

    Differs from the original: it raises rho where the penalised problem is nearly stationary and yet infeasible, which noisy gradients
    cannot tell, so the saturated multiplier stands for it; X, h, inequalities and two-sided rows are additions; the last or the best
    iterate is returned, not a random one.

    estimator: gives G^k. step_size: eta_k > 0. penalty: the first rho > 0. penalty_growth: > 1. stage_steps: T.
    output_rule: "last" or "best".
    """

    penalty: float = 1.0
    penalty_growth: float = 2.0
    stage_steps: int = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self._name("penalty"), self.penalty)
        growth_factor(self._name("penalty_growth"), self.penalty_growth)
        positive_int(self._name("stage_steps"), self.stage_steps)

    def init(self, problem: Problem, x0: Array, seed: int) -> ZOPenaltyState:
        form, z, c, g, feasibility = start(problem, x0, self.step_size_schedule(0))
        best = Candidate(z, 0.0 * c, None)
        tracked = (0.0 * c, self.estimator.start(seed), best, math.inf)
        return ZOPenaltyState(form, seed, 0, z, c, math.nan, feasibility, *tracked, g, float(self.penalty), 1, 0, 0)

    def tell(self, state: ZOPenaltyState, values: np.ndarray) -> ZOPenaltyState:
        eta = self.step_size_schedule(state.k)
        gradient, memory = self.estimator.absorb(state.memory, self.ask(state), values)
        model = LinearModel.at(state.form, state.x, state.g)
        y, pulled, x = prox_linear_step(state, model, gradient, eta)
        steps, saturated = state.steps + 1, state.saturated + int(norm(y) >= SATURATED * state.rho)
        rho, number = state.rho, state.number
        if steps == self.stage_steps:
            rho *= self.penalty_growth if 2 * saturated > steps else 1.0
            number, steps, saturated = number + 1, 0, 0
        changes = dict(memory=memory, rho=rho, number=number, steps=steps, saturated=saturated)
        return state.moved(x, gradient, pulled, y, eta, **changes)


def growth_factor(name: str, value: Any) -> float:
    """`value` as a float, if it is a finite number > 1."""
    factor = positive(name, value)
    require(factor > 1.0, name, "exceed 1", value)
    return factor


def prox_linear_step(state: ZOPenaltyState, model: LinearModel, gradient: Array, eta: float) -> tuple[Array, Array, Array]:
    """The multipliers y, J^T y and x^{k+1}."""
    problem, x = state.form.problem, state.x

    def step(pulled: Array) -> Array:
        return bregman_step(Euclidean(), problem.region, problem.regularizer, x, gradient + pulled, eta)

    sides = Sides(row_limits(state.form.equalities))

    def slope(y: np.ndarray) -> np.ndarray:
        return sides.split(_host(model.ahead(step(model.pull(like(sides.join(y), state.g))))))

    eps = rounding(x)
    gram = np.reshape([_host(model.push(model.pull(like(unit, state.g)))) for unit in np.eye(len(sides.limits))], (len(sides.limits),) * 2)
    dual = DualBall(sides.split(_host(state.g)), slope, eta * sides.spread(gram), sides.one_sided, state.rho, eps)
    y = like(sides.join(dual.solve(sides.split_multipliers(_host(state.multipliers)))), state.g)
    pulled = model.pull(y)
    return y, pulled, step(pulled)


def _host(rows: Array) -> np.ndarray:
    return to_numpy(rows).astype(float)
