"""How long a step is that the belief is sure of, and where the centre goes that no value could judge."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from regression import SCALES, belief_of

from zolal import Problem, minimize
from zolal.solvers.auto import again, course
from zolal.solvers.auto.certificate import answer
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.edges import Edge
from zolal.solvers.auto.judge import judged
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.state import Trial

RADIUS = 0.1


def state_of(f, n, noise=0.0, spread=RADIUS, **changes):
    """At 0, after n values of f around it, with a noise that is known."""
    rng = np.random.default_rng(n)
    points = np.vstack([np.zeros(2), spread * rng.standard_normal((n - 1, 2))])
    values = np.array([f(point) for point in points]) + noise * rng.standard_normal(n)
    repeats = Repeats(20.0 * noise**2, 20) if noise else Repeats()
    scales = SCALES if noise else SCALES._replace(noise=1e-12)
    belief = replace(belief_of(points, values, scales=scales, repeats=repeats, length=spread), unsearched=n).fitted()
    state = Modelled().init(Problem(lambda x: 0.0, 2), np.zeros(2), 0)
    return replace(state, belief=belief, radius=spread, last_length=spread, first_value=values[0], is_repeated=True, **changes)


def length_of_step(state):
    terrain = state.terrain
    state = Modelled()._arrived(state, terrain, state.belief.centre)
    here = course.here(state, terrain)
    after, step = course.sure_step(state, terrain, course.model(state, here), here.rows)
    assert after.radius == state.radius  # it is longer only once that step is accepted
    return np.linalg.norm(step.point)


def straight(x):
    return 3.0 + x[0] - 2.0 * x[1]


def test_a_step_along_a_straight_f_is_as_many_times_longer_than_the_radius_as_it_may_grow():
    assert length_of_step(state_of(straight, 8)) == pytest.approx(CONSTANTS.most_growth * RADIUS, rel=0.06)


@pytest.mark.parametrize("changes", [dict(is_warned=True), dict(noise=1e-4)])
def test_after_a_failure_and_with_noise_a_step_keeps_to_the_radius(changes):
    assert length_of_step(state_of(straight, 8, **changes)) <= 1.06 * RADIUS


def test_a_step_that_the_belief_is_not_sure_of_keeps_to_the_radius():
    assert length_of_step(state_of(straight, 2)) <= 1.06 * RADIUS  # two values leave all but one slope open


def test_forecasts_make_no_step_longer_than_the_radius():
    state = state_of(straight, 8)
    assert length_of_step(replace(state, belief=state.belief.foreseeing())) <= 1.06 * RADIUS


@pytest.mark.parametrize(("gained", "radius"), [(0.1, 8.0), (-0.1, 1.0)])
def test_a_longer_step_that_is_accepted_is_the_new_radius_and_one_that_fails_leaves_the_old_one(gained, radius):
    state = state_of(straight, 8, trial=Trial(0.2, 0.001, 8.0 * RADIUS))
    after = judged(state, np.array([0.0, 8.0 * RADIUS]), np.array([state.belief.value - gained]))
    assert after.radius == pytest.approx(radius * RADIUS, rel=0.06)


@pytest.mark.parametrize(("value", "warned"), [(3.1, True), (np.nan, True), (2.9, False)])
def test_a_failure_or_a_missing_value_warns_until_a_step_is_accepted(value, warned):
    state = state_of(straight, 8, trial=Trial(0.1, 0.001, RADIUS), is_warned=not warned)
    assert judged(state, np.array([0.0, RADIUS]), np.array([value])).is_warned == warned


def bowl(x):
    return float(np.sum((x - 0.02) ** 2))


def planned(state):
    return Modelled().planned(replace(state, gradient_size=20.0), state.terrain)


def test_where_noise_hides_what_a_step_gains_the_centre_moves_without_a_value_and_the_next_one_is_a_look():
    state = state_of(bowl, 60, noise=3e-3, spread=0.2)
    after = planned(state)
    assert after.trial is None
    assert bowl(after.belief.centre) < 0.3 * bowl(state.belief.centre)
    assert len(after.belief.values) <= len(state.belief.values)
    assert after.measured is after.belief.centre


@pytest.mark.parametrize(("noise", "moved"), [(3e-3, True), (1e-4, False)])
def test_the_answer_leaves_the_centre_only_where_no_value_could_judge_that(noise, moved):
    """At the centre the bowl is 0.0008 above its bottom."""
    state = state_of(bowl, 60, noise=noise, spread=0.2)
    state = Modelled()._arrived(state, state.terrain, state.belief.centre)
    found = answer(state, state.terrain)
    assert (bowl(found) < 0.0004) == moved
    assert moved or found is state.belief.centre


def test_what_a_long_step_might_gain_is_asked_without_the_edges_of_a_domain():
    """Else one accident would make what is left to gain look small."""
    state = state_of(straight, 8, first_point=np.ones(2), gain=0.0).but(first_value=10.0)
    state = Modelled()._arrived(state, state.terrain, state.belief.centre)
    here = course.here(state, state.terrain)
    model = course.model(state, here)
    ahead = -0.1 * RADIUS * model.gradient / np.linalg.norm(model.gradient)
    fenced = state.but(edges=(Edge(ahead, np.zeros(2)),))
    gains = [course.hope(each, state.terrain, model, here.rows) for each in (state, fenced)]
    assert gains[0] == gains[1] > 0.0
    steps = [course.stepped(each, state.terrain, model, here.rows, RADIUS).step.gain for each in (state, fenced)]
    assert steps[1] < 0.5 * steps[0]


@pytest.mark.parametrize("changes", [dict(noise=0.0), dict(noise=1e-5), dict(has_missed=True)])
def test_exact_values_little_noise_and_a_domain_ask_for_a_value_before_the_centre_moves(changes):
    state = state_of(bowl, 60, **dict(noise=3e-3, spread=0.2) | changes)
    assert_array_equal(planned(state).belief.centre, state.belief.centre)


@pytest.mark.parametrize(("repeats", "doubled"), [(4, True), (5, False)])
def test_looks_are_doubled_until_repeats_are_half_the_root_of_the_values(repeats, doubled):
    state = state_of(bowl, 100, noise=1e-3)
    belief = replace(state.belief, repeats=Repeats(1e-6 * repeats, repeats))
    assert again.doubles(replace(state, belief=belief)) == doubled


def test_noise_is_asked_for_only_once_nothing_is_left_to_gain():
    seen = []

    def f(x):
        seen.append(x.copy())
        return straight(x)

    found = minimize(f, np.full(2, 0.5), bounds=[(0.0, 1.0)] * 2, rng=0)
    first_again = next(i for i, x in enumerate(seen) if any(np.array_equal(x, other) for other in seen[:i]))
    assert found.success
    assert min(straight(x) for x in seen[:first_again]) == pytest.approx(1.0)
