"""What becomes of the centre, the radius and the belief after a value."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import t as student

import zolal
from zolal import Problem, Status
from zolal.constraints import Outputs, Simulated
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.judge import judged, repeated
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.reported import Reported
from zolal.solvers.auto.state import Trial

STEP = np.array([0.3, 0.0])


def state_with(trial, noise=0.0, radius=0.3):
    """At 0, above which f(x) = 1 + x_0 + x.x has been measured around."""
    problem = Problem(lambda x: 0.0, 2)
    rng = np.random.default_rng(0)

    def f(x):
        return 1.0 + x[0] + float(x @ x) + noise * rng.standard_normal()

    belief = Quadratic.start(np.zeros(2), f(np.zeros(2)), radius)
    if noise:
        belief = belief.repeated(np.zeros(2), np.array([f(np.zeros(2)) for _ in range(3)]))
    for point in 0.3 * rng.standard_normal((14, 2)):
        point[0] = abs(point[0])
        belief = belief.told(point, np.array([f(point)])).fitted()
    return replace(Modelled().init(problem, np.zeros(2), 0), belief=belief, trial=trial, radius=radius, asked=STEP)


def one(value):
    return np.array([value])


@pytest.mark.parametrize(("missed", "growth"), [(0.1, 2.0), (0.03, math.sqrt(10.0)), (1e-4, 8.0)])
def test_a_step_that_gains_as_foretold_is_taken_and_the_radius_grows_until_a_third_power_would_miss_as_much_as_is_good(missed, growth):
    state = state_with(Trial(0.2, 0.01, 0.3))
    after = judged(state, STEP, one(state.belief.value - 0.2 * (1.0 - missed)))
    assert_array_equal(after.belief.centre, STEP)
    assert after.radius == pytest.approx(growth * 0.3, rel=1e-3)


def after_looks(number):
    """At 0 after some looks, each lower than the one before."""
    state = replace(Modelled().init(Problem(lambda x: 0.0, 2), np.zeros(2), 0), belief=Quadratic.start(np.zeros(2), 1.0, 0.3), radius=0.3)
    for i in range(1, number + 1):
        state = judged(state, np.array([-0.01 * i, 0.02 * (i % 3)]), one(1.0 - 0.01 * i))
    return state


def test_while_exact_values_are_few_the_lowest_is_no_centre():
    """As the centre, it would look like the bottom of a bowl, which f need not have."""
    most = CONSTANTS.few * 3
    assert_array_equal(after_looks(most - 1).belief.centre, np.zeros(2))
    assert after_looks(most).belief.centre[0] == -0.01 * most


def test_few_values_of_a_straight_function_say_that_it_is_straight():
    """The example of docs/algorithm.md: seen from the lowest of them, the slope was 0.07, give or take 0.25."""
    points, length = np.array([[0.8, 0.5], [0.8109, 0.5202], [0.8405, 0.4783]]), 0.0919
    belief = Quadratic.start(points[0], points[0, 1], length)
    state = replace(Modelled().init(Problem(lambda x: 0.0, 2), points[0], 0), belief=belief, radius=length)
    for point in points[1:]:
        state = judged(state, point, one(point[1]))
    assert np.abs(state.belief.gradient - [0.0, 1.0]).max() < 0.1


@pytest.mark.parametrize("value", [0.98, 1.5])
def test_after_a_step_the_centre_is_the_lowest_point_that_is_known(value):
    state = after_looks(4)
    after = judged(replace(state, trial=Trial(0.2, 0.01, 0.3)), STEP, one(value))
    assert_array_equal(after.belief.centre, [-0.04, 0.02])
    lower = judged(replace(state, trial=Trial(0.2, 0.01, 0.3)), STEP, one(0.9))
    assert_array_equal(lower.belief.centre, STEP)


@pytest.mark.parametrize("budget", range(1, 12))
def test_the_answer_is_the_lowest_point_that_was_evaluated(budget):
    values = []

    def f(x):
        values.append(float(x[0] - 0.3 * x[1] + x @ x))
        return values[-1]

    found = zolal.minimize(f, np.zeros(3), maxfev=budget, rng=0)
    assert found.fun == pytest.approx(min(values), abs=1e-9)
    assert found.status is not Status.NO_IMPROVEMENT or min(values) == values[0]
    assert f(found.x) == min(values)


def test_noise_as_large_as_the_gain_says_nothing_of_how_good_the_forecast_was():
    state = state_with(Trial(0.1, 0.01, 0.3), noise=0.1)
    assert judged(state, STEP, one(state.belief.value - 0.1)).radius <= 2.0 * 0.3 + 1e-12


def test_a_value_that_comes_again_says_that_there_is_no_noise():
    state = replace(state_with(None), repeats=1)
    after = repeated(state, state.belief.centre, one(state.belief.value_there))
    assert after.is_repeated
    assert after.repeats == 0
    assert after.belief is state.belief


def test_another_value_at_the_same_point_is_noise_and_two_more_are_asked_for():
    state = replace(state_with(None), repeats=1)
    after = repeated(state, state.belief.centre, one(state.belief.value_there + 0.1))
    assert after.is_repeated
    assert after.repeats == 2
    assert not after.belief.is_exact
    more = repeated(after, after.belief.centre, after.belief.value + np.array([0.1, -0.1]))
    assert more.repeats == 0
    assert more.belief.repeats.number == 3


@pytest.mark.parametrize("value", [np.nan, 1e300])
def test_a_value_that_does_not_come_again_changes_no_belief(value):
    state = replace(state_with(None), repeats=1)
    after = repeated(state, state.belief.centre, one(value))
    assert after.belief is state.belief
    assert (after.repeats, after.unanswered, after.is_repeated) == (0, 1, False)
    noisy = repeated(state, state.belief.centre, one(state.belief.value_there + 0.1))
    assert repeated(noisy, noisy.belief.centre, np.array([value, value])).belief is noisy.belief


def test_a_short_step_that_gains_as_foretold_leaves_the_radius():
    after = judged(state_with(Trial(0.2, 0.01, 0.1)), STEP / 3, one(0.8))
    assert_array_equal(after.belief.centre, STEP / 3)
    assert after.radius == pytest.approx(0.3)


def test_a_step_that_gains_a_fifth_is_taken_with_the_same_radius():
    after = judged(state_with(Trial(0.2, 0.01, 0.3)), STEP, one(0.96))
    assert_array_equal(after.belief.centre, STEP)
    assert after.radius == pytest.approx(0.3)


def test_a_sure_step_that_gains_nothing_is_refused_and_the_radius_shrinks():
    state = state_with(Trial(0.2, 0.01, 0.3))
    after = judged(state, STEP, one(1.1))
    assert_array_equal(after.belief.centre, np.zeros(2))
    assert after.radius == pytest.approx(0.15)
    assert len(after.belief.values) == len(state.belief.values) + 1


def test_an_unsure_step_may_fail_once_without_blame_on_the_radius():
    first = judged(state_with(Trial(0.2, 0.5, 0.3)), STEP, one(1.1))
    assert first.radius == pytest.approx(0.3)
    assert first.failures == 1
    second = judged(replace(first, trial=Trial(0.2, 0.5, 0.3)), -STEP, one(1.1))
    assert second.radius == pytest.approx(0.15)
    assert second.failures == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, 1e9])
def test_what_is_no_value_or_absurd_is_a_refused_step_and_no_part_of_the_belief(value):
    state = state_with(Trial(0.2, 0.01, 0.3))
    after = judged(state, STEP, one(value))
    assert after.belief is state.belief
    assert after.radius == state.radius  # there may be a way along the edge
    assert [edge.point.tolist() for edge in after.edges] == [STEP.tolist()]
    again = judged(after, STEP, one(value))
    assert again.radius == pytest.approx(0.3 / 4)


def test_with_outputs_the_first_failed_step_shortens_the_radius():
    """Nothing holds the next one back there, which would go to the same point."""
    outputs = Outputs.of([Simulated(upper=1.0)])
    state = state_with(Trial(0.2, 0.01, 0.3))
    state = replace(state, reported=Reported.start(outputs, np.zeros(2), np.zeros(1), 0.3, 0.95))
    after = judged(state, STEP, np.array([[np.nan, 0.0]]))
    assert (after.radius, after.edges) == (pytest.approx(0.3 / 4), ())


def test_a_second_failure_at_the_centre_leaves_a_radius():
    state = replace(state_with(None), missing=1)
    assert judged(state, np.zeros(2), one(np.nan)).radius == pytest.approx(0.3 / 4)


def test_an_edge_is_forgotten_once_a_value_comes_near():
    state = judged(state_with(Trial(0.2, 0.01, 0.3)), STEP, one(np.nan))
    assert judged(state, 0.7 * STEP, one(state.belief.value)).edges
    assert not judged(state, 0.8 * STEP, one(state.belief.value)).edges


@pytest.mark.parametrize("value", [np.nan, 1e300])
def test_one_look_may_fail_by_chance_and_two_shorten_the_radius(value):
    first = judged(state_with(None), STEP, one(value))
    assert first.radius == pytest.approx(0.3)
    second = judged(first, STEP, one(value))
    assert second.radius < 0.1
    healed = judged(first, STEP, one(1.4))
    assert healed.missing == 0


def test_of_several_values_those_that_are_there_count():
    state = state_with(None, noise=0.05)
    after = judged(state, STEP, np.array([1.35, np.nan]))
    assert after.belief.values[-1] == pytest.approx(1.35)
    assert after.belief.repeats == state.belief.repeats


def test_a_look_that_finds_something_better_becomes_the_centre():
    after = judged(state_with(None), -STEP, one(0.5))
    assert_array_equal(after.belief.centre, -STEP)
    assert_array_equal(judged(state_with(None), STEP, one(1.4)).belief.centre, np.zeros(2))


def test_noise_relaxes_the_judge():
    """A loss within the noise does not stop a step whose gain is smaller than the noise."""
    state = state_with(Trial(0.01, 0.01, 0.3), noise=0.1)
    assert_array_equal(judged(state, STEP, one(state.belief.value + 0.05)).belief.centre, STEP)
    assert_array_equal(judged(state, STEP, one(state.belief.value + 0.6)).belief.centre, np.zeros(2))


def test_what_a_belief_misses_is_not_noise_where_repeats_say_otherwise():
    """The belief's noise is several times what three repeats say, and a step is refused that leads up by more than those allow."""
    state = state_with(Trial(0.01, 0.01, 0.3), noise=0.1)
    sure = replace(state, belief=state.belief.but(repeats=Repeats(3 * 0.001**2, 3)))
    shown = 0.001 * Repeats(1.0, 3).student_factor
    assert sure.belief.noise == pytest.approx(CONSTANTS.outvoted * shown)  # it would be 0.02 and more
    assert sure.noise == pytest.approx(shown)
    assert_array_equal(judged(sure, STEP, one(sure.belief.value + sure.belief.noise)).belief.centre, np.zeros(2))


def test_a_look_under_noise_has_to_be_clearly_better():
    state = state_with(None, noise=0.1)
    assert_array_equal(judged(state, STEP, one(state.belief.value - 0.1)).belief.centre, np.zeros(2))
    assert_array_equal(judged(state, STEP, one(state.belief.value - 1.0)).belief.centre, STEP)


def test_wrong_forecasts_are_remembered_for_a_while():
    state = state_with(None)
    wrong = judged(state, STEP, one(5.0))
    assert wrong.surprise > 2.0
    right = judged(wrong, -STEP, one(wrong.belief.value + wrong.belief.foretold(-STEP).change))
    assert right.surprise < wrong.surprise


@pytest.mark.parametrize(("noise", "kept"), [(0.0, CONSTANTS.surprise_memory), (0.1, CONSTANTS.noisy_surprise_memory)])
def test_surprises_are_remembered_longer_under_noise(noise, kept):
    state = replace(state_with(None, noise=noise), surprise=7.0)
    foretold = state.belief.value + state.belief.foretold(STEP).change
    assert judged(state, STEP, one(foretold)).surprise == pytest.approx(7.0 * kept)
    own = state.belief.noise if noise else state.belief.rounding
    missed = 2.0 * np.hypot(state.belief.foretold(STEP).value_deviation, own)
    known = len(state.belief.values) - 1 + state.belief.repeats.number
    square = -2.0 * (student.logpdf(2.0, known) - student.logpdf(0.0, known))  # as a normal number is as unlikely, x^2
    assert judged(state, STEP, one(foretold + missed)).surprise == pytest.approx(7.0 * kept + square * (1.0 - kept), rel=1e-6)
    assert CONSTANTS.surprise_memory < CONSTANTS.noisy_surprise_memory < 1.0


@pytest.mark.parametrize(("first", "kept"), [(1e20, 3), (5.0, 4)])
def test_a_first_value_that_is_absurd_beside_the_next_three_is_forgotten(first, kept):
    problem = Problem(lambda x: 0.0, 2)
    state = Modelled().init(problem, np.zeros(2), 0)
    belief = Quadratic.start(np.zeros(2), first, 0.3)
    state = replace(state, belief=belief, first_value=first, radius=0.3, gradient_size=1e20)
    for point, value in zip(0.1 * np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), (1.0, 1.5, 1.7), strict=True):
        state = judged(replace(state, trial=None), point, one(value))
    assert len(state.belief.values) == kept
    assert (state.first_value == first) == (kept == 4)
    assert (state.gradient_size == 0.0) == (kept == 3)


def test_a_move_along_which_f_has_fallen_confirms_a_slope():
    state = state_with(Trial(0.2, 0.01, 0.3))
    after = judged(state, STEP, one(state.belief.value - 0.2))
    assert after.steepest == pytest.approx(0.2 / np.linalg.norm(STEP))
    assert judged(state, STEP, one(state.belief.value + 1.0)).steepest == 0.0


@pytest.mark.parametrize("share", [0.5, 1.5, 3.0])
def test_where_noise_hides_f_the_radius_grows_no_farther_than_looks_come(share):
    """Where constraints let nothing go farther, a radius that doubles again and again would leave no look that can be restored."""
    state = state_with(None, noise=10.0, radius=0.05)  # so short that noise is all that is seen
    farthest = float(np.linalg.norm(state.belief.points, axis=1).max())
    assert CONSTANTS.look_radius * state.best_radius > CONSTANTS.growth * farthest
    after = judged(state.but(radius=share * farthest), np.array([0.0, 0.1]), one(state.belief.value))
    assert after.radius == pytest.approx(max(share, min(2.0 * share, 2.0)) * farthest)
