"""The solver: what it asks for in each phase, and an iteration from its values to the next point."""

import math
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from zolal._array import Array, dot, like, norm, rounding, to_numpy
from zolal._checks import require
from zolal.directions import Gaussian, Orthogonal
from zolal.errors import ObjectiveError
from zolal.estimators.survey import Probe, Survey
from zolal.kkt import kkt_measures
from zolal.mirror import Euclidean, MirrorMap, bregman_step
from zolal.problem import Problem, SlackForm
from zolal.regularizers import Zero
from zolal.result import Status
from zolal.sets import ConvexSet
from zolal.solvers.auto.slopes.additive import Additive
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.estimate import Estimate
from zolal.solvers.auto.slopes.exact import Exact
from zolal.solvers.auto.slopes.extent import length_scale
from zolal.solvers.auto.slopes.leaps import Leaps
from zolal.solvers.auto.slopes.lengths import Lengths
from zolal.solvers.auto.slopes.lost import can_do_without, explodes, judged_move, lacks_values
from zolal.solvers.auto.slopes.phases import FirstLook, Leaping, NoiseLook, Running, SampleLook
from zolal.solvers.auto.slopes.points import Anchor, Mean, Move
from zolal.solvers.auto.slopes.reading import Reading
from zolal.solvers.auto.slopes.sampled import Sampled
from zolal.solvers.auto.slopes.state import SlopesState
from zolal.solvers.auto.slopes.step import Stepper
from zolal.solvers.base import Candidate, Solver, once_per_state


@final
@dataclass(frozen=True)
class Slopes(Solver[SlopesState]):
    """The automatic solver for many variables and for samples: every parameter comes from what the run sees (docs/auto.md).

    s        a running estimate, corrected by the innovations of orthogonal directions, with a gain that follows the noise
    x^{k+1}  = restoration of argmin_{x in X} <s, x> + h(x) + V(x^k, x)/eta + (mu/2) dist^2(c + J (x - x^k) + lambda/mu, [l, u])
    lambda   = the multipliers of that step;    eta = 1 / the curvature seen along the last step;    mu = 10^4/eta on rows of unit length

    A step after which the objective has surely risen is taken back. Not in the paper.

    mirror: v; Euclidean unless a geometry is asked for.
    """

    mirror: MirrorMap = field(default_factory=Euclidean)

    def init(self, problem: Problem, x0: Array, seed: int) -> SlopesState:
        fits = self.mirror.dimension in (None, problem.dimension)
        require(fits, "geometry", f"have {problem.dimension} variables as the problem has", self.mirror.dimension)
        form = SlackForm(problem, problem.equalities(x0))
        bregman_step(self.mirror, problem.region, problem.regularizer, x0, 0.0 * x0, 1.0)  # an unsupported pair is told before any query
        stepper = Stepper(form, self.mirror, length_scale(problem.region, x0, x0))
        x, _ = stepper.restored(problem.region.clipped(x0), most=CONSTANTS.first_restorations, target=1e-6)
        scale = length_scale(problem.region, x0, x)
        z = form.start(x)
        c = form.value(z)
        _, feasibility = kkt_measures(self.mirror, 0.0 * z, c)
        return SlopesState(
            form=form,
            seed=seed,
            k=0,
            z=z,
            c=c,
            stationarity=math.nan,
            feasibility=feasibility,
            phase=FirstLook(),
            noise=Exact(),
            scale=scale,
            lengths=Lengths(max(CONSTANTS.exact_length, math.sqrt(rounding(x))) * scale),
            estimate=Estimate.start(x),
            multipliers=0.0 * c,
            best=Candidate(z, 0.0 * c, None),
        )

    @once_per_state
    def ask(self, state: SlopesState) -> Survey:
        length = state.difference_length
        match state.phase:
            case Leaping():
                return Survey((state.x,), self._directions(state, 1), (Probe(),), optional=True)
            case FirstLook() if _may_leap(state):
                return Survey((state.x,), self._directions(state, CONSTANTS.first_directions), (Probe(), Probe()))
            case FirstLook():
                directions, base = self._around(state, CONSTANTS.first_directions, length)
                forward = (Probe(0, j, length) for j in range(directions.count))  # that serve if there is no noise
                survey = Survey((base,), directions, (Probe(), Probe(), *forward))
            case NoiseLook():
                directions, base = self._around(state, 4, max(state.first_lengths))
                survey = Additive.first_survey(directions, base, state.first_lengths)
            case SampleLook():
                directions, base = self._around(state, CONSTANTS.sample_pairs, length)
                survey = Sampled.first_survey(directions, base, length)
            case _:
                directions, base = self._around(state, self._count(state), length * state.noise.reach)
                looks = state.noise.looks(state.steps, directions.count)
                others = _other_points(state, base) if looks and isinstance(state.noise, Sampled) else ()
                survey = state.noise.survey(directions, base, others, length, looks)
        return replace(survey, clip=_clip(state, directions, survey), optional=can_do_without(state))

    def tell(self, state: SlopesState, values: np.ndarray) -> SlopesState:
        survey, values = self.ask(state), np.asarray(values, dtype=float)
        values = self._usable(state, values)
        used = state.used + survey.directions.count
        state = replace(state, k=state.k + 1)
        match state.phase:
            case FirstLook():
                return self._after_look(replace(state, used=used), survey, values)
            case Leaping(leaps):
                return self._leapt(state, leaps.told(state.x, float(values[0])))
            case NoiseLook():
                noise, length = Additive.first_read(values, state.first_lengths)
                lengths = replace(state.lengths, radius=length * math.sqrt(state.form.problem.dimension))
                return replace(state, used=used, phase=Running(), noise=noise, lengths=lengths)
            case SampleLook():
                return replace(state, used=used, phase=Running(), noise=Sampled.first_read(values, survey.smoothing))
            case Running(before):
                if lacks_values(survey, values):
                    if not can_do_without(state):
                        raise ObjectiveError("The objective has had no finite values around the last points, however near to good ones.")
                    return self._taken_back(replace(state, used=used, phase=Running()))
                reading = state.noise.read(survey, values, state.anchor, state.estimate.curvature)
                if explodes(state, survey, values, reading):
                    return self._taken_back(replace(state, used=used, phase=Running()))
                if before is None and state.crosses:  # these directions come once more, with another sample
                    return self._advance(replace(state, phase=Running(reading.slopes)), reading, values)
                if before is not None:
                    reading = reading._replace(repeat=Sampled.repeated(reading.slopes, before))
                return self._advance(replace(state, used=used, phase=Running()), reading, values)
        raise AssertionError(state.phase)

    @staticmethod
    def _usable(state: SlopesState, values: np.ndarray) -> np.ndarray:
        """The values, with NaN for those that are absurdly large; the first ones only cut, since there is nothing to go back to."""
        largest = CONSTANTS.largest_value
        if state.anchor is None:
            return np.clip(values, -largest, largest)
        return np.where(np.abs(values) <= largest, values, np.nan)

    def _after_look(self, state: SlopesState, survey: Survey, values: np.ndarray) -> SlopesState:
        noisy = bool(values[0] != values[1])
        if state.form.problem.sample is not None:  # equal samples may still differ a little, as sums on graphics cards do
            length = CONSTANTS.sampled_noisy_length if noisy else CONSTANTS.sampled_length
            return replace(state, phase=SampleLook(), lengths=replace(state.lengths, radius=length * state.scale))
        if noisy:
            return replace(state, phase=NoiseLook())
        if _may_leap(state):
            state = replace(state, used=0, start=Anchor(state.x, state.x, float(values[0]), 0.0, True))
            return self._leapt(state, Leaps.start(state.x, float(values[0])))
        regular = Survey(survey.bases, survey.directions, survey.probes[1:])
        state = replace(state, phase=Running())
        return self._advance(state, state.noise.read(regular, values[1:], None, state.estimate.curvature), values)

    def _leapt(self, state: SlopesState, leaps: Leaps) -> SlopesState:
        """On to the next leap, or from the best point of all to steps, with the gradient of the leaps if they have gained.

        The leaps also end where the next one would lead to the best point again: then the model knows nothing better.
        """
        form = state.form
        fresh = Gaussian(form.problem.dimension, 1, seed=state.seed, iteration=state.k).row(0, leaps.best)
        target = form.problem.region.clipped(leaps.target(self.mirror, form.problem.region, fresh))
        state = replace(state, best=Candidate(form.start(leaps.best), state.multipliers, None))
        if not leaps.have_ended and norm(target - leaps.best) > 0.0:
            return replace(state, phase=Leaping(leaps), z=form.start(target))
        first = CONSTANTS.leap if leaps.have_gained and leaps.are_hopeful else CONSTANTS.first_step
        estimate = replace(state.estimate, located=leaps.best)
        if leaps.have_gained:
            size = max(estimate.gradient_size, norm(leaps.gradient))
            estimate = replace(estimate, gradient=leaps.gradient, gradient_size=size)
        return replace(state, phase=Running(), z=form.start(leaps.best), estimate=estimate, first_step=first)

    def _taken_back(self, state: SlopesState) -> SlopesState:
        """A shorter step from where the last one began; without a step, shorter differences. Slopes there say nothing of those here."""
        move, state = state.move, replace(state, lost=state.lost + 1)
        if move is None or state.anchor is None:
            return replace(state, lengths=replace(state.lengths, radius=CONSTANTS.retreat * state.lengths.radius))
        pace = state.pace._replace(step_size=CONSTANTS.retreat * move.step_size)
        return self.stepped(replace(state, pace=pace, move=None), state.anchor, state.estimate.leading)

    def _advance(self, state: SlopesState, reading: Reading, values: np.ndarray) -> SlopesState:
        """One iteration after its values: judge the last step, correct s, take the next step."""
        state, worse = self._judged(state, reading)
        state = self._estimated(state, reading, worse)
        stuck = state.move is not None and judged_move(state) is None
        feasible = Stepper(state.form, self.mirror, state.scale).is_feasible(state.x)
        here = Anchor(state.x, reading.base, reading.value, reading.variance, feasible, float(np.nanmax(values)))
        base = state.anchor if worse and state.anchor is not None else here
        state = replace(state, start=state.start or here, anchor=base, move=None, steps=state.steps + 1, lost=0)
        if isinstance(state.noise, Sampled):
            state, s = self._led_by_sample(state, base, reading)
        else:
            s = state.estimate.gradient if stuck else state.estimate.leading
        return self.stepped(state, base, s)

    def _led_by_sample(self, state: SlopesState, base: Anchor, reading: Reading) -> tuple[SlopesState, Array]:
        """Steps go along the slopes of their own sample, and the mean of the points settles down.

        Where such steps would cross the region, so that it bounds them, only an estimate that remembers settles down.
        """
        fresh = reading.mean_gradient(state.x)
        widest = CONSTANTS.crossing * state.form.problem.region.diameter(state.x.shape[0])
        length = (state.pace.step_size or 0.0) * norm(fresh)
        crosses = length > (CONSTANTS.crossing_ends if state.crosses else 1.0) * widest
        gradient, leading = state.estimate.gradient, state.estimate.leading if crosses else fresh
        mean = state.mean.seen(base.x, gradient, leading) if state.mean else Mean(base.x, gradient, leading)
        return replace(state, crosses=crosses, mean=mean), leading

    def _judged(self, state: SlopesState, reading: Reading) -> tuple[SlopesState, bool]:
        """The pace after what the last step did, and whether it has surely made things worse."""
        move, anchor, h, step_size = state.move, state.anchor, state.form.problem.regularizer, state.pace.step_size
        if move is None or anchor is None or step_size is None:
            return state, False
        is_rounding = abs(move.linear) <= CONSTANTS.change_rounding * abs(reading.value)
        if judged_move(state) is None or is_rounding:
            grown = step_size if move.length == 0.0 else 2.0 * step_size
            return replace(state, pace=state.pace._replace(step_size=grown)), False
        if not isinstance(state.noise, Sampled):
            seen = reading.step_seen(anchor, state.x, state.estimate.leading)
            if seen is None:
                return state, False
            reading = seen
        rise = reading.change + h.value(state.x) - h.value(anchor.x)
        pace, worse = state.noise.paced(state.pace, move, reading, rise, anchor.feasible, norm(reading.base - anchor.x))
        return replace(state, pace=pace), worse

    def _estimated(self, state: SlopesState, reading: Reading, worse: bool) -> SlopesState:
        """S carried to the new point and corrected; the noise; the length of differences."""
        estimate, errors = state.estimate.after(state.x, reading, state.noise, worse)
        noise = state.noise if reading.repeat is None else state.noise.seen(reading.repeat)
        lengths = noise.lengthened(state.lengths, reading, errors, state.scale, state.longest_difference)
        return replace(state, estimate=estimate, noise=noise, lengths=lengths)

    def stepped(self, state: SlopesState, base: Anchor, s: Array) -> SlopesState:
        """The next trial point from the base, and what the step there says of the base itself."""
        form, x, estimate = state.form, base.x, state.estimate
        stepper = Stepper(form, self.mirror, state.scale)
        step_size, priced = state.pace.step_size, to_numpy(state.multipliers).astype(float)
        if step_size is None:
            unit = state.scale / max(norm(s), 1e-300)
            trial = stepper.step(x, s, CONSTANTS.trial_step * unit, priced) if norm(s) > 0.0 else None
            if trial is None:
                feasibility = kkt_measures(self.mirror, 0.0 * x, form.value(form.start(x)))[1]
                stationarity = 0.0 if norm(s) == 0.0 else math.nan
                return replace(state, stationarity=stationarity, feasibility=feasibility, error=estimate.error)
            slope = norm(trial.tangent - x) / trial.step_size  # of s along the constraints
            first = state.noise.first_step(CONSTANTS.first_step if state.c.shape[0] else state.first_step)
            step_size = first * state.scale / max(slope, 1e-300)
        step_size = min(step_size, CONSTANTS.longest_step * state.scale / max(norm(s), 1e-300))
        pace = state.pace._replace(step_size=step_size)
        trial = stepper.step(x, s, step_size, priced)
        if trial is None:
            return replace(state, pace=pace)
        z_base = form.start(x)
        multipliers = like(trial.multipliers, x)
        kept = multipliers if base.feasible else 0.0 * multipliers  # where rows are dependent they are wild
        mapping, measured = (x - trial.tangent) / trial.step_size, state.measuring_step
        if trial.step_size > measured:
            mapping = (x - stepper.minimiser(x, s, measured, priced, trial.rows, trial.lengths).x) / measured
        stationarity, feasibility = kkt_measures(self.mirror, mapping, form.value(z_base))
        tangent, z = trial.tangent - x, form.start(trial.x)
        move = Move(
            step_size=trial.step_size,
            linear=dot(s, tangent),
            divergence=self.mirror.divergence(x, trial.tangent),
            length=norm(tangent),
            noise=trial.step_size * estimate.filter.noise,
            bend=trial.bend,
        )
        curvature = state.noise.step_curvature(pace, x.shape[0], self._count(state))
        return replace(
            state,
            z=z,
            c=form.value(z),
            stationarity=stationarity,
            feasibility=feasibility,
            pace=pace,
            multipliers=kept,
            move=move,
            error=estimate.error,
            estimate=estimate.moved(state.noise.aged(curvature, move.length)),
            best=Candidate(z_base, kept, s)
            if state.mean is None or state.crosses
            else self._settled(replace(state, pace=pace), state.mean),
        )

    def _settled(self, state: SlopesState, mean: Mean) -> Candidate:
        """A step towards the minimiser of <g, y> + (l/2) ||y - m||^2 over X and the constraints, from the last such point.

        m and g are the means of the points and of what led the steps from there. Steps along samples jump about the solution, and whatever
        bounds them bends their mean inwards. Where nothing does, they add up to x^k - x^0, so that g is about 0 and this is about m; where
        something does, g is what pushes against it. l is the largest curvature of f lately.
        """
        form, pace = state.form, state.pace
        stepper = Stepper(form, self.mirror, state.scale)
        shortest = (1.0 + mean.x.shape[0] / self._count(state)) * (pace.step_size or 1.0)  # the constraints' curvature is in it
        longest = CONSTANTS.longest_step * state.scale / max(norm(mean.leading), 1e-300)
        curvature = pace.of_f if pace.of_f > 0.0 else 1.0 / shortest
        x = mean.x if mean.number == 1 else form.variables(state.best.z)
        rows, lengths = stepper.scaled_rows(x)
        step_size = min(shortest if len(lengths) else 1.0 / curvature, longest)
        priced = to_numpy(state.best.multipliers).astype(float)
        found = stepper.minimiser(x, mean.leading + curvature * (x - mean.x), step_size, priced, rows, lengths)
        x, _ = stepper.restored(found.x)
        return Candidate(form.start(x), like(found.multipliers / lengths, x), mean.gradient + pace.of_f * (x - mean.x))

    def output(self, state: SlopesState) -> Candidate:
        """The last point that was measured and kept, or the start if that was feasible and is better; restored up to rounding."""
        start, now, h = state.start, state.anchor, state.form.problem.regularizer
        chosen = state.best
        if start is not None and now is not None and start.feasible:
            doubt = CONSTANTS.sure * math.sqrt(start.variance + now.variance)
            if not now.feasible or now.value + h.value(now.x) > start.value + h.value(start.x) + doubt:
                chosen = Candidate(state.form.start(start.x), state.multipliers, None)
        stepper = Stepper(state.form, self.mirror, state.scale)
        x, _ = stepper.restored(state.form.variables(chosen.z), target=1e-6)
        remembers = state.mean is not None  # so that the mean of the estimates is better than that of steps
        if remembers and chosen.gradient is not None:
            rows, lengths = stepper.scaled_rows(x)
            priced = to_numpy(chosen.multipliers).astype(float)
            found = stepper.minimiser(x, chosen.gradient, state.measuring_step, priced, rows, lengths)
            chosen = chosen._replace(multipliers=like(found.multipliers / lengths, x))
        return chosen._replace(z=state.form.start(x))

    def measures_at(self, state: SlopesState) -> tuple[MirrorMap, float]:
        return state.form.geometry(self.mirror), min(state.pace.step_size or 1.0, state.measuring_step)

    def check_smoothing(self, state: SlopesState) -> float | None:
        """That of the run; where there is noise, at most where the curvature of forward differences outweighs it."""
        radius = state.noise.check_radius(state.lengths.radius, state.estimate.curvature)
        return radius / math.sqrt(state.form.problem.dimension)

    def stationarity_tolerance(self, state: SlopesState, tol: float) -> float:
        return tol * state.estimate.gradient_size

    def diagnosis(self, state: SlopesState) -> Status | None:
        """A slope that stays however far x goes; or a value that is not below that of the start."""
        start, now, h = state.start, state.anchor, state.form.problem.regularizer
        if start is None or now is None or not start.feasible:
            return None
        if norm(now.x - start.x) > CONSTANTS.far * state.scale and state.stationarity > CONSTANTS.steady * state.estimate.gradient_size:
            return Status.UNBOUNDED
        return Status.NO_IMPROVEMENT if now.value + h.value(now.x) >= start.value + h.value(start.x) else None

    def advice(self, state: SlopesState) -> str:
        """Where others win: few variables and exact values, which a quadratic model of f uses better than slopes can."""
        d = state.form.problem.dimension
        if not state.noise.is_exact or d > CONSTANTS.few_variables:
            return ""
        return (
            f"With exact values and {d} variables a method that models f's curvature, such as SciPy's COBYQA, may need fewer evaluations."
        )

    def _around(self, state: SlopesState, count: int, longest: float) -> tuple[Orthogonal, Array]:
        """Directions, and the point next to x around which differences up to a length stay in X."""
        directions = self._directions(state, count)
        return directions, state.form.problem.region.inner(state.x, longest * directions.largest_entry)

    def _directions(self, state: SlopesState, count: int) -> Orthogonal:
        return Orthogonal(state.form.problem.dimension, count, seed=state.seed, iteration=state.k, start=state.used)

    def _count(self, state: SlopesState) -> int:
        return state.noise.num_directions(state.form.problem.dimension, state.estimate.filter.gain, state.steps)


def _other_points(state: SlopesState, x: Array) -> tuple[Array, ...]:
    """Where one sample looks beside x: at the anchor, halfway there, at the start and at what would be returned, all of them in X."""
    anchor, start, region = state.anchor, state.start, state.form.problem.region
    if anchor is None or start is None:
        return ()
    returned = x if state.mean is None else region.clipped(state.form.variables(state.best.z))
    return anchor.x, region.clipped(0.5 * (anchor.x + x)), start.x, returned


def _clip(state: SlopesState, directions: Orthogonal, survey: Survey) -> ConvexSet | None:
    """X where differences must be brought back to it: a coordinate is fixed, or has less room than rounding leaves a difference.

    A region of one point has room for no difference at all; there they leave it.
    """
    region, d = state.form.problem.region, directions.dimension
    if region.diameter(d) == 0.0:
        return None
    longest = max((abs(probe.length) for probe in survey.probes), default=0.0) * directions.largest_entry
    return region if region.is_flat or longest > region.depth(d) else None


def _may_leap(state: SlopesState) -> bool:
    """Whether a bounded region alone keeps x, so that every linear function has its minimum there."""
    problem = state.form.problem
    free = state.c.shape[0] == 0 and problem.sample is None and isinstance(problem.regularizer, Zero)
    return (
        free and problem.dimension >= CONSTANTS.hope * CONSTANTS.leap_share and 0.0 < problem.region.diameter(problem.dimension) < math.inf
    )
