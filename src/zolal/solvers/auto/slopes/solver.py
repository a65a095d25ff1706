import math
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from zolal._array import Array, dot, like, norm, to_numpy, zeros
from zolal._checks import require
from zolal.directions import Gaussian, Orthogonal
from zolal.estimators._filter import Filter
from zolal.estimators.concentrated import SMALLEST, Concentrated
from zolal.estimators.innovation import corrected
from zolal.estimators.survey import Probe, Survey
from zolal.kkt import kkt_measures
from zolal.mirror import Euclidean, MirrorMap, bregman_step
from zolal.problem import Problem, SlackForm
from zolal.regularizers import Zero
from zolal.solvers.auto.slopes.leaps import FAR, HOPE, SHARE, Leaps
from zolal.solvers.auto.slopes.parts import ADDITIVE, EXACT, SAMPLED, Anchor, Mean, Move, Noise, Square, Weighted, diameter, length_scale
from zolal.solvers.auto.slopes.state import SlopesState, difference_length, first_lengths, rounding, with_radius
from zolal.solvers.auto.slopes.step import Stepper, adapted
from zolal.solvers.auto.slopes.survey import (
    FIRST,
    LOOK_EVERY,
    LOOK_SHARE,
    PAIRS,
    SAMPLED_LOOK,
    Reading,
    first_look,
    fresh_gradient,
    noise_look,
    read_noise,
    read_regular,
    read_samples,
    regular,
    repeated,
    sample_look,
    sampled_points,
    surprise,
)
from zolal.solvers.base import Candidate, Solver

LOOK, LEAP, NOISE, SAMPLES, RUN = "look", "leap", "noise", "samples", "run"
FIRST_STEPS, GROWTH = 5, 1.5  # steps with few directions, and the growth of their number after that, until there are d/64
SURE = 4.0  # standard errors
STIFF_MEMORY = 0.995
SAMPLED_MEMORY, LEAST_SHARE = 0.97, 0.7  # of the stiffness, per look of a sample; of the largest, for ever
SAMPLED_LEAP = 10.0  # by which a step size may grow at once where curvature is measured without noise
FEW = 100  # variables, up to which others may do better without noise
WIDEST, STILL = 0.2, 0.1  # of the region's diameter that a step along fresh slopes may go; of that, once one was longer
ROUNDING = 3e-14  # changes of f in units of f
TINY = 3e-8  # lengths in units of the problem's size: what is feasible to 1e-8 may move so far without a step
TOO_LONG = 4.0  # step sizes in units of 1/curvature
MEASURED = 0.1  # the length, in units of the problem's size, of a step along the largest gradient that still measures stationarity
LONGEST = 1e3  # steps along s, in units of the problem's size


@final
@dataclass(frozen=True)
class Slopes(Solver[SlopesState]):
    """The automatic solver: every parameter comes from what the run sees (docs/auto.md).

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
        x, _ = Stepper(form, self.mirror, length_scale(problem.region, x0, x0)).restored(x0, most=50, target=1e-6)
        scale, d = length_scale(problem.region, x0, x), problem.dimension
        radius = max(1e-6, math.sqrt(rounding(x))) * scale
        z = form.start(x)
        c = form.value(z)
        _, feasibility = kkt_measures(self.mirror, 0.0 * z, c)
        return SlopesState(
            form, seed, 0, z, c, math.nan, feasibility, LOOK, Noise(), scale, radius, 0, 0, x, zeros(d, x), Filter(d),
            Concentrated.start(x), Weighted(), (Square(), Square()), 0.0, None, 0.0 * c, None, None, None, 0.0, math.inf, math.inf,
            Candidate(z, 0.0 * c, None),
        )  # fmt: skip

    def ask(self, state: SlopesState) -> Survey:
        length = difference_length(state)
        if state.phase == LOOK:
            return first_look(self._directions(state, FIRST), state.x, length, slopes=not _may_leap(state))
        if state.phase == LEAP:
            return Survey((state.x,), self._directions(state, 1), (Probe(),), optional=True)
        if state.phase == NOISE:
            return noise_look(self._directions(state, 4), state.x, first_lengths(state))
        if state.phase == SAMPLES:
            return sample_look(self._directions(state, PAIRS), state.x, length)
        directions = self._directions(state, self._count(state))
        looks = self._looks(state)
        others = sampled_points(state.x, state.anchor, state.start, state.mean) if looks and state.noise.kind == SAMPLED else ()
        return regular(directions, state.x, others, state.noise, length, looks)

    def tell(self, state: SlopesState, values: np.ndarray) -> SlopesState:
        survey, values = self.ask(state), np.asarray(values, dtype=float)
        used = state.used + survey.directions.count
        if state.phase == LOOK:
            return self._after_look(replace(state, k=1, used=used), survey, values)
        if state.leaps is not None:
            return self._leapt(replace(state, k=state.k + 1), state.leaps.told(state.x, float(values[0])))
        if state.phase == NOISE:
            lengths = first_lengths(state)
            noise, length = read_noise(values, lengths)
            radius = length * math.sqrt(state.form.problem.dimension)
            return replace(state, k=state.k + 1, used=used, phase=RUN, noise=noise, radius=radius)
        if state.phase == SAMPLES:
            return replace(state, k=state.k + 1, used=used, phase=RUN, noise=read_samples(values, survey.smoothing))
        reading = read_regular(survey, values, state.anchor, state.noise, state.curvature)
        state = replace(state, k=state.k + 1)
        if state.flat and state.unrepeated is None:  # these directions come once more, with another sample
            return self._advance(replace(state, unrepeated=reading.slopes), reading)
        if state.unrepeated is not None:
            reading = reading._replace(repeat=repeated(reading.slopes, state.unrepeated))
        return self._advance(replace(state, used=used, unrepeated=None), reading)

    def _after_look(self, state: SlopesState, survey: Survey, values: np.ndarray) -> SlopesState:
        noisy = bool(values[0] != values[1])
        if state.form.problem.sample is not None:  # equal samples may still differ a little, as sums on graphics cards do
            return replace(state, phase=SAMPLES, radius=(1e-2 if noisy else 1e-4) * state.scale)
        if noisy:
            return replace(state, phase=NOISE)
        if _may_leap(state):
            state = replace(state, used=0, start=Anchor(state.x, float(values[0]), 0.0, True))
            return self._leapt(state, Leaps.start(state.x, float(values[0])))
        regular_survey = Survey(survey.bases, survey.directions, survey.probes[1:])
        state = replace(state, phase=RUN)
        return self._advance(state, read_regular(regular_survey, values[1:], None, state.noise, state.curvature))

    def _leapt(self, state: SlopesState, leaps: Leaps) -> SlopesState:
        """On to the next leap, or from the best point of all to steps, with the gradient of the leaps if they have gained.

        The leaps also end where the next one would lead to the best point again: then the model knows nothing better.
        """
        form = state.form
        fresh = Gaussian(form.problem.dimension, 1, seed=state.seed, iteration=state.k).row(0, leaps.best)
        target = leaps.target(self.mirror, form.problem.region, fresh)
        state = replace(state, leaps=leaps, best=Candidate(form.start(leaps.best), state.multipliers, None))
        if not leaps.have_ended and norm(target - leaps.best) > 0.0:
            return replace(state, phase=LEAP, z=form.start(target))
        first = FAR if leaps.have_gained and leaps.are_hopeful else 0.1
        state = replace(state, phase=RUN, z=form.start(leaps.best), located=leaps.best, leaps=None, first_step=first)
        size = max(state.size, norm(leaps.gradient))
        return replace(state, gradient=leaps.gradient, size=size) if leaps.have_gained else state

    def _advance(self, state: SlopesState, reading: Reading) -> SlopesState:
        """One iteration after its values: judge the last step, correct s, take the next step."""
        state, worse = self._judged(state, reading)
        state = self._estimated(state, reading, worse)
        stuck = state.move is not None and state.move.length <= TINY * state.scale
        here = Anchor(state.x, reading.value, reading.variance, self._is_feasible(state, state.x))
        base = state.anchor if worse and state.anchor is not None else here
        state = replace(state, start=state.start or here, anchor=base, move=None, steps=state.steps + 1)
        sparse = state.concentrated
        s = sparse.estimate if sparse.is_better and not stuck and norm(sparse.estimate) > 0.0 else state.gradient
        if state.noise.kind == SAMPLED:
            fresh = fresh_gradient(reading, state.x)
            widest = WIDEST * diameter(state.form.problem.region, state.x.shape[0])
            flat = (state.step_size or 0.0) * norm(fresh) > (STILL if state.flat else 1.0) * widest
            if flat:  # so that the region bounds the steps; then only an estimate that remembers settles down
                state = replace(state, flat=True, mean=None)
            else:
                s, gradient = fresh, state.gradient
                mean = state.mean.seen(base.x, gradient) if state.mean else Mean(base.x, gradient)
                state = replace(state, flat=False, mean=mean)
        return self._stepped(state, base, s)

    def _judged(self, state: SlopesState, reading: Reading) -> tuple[SlopesState, bool]:
        """The step size after what the last step did, and whether it has surely made things worse."""
        move, anchor, h = state.move, state.anchor, state.form.problem.regularizer
        if move is None or anchor is None or state.step_size is None:
            return state, False
        if move.length <= TINY * state.scale or abs(move.linear) <= ROUNDING * abs(reading.value):
            grown = state.step_size if move.length == 0.0 else 2.0 * state.step_size
            return replace(state, step_size=grown), False  # rounding is all that such a step shows
        rise = reading.change + h.value(state.x) - h.value(anchor.x)
        if state.noise.kind == SAMPLED:
            return self._judged_by_sample(state, move, anchor, reading, rise)
        doubt = SURE * math.sqrt(reading.change_variance)
        worse = rise > doubt + 1e-12 * abs(reading.value) and anchor.feasible
        spread = math.sqrt(reading.change_variance + 0.25 * move.noise**2) / max(move.divergence, 1e-300)
        curvature = (reading.change - move.linear - move.noise) / max(move.divergence, 1e-300)
        known = spread * move.step_size < 0.3
        if state.noise.kind == ADDITIVE:  # s lags behind, so the stiffest direction seen lately sets the pace
            curvature = max(curvature, STIFF_MEMORY * state.stiffness)
        before = move.step_size if known or worse else state.step_size  # a step that only the constraints kept short says nothing of f
        step_size = adapted(before, curvature if known else math.nan, worse, rise < -doubt)
        return replace(state, step_size=step_size, stiffness=max(curvature, 0.0) if known else state.stiffness), worse

    def _judged_by_sample(self, state: SlopesState, move: Move, anchor: Anchor, reading: Reading, rise: float) -> tuple[SlopesState, bool]:
        """The step size where one sample has seen three points of the last step, so that no error of s is in its curvature.

        A mean over n of d directions has (1 + d/n) times the square of the gradient that it estimates, so a step along it pays
        for its curvature as often: eta = 1 / ((1 + d/n) l), with the largest l seen lately. A sample may well rise along a good step,
        so a step is taken back only where it rises and the step was far too long for the curvature.
        """
        went = norm(state.x - anchor.x)
        if math.isnan(reading.second) or not 0.5 * move.length <= went <= 2.0 * move.length or state.step_size is None:
            return state, False
        curvature = reading.second / max(went**2, 1e-300) + move.bend / max(move.divergence, 1e-300)
        curvature *= 1.0 + state.x.shape[0] / reading.directions.count
        peak = max(curvature, state.peak)
        stiffness = max(curvature, SAMPLED_MEMORY * state.stiffness, LEAST_SHARE * peak)
        step_size = min(SAMPLED_LEAP * state.step_size, 1.0 / stiffness) if stiffness > 0.0 else 2.0 * state.step_size
        worse = rise > 0.0 and move.step_size * curvature > TOO_LONG and anchor.feasible
        return replace(state, step_size=step_size, stiffness=stiffness, peak=peak), worse

    def _estimated(self, state: SlopesState, reading: Reading, worse: bool) -> SlopesState:
        """S carried to the new point and corrected; the sparse estimate; the noise; the length of differences.

        worse: whether the point is left again, so that its gradient says nothing of the size of others.
        """
        directions, slopes, s = reading.directions, reading.slopes, state.gradient
        moved, curvature = state.x - state.located, reading.curvature
        if curvature.significant:
            s = s + curvature.mean * moved
        errors = slopes - to_numpy(directions.dot(s))
        concentrated = state.concentrated
        if state.x.shape[0] >= SMALLEST and state.noise.kind != SAMPLED:
            concentrated = concentrated.judged(directions, slopes, errors).absorb(directions, slopes)
        gradient, filtered = corrected(s, directions, slopes, reading.variances, state.filter)
        state = replace(
            state,
            located=state.x,
            gradient=gradient,
            filter=filtered,
            concentrated=concentrated,
            curvature=curvature,
            surprise=surprise(errors) if state.noise.kind == EXACT else math.inf,
            size=state.size if worse else max(state.size, math.sqrt(max(0.0, float(np.nanmean(slopes**2 - reading.variances))))),
            noise=state.noise if reading.repeat is None else state.noise.seen(reading.repeat),
        )
        return with_radius(state, reading, errors)

    def _stepped(self, state: SlopesState, base: Anchor, s: Array) -> SlopesState:
        """The next trial point from the base, and what the step there says of the base itself."""
        form, x = state.form, base.x
        stepper = Stepper(form, self.mirror, state.scale)
        step_size, priced = state.step_size, to_numpy(state.multipliers).astype(float)
        if step_size is None:
            unit = state.scale / max(norm(s), 1e-300)
            trial = stepper.step(x, s, 1e-3 * unit, priced) if norm(s) > 0.0 else None
            if trial is None:
                feasibility = kkt_measures(self.mirror, 0.0 * x, form.value(form.start(x)))[1]
                stationarity = 0.0 if norm(s) == 0.0 else math.nan
                return replace(state, stationarity=stationarity, feasibility=feasibility, error=min(state.filter.error, state.surprise))
            slope = norm(trial.tangent - x) / trial.step_size  # of s along the constraints
            step_size = self._first_step(state) * state.scale / max(slope, 1e-300)
        step_size = min(step_size, LONGEST * state.scale / max(norm(s), 1e-300))
        trial = stepper.step(x, s, step_size, priced)
        if trial is None:
            return replace(state, step_size=step_size)
        z_base = form.start(x)
        multipliers = like(trial.multipliers, x)
        kept = multipliers if base.feasible else 0.0 * multipliers  # where rows are dependent they are wild
        mapping, measured = (x - trial.tangent) / trial.step_size, _measuring_step(state)
        if trial.step_size > measured:
            mapping = (x - stepper.minimiser(x, s, measured, priced, trial.rows, trial.lengths).x) / measured
        stationarity, feasibility = kkt_measures(self.mirror, mapping, form.value(z_base))
        tangent, z = trial.tangent - x, form.start(trial.x)
        move = Move(
            trial.step_size,
            dot(s, tangent),
            self.mirror.divergence(x, trial.tangent),
            norm(tangent),
            trial.step_size * state.filter.noise,
            trial.bend,
        )
        stale = 0.0 if state.noise.kind == EXACT else 0.1 * (self._curvature(state) * move.length) ** 2
        return replace(
            state,
            z=z,
            c=form.value(z),
            stationarity=stationarity,
            feasibility=feasibility,
            step_size=step_size,
            multipliers=kept,
            move=move,
            error=min(state.filter.error, state.surprise),
            filter=state.filter.moved(stale),
            best=Candidate(z_base, kept, s) if state.mean is None else self._mean_candidate(state, stepper, kept),
        )

    def _curvature(self, state: SlopesState) -> float:
        """Of f along steps; the stiffness of steps along samples counts their directions, too."""
        return state.stiffness / (1.0 + state.x.shape[0] / self._count(state)) if state.noise.kind == SAMPLED else state.stiffness

    def _first_step(self, state: SlopesState) -> float:
        """How far the first step goes along the constraints, in units of the problem's size."""
        if state.noise.kind == SAMPLED:
            return 0.01
        return 0.1 if state.c.shape[0] else state.first_step

    def _mean_candidate(self, state: SlopesState, stepper: Stepper, multipliers: Array) -> Candidate:
        """The mean of the iterates, restored: steps along samples jump about the solution, and their mean does not."""
        assert state.mean is not None
        x, _ = stepper.restored(state.mean.x)
        return Candidate(state.form.start(x), multipliers, state.mean.gradient)

    def output(self, state: SlopesState) -> Candidate:
        """The last point that was measured and kept, or the start if that was feasible and is better; restored up to rounding."""
        start, now, h = state.start, state.anchor, state.form.problem.regularizer
        chosen = state.best
        if start is not None and now is not None and start.feasible:
            doubt = SURE * math.sqrt(start.variance + now.variance)
            if not now.feasible or now.value + h.value(now.x) > start.value + h.value(start.x) + doubt:
                chosen = Candidate(state.form.start(start.x), state.multipliers, None)
        stepper = Stepper(state.form, self.mirror, state.scale)
        x, _ = stepper.restored(state.form.variables(chosen.z), target=1e-6)
        if state.mean is not None and chosen is state.best:  # those of the last step are as noisy as its sample
            priced = to_numpy(state.multipliers).astype(float)
            rows, lengths = stepper.scaled_rows(x)
            found = stepper.minimiser(x, state.mean.gradient, _measuring_step(state), priced, rows, lengths)
            chosen = chosen._replace(multipliers=like(found.multipliers / lengths, x))
        return chosen._replace(z=state.form.start(x))

    def best(self, state: SlopesState) -> Candidate:
        return self.output(state)

    def measures_at(self, state: SlopesState) -> tuple[MirrorMap, float]:
        return state.form.geometry(self.mirror), min(state.step_size or 1.0, _measuring_step(state))

    def check_smoothing(self, state: SlopesState) -> float | None:
        """That of the run; where there is noise, at most where the curvature of forward differences outweighs it."""
        radius = state.radius
        if state.noise.kind == ADDITIVE and state.curvature.significant:
            radius = min(radius, math.sqrt(3.0 * math.sqrt(state.noise.variance) / abs(state.curvature.mean)))
        return radius / math.sqrt(state.form.problem.dimension)

    def stationarity_tolerance(self, state: SlopesState, tol: float) -> float:
        return tol * state.size

    def advice(self, state: SlopesState) -> str:
        """Where others win: few variables and exact values, which a quadratic model of f uses better than slopes can."""
        d = state.form.problem.dimension
        if state.noise.kind != EXACT or d > FEW:
            return ""
        return (
            f"With exact values and {d} variables a method that models f's curvature, such as SciPy's COBYQA, may need fewer evaluations."
        )

    def _is_feasible(self, state: SlopesState, x: Array) -> bool:
        stepper = Stepper(state.form, self.mirror, state.scale)
        rows, _ = stepper.scaled_rows(x)
        return float(np.linalg.norm(rows.excess(rows.value))) <= stepper.tolerance

    def _directions(self, state: SlopesState, count: int) -> Orthogonal:
        return Orthogonal(state.form.problem.dimension, count, seed=state.seed, iteration=state.k, start=state.used)

    def _count(self, state: SlopesState) -> int:
        """Directions of the next batch: few at first, then d/64, so that steps and knowledge keep pace; more where gains are small.

        A batch that changes s little is not worth a step of its own, so the number grows as 1/gain, up to half a sweep. Where samples
        make the noise, each batch has a step of its own and the mean of the iterates does the averaging.
        """
        d = state.form.problem.dimension
        if state.noise.kind == SAMPLED:
            return max(2 * FIRST, d // 64)
        regularly = max(FIRST, d // 64)
        patient = min(int(regularly / max(state.filter.gain, 1e-3)), max(regularly, d // 2))
        return min(max(regularly, patient), int(FIRST * GROWTH ** min(max(state.steps - FIRST_STEPS, 0), 60)))

    def _looks(self, state: SlopesState) -> bool:
        """Whether this iteration looks at the noise, or its sample at the points of the last step: at first always, then now and then."""
        if state.phase != RUN:
            return False
        every = math.ceil(LOOK_SHARE * SAMPLED_LOOK / self._count(state)) if state.noise.kind == SAMPLED else LOOK_EVERY
        return (state.noise.kind == SAMPLED and state.steps < 2 * LOOK_EVERY) or state.steps % every == every - 1


def _measuring_step(state: SlopesState) -> float:
    """The longest step by which stationarity may be measured: the mapping of one that crosses the region is small everywhere."""
    return MEASURED * state.scale / max(state.size, 1e-300)


def _may_leap(state: SlopesState) -> bool:
    """Whether a bounded region alone keeps x, so that every linear function has its minimum there."""
    problem = state.form.problem
    free = state.c.shape[0] == 0 and problem.sample is None and isinstance(problem.regularizer, Zero)
    return free and problem.dimension >= HOPE * SHARE and 0.0 < diameter(problem.region, problem.dimension) < math.inf
