"""Several evaluations under way: where the next ones go, and what becomes of values that come in any order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from zolal import Problem
from zolal.solvers.auto import ahead
from zolal.solvers.auto.edges import Edge
from zolal.solvers.auto.judge import judged
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.state import UnderWay
from zolal.solvers.auto.step import OVERSHOT

SOLVER = Modelled(asynchronous=True)
D = 4


def f(x):
    return float((x - 1.0) @ (x - 1.0) + 0.1 * np.sum((x - 1.0) ** 4))


def begun(under_way=1):
    """After the first value, with so many under way."""
    state = SOLVER.init(Problem(f, D), np.zeros(D), seed=0)
    state = SOLVER.extended(state, 3)
    assert SOLVER.waiting(state) == 1  # by which the others are planned
    return SOLVER.extended(SOLVER.tell(state, np.array([f(np.zeros(D))])), under_way)


def points(state):
    batch = SOLVER.ask(state)
    return {number: batch.point(slot) for slot, number in zip(batch.slots, batch.numbers, strict=True)}


def told(state, number, value):
    """After the value of one query has come."""
    batch = SOLVER.ask(state)
    values = np.full(batch.width, np.nan)
    values[batch.slots[batch.numbers.index(number)]] = value
    return SOLVER.tell(state, values)


def test_a_forecast_forgets_no_edge():
    """The point without a value lies ahead; what is planned next is foretold to come near, and is no value."""
    state = begun(1)
    ((number, point),) = points(state).items()
    state = told(state, number, f(point)).but(edges=(Edge(point, point + 0.1),))
    believed = ahead._foreseen(state, UnderWay(0, 9, point + 0.01, None, state.belief.centre, state.radius), state.terrain, state.radius)
    assert believed.edges == state.edges
    assert not judged(state, point + 0.01, np.array([1.0])).edges


def test_with_one_at_a_time_looks_go_where_they_go_in_turn():
    """What is under way when the next is planned is nothing: the first looks are those of a run that waits."""
    state, waiting = begun(), Modelled()
    other = waiting.tell(waiting.init(Problem(f, D), np.zeros(D), seed=0), np.array([f(np.zeros(D))]))
    for _ in range(D):
        ((number, point),) = points(state).items()
        assert_array_equal(point, waiting.ask(other).point(0))
        state = SOLVER.extended(told(state, number, f(point)), 1)
        other = waiting.tell(other, np.array([f(point)]))


def test_looks_that_are_under_way_are_not_planned_again():
    found = np.array(list(points(begun(under_way=D)).values()))
    assert len(found) == D
    directions = found / np.linalg.norm(found, axis=1)[:, None]
    assert_allclose(directions @ directions.T, np.eye(D), atol=0.2)  # each goes where the others leave f unknown


def test_a_step_that_is_believed_in_is_gone_on_from():
    """With f known all around, the next plan begins where the step ends, and not once more at the centre."""
    state = begun()
    while state.flight.under_way[0].trial is None:
        ((number, point),) = points(state).items()
        state = SOLVER.extended(told(state, number, f(point)), 1)
    step = state.flight.under_way[0]
    state = SOLVER.extended(state, 1)
    following = state.flight.under_way[1]
    assert np.linalg.norm(following.point - step.point) <= OVERSHOT * state.radius
    assert following.radius <= state.radius


def test_slots_are_kept_until_a_value_is_told_and_taken_again_after():
    state = begun(under_way=3)
    before = {query.number: query.slot for query in state.flight.under_way}
    assert sorted(before.values()) == [0, 1, 2]
    gone = next(number for number, slot in before.items() if slot == 1)
    state = told(state, gone, f(points(state)[gone]))
    assert {query.number: query.slot for query in state.flight.under_way} == {n: s for n, s in before.items() if n != gone}
    state = SOLVER.extended(state, 2)
    assert [query.slot for query in state.flight.under_way[-2:]] == [1, 3]
    assert len({query.number for query in state.flight.under_way}) == 4


@pytest.mark.parametrize("seed", range(3))
def test_values_in_any_order_lead_to_the_solution(seed):
    rng, state = np.random.default_rng(seed), begun(under_way=5)
    for _ in range(80):
        waiting = points(state)
        if not waiting:
            break
        number = sorted(waiting)[rng.integers(len(waiting))]
        state = SOLVER.extended(told(state, number, f(waiting[number])), 1)
        assert SOLVER.waiting(state) == 5 or np.max(np.abs(state.x - 1.0)) < 1e-12  # at the solution there is nothing left to ask for
    assert_allclose(state.x, 1.0, atol=1e-3)


def test_noise_that_a_value_shows_is_asked_for_again():
    """The second value at a point differs from the first: a few more of them are owed."""
    rng, state, seen = np.random.default_rng(0), begun(), 0
    for _ in range(60):
        for number, point in points(state).items():
            state = told(state, number, f(point) + 0.3 * rng.standard_normal())
        if not state.is_exact:
            seen = len(state.flight.owed)
            break
        state = SOLVER.extended(state, 1)
    assert seen >= 1
    state = SOLVER.extended(state, seen)
    assert all(query.is_repeat for query in state.flight.under_way)


def test_a_failure_of_what_was_planned_with_a_larger_radius_makes_the_radius_no_smaller():
    state = begun(under_way=4)
    numbers = list(points(state))
    once = told(told(state, numbers[0], np.inf), numbers[1], np.inf)
    assert once.radius < state.radius  # one may fail by chance, two say something
    again = told(told(once, numbers[2], np.inf), numbers[3], np.inf)
    assert again.radius == once.radius


def test_several_values_that_come_together_are_heard_in_the_order_of_their_slots():
    state = begun(under_way=3)
    batch = SOLVER.ask(state)
    values = np.array([f(batch.point(slot)) for slot in range(3)])
    together = SOLVER.tell(state, values)
    apart = state
    for slot in range(3):
        apart = told(apart, batch.number(slot), values[slot])
    assert_array_equal(together.belief.values, apart.belief.values)
    assert together.k == state.k + 1  # a step is what is told at once


def test_values_of_looks_leave_the_radius_as_it_is_however_sure_steps_are():
    """A step that a plan would lengthen is not made as long as others are under way, and changes nothing before it is."""
    state, radii = begun(under_way=4), []
    for _ in range(40):
        query = state.flight.under_way[0]
        value = 3.0 + float(query.point[0] - 2.0 * query.point[1])  # straight: a belief is soon sure
        after = told(state, query.number, value)
        if query.trial is None and np.array_equal(after.belief.centre, state.belief.centre):
            radii.append(after.radius / state.radius)
        state = SOLVER.extended(after, 4 - SOLVER.waiting(after))
    assert radii
    assert max(radii) <= 1.0
