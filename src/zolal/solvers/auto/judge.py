"""The judge: what becomes of the centre, the radius and the belief once a value is there."""

import math
from dataclasses import replace

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.state import ModelledState


def judged(state: ModelledState, u: np.ndarray, values: np.ndarray) -> ModelledState:
    """After one value at u, or several. What is not finite or absurdly large is a rejected step, and no part of the belief."""
    belief, trial = state.belief, state.trial
    assert belief is not None
    values = values[np.isfinite(values) & (np.abs(values) < CONSTANTS.largest_value)]
    value = float(values.mean()) if len(values) else math.nan
    if not math.isfinite(value) or _absurd(belief, value):
        shorter = CONSTANTS.retreat * min(state.radius, float(np.linalg.norm(u - belief.centre)))
        accident = trial is None and state.missing == 0  # one look may fail by chance
        return replace(state, radius=state.radius if accident else shorter, failures=0, missing=state.missing + 1)
    state = replace(state, missing=0)
    noise = 0.0 if belief.is_exact else belief.noise
    margin = CONSTANTS.noise_margin * noise
    fallen = belief.value - value
    foretold = belief.foretold(u)
    variance = foretold.value_deviation**2 + (noise or belief.rounding) ** 2 / len(values)
    square = (fallen + foretold.change) ** 2 / max(variance, 1e-300)
    kept = CONSTANTS.surprise_memory if belief.is_exact else CONSTANTS.noisy_surprise_memory
    state = replace(state, surprise=kept * state.surprise + (1.0 - kept) * min(square, CONSTANTS.most_surprise))
    grown = belief.told(u, values)
    if trial is None:
        better = fallen > 2.0 * margin
        return _settled(state, grown, u if better else belief.centre, state.radius)
    ratio = (fallen + margin) / (trial.gain + margin)
    if ratio > CONSTANTS.accepted:
        far = trial.length > 0.8 * state.radius
        radius = CONSTANTS.growth * state.radius if ratio > CONSTANTS.good and far else state.radius
        return _settled(replace(state, failures=0, last_length=trial.length), grown, u, radius)
    failures = state.failures + 1
    blame = trial.deviation < CONSTANTS.sure * trial.gain or failures >= CONSTANTS.patience
    radius = CONSTANTS.shrinkage * min(state.radius, trial.length) if blame else state.radius
    return _settled(replace(state, failures=0 if blame else failures), grown, belief.centre, radius)


def _settled(state: ModelledState, belief: Quadratic, centre: np.ndarray, radius: float) -> ModelledState:
    """With the belief in the frame of the centre and of the radius; it is built anew only where one of them has changed much."""
    if not belief.is_exact:  # as far as the noise hides what the model misses, a smaller region is no safer
        radius = max(radius, CONSTANTS.look_radius * belief.best_radius())
    ratio = radius / belief.length
    same = centre is belief.centre and 0.25 < ratio < 4.0
    belief = belief.fitted() if same and not belief.is_full else belief.moved(centre, radius)
    return replace(state, belief=belief, radius=radius)


def _absurd(belief: Quadratic, value: float) -> bool:
    spread = float(np.ptp(belief.values)) if len(belief.values) > 1 else 0.0
    return spread > 0.0 and value - belief.value > CONSTANTS.absurd * max(spread, abs(belief.value))
