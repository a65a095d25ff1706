"""What a run is told to be at its end: a status, whether it is a success, and what to do."""

import math
from typing import NamedTuple

import numpy as np

from zolal._array import Array, to_numpy
from zolal.errors import ConstraintError
from zolal.kkt import KKT
from zolal.problem import SlackForm
from zolal.result import Status

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
    here, there = to_numpy(x), to_numpy(start)
    return bool(np.any(np.abs(here - there) > SAME * np.abs(there)))


def violation(form: SlackForm, x: Array) -> float:
    """The largest violation at x, NaN where a constraint fails."""
    try:
        return form.equalities.violation(x)
    except ConstraintError:
        return math.nan


def message(reason: str, form: SlackForm, point: Point, advice: str) -> str:
    """Why the run ended, how good the point is, and what to do."""
    words = f"{reason} {_feasible(form, point)}; {_stationary(point)}."
    return f"{words} {advice}" if advice else words


def _feasible(form: SlackForm, point: Point) -> str:
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
