"""Several evaluations under way at once: what to evaluate next while values are still to come, and what becomes of those that come.

What is under way is believed to come as foretold. A forecast changes no mean and only lessens the doubt, so looks go elsewhere; a step that
is foretold to succeed moves the centre, and the next one begins where it ends. The radius does not grow on belief alone, and scales stay
as values have made them. A value is judged when it comes; where the centre has moved since, a step is judged by what is foretold of it now.
"""

import itertools
import math
from dataclasses import replace
from typing import Protocol

import numpy as np

from zolal.solvers.auto import again
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.judge import judged, repeated
from zolal.solvers.auto.state import Flight, ModelledState, Trial, UnderWay
from zolal.solvers.auto.terrain import Terrain

PLANS = 1 << 40  # a number from which on plans are counted, so that none draws the random numbers of a step


class Planner(Protocol):
    """Whoever plans one evaluation at a time."""

    def planned(self, state: ModelledState, terrain: Terrain) -> ModelledState:
        """With the next evaluation."""


def extended(state: ModelledState, count: int, terrain: Terrain, planner: Planner) -> ModelledState:
    """With so many more evaluations under way; before the first value there is one, by which the others are planned."""
    flight = _flight(state)
    if state.belief is None:
        first = UnderWay(0, 0, state.asked, None, state.asked, state.radius)
        return state if flight.under_way or not count else _with(state, first)
    believed = state
    for query in flight.under_way:
        believed = _foreseen(believed, query, terrain, state.radius)
    for _ in range(count):
        flight = _flight(state)
        if flight.owed:
            query, flight = flight.owed[0], replace(flight, owed=flight.owed[1:])
            state = _with(state.but(flight=flight), query)
        else:
            if flight.under_way:
                believed = planner.planned(believed.but(k=PLANS + flight.plans, repeats=0, is_stuck=False), terrain)
                if believed.is_stuck:
                    break  # there is nothing to plan before another value comes
            query = _asked(believed, state)
            twins = (query,) if query.trial is None and not query.is_repeat and again.doubles(believed) else ()
            state = _with(state.but(flight=replace(flight, owed=twins, plans=flight.plans + 1)), query)
        believed = _foreseen(believed, query, terrain, state.radius)
    return state


def landed(state: ModelledState, query: UnderWay, values: np.ndarray, terrain: Terrain, planner: Planner) -> ModelledState:
    """After a value has come. values: one row."""
    belief, flight = state.belief, _flight(state)
    assert belief is not None
    u, radius = terrain.as_evaluated(query.point), state.radius
    if query.is_repeat and belief.value_at(u) is not None:
        state = repeated(state, u, values)
    else:
        state = judged(state.but(trial=_trial(state, query, u)), u, values)
    if query.radius > radius:  # a failure of what was planned with a larger radius says nothing of this one
        state = state.but(radius=max(state.radius, radius))
    flight = replace(flight, owed=flight.owed + state.repeats * (_again(state),))
    return planner.planned(state.but(repeats=0, flight=flight, is_stuck=False), terrain)


def told(state: ModelledState, slot: int) -> tuple[ModelledState, UnderWay]:
    """Without the evaluation that has a slot, and that evaluation."""
    flight = _flight(state)
    query = next(query for query in flight.under_way if query.slot == slot)
    left = tuple(other for other in flight.under_way if other is not query)
    return state.but(flight=replace(flight, under_way=left)), query


def _flight(state: ModelledState) -> Flight:
    assert state.flight is not None
    return state.flight


def _with(state: ModelledState, query: UnderWay) -> ModelledState:
    """With one more under way, in the first slot that is free."""
    flight = _flight(state)
    taken = {other.slot for other in flight.under_way}
    slot = next(slot for slot in itertools.count() if slot not in taken)
    query = query._replace(slot=slot, number=flight.asked)
    return state.but(flight=replace(flight, under_way=(*flight.under_way, query), asked=flight.asked + 1))


def _asked(planned: ModelledState, state: ModelledState) -> UnderWay:
    """What a plan asks for. Of noise it asks where f was evaluated, and not where it is believed to be."""
    assert planned.belief is not None
    return _again(state) if planned.repeats else UnderWay(0, 0, planned.asked, planned.trial, planned.belief.centre, planned.radius)


def _again(state: ModelledState) -> UnderWay:
    """The centre once more."""
    assert state.belief is not None
    return UnderWay(0, 0, state.belief.centre, None, state.belief.centre, state.radius, is_repeat=True)


def _foreseen(state: ModelledState, query: UnderWay, terrain: Terrain, radius: float) -> ModelledState:
    """As if the value had come, and was what is foretold. radius: the most that steps may have."""
    assert state.belief is not None
    if query.is_repeat and state.is_exact:
        return state.but(is_repeated=True)
    reported = None if state.reported is None else state.reported.foreseeing()
    belief = state.belief.foreseeing()
    state = state.but(belief=belief, reported=reported)
    u = terrain.as_evaluated(query.point)
    value = belief.value + belief.foretold(u).change
    outputs = np.empty(0) if reported is None else reported.foretold(u)
    seen = judged(state.but(trial=_trial(state, query, u)), u, np.append(value, outputs)[None, :])
    if seen.reported is not None:
        seen = seen.but(reported=replace(seen.reported, surprise=state.surprise))
    return seen.but(radius=min(seen.radius, radius), surprise=state.surprise, edges=state.edges)


def _trial(state: ModelledState, query: UnderWay, u: np.ndarray) -> Trial | None:
    """What was foretold of a step; from another centre what is foretold now, None where that is no gain."""
    belief, reported = state.belief, state.reported
    assert belief is not None
    if query.trial is None or np.array_equal(query.centre, belief.centre):
        return query.trial
    foretold = belief.foretold(u)
    gain, deviation = state.merit - (belief.value + foretold.change), foretold.deviation
    if reported is not None:
        gain -= reported.cost(reported.foretold(u))
        deviation = math.hypot(deviation, reported.deviation(u, reported.multipliers))
    return Trial(gain, deviation, norm(u - belief.centre)) if gain > 0.0 else None
