"""Steps that led to where f has no value or explodes: how one knows them."""

import math
from dataclasses import replace

import numpy as np

from zolal.estimators.survey import Survey
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.points import Move
from zolal.solvers.auto.slopes.reading import Reading
from zolal.solvers.auto.slopes.state import SlopesState


def can_do_without(state: SlopesState) -> bool:
    """Whether the run can go on from a point that it knows if f has no values at x."""
    return state.anchor is not None and state.lost < CONSTANTS.most_lost


def judged_move(state: SlopesState) -> Move | None:
    """The last step, unless rounding is all that it shows."""
    return state.move if state.move is not None and state.move.length > CONSTANTS.smallest_step * state.scale else None


def lacks_values(survey: Survey, values: np.ndarray) -> bool:
    """Whether f has values for fewer than half of the slopes at x."""
    if not np.isnan(values).any():
        return False
    kept = replace(survey, optional=False).kept(values)
    return 2 * int(kept.sum()) < len(kept)


def explodes(state: SlopesState, survey: Survey, values: np.ndarray, reading: Reading) -> bool:
    """Whether the last step led to where f is higher, and far steeper than at any point before or higher by orders of magnitude."""
    move, anchor = judged_move(state), state.anchor
    if anchor is None or move is None or not can_do_without(state):
        return False
    rise, steepest = state.noise.least_rise(survey, values, anchor), state.estimate.gradient_size
    is_steep = math.sqrt(reading.gradient_square) > CONSTANTS.explosion * steepest > 0.0
    is_absurd = rise > CONSTANTS.absurd * max(abs(anchor.highest), abs(move.linear))
    return rise > 0.0 and (is_steep or is_absurd)
