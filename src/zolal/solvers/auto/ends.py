"""Ends of a run that are no success: no evaluation can help any more, or what one has seen says why none did."""

import math

import numpy as np

from zolal.result import Status
from zolal.solvers.auto import course
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.state import ModelledState


def ending(state: ModelledState) -> Status | None:
    """Where no evaluation can help: no step of any size matters to f, or none that is longer than rounding improves it, or all do."""
    if state.belief is None:
        return None
    root = math.sqrt(len(state.units))
    if state.radius > CONSTANTS.farthest * root:
        if state.is_hidden and state.reported is None:
            return Status.TOO_NOISY
        if state.belief.is_flat or state.belief.is_plateau:
            return Status.STALLED if state.fallen > 0.0 else Status.NO_REACTION
    if norm(state.belief.centre - state.first_point) > CONSTANTS.endless * root:
        return Status.UNBOUNDED
    shortest = CONSTANTS.shortest * max(1.0, float(np.abs(state.belief.centre).max()))
    return Status.STALLED if state.is_stuck or state.radius < shortest else None


def diagnosis(state: ModelledState) -> Status | None:
    """Noise that hides f; a kink, where the radius shrinks and the slope stays; or no better point than the start."""
    belief = state.belief
    if belief is None:
        return None
    if state.is_hidden:
        return Status.TOO_NOISY
    steep = state.stationarity > CONSTANTS.steep * state.gradient_size > 0.0
    if belief.is_exact and not belief.grain and steep and state.radius < CONSTANTS.kinked:
        return Status.NONSMOOTH
    return Status.NO_IMPROVEMENT if not state.has_fallen and course.lowest(state) is belief.centre else None
