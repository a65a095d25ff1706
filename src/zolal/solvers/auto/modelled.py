"""The solver for few variables: a belief about f, steps over the exact constraints, a judge, and a certificate from the belief itself."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from zolal._array import Array, like, to_numpy
from zolal.directions import Gaussian
from zolal.errors import ConstraintError
from zolal.estimators.survey import Probe, Survey
from zolal.mirror import Euclidean, MirrorMap
from zolal.problem import Problem, SlackForm
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.judge import Trial, judged
from zolal.solvers.auto.plan import Here, looked_at
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.scale import units
from zolal.solvers.auto.step import Model, Stepper
from zolal.solvers.auto.terrain import Terrain, described
from zolal.solvers.base import Candidate, Solver, State


@final
@dataclass(frozen=True, eq=False)
class ModelledState(State):
    """The state after k values. z: the centre of the belief, the best point so far."""

    units: np.ndarray
    radius: float  # Delta, in units
    asked: np.ndarray  # u of the next evaluation
    trial: Trial | None  # what was foretold of it where it is a step; None for a look
    belief: Quadratic | None
    bend: np.ndarray  # the curvature of the constraints
    multipliers: Array
    failures: int  # steps in a row that were not accepted
    gradient_size: float  # the largest gradient believed in, per unit
    error: float  # the root mean square error of the gradient along what is free
    gain: float  # what the next step is foretold to gain
    first_value: float
    looks: int = 0

    @property
    def fun(self) -> float:
        """f at the iterate, as believed."""
        return math.nan if self.belief is None else self.belief.value

    @property
    def residual(self) -> float:
        """The largest of: stationarity with its error, relative to the largest gradient; the root of the relative gain; feasibility."""
        if self.belief is None or not self.gradient_size > 0.0:
            return math.inf
        fallen = max(self.first_value - self.belief.value, self.gradient_size * self.radius)
        hope = math.sqrt(max(self.gain, 0.0) / max(fallen, 1e-300))
        return float(max((self.stationarity + self.error) / self.gradient_size, hope, self.feasibility))


@final
@dataclass(frozen=True)
class Modelled(Solver[ModelledState]):
    """A trust-region method with a posterior over quadratics. x_scale: the units of the variables, where they are given."""

    x_scale: np.ndarray | None = None

    @staticmethod
    def can_take(problem: Problem) -> bool:
        return described(problem.region, problem.dimension) is not None

    def init(self, problem: Problem, x0: Array, seed: int) -> ModelledState:
        form, d = SlackForm(problem, problem.equalities(x0)), problem.dimension
        parts = described(problem.region, d)
        assert parts is not None
        unit = units(parts[0], parts[1], to_numpy(x0).astype(float), self.x_scale)
        terrain = Terrain.of(form, unit, x0)
        u, _ = terrain.restored(terrain.inward(x0))
        x = terrain.outward(u)
        z = form.start(x)
        c = form.value(z)
        return ModelledState(
            form=form, seed=seed, k=0, z=z, c=c, stationarity=math.nan, feasibility=form.equalities.violation(x), units=unit,
            radius=CONSTANTS.first_radius * math.sqrt(d), asked=terrain.inward(x), trial=None, belief=None, bend=np.zeros((d, d)), multipliers=0.0 * c,
            failures=0, gradient_size=0.0, error=math.inf, gain=math.inf, first_value=math.nan,
        )  # fmt: skip

    def ask(self, state: ModelledState) -> Survey:
        x = self._terrain(state).outward(state.asked)
        identity = Gaussian(state.form.problem.dimension, 1, seed=state.seed, iteration=state.k)
        count = {0: 2, 1: CONSTANTS.repeats - 2}.get(state.k, 1) if state.belief is None or state.k == 1 and self._repeats(state) else 1
        return Survey((x,), identity, tuple(Probe(sample=i) for i in range(count)), optional=state.k > 1)

    def _repeats(self, state: ModelledState) -> bool:
        return state.belief is not None and float(np.ptp(state.belief.values)) > 0.0

    def tell(self, state: ModelledState, values: np.ndarray) -> ModelledState:
        values, terrain = np.asarray(values, dtype=float), self._terrain(state)
        if state.belief is None:
            equal = values[0] == values[1]
            belief = Quadratic.start(state.asked, values[:1] if equal else values, state.radius)
            state = replace(state, k=1, belief=belief, first_value=belief.value)
            return self._planned(state, terrain) if equal else state
        if state.k == 1 and self._repeats(state):
            belief = Quadratic.start(state.asked, np.append(state.belief.values, values), state.radius)
            return self._planned(replace(state, k=2, belief=belief, first_value=belief.value), terrain)
        u = terrain.inward(terrain.outward(state.asked))
        return self._planned(judged(replace(state, k=state.k + 1), u, float(values[0])), terrain)

    def _planned(self, state: ModelledState, terrain: Terrain) -> ModelledState:
        """The next evaluation, and what the belief says of the centre."""
        belief = state.belief
        assert belief is not None
        u = belief.centre
        try:
            here = Here.at(terrain, belief, state.radius)
        except ConstraintError:  # at a point whose rows were finite before
            raise
        x = terrain.outward(u)
        z = state.form.start(x)
        typical = math.exp(-float(np.mean(np.log(state.units))))
        state = replace(
            state,
            z=z,
            c=state.form.value(z),
            stationarity=here.stationarity * typical,
            error=here.error * typical,
            feasibility=state.form.equalities.violation(x),
            multipliers=like(here.multipliers[: len(state.multipliers)], state.multipliers),
        )
        if here.error**2 > CONSTANTS.ignorance * here.size**2:
            return self._look(state, terrain, here)
        state = replace(state, gradient_size=max(state.gradient_size, float(np.linalg.norm(here.gradient)) * typical))
        model = Model(u, here.gradient, belief.hessian)
        step = Stepper(terrain).minimiser(model, state.radius, state.bend)
        state = replace(state, gain=step.gain, bend=step.bend)
        foretold = belief.foretold(step.point)
        if step.gain <= 8.0 * np.finfo(float).eps * abs(belief.value) or step.gain < 0.1 * belief.noise * 0:
            return self._look(replace(state, radius=0.5 * state.radius), terrain, here)
        trial = Trial(step.gain, foretold.deviation, float(np.linalg.norm(step.point - u)))
        return replace(state, asked=step.point, trial=trial)

    def _look(self, state: ModelledState, terrain: Terrain, here: Here) -> ModelledState:
        fresh = Gaussian(len(here.gradient), 1, seed=state.seed, iteration=state.k).row(0, np.empty(len(here.gradient)))
        return replace(state, asked=looked_at(terrain, here, fresh, state.radius, state.belief), trial=None, looks=state.looks + 1)

    def _terrain(self, state: ModelledState) -> Terrain:
        return Terrain.of(state.form, state.units, state.z[: len(state.units)])

    def output(self, state: ModelledState) -> Candidate:
        belief = state.belief
        if belief is None:
            return Candidate(state.z, state.multipliers, None)
        z = state.z
        if not belief.is_exact and state.trial is not None and state.trial.deviation < state.trial.gain:
            z = state.form.start(self._terrain(state).outward(state.asked))
        return Candidate(z, state.multipliers, like(belief.gradient / state.units, state.z[: len(state.units)]))

    def best(self, state: ModelledState) -> Candidate:
        return self.output(state)

    def measures_at(self, state: ModelledState) -> tuple[MirrorMap, float]:
        return Euclidean(), 1.0

    def stationarity_tolerance(self, state: ModelledState, tol: float) -> float:
        return tol * state.gradient_size
