"""What a run is told to be at its end: a status, whether it is a success, and what to do."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from zolal._array import Array, concatenate, like, namespace
from zolal.constraints import Outputs
from zolal.errors import ConstraintError
from zolal.kkt import KKT
from zolal.problem import SlackForm
from zolal.result import Status, with_error
from zolal.solvers.base import Reports

UNFINISHED = (Status.MAX_EVALUATIONS, Status.MAX_ITERATIONS, Status.STALLED)  # ends whose cause may be told
SAME = 1e-12  # relative: a point that is the start


class Point(NamedTuple):
    """What is known of the point that a run returns. limit: what `tol` stands for where stationarity is meant."""

    x: Array
    maxcv: float
    kkt: KKT
    tol: float
    limit: float
    deviations: float = 1.0  # standard errors that are added to the stationarity

    @property
    def is_solution(self) -> bool:
        return self.kkt.below(self.tol, self.limit, self.deviations) and self.maxcv <= self.tol


@final
@dataclass(frozen=True, eq=False)
class Told:
    """What can be said of the outputs at the returned point. probabilities: that each keeps its bounds to tol."""

    outputs: Outputs
    reports: Reports | None
    probabilities: np.ndarray
    tol: float
    confidence: float

    @classmethod
    def of(cls, outputs: Outputs, reports: Reports | None, tol: float, confidence: float) -> "Told":
        unknown = np.zeros(len(outputs))
        return cls(outputs, reports, unknown if reports is None else reports.probabilities(outputs, tol), tol, confidence)

    @property
    def holds(self) -> bool:
        """Whether all outputs keep their bounds with the confidence that was asked for, however their errors depend on each other."""
        return not len(self.outputs) or 1.0 - float(np.sum(1.0 - self.probabilities)) >= self.confidence

    @property
    def is_broken(self) -> bool:
        """Whether some output surely violates its bounds: by more than tol and what its error may hide."""
        if self.reports is None:
            return False
        return bool(np.any(np.abs(self.excess) > self.tol + NormalDist().inv_cdf(self.confidence) * self.reports.errors))

    @property
    def excess(self) -> np.ndarray:
        return np.zeros(0) if self.reports is None else self.outputs.excess(self.reports.values)

    @property
    def violation(self) -> float:
        """The largest, as believed."""
        return float(np.max(np.abs(self.excess), initial=0.0))

    def after(self, known: Any, name: str) -> Any:
        """What is known of the known constraints, and then of the outputs."""
        if not len(self.outputs):
            return known
        more = np.full(len(self.outputs), np.nan) if self.reports is None else getattr(self.reports, name)
        return concatenate([known, like(more, known)])

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row per output; none before anything was evaluated."""
        if self.reports is None:
            return []
        columns = dict(
            value=self.reports.values,
            lower=self.outputs.lower,
            upper=self.outputs.upper,
            violation=np.abs(self.excess),
            multiplier=self.reports.multipliers,
            error=self.reports.errors,
            probability=self.probabilities,
        )
        return [
            dict(name=name, row=0) | {key: float(column[j]) for key, column in columns.items()} for j, name in enumerate(self.outputs.names)
        ]

    @property
    def sentence(self) -> str:
        """How the outputs stand, the worst of them by its name."""
        if self.reports is None:
            return "nothing is known of the outputs"
        if self.holds:
            return f"all outputs hold with probability {1.0 - float(np.sum(1.0 - self.probabilities)):.3g}"
        chances = np.nan_to_num(self.probabilities)
        worst = int(np.lexsort([-np.abs(self.excess), chances])[0])
        error, gap, name = float(self.reports.errors[worst]), float(self.excess[worst]), self.outputs.names[worst]
        value = f"output {name!r} is {with_error(float(self.reports.values[worst]), error if 0.0 < error < math.inf else math.nan)}"
        unknown = "" if math.isfinite(error) else ", and how far that is from its mean is not known"
        if gap:
            bound = self.outputs.upper[worst] if gap > 0.0 else self.outputs.lower[worst]
            return f"{value}, {abs(gap):.3g} {'above' if gap > 0.0 else 'below'} its bound {bound:.6g}{unknown}"
        return value + (unknown or f" and holds with probability {chances[worst]:.3g}, less than is asked for ({self.confidence:g})")


def refined(status: Status, success: bool, moved: bool, diagnosis: Status | None, infeasible: bool, too_few: bool) -> Status:
    """The status that says most. diagnosis: what the solver knows of the cause. too_few: evaluations to know a slope by."""
    if success:
        return Status.OPTIMAL_START if status is Status.CONVERGED and not moved else status
    if status not in UNFINISHED:
        return status
    if infeasible:
        return Status.INFEASIBLE
    return status if diagnosis is None or (too_few and diagnosis is Status.NO_IMPROVEMENT) else diagnosis


def too_few_evaluations(nfev: int, dimension: int) -> str:
    """What to do where a run ended before it could know a slope; empty where it could."""
    if nfev >= dimension + 2:
        return ""
    return f"A slope in {dimension} variables takes at least {dimension + 2} evaluations, and a run several times as many."


def has_moved(x: Array, start: Array) -> bool:
    xp, there = namespace(x), like(start, x)
    return bool(xp.any(xp.abs(x - there) > SAME * xp.abs(there)))


def violation(form: SlackForm, x: Array) -> float:
    """The largest violation at x, NaN where a constraint fails."""
    try:
        return form.equalities.violation(x)
    except ConstraintError:
        return math.nan


def message(reason: str, form: SlackForm, point: Point, advice: str, told: Told) -> str:
    """Why the run ended, how good the point is, and what to do."""
    words = f"{reason} {_feasible(form, point, told)}; {_stationary(point)}."
    return f"{words} {advice}" if advice else words


def _feasible(form: SlackForm, point: Point, told: Told) -> str:
    if len(told.outputs):
        sentence = told.sentence
        if form.equalities.num_rows == 0:
            return sentence[:1].upper() + sentence[1:]
        return f"{_known(form, point._replace(maxcv=violation(form, point.x)))}; {sentence}"
    return _known(form, point)


def _known(form: SlackForm, point: Point) -> str:
    if form.equalities.num_rows == 0:
        return "There are no constraints"
    if math.isnan(point.maxcv):
        return "The constraints could not be evaluated at the point"
    if point.maxcv <= point.tol:
        return f"The point is feasible to {point.maxcv:.1e} (tol {point.tol:.0e}, absolute)"
    return f"The point is not feasible, {_worst(form, point.x)} is violated by {point.maxcv:.1e} (tol {point.tol:.0e}, absolute)"


def _worst(form: SlackForm, x: Array) -> str:
    """The constraint that is violated most, by its name."""
    worst = form.equalities.worst(x)
    return "a constraint" if worst is None else worst.name


def _stationary(point: Point) -> str:
    """The stationarity with its limit, and what that is relative to."""
    text = point.kkt.stationarity_text
    if math.isnan(point.kkt.stationarity):
        return text
    if point.limit == point.tol:
        return f"{text}, to be at most tol {point.tol:.0e}"
    if not point.limit > 0.0:
        return f"{text}, no gradient is known that tol {point.tol:.0e} would be relative to"
    return f"{text}, to be at most {point.limit:.1e}: tol {point.tol:.0e} times the largest gradient seen, {point.limit / point.tol:.1e}"
