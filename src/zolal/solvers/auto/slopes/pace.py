"""How fast the run goes: the step size, and the curvature of f along steps that it comes from."""

import math
from typing import NamedTuple

from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.points import Move
from zolal.solvers.auto.slopes.reading import Reading


class Pace(NamedTuple):
    """step_size: eta, None before the first step. curvature: the last one of f along a step that was known well.

    largest: the largest curvature that a sample has shown, that of the constraints and the number of directions counted. of_f: the
    largest that samples have lately shown of f alone.
    """

    step_size: float | None = None
    curvature: float = 0.0
    largest: float = 0.0
    of_f: float = 0.0


def paced_by_change(pace: Pace, move: Move, reading: Reading, rise: float, feasible: bool, memory: float) -> tuple[Pace, bool]:
    """The pace after the change of f along the last step, and whether that was surely for the worse.

    rise: the change of f + h. feasible: whether the step began at a feasible point. memory: of the largest curvature lately, per step.
    """
    doubt = CONSTANTS.sure * math.sqrt(reading.change_variance)
    worse = rise > doubt + CONSTANTS.rise_rounding * abs(reading.value) and feasible
    spread = math.sqrt(reading.change_variance + 0.25 * move.noise**2) / max(move.divergence, 1e-300)
    curvature = (reading.change - move.linear - move.noise) / max(move.divergence, 1e-300)
    known = spread * move.step_size < CONSTANTS.known
    if memory > 0.0:
        curvature = max(curvature, memory * pace.curvature)
    assert pace.step_size is not None
    before = move.step_size if known or worse else pace.step_size  # a step that only the constraints kept short says nothing of f
    step_size = adapted(before, curvature if known else math.nan, worse, rise < -doubt)
    return pace._replace(step_size=step_size, curvature=max(curvature, 0.0) if known else pace.curvature), worse


def paced_by_sample(pace: Pace, move: Move, reading: Reading, rise: float, feasible: bool, went: float) -> tuple[Pace, bool]:
    """The pace where one sample has seen three points of the last step, so that no error of s is in its curvature.

    A mean over n of d directions has (1 + d/n) times the square of the gradient that it estimates, so a step along it pays
    for its curvature as often: eta = 1 / ((1 + d/n) l), with the largest l seen lately. A sample may well rise along a good step,
    so a step is taken back only where it rises and the step was far too long for the curvature.

    went: the length of the way between the two points that the sample has seen.
    """
    if math.isnan(reading.second) or not 0.5 * move.length <= went <= 2.0 * move.length or pace.step_size is None:
        return pace, False
    plain = reading.second / max(went**2, 1e-300)
    of_f = max(plain, CONSTANTS.sampled_curvature_memory * pace.of_f)
    curvature = plain + move.bend / max(move.divergence, 1e-300)
    curvature *= 1.0 + reading.directions.dimension / reading.directions.count
    if rise > 0.0 and move.step_size * curvature > CONSTANTS.too_long and feasible:  # f is curved otherwise where it began
        return pace._replace(step_size=adapted(move.step_size, curvature, worse=True, better=False)), True
    largest = max(curvature, pace.largest)
    lately = max(curvature, CONSTANTS.sampled_curvature_memory * pace.curvature, CONSTANTS.least_sampled_curvature * largest)
    step_size = min(CONSTANTS.sampled_growth * pace.step_size, 1.0 / lately) if lately > 0.0 else 2.0 * pace.step_size
    return Pace(step_size, lately, largest, of_f), False


def adapted(step_size: float, curvature: float, worse: bool, better: bool) -> float:
    """The next step size: 1/l with the curvature l of f along the last step, at most doubled or halved; NaN for an unknown l.

    worse, better: whether the objective has surely risen or fallen.
    """
    if worse:
        return max(0.1 * step_size, min(0.5 * step_size, 1.0 / curvature)) if curvature > 0.0 else 0.5 * step_size
    if curvature > 0.0:
        return min(2.0 * step_size, max(0.5 * step_size, 1.0 / curvature))
    return 2.0 * step_size if better else step_size
