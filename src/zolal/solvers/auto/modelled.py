"""The solver for few variables: a belief about f, steps over the exact constraints, a judge, and a certificate from the belief itself."""

import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from zolal._array import EPS, Array, like, to_numpy
from zolal._threads import one_thread
from zolal.directions import Gaussian
from zolal.estimators.survey import Probe, Survey
from zolal.kkt import KKT, euclidean_residual
from zolal.linearization import Linearization
from zolal.mirror import Euclidean, MirrorMap
from zolal.problem import Problem, SlackForm
from zolal.result import Status
from zolal.solvers.auto.across import Across
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.eased import eased
from zolal.solvers.auto.judge import judged, repeated
from zolal.solvers.auto.plan import Here, looked_at, multiplier_errors, seen_again
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.reported import Reported
from zolal.solvers.auto.scale import units
from zolal.solvers.auto.state import ModelledState, Trial
from zolal.solvers.auto.step import Model, Step, Stepper
from zolal.solvers.auto.terrain import Terrain, described
from zolal.solvers.base import Candidate, Certified, Reports, Solver, once_per_state

SHORT = 1e-5  # of a unit: how far the points of the final check lie from the answer where there is no noise
CHECK_STREAM = 1  # samples of the final check are none of the run's


@final
@dataclass(frozen=True)
class Modelled(Solver[ModelledState]):
    """A trust-region method with a posterior over quadratics and exact constraints (docs/algorithm.md). Not in the paper.

    x_scale: the units of the variables, where they are given. confidence: with which the outputs that come with f are to keep their bounds.
    """

    x_scale: Any = None
    confidence: float = 0.95

    @staticmethod
    def can_take(problem: Problem) -> bool:
        """Whether the region is made of bounds and smooth rows."""
        return described(problem.region, problem.dimension) is not None

    def init(self, problem: Problem, x0: Array, seed: int) -> ModelledState:
        form, d = SlackForm(problem, problem.equalities(x0)), problem.dimension
        parts = described(problem.region, d)
        assert parts is not None
        unit = units(parts[0], parts[1], to_numpy(x0).astype(float), self.x_scale)
        terrain = Terrain.of(form, unit, x0)
        x = terrain.outward(terrain.start(terrain.inward(x0), seed))
        u, z = terrain.inward(x), form.start(x)
        c = form.value(z)
        return ModelledState(
            form=form,
            seed=seed,
            k=0,
            z=z,
            c=c,
            stationarity=math.nan,
            feasibility=form.equalities.violation(x),
            units=unit,
            typical_unit=math.exp(float(np.mean(np.log(unit)))),
            radius=CONSTANTS.first_radius * math.sqrt(d),
            asked=u,
            trial=None,
            first_point=u,
            first_value=math.nan,
            belief=None,
            bend=np.zeros((d, d)),
            multipliers=0.0 * c,
        )

    @once_per_state
    def ask(self, state: ModelledState) -> Survey:
        """One point at a time, with noise now and then twice, and the centre again where that tells whether there is noise."""
        x = self._terrain(state).outward(state.asked)
        identity = Gaussian(state.form.problem.dimension, 1, seed=state.seed, iteration=state.k)
        count = state.repeats or (2 if self._repeats(state) else 1)
        return Survey((x,), identity, tuple(Probe(sample=i) for i in range(count)), optional=state.belief is not None)

    def tell(self, state: ModelledState, values: np.ndarray) -> ModelledState:
        with one_thread():
            return self._told(state, values)

    def _told(self, state: ModelledState, values: np.ndarray) -> ModelledState:
        values, terrain = np.asarray(values, dtype=float), self._terrain(state)
        state = state.but(k=state.k + 1)
        if state.belief is None:
            first = values.reshape(len(values), -1)[0]
            kept = np.clip(first, -CONSTANTS.largest_value, CONSTANTS.largest_value)
            if (kept != first).any() and state.k == 1:
                return state  # one odd value may come by chance
            return self._planned(self._begun(state, float(kept[0]), kept[1:]), terrain)
        if state.repeats:
            return self._planned(repeated(state, values), terrain)
        return self._planned(judged(state, terrain.as_evaluated(state.asked), values), terrain)

    def _begun(self, state: ModelledState, value: float, outputs: np.ndarray) -> ModelledState:
        """After the first value."""
        state = state.but(first_value=value, belief=Quadratic.start(state.asked, value, state.radius))
        if not len(outputs):
            return state
        reported = Reported.start(state.form.problem.outputs, state.asked, outputs, state.radius, self.confidence)
        return state.but(reported=reported)

    @staticmethod
    def _repeats(state: ModelledState) -> bool:
        """Whether a look is made twice, so that the noise stays known apart from what the model misses."""
        if state.belief is None or state.trial is not None or state.is_exact:
            return False
        others = () if state.reported is None else state.reported.beliefs
        noisy = [belief for belief in (state.belief, *others) if not belief.is_exact]
        return any(belief.repeats.number < CONSTANTS.repeat_share * len(belief.values) for belief in noisy)

    def _planned(self, state: ModelledState, terrain: Terrain) -> ModelledState:
        """With the next evaluation, and with what the belief says of the centre."""
        belief = state.belief
        assert belief is not None
        if state.rows is None or belief.centre is not state.measured:
            state = self._arrived(state, terrain, belief.centre)
        here = self._here(state, terrain, state.gradient_size * state.typical_unit)
        state = self._measured(state, here)
        if state.repeats or self._asks_for_noise(state):
            return state.but(asked=belief.centre, trial=None, repeats=state.repeats or 1)
        if self._says_nothing(state):  # the values say nothing yet: go farther
            state = state.but(radius=2.0 * state.radius, plateau=2.0 * state.radius, last_length=math.inf)
            return self._any_look(state, terrain, here) or self._stuck(state, belief.centre)
        if state.gradient_size == 0.0 and len(belief.values) > belief.dimension * (1 if state.is_exact else CONSTANTS.noisy_looks):
            state = self._sized(state)
        ignorant = not belief.is_flat and here.slope.error**2 > CONSTANTS.ignorance * here.slope.stationarity**2
        if ignorant and not self._seems_small(state) and (look := self._look(state, terrain, here)):
            return look
        model = Model(here.centre, here.slope.gradient, belief.hessian)
        state, step = self._stepped(state, terrain, model, here.rows, state.radius)
        gain = self._hope(state, terrain, model, here.rows, step.gain)
        state = state.but(gain=gain, gradient_size=max(state.gradient_size, self._size_here(state, belief)))
        if ignorant and (look := self._look(state, terrain, here)):
            return look
        little = max(CONSTANTS.little * state.fallen, state.noise)
        unmeasured = here.measured is not None and here.slope is here.believed
        if unmeasured and state.gain <= little and (look := self._look(state, terrain, here, here.said.covariance)):
            return look  # before one believes what was not measured
        if step.gain <= CONSTANTS.rounding * EPS * abs(belief.value):
            state = state.but(radius=CONSTANTS.shrinkage * state.radius)
            return self._any_look(state, terrain, here) or self._stuck(state, belief.centre)
        deviation = belief.foretold(step.point).deviation
        if state.reported is not None:
            deviation = math.hypot(deviation, state.reported.deviation(step.point, step.multipliers[-len(state.reported.beliefs) :]))
        return state.but(asked=step.point, trial=Trial(step.gain, deviation, norm(step.point - here.centre)))

    def _here(self, state: ModelledState, terrain: Terrain, largest: float = math.inf) -> Here:
        """What the beliefs say of the centre, over the constraints and the models of the outputs."""
        belief, reported = state.belief, state.reported
        assert belief is not None
        assert state.rows is not None
        if reported is None:
            return Here.at(terrain, state.rows, belief, state.radius, largest, state.surprise)
        whole = terrain.with_outputs(reported.rows())
        return Here.at(whole, whole.rows(belief.centre), belief, state.radius, largest, state.surprise, reported=reported)

    @staticmethod
    def _stepped(state: ModelledState, terrain: Terrain, model: Model, rows: Linearization, radius: float) -> tuple[ModelledState, Step]:
        """The step of a radius; with outputs its gain is that of the merit, whose prices are such that coming nearer to bounds pays."""
        if state.reported is None:
            step = Stepper(terrain).minimiser(model, rows, radius, state.bend)
            return state.but(bend=step.bend), step
        number = len(state.reported.beliefs)
        whole = terrain.with_outputs(state.reported.rows())
        reached, start = eased(whole, model.centre, radius)
        begin = reached.rows(model.centre if start is None else start)
        multipliers = np.append(np.zeros(len(rows.value) - number), state.reported.multipliers)
        step = Stepper(reached).minimiser(model, begin, radius, state.bend, start, multipliers)
        reported = state.reported.priced(model.gradient, step.multipliers[-number:])
        before, after = (np.array([row.at(u) for row in whole.outputs]) for u in (model.centre, step.point))
        less = reported.cost(before) - reported.cost(after)
        if less > 0.0 and step.gain < -CONSTANTS.bought * less:  # f may rise by no more than a part of what the violations fall by
            factor = -step.gain / (CONSTANTS.bought * less)
            reported, less = reported.raised(factor), factor * less
        return state.but(bend=step.bend, reported=reported), step._replace(gain=step.gain + less)

    @staticmethod
    def _says_nothing(state: ModelledState) -> bool:
        """Whether all values are the same as far as one has looked."""
        belief, reported = state.belief, state.reported
        assert belief is not None
        if reported is not None:
            return len(belief.values) > 1 and belief.is_flat and all(output.is_flat for output in reported.beliefs)
        return (belief.is_flat and len(belief.values) > 1) or belief.is_plateau

    def _asks_for_noise(self, state: ModelledState) -> bool:
        """Whether it is time to evaluate the centre again: not before noise might matter to what is believed or done.

        With many variables that is at once, since it matters to where the first looks go, of which there are many.
        """
        matters = state.has_failed or self._seems_small(state) or len(state.units) >= CONSTANTS.many_variables
        return self._may_repeat(state) and matters

    @staticmethod
    def _may_repeat(state: ModelledState) -> bool:
        return not state.is_repeated and state.unanswered < CONSTANTS.patience

    @staticmethod
    def _stuck(state: ModelledState, centre: np.ndarray) -> ModelledState:
        """Where constraints leave no way to look along: no step can gain, and noise is all that is left to ask for."""
        if Modelled._may_repeat(state):
            return state.but(asked=centre, trial=None, repeats=1)
        return state.but(is_stuck=True, gain=0.0, gradient_size=state.gradient_size or 1.0)

    def _arrived(self, state: ModelledState, terrain: Terrain, centre: np.ndarray) -> ModelledState:
        """With what the constraints say of a new centre."""
        x = terrain.outward(centre)
        z, rows = state.form.start(x), terrain.rows(centre)
        feasibility = rows.violation
        return state.but(z=z, c=state.form.value(z), rows=rows, measured=centre, feasibility=feasibility)

    def _measured(self, state: ModelledState, here: Here) -> ModelledState:
        if state.reported is not None:
            assert state.rows is not None
            multipliers = here.said.multipliers[-len(state.reported.beliefs) :]
            feasibility = max(state.rows.violation, state.reported.violation())
            state = state.but(reported=replace(state.reported, multipliers=multipliers), feasibility=feasibility)
        return state.but(
            stationarity=here.said.stationarity / state.typical_unit,
            error=self._error(state, here),
            deviations=here.said.deviations,
            multipliers=like(here.said.multipliers[: len(state.multipliers)], state.multipliers),
        )

    @staticmethod
    def _seems_small(state: ModelledState) -> bool:
        """Whether the gradient may be small enough for a solution, so that one asks what a step could still gain before looking on."""
        return state.stationarity + state.error <= CONSTANTS.small * state.gradient_size

    def _sized(self, state: ModelledState) -> ModelledState:
        """With the sizes of slopes and changes that the first looks have seen, by which one tells what is small even at a solution."""
        belief = state.belief
        assert belief is not None
        hidden = 0.0 if belief.is_exact else 2.0 * belief.noise**2  # what noise alone makes of a squared change
        changes = np.sqrt(np.maximum((belief.values - belief.value) ** 2 - hidden, 0.0))
        ways = np.linalg.norm(belief.points - belief.centre, axis=1)
        there = ways > 0.0
        slope = float(np.median(changes[there] / ways[there])) * math.sqrt(belief.dimension) if there.any() else 0.0
        spread = float(np.median(changes[there])) if there.any() else 0.0
        return state.but(gradient_size=1.0 if belief.is_flat else slope / state.typical_unit, first_spread=spread)

    def _size_here(self, state: ModelledState, belief: Quadratic) -> float:
        """How large a gradient has surely been: the one here, or the mean slope of the way from the start, which some point has.

        One that no move has confirmed counts little: it may come from a value that is no part of f, such as a penalty for what failed.
        """
        if belief.is_exact:
            here, most = norm(belief.gradient), CONSTANTS.unconfirmed * state.steepest
            return (min(here, most) if most > 0.0 else here) / state.typical_unit
        here = float(belief.gradient @ belief.gradient) - float(np.trace(belief.covariance))
        way = norm(belief.centre - state.first_point)
        along = (state.fallen - self._doubt(state, belief)) / way if way > 0.0 else 0.0
        return max(math.sqrt(max(here, 0.0)), along) / state.typical_unit

    def _hope(self, state: ModelledState, terrain: Terrain, model: Model, rows: Linearization, gain: float) -> float:
        """What a step as long as the whole way so far might gain, by the model; looked at only where the next step gains little."""
        way = norm(model.centre - state.first_point)
        if gain > CONSTANTS.little * state.fallen or way <= state.radius:
            return gain
        return max(gain, self._stepped(state, terrain, model, rows, way)[1].gain)

    def _error(self, state: ModelledState, here: Here) -> float:
        """The root mean square error of the gradient that is told, per typical unit; longer where forecasts were wrong.

        Values that are multiples of something have plateaus, which look like solutions however many values there are: nothing is known.
        """
        belief = state.belief
        assert belief is not None
        if belief.grain or (belief.is_plateau and not (belief.is_flat and state.reported is not None)):
            return math.inf
        return here.said.error * math.sqrt(max(state.surprise, 1.0)) / state.typical_unit

    def _look(self, state: ModelledState, terrain: Terrain, here: Here, covariance: np.ndarray | None = None) -> ModelledState | None:
        """With a look as the next evaluation; None where the constraints leave no way to look along."""
        d = len(here.centre)
        fresh = Gaussian(d, 1, seed=state.seed, iteration=state.k).row(0, np.empty(d))
        covariance, belief = here.slope.covariance if covariance is None else covariance, state.belief
        assert belief is not None
        if belief.is_plenty and state.k % CONSTANTS.look_elsewhere:
            return state.but(asked=seen_again(belief, covariance, fresh), trial=None)
        if state.reported is not None:  # a look need not keep what is not known
            assert state.rows is not None
            here = replace(here, rows=state.rows)
        point = looked_at(terrain, here, covariance, fresh, self._reach(state), state.is_exact)
        return None if point is None else state.but(asked=point, trial=None)

    def _any_look(self, state: ModelledState, terrain: Terrain, here: Here) -> ModelledState | None:
        """A look at what one acts on, else at what a certificate answers for."""
        return self._look(state, terrain, here) or self._look(state, terrain, here, here.said.covariance)

    def _reach(self, state: ModelledState) -> float:
        """How far a look goes: half of what the next step may go; with noise as far as says most of the slope; with a grain the longer."""
        belief = state.belief
        assert belief is not None
        reach, turn = CONSTANTS.look_radius * min(state.radius, state.last_length), CONSTANTS.look_lengths[state.k % 2]
        if state.is_exact and not belief.grain:
            return reach if math.isfinite(state.last_length) else turn * reach
        return turn * (max(reach, self._longest(state)) if state.is_exact else self._longest(state))

    @staticmethod
    def _longest(state: ModelledState) -> float:
        """As far as a look goes with noise."""
        assert state.belief is not None
        return min(state.best_radius, CONSTANTS.longest_look * state.radius)

    def _terrain(self, state: ModelledState) -> Terrain:
        return Terrain.of(state.form, state.units, state.x)

    def ending(self, state: ModelledState) -> Status | None:
        """Where no evaluation can help: no step of any size matters to f, or none that is longer than rounding improves it, or all do."""
        if state.belief is None:
            return None
        root = math.sqrt(len(state.units))
        if state.radius > CONSTANTS.farthest * root:
            if self._is_hidden(state):
                return Status.TOO_NOISY
            if state.belief.is_flat or state.belief.is_plateau:
                return Status.STALLED if state.fallen > 0.0 else Status.NO_REACTION
        if norm(state.belief.centre - state.first_point) > CONSTANTS.endless * root:
            return Status.UNBOUNDED
        shortest = CONSTANTS.shortest * max(1.0, float(np.max(np.abs(state.belief.centre))))
        return Status.STALLED if state.is_stuck or state.radius < shortest else None

    def diagnosis(self, state: ModelledState) -> Status | None:
        """Noise that hides f; a kink, where the radius shrinks and the slope stays; or no better point than the start."""
        belief = state.belief
        if belief is None:
            return None
        if self._is_hidden(state):
            return Status.TOO_NOISY
        steep = state.stationarity > CONSTANTS.steep * state.gradient_size > 0.0
        if belief.is_exact and not belief.grain and steep and state.radius < CONSTANTS.kinked:
            return Status.NONSMOOTH
        return Status.NO_IMPROVEMENT if not self._has_fallen(state, belief) else None

    def _is_hidden(self, state: ModelledState) -> bool:
        """Whether all values, near and far, differ by no more than noise does."""
        belief = state.belief
        if belief is None or state.reported is not None or belief.is_exact or len(belief.values) <= 2 * belief.dimension:
            return False
        most = (1.0 + CONSTANTS.hidden / math.sqrt(2.0 * len(belief.values))) * belief.noise  # a spread of N values is known to 1/sqrt(2N)
        return float(np.std(belief.values)) <= most and not self._has_fallen(state, belief)

    def _has_fallen(self, state: ModelledState, belief: Quadratic) -> bool:
        """Whether f is surely less at the centre than it was at the start, which was evaluated once."""
        return state.fallen > self._doubt(state, belief)

    @staticmethod
    def _doubt(state: ModelledState, belief: Quadratic) -> float:
        """What noise may have made of the difference between the start and the centre."""
        return 0.0 if state.is_exact else CONSTANTS.noise_margin * math.hypot(state.noise, belief.value_error)

    def output(self, state: ModelledState) -> Candidate:
        return self.certified(state).candidate

    def own_check(self, state: ModelledState) -> int:
        """One direction across each equality: no query has left them, and prices need the slope of f there.

        None where X has an equality of its own, which no query may leave.
        """
        own = state.form.equalities.num_rows
        equal = self._terrain(state).equal
        return 0 if equal[own:].any() else min(int(np.sum(equal)), len(state.units))

    def check(self, state: ModelledState, count: int) -> Survey | None:
        if state.belief is None or count == 0:
            return None
        terrain = self._terrain(state)
        across = self._across(state, terrain, self._answer(state, terrain), count)
        identity = Gaussian(len(state.units), 1, seed=state.seed, iteration=state.k, stream=CHECK_STREAM)
        points = tuple(terrain.outward(point) for point in across.points)
        return Survey(points, identity, tuple(Probe(i, sample=i) for i in range(len(points))), optional=True)

    def _across(self, state: ModelledState, terrain: Terrain, answer: np.ndarray, count: int) -> Across:
        """Pairs of points across the equalities, as far apart as rounding or noise asks for."""
        belief = state.belief
        assert belief is not None
        reach = SHORT * max(1.0, float(np.max(np.abs(answer))))
        if not belief.is_exact:
            reach = max(reach, self._longest(state))
        return Across.of(terrain, answer, count, reach)

    def certified(self, state: ModelledState, values: np.ndarray | None = None) -> Certified:
        """The point that the belief holds best, with what it says of it: the centre; with noise the model's minimiser."""
        belief, form = state.belief, state.form
        if belief is None:
            return Certified(Candidate(state.z, state.multipliers, None), math.nan, math.nan, KKT.unknown(state.feasibility))
        terrain, reported = self._terrain(state), state.reported
        answer, centre = self._answer(state, terrain), belief.centre
        across, others = None, list[Across]()
        if values is not None:
            pairs, columns = self._across(state, terrain, answer, len(values) // 2), values.reshape(len(values), -1).T
            across, others = pairs.seen(columns[0], belief.noise), [pairs.seen(column, 0.0) for column in columns[1:]]
        belief = belief if answer is belief.centre else belief.seen_from(answer, belief.length)
        if reported is None:
            rows = self._rows(state, terrain, belief.centre)
        else:
            reported = reported if answer is centre else reported.seen_from(answer)
            outputs = reported.rows()
            if others:  # no query has left the equalities, so beliefs know nothing of what lies across them
                outputs = tuple(row._replace(gradient=seen.completed(row.gradient)) for row, seen in zip(outputs, others, strict=True))
            terrain = terrain.with_outputs(outputs)
            rows = terrain.rows(belief.centre)
        here = Here.at(terrain, rows, belief, state.radius, surprise=state.surprise, across=across, reported=reported)
        x = terrain.outward(belief.centre)
        z, multipliers = form.start(x), like(here.said.multipliers[: len(state.multipliers)], state.multipliers)
        gradient = like(here.said.gradient / state.units, x)
        pulled = form.gradient(z, gradient + self._pull(here.said.multipliers, terrain, state, x), multipliers)
        residual = euclidean_residual(form.region, form.regularizer, z, pulled, form.value(z))
        error = self._error(state, here) if state.is_repeated else math.inf  # values may have any noise
        feasibility = max(form.equalities.violation(x), 0.0 if reported is None else reported.violation())
        kkt = KKT(here.said.stationarity / state.typical_unit, feasibility, residual, 2.0, True, error)
        doubt = belief.measured[1]
        if reported is not None:
            doubt = doubt + reported.doubt(here.said.multipliers[-len(reported.beliefs) :], measured=True)
        errors = multiplier_errors(rows, here.said.multipliers, doubt, across, 0 if reported is None else len(reported.beliefs))
        value = belief.value + form.problem.regularizer.value(x)
        value_error = belief.value_error if state.is_repeated else math.nan
        reports = None if reported is None else self._reports(state, reported, here.said.multipliers, errors)
        own = errors[: len(multipliers)]
        return Certified(Candidate(z, multipliers, gradient), value, value_error, kkt, own, here.said.deviations, reports)

    @staticmethod
    def _pull(multipliers: np.ndarray, terrain: Terrain, state: ModelledState, x: Array) -> Any:
        """What the outputs add to the gradient of the Lagrangian."""
        if not terrain.outputs:
            return 0.0
        slopes = np.array([row.gradient for row in terrain.outputs])
        return like(multipliers[-len(slopes) :] @ slopes / state.units, x)

    @staticmethod
    def _reports(state: ModelledState, reported: Reported, multipliers: np.ndarray, errors: np.ndarray) -> Reports:
        number = len(reported.beliefs)
        return Reports(reported.values, reported.errors(state.is_repeated), multipliers[-number:], errors[-number:])

    def _answer(self, state: ModelledState, terrain: Terrain) -> np.ndarray:
        """The centre; with noise the model's minimiser, as far from it as looks have gone, unless f may have no value there.

        The start where no value has told it from any other point.
        """
        belief = state.belief
        assert belief is not None
        if self._is_hidden(state) or (belief.is_flat and not state.fallen > 0.0):
            return state.first_point
        if state.is_exact or state.has_missed:
            return belief.centre
        here = self._here(state, terrain, state.gradient_size * state.typical_unit)
        model, covered = Model(belief.centre, here.slope.gradient, belief.hessian), min(state.radius, self._longest(state))
        _, step = self._stepped(state, terrain, model, here.rows, covered)
        return step.point if step.gain > 0.0 else belief.centre

    @staticmethod
    def _rows(state: ModelledState, terrain: Terrain, centre: np.ndarray) -> Linearization:
        """The constraints at a point, which the state knows where it is the belief's centre."""
        return state.rows if state.rows is not None and state.measured is centre else terrain.rows(centre)

    def measures_at(self, state: ModelledState) -> tuple[MirrorMap, float]:
        return Euclidean(), 1.0

    def stationarity_tolerance(self, state: ModelledState, tol: float) -> float:
        return tol * state.gradient_size
