"""Outputs with many variables or a regularizer: slopes of the augmented Lagrangian, whose multipliers follow the outputs.

    L(x) = f(x) + sum_j psi_j(o_j(x)),    psi_j(o) = min_{l_j <= s <= u_j} y_j (o - s) + (rho_j/2) (o - s)^2.

Every evaluation gives f and all outputs. Outputs are followed each by itself: a value and a gradient around the iterate. With them `Slopes`
is given f + psi(o) + <psi'(o), outputs - o>, L as it is near the iterate and straight in the outputs' noise, and minimises that over X and
the exact constraints as it does any function. From time to time y_j <- psi_j'(o_j), and rho_j grows where the violation has not shrunk. The
returned point is one step farther, to where outputs keep their bounds by what is known of them. Derived in docs/algorithm.md, which also
says what of the paper's analysis carries over.
"""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np

from zolal._array import Array, namespace, to_numpy
from zolal.directions import Gaussian
from zolal.estimators.survey import Probe, Survey
from zolal.kkt import KKT
from zolal.mirror import Euclidean, MirrorMap, Subproblem, kept_curvature_step
from zolal.problem import Problem
from zolal.result import Status
from zolal.solvers.auto.followed import Followed
from zolal.solvers.auto.slopes import Slopes, SlopesState
from zolal.solvers.auto.slopes.additive import Additive
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.lost import lacks_values
from zolal.solvers.auto.slopes.phases import FirstLook, Running, SampleLook
from zolal.solvers.auto.slopes.points import Anchor
from zolal.solvers.auto.slopes.sampled import Sampled
from zolal.solvers.auto.slopes.step import Stepper
from zolal.solvers.base import Candidate, Certified, Reports, Solver, State, once_per_state

Interval = tuple[np.ndarray, np.ndarray]

CHECK_STREAM = 1  # samples of the final check are none of the run's
CHECK = 25  # pairs of evaluations at the returned point, which tell whether it is feasible
ROUND = 3  # evaluations per variable before the first update of the multipliers
GROWING = 3  # updates after which as many more are made between two of them, so that slopes become known ever better
SLOW, HARDER = 0.5, 2.0  # a violation that has not fallen to this part makes its penalty this much larger
LEAST = 0.1  # of the variance of L that f's own noise is at the least
LINEARIZATIONS = 3  # of outputs on the way to the returned point
STEPS = 4  # in the first round at the least: there is no other time for slopes to follow
REACH = 0.5  # of the problem's size: over such a way f and an output are compared for the first penalty


@final
@dataclass(frozen=True, eq=False)
class Prices:
    """y and rho of each output. before: violations at the last update. evaluations, steps: since then. updates: of y so far."""

    multipliers: np.ndarray
    penalties: np.ndarray
    before: np.ndarray
    evaluations: int = 0
    steps: int = 0
    updates: int = 0

    @classmethod
    def start(cls, number: int) -> "Prices":
        return cls(np.zeros(number), np.zeros(number), np.full(number, np.inf))

    def added(self, outputs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The sum of psi over the outputs, which are the last axis."""
        away = outputs - self.nearest(outputs, lower, upper)
        return np.asarray(away @ self.multipliers + 0.5 * (away * away) @ self.penalties)

    def nearest(self, outputs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """s: the outputs, moved by y/rho and brought between the bounds."""
        shift = np.divide(self.multipliers, self.penalties, out=np.zeros_like(self.multipliers), where=self.penalties > 0.0)
        return np.where(self.penalties > 0.0, np.clip(outputs + shift, lower, upper), outputs)

    def slopes(self, outputs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """psi' at these outputs: what the multipliers become there."""
        return self.multipliers + self.penalties * (outputs - self.nearest(outputs, lower, upper))

    def first(self, survey: Survey, values: np.ndarray, outputs: np.ndarray, size: float, lower: np.ndarray, upper: np.ndarray) -> "Prices":
        """With penalties that make a violation over a part of the problem's size cost what f changes by over it.

        An output that is flat here and has to change, or may, will not stay flat: the way to its bound is as long as the problem.
        """
        lengths = np.array([abs(probe.length) for probe in survey.probes])
        length, means = math.sqrt(float(np.mean(lengths[lengths > 0.0] ** 2))), np.mean(outputs, axis=0)
        gaps = np.minimum(np.abs(means - lower), np.abs(means - upper))
        slopes = np.maximum(np.std(outputs, axis=0) / length, np.where(np.isfinite(gaps), gaps, 0.0) / size)
        slope = float(np.std(values)) / length or 1.0  # an f that is flat has no price of its own
        return replace(self, penalties=slope / (np.where(slopes > 0.0, slopes, slope) ** 2 * REACH * size))

    def are_due(self, dimension: int) -> bool:
        """Whether slopes have had time to bring x where L is least."""
        grown = 1.0 + self.updates / GROWING
        enough = self.evaluations >= ROUND * grown * (dimension + 1) and self.steps >= STEPS * grown
        return enough and bool(self.penalties.all())

    def updated(self, followed: Followed, lower: np.ndarray, upper: np.ndarray) -> "Prices":
        """y after what the values say; harder penalties where violations have not shrunk and are more than the spread of single values.

        A penalty that is too soft needs a few more updates of y; one that is too hard bends L more than steps can follow.
        """
        violation = np.abs(followed.values - np.clip(followed.values, lower, upper))
        slow = (violation > SLOW * self.before) & (violation > followed.spreads)
        penalties = np.where(slow, HARDER, 1.0) * self.penalties
        return Prices(self.slopes(followed.values, lower, upper), penalties, violation, updates=self.updates + 1)


@final
@dataclass(frozen=True, eq=False)
class Pull:
    """What outputs add to the gradient and the noise that slopes measure: that of <weights, outputs>."""

    weights: np.ndarray
    gradient: Array
    variance: float = 0.0

    @classmethod
    def of(cls, followed: Followed, weights: np.ndarray) -> "Pull":
        return cls(weights, followed.pull(weights), float(weights**2 @ followed.spreads**2))

    def replaced(self, inner: SlopesState, new: "Pull") -> SlopesState:
        """The slopes with another pull in place of this one."""
        estimate = replace(inner.estimate, gradient=inner.estimate.gradient + (new.gradient - self.gradient))
        noise = inner.noise
        if isinstance(noise, Additive):
            noise = replace(noise, variance=max(noise.variance - self.variance, LEAST * noise.variance) + new.variance)
        return replace(inner, estimate=estimate, noise=noise)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PricedState(State):
    """The state of the slopes of L, and the prices that L has now."""

    inner: SlopesState
    prices: Prices
    followed: Followed
    pull: Pull  # as the slopes have it now

    @property
    def begins_feasible(self) -> bool:
        return self.inner.begins_feasible

    @property
    def multipliers(self) -> Array:
        return self.inner.multipliers

    @property
    def stationarity_error(self) -> float:
        return self.inner.error

    @property
    def residual(self) -> float:
        """That of the slopes, and the violation of the outputs."""
        return float(np.maximum(self.inner.residual, self.feasibility)) if self.prices.penalties.all() else math.inf


@final
@dataclass(frozen=True)
class Priced(Solver[PricedState]):
    """The automatic solver for outputs where no quadratic belief is to be had. Not in the paper.

    mirror: as for `Slopes`. confidence: with which outputs are to keep their bounds.
    """

    restores: ClassVar[bool] = True

    mirror: MirrorMap = field(default_factory=Euclidean)
    confidence: float = 0.95

    @property
    def slopes(self) -> Slopes:
        return Slopes(self.mirror)

    def init(self, problem: Problem, x0: Array, seed: int) -> PricedState:
        inner, number = replace(self.slopes.init(problem, x0, seed), first_step=CONSTANTS.first_step), len(problem.outputs)
        return self._state(inner, Prices.start(number), Followed.start(number, inner.x), Pull(np.zeros(number), 0.0 * inner.x), 0)

    def _state(self, inner: SlopesState, prices: Prices, followed: Followed, pull: Pull, k: int) -> PricedState:
        outputs = inner.form.problem.outputs
        violation = float(np.max(np.abs(outputs.excess(followed.at(_kept(inner)))), initial=0.0)) if followed.seen else 0.0
        return PricedState(
            form=inner.form,
            seed=inner.seed,
            k=k,
            z=inner.z,
            c=inner.c,
            stationarity=inner.stationarity,
            feasibility=max(inner.feasibility, violation),
            inner=inner,
            prices=prices,
            followed=followed,
            pull=pull,
        )

    @once_per_state
    def ask(self, state: PricedState) -> Survey:
        return self.slopes.ask(state.inner)

    def tell(self, state: PricedState, values: np.ndarray) -> PricedState:
        rows, inner, prices = np.asarray(values, dtype=float), state.inner, state.prices
        survey, targets = self.ask(state), self._targets(state)
        there = np.isfinite(rows).all(axis=1)
        rows = np.where(there[:, None], rows, np.nan)
        if not prices.penalties.all() and there.all() and self._tells_slopes(inner, survey, rows):
            prices = prices.first(survey, rows[:, 0], rows[:, 1:], inner.scale, *targets)
        tells = isinstance(inner.phase, Running) and not lacks_values(survey, rows[:, 0])
        followed = state.followed.heard(survey, rows[:, 1:], inner.noise, tells)
        pull = Pull.of(followed, prices.slopes(followed.values, *targets))
        if isinstance(inner.phase, Running) and isinstance(inner.noise, Sampled):  # one sample, so that its noise is in all of them alike
            added = prices.added(followed.values + rows[:, 1:] - rows[0, 1:], *targets)
        else:
            around = followed.straightened(rows[:, 1:], np.array([probe.length for probe in survey.probes])) - followed.values
            added = prices.added(followed.values, *targets) + around @ pull.weights
        inner, before = self.slopes.tell(state.pull.replaced(inner, pull), _seen_apart(inner, rows, rows[:, 0] + added)), inner.anchor
        prices = replace(prices, evaluations=prices.evaluations + len(rows), steps=prices.steps + 1)
        told = self._state(inner, prices, followed, pull, state.k + 1)
        if inner.anchor is None or inner.move is None:
            return told
        if rejected := inner.anchor is before:
            told = replace(told, followed=state.followed.beside(followed))
        due = prices.are_due(state.form.problem.dimension)
        told = self._repriced(told, inner.anchor, targets) if due else told
        return self._stepped_anew(told, targets) if due or rejected else told

    def _repriced(self, state: PricedState, anchor: Anchor, targets: Interval) -> PricedState:
        """Slopes of another L: where the last step began it has another value, and nothing is known of its curvature."""
        prices, outputs = state.prices.updated(state.followed, *targets), state.followed.values
        change = float(prices.added(outputs, *targets) - state.prices.added(outputs, *targets))
        value = 0.0 if isinstance(state.inner.noise, Sampled) else anchor.value + change  # of samples it is a difference from the start
        anchor, pace = anchor._replace(value=value), state.inner.pace._replace(curvature=0.0)
        return replace(state, inner=replace(state.inner, anchor=anchor, start=None, pace=pace), prices=prices)

    def _stepped_anew(self, state: PricedState, targets: Interval) -> PricedState:
        """With the next step from where the last one began, along the gradient of L there.

        Not along a sparse estimate, which is made of slopes that were measured at other prices.
        """
        pull = Pull.of(state.followed, state.prices.slopes(state.followed.values, *targets))
        inner = state.pull.replaced(state.inner, pull)
        assert inner.anchor is not None
        inner = self.slopes.stepped(inner, inner.anchor, inner.estimate.gradient)
        return self._state(inner, state.prices, state.followed, pull, state.k)

    @staticmethod
    def _tells_slopes(inner: SlopesState, survey: Survey, rows: np.ndarray) -> bool:
        """Whether differences of a batch are more than noise: those of the first look are made for exact values."""
        is_noisy = isinstance(inner.phase, FirstLook) and bool((rows[0] != rows[1]).any())
        return math.isfinite(survey.smoothing) and not is_noisy

    def _targets(self, state: PricedState) -> Interval:
        """The bounds, with room for what the final check may miss."""
        outputs = state.form.problem.outputs
        noise = 0.0 if state.inner.noise.is_exact else 2.0 * outputs.errors_within(self.confidence) / math.sqrt(2.0 * CHECK)
        return outputs.narrowed(noise * state.followed.spreads)

    def output(self, state: PricedState) -> Candidate:
        """A step from the last point that was measured and kept, to where outputs keep their targets by what is known of them.

        With g the gradient of f, x the point and eta the last step size: the least <g, y> + h(y) + V(x, y)/eta over X and all rows.
        """
        inner, form = state.inner, state.form
        found, step_size = self.slopes.output(inner), inner.pace.step_size
        x = y = form.variables(found.z)
        targets = self._targets(state)
        violation = state.followed.linearized(x, *targets).violation
        if not step_size or not violation:
            return found
        slope, stepper = inner.estimate.gradient - state.pull.gradient, Stepper(form, self.mirror, inner.scale)
        problem = Subproblem(self.mirror, form.problem.region, form.problem.regularizer, x, slope, step_size)
        multipliers = np.append(np.zeros(form.equalities.num_rows), state.pull.weights)
        for _ in range(LINEARIZATIONS):
            rows, lengths = form.linearization(y).with_rows(state.followed.linearized(y, *targets)).scaled()
            rows = rows.at(rows.value + to_numpy(namespace(x).matmul(rows.jacobian, x - y)))
            y = kept_curvature_step(problem, rows, multipliers * lengths, CONSTANTS.penalty / step_size).x
            y, _ = stepper.restored(form.problem.region.clipped(y))
        return found._replace(z=form.start(y)) if state.followed.linearized(y, *targets).violation < violation else found

    def measures_at(self, state: PricedState) -> tuple[MirrorMap, float]:
        return self.slopes.measures_at(state.inner)

    def stationarity_tolerance(self, state: PricedState, tol: float) -> float:
        return self.slopes.stationarity_tolerance(state.inner, tol)

    def own_check(self, state: PricedState) -> int:
        return CHECK

    def check(self, state: PricedState, count: int) -> Survey:
        """The returned point itself, again and again."""
        x = state.form.variables(self.output(state).z)
        identity = Gaussian(x.shape[0], 1, seed=state.seed, iteration=state.k, stream=CHECK_STREAM)
        return Survey((x,), identity, tuple(Probe(sample=i) for i in range(2 * count)))

    def certified(self, state: PricedState, values: np.ndarray | None = None) -> Certified:
        candidate, form, followed = self.output(state), state.form, state.followed
        x, number = form.variables(candidate.z), len(form.problem.outputs)
        if values is None or len(values) < 2:
            errors = np.full(1 + number, math.inf)
            means = np.append(math.nan, followed.at(x))
        else:
            means, errors = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / math.sqrt(len(values))
        violation = float(np.max(np.abs(form.problem.outputs.excess(means[1:])), initial=0.0))
        feasibility = max(form.equalities.violation(x), violation)
        kkt = KKT(state.inner.stationarity, feasibility, math.nan, state.inner.form.geometry(self.mirror).p, True, state.inner.error)
        multipliers = state.prices.slopes(followed.at(x), *self._targets(state))
        reports = Reports(means[1:], errors[1:], multipliers, np.full(number, math.nan)) if followed.seen else None
        value = float(means[0]) + form.problem.regularizer.value(x)
        return Certified(candidate, value, float(errors[0]), kkt, None, 1.0, reports)

    def diagnosis(self, state: PricedState) -> Status | None:
        return None  # f may well rise where outputs come to hold


def _kept(inner: SlopesState) -> Array:
    """The last point that was measured and kept."""
    return inner.x if inner.anchor is None else inner.anchor.x


def _seen_apart(inner: SlopesState, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values, where noise in any output is noise in L: at the first looks L is f alone, which may have none."""
    again = {FirstLook: 1, SampleLook: 2}.get(type(inner.phase))  # the row that has the first one's point once more
    if again is not None and (rows[0] != rows[again]).any() and values[0] == values[again]:
        values[again] = math.nextafter(values[again], math.inf)
    return values
