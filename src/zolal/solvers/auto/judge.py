"""The judge: what becomes of the centre, the radius and the belief once a value is there."""

import math
from dataclasses import replace

import numpy as np

from zolal.solvers.auto import again, course
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import mean, norm, square_lengths
from zolal.solvers.auto.edges import met, passed
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.state import ModelledState
from zolal.solvers.auto.step import OVERSHOT


def judged(state: ModelledState, u: np.ndarray, values: np.ndarray) -> ModelledState:
    """After one value at u, or several, with outputs one row each.

    What is not finite or absurdly large is a rejected step, and no part of the belief.
    """
    belief, trial, reported = state.belief, state.trial, state.reported
    assert belief is not None
    values, outputs = _usable(values)
    value = mean(values) if len(values) else math.nan
    if not math.isfinite(value) or _is_absurd(value, belief.values):
        shorter = CONSTANTS.retreat * min(state.radius, norm(u - belief.centre) or state.radius)
        accident = trial is None and state.missing == 0  # one look may fail by chance
        goes_along = reported is None and state.missing == 0  # the edge that a step has met
        radius = state.radius if accident or goes_along else shorter
        edges = state.edges if accident or reported is not None else met(state.edges, u, belief.centre)
        return state.but(radius=radius, failures=0, missing=state.missing + 1, has_missed=True, edges=edges, is_warned=True)
    margin = CONSTANTS.noise_margin * state.noise
    fallen, square = state.merit - value, belief.surprise(u, value, len(values))
    if reported is not None:
        average = outputs.mean(axis=0)
        fallen -= reported.cost(average)
        others = reported.surprises(u, average, len(values))
        square = (square + sum(others)) / (1 + len(others))
        state = state.but(reported=reported.told(u, outputs))
    kept = CONSTANTS.surprise_memory if state.is_exact else CONSTANTS.noisy_surprise_memory
    surprise = kept * state.surprise + (1.0 - kept) * min(square, CONSTANTS.most_surprise)
    reported = None if state.reported is None else replace(state.reported, surprise=surprise)
    state = state.but(
        missing=0, edges=passed(state.edges, u), looks=state.looks + 1 if trial is None else 0, surprise=surprise, reported=reported
    )
    if belief.is_exact and (values == values[0]).all():
        values = values[:1]  # where outputs alone have noise, a look is made twice for their sake
    state, grown = _without_odd_start(state, belief.told(u, values))
    if trial is None:
        better = fallen > 2.0 * margin
        state = _confirmed(state, belief, u, fallen - margin) if better else state
        return _settled(state, grown, u if better and not _are_few(state, grown) else grown.centre, state.radius)
    ratio = (fallen + margin) / (trial.gain + margin)
    if ratio > CONSTANTS.accepted:
        may_grow = ratio > CONSTANTS.good and trial.length > CONSTANTS.full * state.radius
        growth = _growth((abs(fallen - trial.gain) + margin) / trial.gain) if may_grow else 1.0
        radius = max(state.radius, trial.length / OVERSHOT)  # a sure step may be longer than the radius
        state = _confirmed(state, belief, u, fallen - margin)
        return _settled(state.but(failures=0, last_length=trial.length, is_warned=False), grown, _lower(state, grown, u), growth * radius)
    failures = state.failures + 1
    blame = trial.deviation < CONSTANTS.sure * trial.gain or failures >= CONSTANTS.patience
    was_longer = trial.length > OVERSHOT * state.radius  # which says nothing of the radius itself
    shorter = min(state.radius, CONSTANTS.shrinkage * (trial.length if was_longer else min(state.radius, trial.length)))
    radius = max(shorter, state.plateau) if blame else state.radius
    state = state.but(failures=0 if blame else failures, has_failed=True, is_warned=True)
    return _settled(state, grown, _lower(state, grown, grown.centre), radius)


def repeated(state: ModelledState, u: np.ndarray, values: np.ndarray) -> ModelledState:
    """After more values where f was evaluated before: if they are the old one there is no noise, else a few more tell how much."""
    belief = state.belief
    assert belief is not None
    values, outputs = _usable(values)
    sane = np.array([not _is_absurd(value, belief.values) for value in values], dtype=bool)
    values, outputs = values[sane], outputs[sane]
    if not len(values):
        return again.as_smooth(state).but(repeats=0, unanswered=state.unanswered + 1, has_missed=True)
    was_exact = state.is_exact
    if state.reported is not None:
        state = state.but(reported=state.reported.repeated(u, outputs))
    if again.is_the_same(state, values, belief.value_at(u)):
        state = again.as_smooth(state)
    else:
        state = state.but(belief=belief.repeated(u, values))
    state = state.but(repeats=0, is_repeated=True, missing=0)
    if state.is_exact or not was_exact:
        return state
    return state.but(repeats=CONSTANTS.repeats - 2, surprise=1.0, gradient_size=0.0)  # what slopes seemed to be, was noise


def _are_few(state: ModelledState, belief: Quadratic) -> bool:
    """Whether exact values are so few that the lowest of them would pass for the bottom of a bowl if it were the centre."""
    return state.is_exact and state.reported is None and len(belief.values) <= CONSTANTS.few * (belief.dimension + 1)


def _lower(state: ModelledState, belief: Quadratic, centre: np.ndarray) -> np.ndarray:
    """The next centre, or a point that a look has found to be lower."""
    best = course.lowest(state.but(belief=belief))
    return centre if best is belief.centre or belief.value_at(centre) == belief.extremes[0] else best


def _settled(state: ModelledState, belief: Quadratic, centre: np.ndarray, radius: float) -> ModelledState:
    """With the belief in the frame of the centre and of the radius; it is built anew only where one of them has changed much."""
    state = state.but(belief=belief)
    if not state.is_exact:  # as far as the noise hides what the model misses, a smaller region is no safer
        longer = min(CONSTANTS.look_radius * state.best_radius, CONSTANTS.growth * state.radius)
        if longer > radius:  # constraints may let nothing go farther than something has
            radius = max(radius, min(longer, CONSTANTS.growth * math.sqrt(float(square_lengths(belief.points - belief.centre).max()))))
    ratio = radius / belief.length
    same = centre is belief.centre and 0.25 < ratio < 4.0
    belief = belief.fitted() if same and not belief.is_full else belief.moved(centre, radius)
    if state.reported is not None:
        state = state.but(reported=state.reported.settled(belief.centre, belief.length, same))
    return state.but(belief=belief, radius=radius)


def _confirmed(state: ModelledState, belief: Quadratic, u: np.ndarray, fallen: float) -> ModelledState:
    """With the slope of a move that f has surely fallen along, away from any plateau."""
    way = norm(u - belief.centre)
    return state.but(steepest=max(state.steepest, fallen / way), plateau=0.0) if way > 0.0 else state


def _growth(missed: float) -> float:
    """By how much the next step may be longer after one whose gain was foretold up to this part of itself.

    What a quadratic misses grows with the third power of a step, so with the square in units of the gain: as long as that is no more than
    a good step may miss.
    """
    return min(max(math.sqrt((1.0 - CONSTANTS.good) / max(missed, 1e-300)), CONSTANTS.growth), CONSTANTS.most_growth)


def _without_odd_start(state: ModelledState, belief: Quadratic) -> tuple[ModelledState, Quadratic]:
    """Forget the first value where it is absurd beside the next three, which alone would rule what counts as large from then on."""
    first, others = belief.values[0], belief.values[1:]
    if len(others) != 3 or not _is_absurd(first, others):
        return state, belief
    rest = replace(belief, points=belief.points[1:], values=others, weights=belief.weights[1:], built=3, unsearched=3)
    best = rest.points[others.argmin()] if np.array_equal(belief.centre, belief.points[0]) else belief.centre
    return state.but(first_value=float(np.max(others)), gradient_size=0.0, surprise=1.0), rest.moved(best, belief.length)


def _usable(told: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that are numbers of a sane size, and their outputs, one row each."""
    rows = told.reshape(len(told), -1)
    sane = np.abs(rows) < CONSTANTS.largest_value
    if np.count_nonzero(sane) < sane.size:
        rows = rows[sane.all(axis=1)]
    return rows[:, 0], rows[:, 1:]


def _is_absurd(value: float, others: np.ndarray) -> bool:
    """Whether a value lies above others by so many times their spread that it is none of theirs."""
    lowest = float(others.min())
    spread = float(others.max()) - lowest
    return spread > 0.0 and value - lowest > CONSTANTS.absurd * max(spread, abs(lowest))
