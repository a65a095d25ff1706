"""How large gradients and changes of f have been, by which one tells what is small."""

import math

import numpy as np

from zolal.solvers.auto import course
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.state import ModelledState


def are_sizes_open(state: ModelledState) -> bool:
    """Whether it is still open how large slopes are, by which one tells what is small: until f has clearly fallen, or looks have said so.

    What the belief says will not do near a start that is a solution. With noise the next looks may be shorter ones, and say better.
    """
    if state.gradient_size == 0.0:
        return True
    return not state.has_clearly_fallen and (not state.is_exact or state.first_spread == 0.0)


def with_sizes_seen(state: ModelledState) -> ModelledState:
    """With the sizes of slopes and changes that looks have seen, by which one tells what is small even at a solution.

    With noise looks become shorter where f is uneven, and what was seen farther away is no measure any more.
    """
    belief = state.belief
    assert belief is not None
    hidden = 0.0 if belief.is_exact else 2.0 * belief.noise**2  # what noise alone makes of a squared change
    changes = np.sqrt(np.maximum((belief.values - belief.value) ** 2 - hidden, 0.0))
    ways = np.linalg.norm(belief.points - belief.centre, axis=1)
    there = ways > 0.0
    spread = float(np.median(changes[there])) if there.any() else 0.0
    if not belief.is_exact:
        there &= ways <= course.longest_look(state)
    slope = float(np.median(changes[there] / ways[there])) * math.sqrt(belief.dimension) if there.any() else 0.0
    size = 1.0 if belief.is_flat else slope / state.typical_unit
    if state.gradient_size:
        size = max(state.gradient_size, size) if belief.is_exact else min(state.gradient_size, size)
    return state.but(gradient_size=size, first_spread=state.first_spread or spread)


def gradient_here(state: ModelledState) -> float:
    """How large the gradient is believed to be at the centre, per typical unit, but no larger than any is taken for."""
    assert state.belief is not None
    return min(norm(state.belief.gradient) / state.typical_unit, state.gradient_size)


def largest_gradient(state: ModelledState) -> float:
    """The largest one so far, per typical unit.

    Once f has clearly fallen, none counts that is larger than some times the slope of the steepest fall: the first looks may have gone to
    where f is huge, and the slopes that they saw are no part of the way.
    """
    size = max(state.gradient_size, _here(state))
    return min(size, _most(state)) if state.has_clearly_fallen else size


def _here(state: ModelledState) -> float:
    """How large a gradient has surely been: the one here, or the mean slope of the way from the start, which some point has."""
    belief = state.belief
    assert belief is not None
    if belief.is_exact:
        return min(norm(belief.gradient) / state.typical_unit, _most(state))
    gradient, covariance = belief.gradient, belief.covariance * belief.repeats.student_factor**2
    spread = 2.0 * float(np.vdot(covariance, covariance)) + 4.0 * float(gradient @ (covariance @ gradient))  # the variance of |g|^2
    sure = CONSTANTS.certain * math.sqrt(max(spread, 0.0))  # of which rounding may leave less than nothing
    here = float(gradient @ gradient) - float(covariance.trace()) - sure
    return max(math.sqrt(max(here, 0.0)), _along(state)) / state.typical_unit


def _along(state: ModelledState) -> float:
    """The mean slope of the way from the start."""
    assert state.belief is not None
    way = norm(state.belief.centre - state.first_point)
    return (state.fallen - state.doubt) / way if way > 0.0 else 0.0


def _most(state: ModelledState) -> float:
    """A gradient that no move has confirmed counts little: it may come from a value that is no part of f, as a penalty for what failed."""
    confirmed = max(state.steepest, _along(state))
    return CONSTANTS.unconfirmed * confirmed / state.typical_unit if confirmed > 0.0 else math.inf
