"""What a state's beliefs say of the centre, and the step that follows from them; no query is made for either."""

import math
from typing import NamedTuple

import numpy as np

from zolal.linearization import Linearization
from zolal.solvers.auto import edges
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.eased import eased
from zolal.solvers.auto.plan import Here
from zolal.solvers.auto.state import ModelledState
from zolal.solvers.auto.step import Model, Step, Stepper
from zolal.solvers.auto.terrain import Terrain


class Stepped(NamedTuple):
    """A step, with the curvature of the constraints and the prices of outputs that it has led to."""

    state: ModelledState
    step: Step


def here(state: ModelledState, terrain: Terrain, largest: float = math.inf) -> Here:
    """What the beliefs say of the centre, over the constraints and the models of the outputs."""
    belief, reported = state.belief, state.reported
    assert belief is not None
    assert state.rows is not None
    if reported is None:
        return Here.at(terrain, state.rows, belief, state.radius, largest, state.surprise)
    whole = terrain.with_outputs(reported.rows())
    return Here.at(whole, whole.rows(belief.centre), belief, state.radius, largest, state.surprise, reported=reported)


def model(state: ModelledState, here: Here) -> Model:
    """That of f at the centre; of nothing where f says nothing and outputs are what matters."""
    assert state.belief is not None
    if state.is_aimless:
        return Model(here.centre, 0.0 * here.centre, np.zeros_like(state.belief.hessian))
    tilt = here.slope.tilt
    return Model(here.centre, here.slope.gradient, state.belief.hessian if tilt is None else state.belief.hessian_beside(tilt))


def stepped(state: ModelledState, terrain: Terrain, model: Model, rows: Linearization, radius: float) -> Stepped:
    """The step of a radius. With outputs its gain is that of the merit, at prices at which coming nearer to their bounds pays.

    rows: at the centre, the outputs' last.
    """
    if state.reported is None:
        terrain, rows = fenced(state, terrain, rows)
        step = Stepper(terrain).minimiser(model, rows, radius, state.bend)
        return Stepped(state.but(bend=step.bend), step)
    number = len(state.reported.beliefs)
    whole = terrain.with_outputs(state.reported.rows())
    reached, start = eased(whole, model.centre, radius)
    begin = reached.rows(model.centre if start is None else start)
    multipliers = np.append(np.zeros(len(rows.value) - number), state.reported.multipliers)
    step = Stepper(reached).minimiser(model, begin, radius, state.bend, start, multipliers)
    before, after = (np.array([row.at(u) for row in whole.outputs]) for u in (model.centre, step.point))
    reported = state.reported.priced(model.gradient, step.multipliers[-number:])
    less = reported.cost(before) - reported.cost(after)
    if less > 0.0 and step.gain < -CONSTANTS.bought * less:  # f may rise by no more than this part of what the violations fall by
        raised = -step.gain / (CONSTANTS.bought * less)
        reported, less = reported.raised(raised), raised * less
    return Stepped(state.but(bend=step.bend, reported=reported), step._replace(gain=step.gain + less))


def fenced(state: ModelledState, terrain: Terrain, rows: Linearization) -> tuple[Terrain, Linearization]:
    """The terrain on this side of the points where f had no value."""
    assert state.belief is not None
    if not state.edges or state.reported is not None:
        return terrain, rows
    return edges.fenced(state.edges, terrain, rows, state.belief.centre, CONSTANTS.most_growth * state.radius)


def sure_step(state: ModelledState, terrain: Terrain, model: Model, rows: Linearization) -> Stepped:
    """The step of the radius, or of a longer one where nothing but the radius holds it back and the belief is sure of what it gains.

    The radius says what was safe so far; exact values may have told more since, as that f is straight. A failure tells otherwise, and
    forecasts of what is under way make the belief surer than it is.
    """
    assert state.belief is not None
    radius, found = state.radius, stepped(state, terrain, model, rows, state.radius)
    may_be_longer = state.is_exact and not state.is_warned and state.reported is None and state.belief.foreseen is None
    most = CONSTANTS.most_growth * radius if may_be_longer else 0.0
    while radius < most and norm(found.step.point - model.centre) > CONSTANTS.full * radius and _is_sure(found):
        radius *= CONSTANTS.growth
        step = Stepper(fenced(state, terrain, rows)[0]).longer(model, found.step, radius)
        longer = Stepped(state.but(bend=step.bend), step)
        if not (longer.step.gain > found.step.gain and _is_sure(longer)):
            break
        found = longer
    return found


def hope(state: ModelledState, terrain: Terrain, model: Model, rows: Linearization) -> float:
    """What a step as long as the whole way so far might gain, by the model; looked at only where the next step gains little."""
    way = norm(model.centre - state.first_point)
    if state.gain > CONSTANTS.little * state.fallen or way <= state.radius:
        return state.gain
    return max(state.gain, stepped(state.but(edges=()), terrain, model, rows, way).step.gain)


def _is_sure(found: Stepped) -> bool:
    return deviation(found.state, found.step) < CONSTANTS.sure * found.step.gain


def deviation(state: ModelledState, step: Step) -> float:
    """The standard deviation of what a step is foretold to gain."""
    assert state.belief is not None
    own, reported = state.belief.foretold(step.point).deviation, state.reported
    if reported is None:
        return own
    return math.hypot(own, reported.deviation(step.point, step.multipliers[-len(reported.beliefs) :]))


def is_better(state: ModelledState, point: np.ndarray) -> bool:
    """Whether a point is better than the centre by all that is believed, higher orders included, which a step's models leave out."""
    assert state.belief is not None
    change, reported = state.belief.foretold(point).change, state.reported
    if reported is None:
        return change <= 0.0
    return change + reported.cost(reported.seen_from(point).values) <= reported.cost(reported.values)


def lowest(state: ModelledState) -> np.ndarray:
    """Where f was least by exact values; the centre where noise, outputs or forecasts leave that open."""
    belief = state.belief
    assert belief is not None
    unclear = not state.is_exact or state.reported is not None or belief.foreseen is not None
    return belief.centre if unclear or belief.extremes[0] >= belief.value_there else belief.points[belief.values.argmin()]


def covered(state: ModelledState) -> float:
    """How far from the centre noisy values tell which point is best."""
    return min(state.radius, longest_look(state))


def longest_look(state: ModelledState) -> float:
    """As far as a look goes with noise."""
    return min(state.best_radius, CONSTANTS.longest_look * state.radius)


def deviations(state: ModelledState, here: Here) -> float:
    """What errors stay below in 99 of 100 cases, in units of the one that is told; more where few repeats say how large noise is."""
    assert state.belief is not None
    return here.said.deviations * state.belief.repeats.student_factor


def error(state: ModelledState, here: Here) -> float:
    """The root mean square error of the gradient that is told, per typical unit; longer where forecasts were wrong.

    Values that are multiples of something have plateaus, which look like solutions however many values there are: nothing is known.
    """
    belief = state.belief
    assert belief is not None
    if belief.grain or (belief.is_plateau and not (belief.is_flat and state.reported is not None)):
        return math.inf
    return here.said.error * math.sqrt(max(state.surprise, 1.0)) / state.typical_unit
