"""Outputs with many variables or a regularizer: slopes of the augmented Lagrangian, whose multipliers follow the outputs' means.

    L(x) = f(x) + sum_j psi_j(o_j(x)),    psi_j(o) = min_{l_j <= s <= u_j} y_j (o - s) + (rho_j/2) (o - s)^2.

Every evaluation gives f and all outputs, hence a value of L, which `Slopes` minimises over X and the exact constraints as it does any
function. From time to time y_j <- y_j + rho_j (o_j - s_j) with the mean o_j of the values around the iterate, whose noise is small, and
rho_j grows where the violation has not shrunk. docs/algorithm.md says what of the paper's analysis carries over.
"""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np

from zolal._array import Array, concatenate, norm
from zolal.directions import Gaussian
from zolal.estimators.survey import Probe, Survey
from zolal.kkt import KKT
from zolal.linearization import Linearization
from zolal.mirror import Euclidean, MirrorMap, Subproblem, kept_curvature_step
from zolal.problem import Problem
from zolal.regularizers import Zero
from zolal.result import Status
from zolal.solvers.auto.followed import Followed
from zolal.solvers.auto.slopes import Slopes, SlopesState
from zolal.solvers.auto.slopes.additive import Additive
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.phases import FirstLook, Running
from zolal.solvers.auto.slopes.step import Stepper
from zolal.solvers.base import Candidate, Certified, Reports, Solver, State, once_per_state

CHECK_STREAM = 1  # samples of the final check are none of the run's
CHECK = 25  # pairs of evaluations at the returned point, which tell whether it is feasible
ROUND = 3  # evaluations per variable before the first update of the multipliers
GROWING = 3  # updates after which as many more are made between two of them, so that slopes become known ever better
SLOW, HARDER = 0.5, 2.0  # a violation that has not fallen to this part makes its penalty this much larger
LEAST = 0.1  # of the noise that is f's own at the least
POLISH=3
RESTORING=1e6
STEPS = 4  # in a round at the least
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
        """psi of each evaluation, one row of outputs each."""
        away = outputs - self.nearest(outputs, lower, upper)
        return np.asarray(away @ self.multipliers + 0.5 * (away * away) @ self.penalties)

    def nearest(self, outputs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """s: the outputs, moved by y/rho and brought between the bounds."""
        shift = np.divide(self.multipliers, self.penalties, out=np.zeros_like(self.multipliers), where=self.penalties > 0.0)
        return np.where(self.penalties > 0.0, np.clip(outputs + shift, lower, upper), outputs)

    def slopes(self, outputs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """psi' at these outputs: what the multipliers become there."""
        return self.multipliers + self.penalties * (outputs - self.nearest(outputs, lower, upper))

    def expected(self, followed: Followed, lower: np.ndarray, upper: np.ndarray) -> float:
        """psi at the values that are followed, with what their noise adds: two points have the mean of any square."""
        ends = np.stack([followed.values + followed.spreads, followed.values - followed.spreads])
        return float(np.mean(self.added(ends, lower, upper)))

    def first(self, survey: Survey, values: np.ndarray, outputs: np.ndarray, size: float, lower: np.ndarray, upper: np.ndarray) -> "Prices":
        """With penalties that make a violation over a part of the problem's size cost what f changes by over it.

        An output that is flat here and has to change, or may, will not stay flat: the way to its bound is as long as the problem.
        """
        lengths = np.array([abs(probe.length) for probe in survey.probes])
        length, means = math.sqrt(float(np.mean(lengths[lengths > 0.0] ** 2))), np.mean(outputs, axis=0)
        gaps = np.minimum(np.abs(means - lower), np.abs(means - upper))
        slopes = np.maximum(np.std(outputs, axis=0) / length, np.where(np.isfinite(gaps), gaps, 0.0) / size)
        slope = float(np.std(values)) / length
        return replace(self, penalties=max(slope, 1e-300) / (np.maximum(slopes, 1e-300) ** 2 * REACH * size))

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

    def turned(self, followed: Followed, weights: np.ndarray) -> "Pull":
        return Pull(weights, followed.pull(weights), float(weights**2 @ followed.spreads**2))

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
    pulled: Pull  # as the slopes have it now

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

    def _state(self, inner: SlopesState, prices: Prices, followed: Followed, pulled: Pull, k: int) -> PricedState:
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
            pulled=pulled,
        )

    @once_per_state
    def ask(self, state: PricedState) -> Survey:
        return self.slopes.ask(state.inner)

    def tell(self, state: PricedState, values: np.ndarray) -> PricedState:
        rows, inner, prices = np.asarray(values, dtype=float), state.inner, state.prices
        survey, targets = self.ask(state), self._targets(state)
        f, outputs = rows[:, 0], rows[:, 1:]
        there = np.isfinite(rows).all(axis=1)
        if not prices.penalties.all() and there.all() and self._tells_slopes(inner, survey, rows):
            prices = prices.first(survey, f, outputs, inner.scale, *targets)
        followed = state.followed.heard(survey, np.where(there[:, None], outputs, np.nan), inner.noise, isinstance(inner.phase, Running))
        pulled = state.pulled.turned(followed, prices.slopes(followed.values, *targets))
        around = np.where(there[:, None], outputs - followed.values, 0.0)
        lagrangian = np.where(there, f + prices.added(followed.values[None, :], *targets)[0] + around @ pulled.weights, np.nan)
        inner, before = self.slopes.tell(state.pulled.replaced(inner, pulled), lagrangian), inner.anchor
        prices = replace(prices, evaluations=prices.evaluations + len(rows), steps=prices.steps + 1)
        if (anchor := inner.anchor) is not None and inner.move is not None:
            rejected = anchor is before
            if rejected:
                followed = state.followed.beside(followed)
            due = self._is_due(prices, followed)
            if due:
                new = prices.updated(followed, *targets)
                change = float(new.added(followed.values[None, :], *targets)[0] - prices.added(followed.values[None, :], *targets)[0])
                anchor = anchor._replace(value=anchor.value + change)
                inner, prices = replace(inner, anchor=anchor, start=None, pace=inner.pace._replace(curvature=0.0)), new
            if due or rejected:
                back = pulled.turned(followed, prices.slopes(followed.values, *targets))
                inner, pulled = pulled.replaced(inner, back), back
                inner = self.slopes.stepped(inner, anchor, inner.estimate.leading)
        return self._state(inner, prices, followed, pulled, state.k + 1)

    def _is_due(self, prices: Prices, followed: Followed) -> bool:
        """Whether slopes have had time to bring x where L is least."""
        grown = 1.0 + prices.updates / GROWING
        return prices.evaluations >= ROUND * grown * (followed.located.shape[0] + 1) and prices.steps >= STEPS * grown and bool(prices.penalties.all())

    @staticmethod
    def _tells_slopes(inner: SlopesState, survey: Survey, rows: np.ndarray) -> bool:
        """Whether differences of a batch are more than noise: those of the first look are made for exact values."""
        is_noisy = isinstance(inner.phase, FirstLook) and bool((rows[0] != rows[1]).any())
        return math.isfinite(survey.smoothing) and not is_noisy

    def _targets(self, state: PricedState) -> tuple[np.ndarray, np.ndarray]:
        """The bounds, with room for what the final check may miss."""
        outputs = state.form.problem.outputs
        noise = 0.0 if state.inner.noise.is_exact else 2.0 * outputs.errors_within(self.confidence) / math.sqrt(2.0 * CHECK)
        return outputs.narrowed(noise * state.followed.spreads)

    def output(self, state: PricedState) -> Candidate:
        """Where L is measured now, moved to where outputs keep their targets by what is known of them: L itself comes there in the limit.

        Its least value so far may be an old one with other prices.
        """
        found = self.slopes.output(state.inner)
        if not state.followed.seen or not state.prices.penalties.all():
            return found
        x, form = state.form.variables(found.z), state.form
        stepper = Stepper(form, self.mirror, state.inner.scale)
        for _ in range(POLISH):
            outputs, own = state.followed.linearized(x, *self._targets(state)), form.linearization(x)
            rows, _ = _joined(own, outputs).scaled(REACH * state.inner.scale)
            if not np.any(rows.excess(rows.value)):
                break
            plain = Subproblem(Euclidean(), form.problem.region, Zero(), x, 0.0 * x, 1.0)
            x = kept_curvature_step(plain, rows, np.zeros(len(rows.value)), RESTORING).x
            x, _ = stepper.restored(form.problem.region.clipped(x))
        return found._replace(z=form.start(x))

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


def _joined(one: Linearization, other: Linearization) -> Linearization:
    pairs = ((getattr(one, name), getattr(other, name)) for name in ("value", "lower", "upper"))
    value, lower, upper = (np.concatenate(pair) for pair in pairs)
    return Linearization(value, concatenate([one.jacobian, other.jacobian]), lower, upper) if len(one.value) else other


def _kept(inner: SlopesState) -> Array:
    """The last point that was measured and kept."""
    return inner.x if inner.anchor is None else inner.anchor.x


