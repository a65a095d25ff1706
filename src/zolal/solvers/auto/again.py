"""More values at a point that has one, which tell whether there is noise, and how much.

Where f draws new random numbers, it gives another value at the same point. Noise that is a function of x, such as that of a fixed seed, of
a mesh or of tolerances within a simulator, is the same there, and another one a hair's breadth away: such an f is called rough.
"""

import numpy as np

from zolal.directions import Gaussian
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.plan import LOOSE
from zolal.solvers.auto.state import ModelledState, Trial
from zolal.solvers.auto.terrain import Terrain

STREAM = 3  # random numbers that are none of the run's
ANOTHER = 1e-3  # of a hair's breadth: what is nearer is the same place


def may_ask(state: ModelledState, times: int = 1) -> bool:
    """Whether it is still open if f gives another value at the same point, and not in vain to ask.

    times: 2 before a success, which there is none without an answer.
    """
    return not state.is_repeated and state.unanswered < times * CONSTANTS.in_vain


def matters(state: ModelledState) -> bool:
    """Whether noise may have made a step fail, so that the centre is evaluated again at once; else a step that gains little asks.

    With many values it is asked in any case, and with many variables, which take as many looks, at the start: it then costs little.
    """
    assert state.belief is not None
    many = max(len(state.units), len(state.belief.values) - (state.belief.foreseen or 0)) >= CONSTANTS.many
    return may_ask(state) and (state.has_failed or many)


def doubles(state: ModelledState) -> bool:
    """Whether a look is made twice, so that the noise stays known apart from what the model misses: half the root of the values are."""
    if state.belief is None or state.trial is not None or state.is_exact:
        return False
    others = () if state.reported is None else state.reported.beliefs
    noisy = [belief for belief in (state.belief, *others) if not belief.is_exact]
    return any((2 * belief.repeats.number) ** 2 < len(belief.values) for belief in noisy)


def may_be_rough(state: ModelledState, trial: Trial) -> bool:
    """Whether steps failed until the radius was far below the last good one, or the one to which f was seen to be smooth.

    Not where the next step is to gain so little that rounding may be all there is to it; nor with outputs or several evaluations at once.
    """
    single = state.is_exact and state.is_repeated and state.reported is None and state.flight is None
    short = state.radius < CONSTANTS.rough_below * min(state.last_length, state.smooth_to)
    return single and short and state.is_warned and trial.gain > CONSTANTS.negligible * state.extent


def next_to_the_centre(state: ModelledState, trial: Trial) -> ModelledState:
    """With a value a hair's breadth from the centre as the next one: a smooth f changes there by far less than the step is to gain."""
    assert state.belief is not None
    return state.but(asked=state.belief.centre, trial=None, repeats=1, hair=CONSTANTS.hair * trial.length)


def as_smooth(state: ModelledState) -> ModelledState:
    """With the question answered, or left open, until the radius is much shorter; as it is where f is known to be rough."""
    return state.but(smooth_to=state.radius, hair=0.0) if state.hair and state.is_exact else state


def is_the_same(state: ModelledState, values: np.ndarray, before: float | None) -> bool:
    """Whether more values at a point say no more than the one before: the same, or nearly so a hair's breadth away."""
    belief = state.belief
    assert belief is not None
    if before is None or not belief.is_exact:
        return False
    allowed = max(CONSTANTS.rough * state.gain, belief.rounding, belief.grain) if state.hair else 0.0
    return bool((np.abs(values - before) <= allowed).all())


def places(state: ModelledState, terrain: Terrain, count: int) -> list[np.ndarray]:
    """Where the next point is evaluated, so many times; what is a repeat of a value of a rough f lies a hair's breadth away."""
    point = state.asked
    if not state.hair:
        return [point] * count
    assert state.belief is not None
    known = state.belief.value_at(point) is not None
    assert state.rows is not None
    rows = Gaussian(len(point), count, seed=state.seed, iteration=state.k, stream=STREAM)
    ways = [state.hair / norm(row) * row for row in (rows.row(i, point) for i in range(count))]
    allowed = max(LOOSE, 1.01 * state.rows.own_distance)
    return [_beside(terrain, point, way, allowed) if known or i else point for i, way in enumerate(ways)]


def at_one_point(state: ModelledState, terrain: Terrain, told: np.ndarray) -> np.ndarray:
    """What was told, less what the belief foretells of the hair's breadth: beside a steep bound f changes by much more than along it."""
    if not state.hair:
        return told
    assert state.belief is not None
    there = state.belief.foretold(terrain.as_evaluated(state.asked)).change
    found = told.copy()
    for row, place in zip(found, places(state, terrain, len(told)), strict=True):
        row[0] -= state.belief.foretold(terrain.as_evaluated(place)).change - there
    return found


def _beside(terrain: Terrain, point: np.ndarray, way: np.ndarray, allowed: float) -> np.ndarray:
    """A point so near to another one, where rows and bounds hold as far as is allowed; the same one where they leave no other."""
    for side in (way, -way):  # in a corner of rows one of them leads nowhere
        found, left, _ = terrain.restored(point + terrain.turned(point, side))
        if left <= allowed and norm(found - point) > ANOTHER * norm(way):
            return found
    return point
