"""The certificate: the point that the beliefs hold best, and what they say of it."""

import math

import numpy as np

from zolal._array import Array, like
from zolal.kkt import KKT, euclidean_residual
from zolal.solvers.auto import course
from zolal.solvers.auto.across import Across
from zolal.solvers.auto.plan import Here, multiplier_errors
from zolal.solvers.auto.reported import OutputRow, Reported
from zolal.solvers.auto.state import ModelledState
from zolal.solvers.auto.terrain import Terrain
from zolal.solvers.base import Candidate, Certified, Reports

SHORT = 1e-5  # of a unit: how far the points of the final check lie from the answer where there is no noise
TIGHTENINGS = 4  # of the outputs' targets, which have room for errors at the centre, to those at the answer


def answer(state: ModelledState, terrain: Terrain) -> np.ndarray:
    """The centre; with noise the model's minimiser, as far from it as looks have gone, unless f may have no value there, or what that gains
    is more than noise, so that a value could judge it.

    The start where no value has told it from any other point.
    """
    belief = state.belief
    assert belief is not None
    if (state.is_hidden and state.reported is None) or (belief.is_flat and not state.fallen > 0.0):
        return state.first_point
    if state.is_exact or state.has_missed:
        return course.lowest(state)
    for _ in range(TIGHTENINGS):
        here = course.here(state, terrain, state.gradient_size * state.typical_unit)
        step = course.stepped(state, terrain, course.model(state, here), here.rows, course.covered(state)).step
        is_small = 0.0 < step.gain <= (state.noise if state.reported is None else math.inf)  # a value would tell whether a larger one is so
        found = step.point if is_small and course.is_better(state, step.point) else belief.centre
        if state.reported is None or (tighter := state.reported.tightened(found)) is None:
            break
        state = state.but(reported=tighter)
    return found


def across_equalities(state: ModelledState, terrain: Terrain, centre: np.ndarray, count: int) -> Across:
    """Pairs of points across the equalities, as far apart as rounding or noise asks for."""
    assert state.belief is not None
    reach = SHORT * max(1.0, float(np.max(np.abs(centre))))
    if not state.belief.is_exact:
        reach = max(reach, course.longest_look(state))
    return Across.of(terrain, centre, count, reach)


def certified(state: ModelledState, terrain: Terrain, values: np.ndarray | None) -> Certified:
    """The answer with what the beliefs say of it. values: of the final check, across the equalities."""
    belief, form, reported = state.belief, state.form, state.reported
    if belief is None:
        return Certified(Candidate(state.z, state.multipliers, None), math.nan, math.nan, KKT.unknown(state.feasibility))
    found, across, others = answer(state, terrain), None, list[Across]()
    if values is not None:
        pairs, columns = across_equalities(state, terrain, found, len(values) // 2), values.reshape(len(values), -1).T
        across, others = pairs.seen(columns[0], belief.noise), [pairs.seen(column, 0.0) for column in columns[1:]]
    knows_rows, wary = found is belief.centre and state.measured is found and reported is None, belief.wary
    if found is not belief.centre:
        belief, wary = belief.seen_from(found, belief.length), wary.seen_from(found, belief.length)
        reported = None if reported is None else reported.seen_from(found)
    terrain = terrain if reported is None else terrain.with_outputs(_completed(reported.rows(), others))
    rows = state.rows if knows_rows and state.rows is not None else terrain.rows(found)
    here = Here.at(terrain, rows, wary, state.radius, surprise=state.surprise, across=across, reported=reported)
    x, prices = terrain.outward(found), here.said.multipliers
    z, multipliers = form.start(x), like(prices[: len(state.multipliers)], state.multipliers)
    gradient = like(here.said.gradient / state.units, x)
    pulled = form.gradient(z, gradient + _pull(prices, terrain.outputs, state.units, x), multipliers)
    residual = euclidean_residual(form.region, form.regularizer, z, pulled, form.value(z))
    error = course.error(state, here) if state.is_repeated else math.inf  # values may have any noise
    feasibility = max(form.equalities.violation(x), 0.0 if reported is None else reported.violation())
    kkt = KKT(here.said.stationarity / state.typical_unit, feasibility, residual, 2.0, True, error)
    doubt = wary.measured[1]
    if reported is not None:
        doubt = doubt + reported.doubt(prices[-len(reported.beliefs) :], measured=True)
    errors = multiplier_errors(rows, prices, doubt, across, 0 if reported is None else len(reported.beliefs))
    evaluated = belief.value_at(found) if belief.is_exact and not belief.foreseen else None  # to which rounding of far values adds nothing
    value = (belief.value if evaluated is None else evaluated) + form.problem.regularizer.value(x)
    value_error = belief.value_error if state.is_repeated else math.nan
    reports = None if reported is None else _reports(reported, state.is_repeated, prices, errors)
    own = errors[: len(multipliers)]
    return Certified(Candidate(z, multipliers, gradient), value, value_error, kkt, own, course.deviations(state, here), reports)


def _completed(outputs: tuple[OutputRow, ...], across: list[Across]) -> tuple[OutputRow, ...]:
    """The outputs' models with slopes across the equalities, which no query has left before the final check."""
    if not across:
        return outputs
    return tuple(row._replace(gradient=seen.completed(row.gradient)) for row, seen in zip(outputs, across, strict=True))


def _pull(multipliers: np.ndarray, outputs: tuple[OutputRow, ...], units: np.ndarray, x: Array) -> Array | float:
    """What the outputs add to the gradient of the Lagrangian."""
    if not outputs:
        return 0.0
    slopes = np.array([row.gradient for row in outputs])
    return like(multipliers[-len(slopes) :] @ slopes / units, x)


def _reports(reported: Reported, is_repeated: bool, multipliers: np.ndarray, errors: np.ndarray) -> Reports:
    number = len(reported.beliefs)
    return Reports(reported.values, reported.errors(is_repeated), multipliers[-number:], errors[-number:])
