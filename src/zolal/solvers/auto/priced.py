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

from zolal._array import Array
from zolal.directions import Gaussian
from zolal.estimators.survey import Probe, Survey
from zolal.kkt import KKT
from zolal.mirror import Euclidean, MirrorMap
from zolal.problem import Problem
from zolal.result import Status
from zolal.solvers.auto.slopes import Slopes, SlopesState
from zolal.solvers.auto.slopes.phases import FirstLook
from zolal.solvers.base import Candidate, Certified, Reports, Solver, State, once_per_state

CHECK_STREAM = 1  # samples of the final check are none of the run's
CHECK = 25  # pairs of evaluations at the returned point, which tell whether it is feasible
ROUND = 3  # evaluations per variable before the first update of the multipliers
GROWING = 3  # updates after which as many more are made between two of them, so that slopes become known ever better
SLOW, HARDER = 0.5, 2.0  # a violation that has not fallen to this part makes its penalty this much larger
FORGOTTEN = 0.8  # of a mean of outputs per batch
REACH = 0.5  # of the problem's size: over such a way f and an output are compared for the first penalty


@final
@dataclass(frozen=True, eq=False)
class Prices:
    """y and rho of each output, and what is known of its mean lately. spread: the standard deviation of one value; seen: batches."""

    multipliers: np.ndarray
    penalties: np.ndarray
    means: np.ndarray
    spreads: np.ndarray
    before: np.ndarray  # violations at the last update
    bends: np.ndarray  # what an output rises by on either side, per square of a difference's length
    weight: float = 0.0  # that they have been seen with
    seen: float = 0.0
    evaluations: int = 0  # since the last update
    updates: int = 0  # of y so far

    @classmethod
    def start(cls, number: int) -> "Prices":
        nothing = np.zeros(number)
        return cls(nothing, nothing, nothing, nothing, np.full(number, np.inf), nothing)

    def added(self, outputs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """psi of each evaluation, one row of outputs each."""
        away = outputs - self.nearest(outputs, lower, upper)
        return np.asarray(away @ self.multipliers + 0.5 * (away * away) @ self.penalties)

    def nearest(self, outputs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """s: the outputs, moved by y/rho and brought between the bounds."""
        shift = np.divide(self.multipliers, self.penalties, out=np.zeros_like(self.multipliers), where=self.penalties > 0.0)
        return np.where(self.penalties > 0.0, np.clip(outputs + shift, lower, upper), outputs)

    def straightened(self, outputs: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The outputs without what their curvature adds at the ends of long differences: what the iterate itself would report."""
        return outputs - np.outer(lengths * lengths, self.bends)

    def heard(self, outputs: np.ndarray, lengths: np.ndarray) -> "Prices":
        """After one batch."""
        seen, squares = FORGOTTEN * self.seen + 1.0, lengths * lengths
        around = squares - np.mean(squares)
        weight = FORGOTTEN * self.weight + float(around @ around)  # short differences say little of it
        if weight > 0.0:
            self = replace(self, bends=(FORGOTTEN * self.weight * self.bends + around @ outputs) / weight, weight=weight)
        outputs = self.straightened(outputs, lengths)
        means = self.means + (np.mean(outputs, axis=0) - self.means) / seen
        spreads = np.sqrt(self.spreads**2 + (_variance(outputs, lengths) - self.spreads**2) / seen)
        return replace(self, means=means, spreads=spreads, seen=seen, evaluations=self.evaluations + len(outputs))

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

    def updated(self, lower: np.ndarray, upper: np.ndarray) -> "Prices":
        """y after what the means say; harder penalties where violations have not shrunk and are more than the spread of single values.

        A penalty that is too soft needs a few more updates of y; one that is too hard bends L more than steps can follow.
        """
        multipliers = self.multipliers + self.penalties * (self.means - self.nearest(self.means, lower, upper))
        violation = np.abs(self.means - np.clip(self.means, lower, upper))
        slow = (violation > SLOW * self.before) & (violation > self.spreads)
        penalties = np.where(slow, HARDER, 1.0) * self.penalties
        return replace(self, multipliers=multipliers, penalties=penalties, before=violation, evaluations=0, updates=self.updates + 1)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PricedState(State):
    """The state of the slopes of L, and the prices that L has now."""

    inner: SlopesState
    prices: Prices

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
        return self._state(self.slopes.init(problem, x0, seed), Prices.start(len(problem.outputs)), 0)

    def _state(self, inner: SlopesState, prices: Prices, k: int) -> PricedState:
        outputs = inner.form.problem.outputs
        violation = float(np.max(np.abs(outputs.excess(prices.means)), initial=0.0)) if prices.seen else 0.0
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
        )

    @once_per_state
    def ask(self, state: PricedState) -> Survey:
        return self.slopes.ask(state.inner)

    def tell(self, state: PricedState, values: np.ndarray) -> PricedState:
        rows, inner, prices = np.asarray(values, dtype=float), state.inner, state.prices
        survey, targets = self.ask(state), self._targets(state)
        f, outputs = rows[:, 0], rows[:, 1:]
        lengths = np.array([probe.length for probe in survey.probes])
        there = np.isfinite(rows).all(axis=1)
        if not prices.penalties.all() and there.all() and self._tells_slopes(inner, survey, rows):
            prices = prices.first(survey, f, outputs, inner.scale, *targets)
        straight = prices.straightened(np.where(there[:, None], outputs, 0.0), lengths)
        inner = self.slopes.tell(inner, np.where(there, f + prices.added(straight, *targets), np.nan))
        prices = prices.heard(outputs[there], lengths[there]) if there.any() else prices
        if prices.evaluations >= ROUND * (1 + prices.updates / GROWING) * (state.form.problem.dimension + 1):
            new = prices.updated(*targets)
            change = new.added(prices.means[None, :], *targets) - prices.added(prices.means[None, :], *targets)
            prices, inner = new, _repriced(inner, float(change[0]))
        return self._state(inner, prices, state.k + 1)

    @staticmethod
    def _tells_slopes(inner: SlopesState, survey: Survey, rows: np.ndarray) -> bool:
        """Whether differences of a batch are more than noise: those of the first look are made for exact values."""
        is_noisy = isinstance(inner.phase, FirstLook) and bool((rows[0] != rows[1]).any())
        return math.isfinite(survey.smoothing) and not is_noisy

    def _targets(self, state: PricedState) -> tuple[np.ndarray, np.ndarray]:
        """The bounds, with room for what the final check may miss."""
        outputs, prices = state.form.problem.outputs, state.prices
        noise = 0.0 if state.inner.noise.is_exact else 2.0 * outputs.errors_within(self.confidence) / math.sqrt(2.0 * CHECK)
        return outputs.narrowed(noise * prices.spreads)

    def output(self, state: PricedState) -> Candidate:
        """Where L is measured now: its least value so far may be an old one with other prices."""
        return self.slopes.output(state.inner)

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
        candidate, form, prices = self.output(state), state.form, state.prices
        x, number = form.variables(candidate.z), len(form.problem.outputs)
        if values is None or len(values) < 2:
            errors = np.full(1 + number, math.inf)
            means = np.append(math.nan, prices.means)
        else:
            means, errors = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / math.sqrt(len(values))
        violation = float(np.max(np.abs(form.problem.outputs.excess(means[1:])), initial=0.0))
        feasibility = max(form.equalities.violation(x), violation)
        kkt = KKT(state.inner.stationarity, feasibility, math.nan, state.inner.form.geometry(self.mirror).p, True, state.inner.error)
        multipliers = prices.multipliers + prices.penalties * (prices.means - prices.nearest(prices.means, *self._targets(state)))
        reports = Reports(means[1:], errors[1:], multipliers, np.full(number, math.nan)) if prices.seen else None
        value = float(means[0]) + form.problem.regularizer.value(x)
        return Certified(candidate, value, float(errors[0]), kkt, None, 1.0, reports)

    def diagnosis(self, state: PricedState) -> Status | None:
        return None  # f may well rise where outputs come to hold


def _variance(outputs: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of one value at one point: by the means of both ends of differences, where slopes cancel; of all values where there are few."""
    first = np.flatnonzero((lengths[:-1] > 0.0) & (lengths[1:] == -lengths[:-1]))
    if len(first) < 2:
        return np.asarray(np.var(outputs, axis=0))
    return np.asarray(2.0 * np.var(0.5 * (outputs[first] + outputs[first + 1]), axis=0, ddof=1))


def _repriced(inner: SlopesState, change: float) -> SlopesState:
    """The slopes of another L from here on. change: what it differs by around the iterate."""
    anchor = None if inner.anchor is None else inner.anchor._replace(value=inner.anchor.value + change)
    return replace(inner, anchor=anchor, start=None)
