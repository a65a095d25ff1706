"""The solver for few variables: a belief about f, steps over the exact constraints, a judge, and a certificate from the belief itself."""

import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from zolal._array import EPS, Array, like, to_numpy
from zolal._threads import one_thread
from zolal.directions import Gaussian, first_row
from zolal.estimators.standing import Standing
from zolal.estimators.survey import Probe, Survey
from zolal.mirror import Euclidean, MirrorMap
from zolal.problem import Problem, SlackForm
from zolal.result import Status
from zolal.solvers.auto import again, ahead, course, ends
from zolal.solvers.auto.certificate import across_equalities, answer, certified
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.judge import judged, repeated
from zolal.solvers.auto.learned import relearned
from zolal.solvers.auto.plan import SAME_PLACE, SAME_STEP, Here, is_among, looked_at, seen_again
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.reported import Reported
from zolal.solvers.auto.scale import units
from zolal.solvers.auto.sizes import are_sizes_open, gradient_here, largest_gradient, with_sizes_seen
from zolal.solvers.auto.state import Flight, ModelledState, Trial
from zolal.solvers.auto.terrain import Terrain, described
from zolal.solvers.base import Candidate, Certified, Solver, once_per_state

CHECK_STREAM = 1  # samples of the final check are none of the run's


@final
@dataclass(frozen=True)
class Modelled(Solver[ModelledState]):
    """A trust-region method with a posterior over quadratics and exact constraints (docs/algorithm.md). Not in the paper.

    x_scale: the units of the variables, where they are given. confidence: with which the outputs that come with f are to keep their bounds.
    asynchronous: whether several evaluations are under way at a time, and each value is taken as it comes.
    """

    x_scale: Any = None
    confidence: float = 0.95
    asynchronous: bool = False

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
        c, radius = form.value(z), CONSTANTS.first_radius * math.sqrt(d)
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
            radius=radius,
            smooth_to=radius,
            asked=u,
            trial=None,
            first_point=u,
            first_value=math.nan,
            belief=None,
            bend=np.zeros((d, d)),
            multipliers=0.0 * c,
            next_units=CONSTANTS.few * (d + 1),
            flight=Flight() if self.asynchronous else None,
        )

    @once_per_state
    def ask(self, state: ModelledState) -> Survey | Standing:
        """One point at a time, with noise now and then twice, and the centre again where that tells whether there is noise.

        Where several are under way at a time, those.
        """
        if state.flight is not None:
            return self._under_way(state, state.flight)
        terrain = state.terrain
        identity = Gaussian(state.form.problem.dimension, 1, seed=state.seed, iteration=state.k)
        count = state.repeats or (2 if again.doubles(state) else 1)
        if not state.hair:
            probes = tuple(Probe(sample=i) for i in range(count))
            return Survey((terrain.outward(state.asked),), identity, probes, optional=state.belief is not None)
        with one_thread():
            points = tuple(terrain.outward(u) for u in again.places(state, terrain, count))
        return Survey(points, identity, tuple(Probe(i, sample=i) for i in range(count)), optional=True)

    def _under_way(self, state: ModelledState, flight: Flight) -> Standing:
        terrain, identity = state.terrain, Gaussian(state.form.problem.dimension, 1, seed=state.seed)
        points = tuple(terrain.outward(query.point) for query in flight.under_way)
        slots, numbers = tuple(query.slot for query in flight.under_way), tuple(query.number for query in flight.under_way)
        return Standing(points, slots, numbers, identity, optional=state.belief is not None)

    def waiting(self, state: ModelledState) -> int:
        return 0 if state.flight is None else len(state.flight.under_way)

    def extended(self, state: ModelledState, count: int) -> ModelledState:
        with one_thread():
            return ahead.extended(state, count, state.terrain, self)

    def tell(self, state: ModelledState, values: np.ndarray) -> ModelledState:
        rows = np.asarray(values, dtype=float)
        rows = rows.reshape(len(rows), -1)
        with one_thread():
            if state.flight is None:
                return self._told(state, rows)
            state = state.but(k=state.k + 1)
            for slot in np.flatnonzero(~np.isnan(rows[:, 0])).tolist():
                state = self._landed(state, slot, rows[slot : slot + 1])
            return state

    def _told(self, state: ModelledState, rows: np.ndarray) -> ModelledState:
        terrain = state.terrain
        rows = again.at_one_point(state, terrain, rows)
        state = state.but(k=state.k + 1)
        if state.belief is None:
            return self._first(state, rows[0], terrain)
        if state.repeats:
            return self.planned(repeated(state, state.asked, rows), terrain)
        looks, before, state = state.next_looks, state, judged(state.but(next_looks=()), terrain.as_evaluated(state.asked), rows)
        state = relearned(state) if self.x_scale is None else state
        if looks and self._is_as_planned(before, state):
            return state.but(asked=looks[0], next_looks=looks[1:])
        return self.planned(state, state.terrain)

    @staticmethod
    def _is_as_planned(before: ModelledState, state: ModelledState) -> bool:
        """Whether looks that were planned together may go on: from one centre, in one set of units, with a value each."""
        assert before.belief is not None
        assert state.belief is not None
        return state.belief.centre is before.belief.centre and state.units is before.units and not state.missing

    def _landed(self, state: ModelledState, slot: int, rows: np.ndarray) -> ModelledState:
        """The same for one of several that are under way."""
        terrain = state.terrain
        state, query = ahead.told(state, slot)
        return self._first(state, rows[0], terrain) if state.belief is None else ahead.landed(state, query, rows, terrain, self)

    def _first(self, state: ModelledState, row: np.ndarray, terrain: Terrain) -> ModelledState:
        kept = np.clip(row, -CONSTANTS.largest_value, CONSTANTS.largest_value)
        if (kept != row).any() and state.k == 1:
            return state  # one odd value may come by chance
        return self.planned(self._begun(state, float(kept[0]), kept[1:]), terrain)

    def _begun(self, state: ModelledState, value: float, outputs: np.ndarray) -> ModelledState:
        """After the first value."""
        state = state.but(first_value=value, belief=Quadratic.start(state.asked, value, state.radius))
        if not len(outputs):
            return state
        reported = Reported.start(state.form.problem.outputs, state.asked, outputs, state.radius, self.confidence)
        return state.but(reported=reported)

    def planned(self, state: ModelledState, terrain: Terrain) -> ModelledState:
        """With the next evaluation, and with what the belief says of the centre."""
        belief = state.belief
        assert belief is not None
        if state.rows is None or belief.centre is not state.measured:
            state = self._arrived(state, terrain, belief.centre)
        here = course.here(state, terrain, state.gradient_size * state.typical_unit)
        state = self._measured(state, here)
        if state.repeats or again.matters(state):
            return state.but(asked=belief.centre, trial=None, repeats=state.repeats or 1)
        if self._says_nothing(state):  # the values say nothing yet: go farther
            state = state.but(radius=2.0 * state.radius, plateau=2.0 * state.radius, last_length=math.inf)
            return self._any_look(state, terrain, here) or self._stuck(state, belief.centre)
        if are_sizes_open(state) and len(belief.values) > belief.dimension * (1 if state.is_exact else CONSTANTS.noisy_looks):
            state = with_sizes_seen(state)
        looked_enough = not state.is_exact and state.looks >= CONSTANTS.noisy_looks * belief.dimension
        state, belief, here = self._recentred(state, terrain, here)
        ignorant = not state.is_aimless and here.slope.is_ignorant
        may_matter = (looked_enough or self._seems_small(state)) and self._asks_for_step(state)
        if ignorant and not may_matter and (look := self._look(state, terrain, here)):
            return look
        model = course.model(state, here)
        state, step = course.sure_step(state, terrain, model, here.rows)
        lowest, passed = course.lowest(state), belief.value_there - belief.extremes[0]
        if lowest is not belief.centre and passed > CONSTANTS.overtaken * step.gain:
            return self.planned(state.but(belief=belief.moved(lowest, state.radius)), terrain)
        state = state.but(gain=step.gain, gradient_size=largest_gradient(state))

        def gains_at_most(limit: float) -> bool:
            return step.gain <= limit and course.hope(state, terrain, model, here.rows) <= limit

        if again.may_ask(state, 2) and gains_at_most(CONSTANTS.negligible * state.extent):
            return state.but(asked=belief.centre, trial=None, repeats=1)
        tells = looked_enough and step.gain > CONSTANTS.noise_margin * state.noise  # by one value whether the step gains
        if ignorant and not tells and (look := self._look(state, terrain, here)):
            return look
        unmeasured = here.measured is not None and here.slope is here.believed
        little = max(CONSTANTS.little * state.extent, state.noise)
        if unmeasured and gains_at_most(little) and (look := self._look(state, terrain, here, here.said.covariance)):
            return look  # before one believes what was not measured
        if step.gain <= CONSTANTS.rounding * EPS * abs(belief.value):
            state = state.but(radius=CONSTANTS.shrinkage * state.radius)
            return self._any_look(state, terrain, here) or self._stuck(state, belief.centre)
        trial = Trial(step.gain, course.deviation(state, step), norm(step.point - here.centre))
        if again.may_be_rough(state, trial):
            return again.next_to_the_centre(state, trial)
        is_known = state.is_exact and is_among(step.point, belief.points, SAME_STEP * trial.length)
        if is_known and (look := self._any_look(state, terrain, here)):
            return look  # the model foretells a gain that a value has denied
        return state.but(asked=step.point, trial=trial)

    def _recentred(self, state: ModelledState, terrain: Terrain, here: Here) -> tuple[ModelledState, Quadratic, Here]:
        """At the end of a step that gains less than noise is large: no value could judge it, and looks tell more."""
        belief = state.belief
        assert belief is not None
        blind = state.is_exact or state.reported is not None or belief.foreseen is not None or state.has_missed
        if blind or here.measured is None or here.slope.is_ignorant:
            return state, belief, here
        step = course.stepped(state, terrain, course.model(state, here), here.rows, course.covered(state)).step
        if step.gain > state.noise or not course.is_better(state, step.point):
            return state, belief, here
        belief = belief.moved(step.point, state.radius)
        state = self._arrived(state.but(belief=belief), terrain, step.point)
        here = course.here(state, terrain, state.gradient_size * state.typical_unit)
        return self._measured(state, here), belief, here

    @staticmethod
    def _says_nothing(state: ModelledState) -> bool:
        """Whether all values are the same as far as one has looked."""
        belief, reported = state.belief, state.reported
        assert belief is not None
        if belief.foreseen:
            return False  # forecasts are the same where nothing is known
        if reported is not None:
            return len(belief.values) > 1 and belief.is_flat and all(output.is_flat for output in reported.beliefs)
        return (belief.is_flat and len(belief.values) > 1) or belief.is_plateau

    @staticmethod
    def _stuck(state: ModelledState, centre: np.ndarray) -> ModelledState:
        """Where constraints leave no way to look along: no step can gain, and noise is all that is left to ask for."""
        if again.may_ask(state, 2):
            return state.but(asked=centre, trial=None, repeats=1)
        return state.but(is_stuck=True, gain=0.0, gradient_size=state.gradient_size or 1.0)

    def _arrived(self, state: ModelledState, terrain: Terrain, centre: np.ndarray) -> ModelledState:
        """With what the constraints say of a new centre."""
        x = terrain.outward(centre)
        z, rows = state.form.start(x), terrain.rows(centre)
        return state.but(z=z, c=state.form.value(z), rows=rows, measured=centre, feasibility=rows.violation)

    def _measured(self, state: ModelledState, here: Here) -> ModelledState:
        if state.reported is not None:
            assert state.rows is not None
            multipliers = here.said.multipliers[-len(state.reported.beliefs) :]
            feasibility = max(state.rows.violation, state.reported.violation())
            state = state.but(reported=replace(state.reported, multipliers=multipliers), feasibility=feasibility)
        return state.but(
            stationarity=here.said.stationarity / state.typical_unit,
            error=course.error(state, here),
            deviations=course.deviations(state, here),
            multipliers=like(here.said.multipliers[: len(state.multipliers)], state.multipliers),
        )

    @staticmethod
    def _seems_small(state: ModelledState) -> bool:
        """Whether the gradient may be small enough for a solution, so that one asks what a step could still gain before looking on."""
        return state.stationarity + state.error <= CONSTANTS.small * state.gradient_size

    @staticmethod
    def _asks_for_step(state: ModelledState) -> bool:
        """Whether it is time to ask what a step gains although one is ignorant: one of many noisy values hardly changes that."""
        assert state.belief is not None
        return state.is_exact or state.belief.is_plenty or state.looks % _at_once(state.belief) == 0

    def _look(self, state: ModelledState, terrain: Terrain, here: Here, covariance: np.ndarray | None = None) -> ModelledState | None:
        """With a look as the next evaluation, at the slope that one acts on or at another; None where there is no way to look along."""
        d = len(here.centre)
        fresh = first_row(d, state.seed, state.k)
        belief, acts = state.belief, covariance is None
        covariance = here.slope.covariance if covariance is None else covariance
        assert belief is not None
        at_once = _at_once(belief)
        if belief.is_plenty and state.k // at_once % CONSTANTS.look_elsewhere:
            first, *others = seen_again(belief, covariance, fresh, at_once)
            return state.but(asked=first, next_looks=tuple(others), trial=None)
        if state.reported is not None and not state.is_exact and state.k % CONSTANTS.visits == 0:
            return state.but(asked=answer(state, terrain), trial=None)  # what a model says of it has to stand the test
        if state.reported is not None:  # a look need not keep what is not known
            assert state.rows is not None
            here = replace(here, rows=state.rows)
        seen = belief.points if state.is_exact else None
        terrain, rows = course.fenced(state, terrain, here.rows)
        here = replace(here, rows=rows)
        point = looked_at(terrain, here, covariance, fresh, self._reach(state), state.is_exact, seen)
        if point is not None and not belief.is_exact and is_among(point, belief.points, SAME_PLACE * norm(point - here.centre)):
            if acts and self._seems_small(state):  # where bounds lead all looks to one place, more values there tell little
                return self._wary_look(state, terrain)
            (point,) = seen_again(belief, covariance, fresh)
        return None if point is None else state.but(asked=point, trial=None)

    def _any_look(self, state: ModelledState, terrain: Terrain, here: Here) -> ModelledState | None:
        """A look at what one acts on, else at what a certificate answers for."""
        look = self._look(state, terrain, here) or self._look(state, terrain, here, here.said.covariance)
        return look if look is not None or state.belief is None or state.belief.is_exact else self._wary_look(state, terrain)

    def _wary_look(self, state: ModelledState, terrain: Terrain) -> ModelledState | None:
        """A look at what a claim lacks: also along bounds and rows that press, but not as surely as a claim needs."""
        _, wary = self._wary(state)
        return self._look(state, terrain, wary, wary.said.covariance)

    def _reach(self, state: ModelledState) -> float:
        """How far a look goes: half of what the next step may go; with noise as far as says most of the slope; with a grain the longer."""
        belief = state.belief
        assert belief is not None
        reach, turn = CONSTANTS.look_radius * min(state.radius, state.last_length), CONSTANTS.look_lengths[state.k % 2]
        if state.is_exact and not belief.grain:
            return reach if math.isfinite(state.last_length) else turn * reach
        return turn * (max(reach, course.longest_look(state)) if state.is_exact else course.longest_look(state))

    def is_converged(self, state: ModelledState, tol: float) -> bool:
        """Asked last is what a long step might gain, since it takes calls of the constraints."""
        if state.residual > tol or state.has_yet_to_fall:
            return False
        state, here = self._wary(state)
        if state.residual > tol:
            return False
        if state.is_stuck:  # where there is no way to go, no step gains
            return True
        if state.belief is None or course.lowest(state) is not state.belief.centre:
            return False
        with one_thread():
            return course.hope(state, state.terrain, course.model(state, here), here.rows) <= tol**2 * state.extent

    def _wary(self, state: ModelledState) -> tuple[ModelledState, Here]:
        """As it would be where f is as uneven as the values leave open."""
        assert state.belief is not None
        with one_thread():
            state = state.but(belief=state.belief.wary)
            here = course.here(state, state.terrain, state.gradient_size * state.typical_unit)
            return self._measured(state, here), here

    def ending(self, state: ModelledState) -> Status | None:
        return ends.ending(state)

    def diagnosis(self, state: ModelledState) -> Status | None:
        return ends.diagnosis(state)

    def output(self, state: ModelledState) -> Candidate:
        return self.certified(state).candidate

    def own_check(self, state: ModelledState) -> int:
        """One direction across each equality: no query has left them, and prices need the slope of f there.

        None where X has an equality of its own, which no query may leave.
        """
        own = state.form.equalities.num_rows
        equal = state.terrain.equal
        return 0 if equal[own:].any() else min(int(np.sum(equal)), len(state.units))

    def check(self, state: ModelledState, count: int) -> Survey | None:
        if state.belief is None or count == 0:
            return None
        terrain = state.terrain
        across = across_equalities(state, terrain, answer(state, terrain), count)
        identity = Gaussian(len(state.units), 1, seed=state.seed, iteration=state.k, stream=CHECK_STREAM)
        points = tuple(terrain.outward(point) for point in across.points)
        return Survey(points, identity, tuple(Probe(i, sample=i) for i in range(len(points))), optional=True)

    def certified(self, state: ModelledState, values: np.ndarray | None = None) -> Certified:
        with one_thread():
            return certified(state, state.terrain, values)

    def measures_at(self, state: ModelledState) -> tuple[MirrorMap, float]:
        return Euclidean(), 1.0

    def stationarity_tolerance(self, state: ModelledState, tol: float) -> float:
        return tol * (gradient_here(state) if state.has_yet_to_fall else state.gradient_size)


def _at_once(belief: Quadratic) -> int:
    """How many looks are planned by one belief."""
    return max(1, len(belief.values) // CONSTANTS.at_once)
