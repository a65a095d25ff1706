"""Whether f is rough: what tells it, when it is asked, and where values at one point are made again then."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from regression import SCALES, belief_of
from scipy.optimize import LinearConstraint, NonlinearConstraint

from zolal import Problem
from zolal.constraints import Outputs, Simulated
from zolal.sets import Box, WholeSpace
from zolal.solvers.auto import again
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.judge import repeated
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.reported import Reported
from zolal.solvers.auto.state import Flight, Trial

D, RADIUS, HAIR = 4, 1e-3, 1e-6
REPORTED = Reported.start(Outputs.of([Simulated(upper=1.0)]), np.zeros(D), np.zeros(1), RADIUS, 0.95)
STEP = Trial(gain=0.1, deviation=0.01, length=RADIUS)
PLANE = LinearConstraint(np.ones((1, D)), 2.0, 2.0)
SPHERE = NonlinearConstraint(lambda x: float(x @ x), 1.0, 1.0)
CORNER = LinearConstraint(np.eye(D) + 1.0, -np.inf, 2.5)
EVERYWHERE = WholeSpace()
POINT = np.full(D, 0.5)  # on both, and inside of the box


def state_of(region=EVERYWHERE, constraints=(), **changes):
    """At POINT, where f = 3, with ten more values around, after steps that failed."""
    rng = np.random.default_rng(0)
    points = np.vstack([POINT, POINT + RADIUS * rng.standard_normal((10, D))])
    values = 3.0 + np.concatenate([[0.0], rng.random(10)])
    belief = belief_of(points, values, scales=SCALES._replace(noise=1e-12), repeats=Repeats(), centre=POINT, length=RADIUS)
    state = Modelled(x_scale=np.ones(D)).init(Problem(lambda x: 0.0, D, region=region, constraints=constraints), POINT, 0)
    usual = dict(
        rows=state.terrain.rows(POINT),
        belief=belief,
        radius=RADIUS,
        asked=POINT,
        first_value=4.0,
        is_repeated=True,
        has_failed=True,
        is_warned=True,
    )
    return replace(state, **usual | changes)


def test_a_question_without_an_answer_is_put_off_until_a_success():
    asked = [state_of(is_repeated=False, unanswered=times) for times in range(5)]
    assert [again.may_ask(state) for state in asked] == [True, True, False, False, False]
    assert [again.may_ask(state, 2) for state in asked] == [True, True, True, True, False]
    assert not again.may_ask(state_of(is_repeated=True), 2)


def test_it_is_asked_once_steps_have_failed_far_below_the_last_good_one():
    assert again.may_be_rough(state_of(), STEP)


@pytest.mark.parametrize(
    "changes",
    [
        dict(radius=0.1),  # as long as the first steps
        dict(last_length=10.0 * RADIUS),
        dict(smooth_to=10.0 * RADIUS),  # seen to be smooth at nearly this length
        dict(is_warned=False),  # the last step was accepted
        dict(is_repeated=False),  # one point alone may tell
        dict(flight=Flight()),
        dict(reported=REPORTED),
        dict(first_value=3.0 + 1e6),  # beside which the gain is nothing
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_it_is_not_asked_where_the_radius_is_no_shorter_or_one_point_may_tell(changes):
    assert not again.may_be_rough(state_of(**changes), STEP)


def test_the_question_goes_to_a_thousandth_of_the_step():
    state = again.next_to_the_centre(state_of(), STEP)
    assert (state.hair, state.repeats, state.trial) == (CONSTANTS.hair * STEP.length, 1, None)
    assert_array_equal(state.asked, POINT)


@pytest.mark.parametrize(("change", "is_rough"), [(1e-3, False), (-1e-3, False), (0.02, True), (-0.02, True)])
def test_f_is_rough_where_it_changes_by_more_than_a_part_of_what_the_step_is_to_gain(change, is_rough):
    state = again.next_to_the_centre(state_of(gain=0.1), STEP)
    after = repeated(state, POINT, np.array([3.0 + change]))
    assert after.is_exact != is_rough
    assert after.hair == (state.hair if is_rough else 0.0)  # from then on repeats go a hair's breadth away
    assert (after.smooth_to == RADIUS) != is_rough
    assert after.repeats == (CONSTANTS.repeats - 2 if is_rough else 0)


def test_no_value_next_to_the_centre_leaves_the_question_until_the_radius_is_shorter():
    state = again.next_to_the_centre(state_of(gain=0.1), STEP)
    after = repeated(state, POINT, np.array([np.nan]))
    assert (after.is_exact, after.hair, after.smooth_to) == (True, 0.0, RADIUS)
    assert not again.may_be_rough(after, STEP)


def test_what_the_belief_foretells_of_the_hairs_breadth_is_none_of_the_noise():
    state = again.next_to_the_centre(state_of(gain=0.1), STEP)
    place = again.places(state, state.terrain, 1)[0]
    change = state.belief.foretold(place).change
    assert abs(change) > 0.0
    assert again.at_one_point(state, state.terrain, np.array([[3.0 + change, 7.0]])).tolist() == [[pytest.approx(3.0, abs=1e-12), 7.0]]
    plain = np.array([[3.0]])
    assert again.at_one_point(state_of(), state.terrain, plain) is plain


def test_at_one_point_any_other_value_is_noise():
    state = state_of(gain=0.1, is_repeated=False)
    assert repeated(state, POINT, np.array([3.0])).is_exact
    assert not repeated(state, POINT, np.array([np.nextafter(3.0, 4.0)])).is_exact


def test_without_roughness_repeats_go_to_the_point_itself():
    state = state_of()
    assert all(place is state.asked for place in again.places(state, state.terrain, 3))


@pytest.mark.parametrize("asked", [POINT, POINT + RADIUS], ids=["a point with a value", "a new point"])
def test_repeats_of_a_rough_f_lie_a_hairs_breadth_apart(asked):
    state = state_of(hair=HAIR, asked=asked)
    places = again.places(state, state.terrain, 3)
    ways = [np.linalg.norm(place - asked) for place in places]
    first = HAIR if asked is POINT else 0.0
    assert ways == pytest.approx([first, HAIR, HAIR], rel=1e-6)
    assert len({place.tobytes() for place in places}) == 3


@pytest.mark.parametrize(
    "given",
    [dict(region=Box(0.5, 1.0)), dict(constraints=PLANE), dict(constraints=SPHERE), dict(region=Box(0.0, 0.5), constraints=CORNER)],
    ids=["corner of a box", "plane", "sphere", "corner of rows"],
)
def test_repeats_of_a_rough_f_keep_bounds_and_rows(given):
    state = state_of(hair=HAIR, **given)
    for place in again.places(state, state.terrain, 8):
        assert 0.0 < np.linalg.norm(place - POINT) <= 1.01 * HAIR
        assert state.terrain.rows(place).violation <= 1e-10
        assert not state.terrain.has_bounds or (place >= state.terrain.lower).all()


def test_where_constraints_leave_one_point_repeats_go_there():
    state = state_of(hair=HAIR, region=Box(0.5, 0.5))
    assert_array_equal(again.places(state, state.terrain, 2), [POINT, POINT])
