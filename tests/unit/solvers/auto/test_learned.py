"""Units that the values teach: that they are found, that points keep their bits, and what is left alone."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import zolal
from zolal import Problem
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.edges import Edge
from zolal.solvers.auto.learned import _alike, relearned
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.sizes import largest_gradient

D = 4
TRUE = np.array([1.0, 100.0, 0.1, 10.0])  # the units in which f is a sum of squares of one size, and a little more


def f(x):
    y = x / TRUE - 1.0
    return float(y @ y + 0.1 * np.sum(y) ** 2)


def state_after(number, seed=0, units=None, fun=f, **changes):
    """In some units, after looks about 0."""
    rng = np.random.default_rng(seed)
    unit = np.ones(D) if units is None else units
    belief = Quadratic.start(np.zeros(D), fun(np.zeros(D)), 0.2)
    for point in 0.1 * rng.standard_normal((number, D)):
        belief = belief.told(point, np.array([fun(unit * point)])).fitted()
    state = Modelled(x_scale=unit).init(Problem(fun, D), np.zeros(D), 0)
    return replace(state, belief=belief, first_value=fun(np.zeros(D)), k=number, **changes)


@pytest.mark.parametrize("seed", range(5))
def test_units_in_which_f_is_curved_alike_are_found(seed):
    state = relearned(state_after(20, seed))
    found = state.units / TRUE
    assert found.max() / found.min() <= 8.0  # where it was a thousand
    assert state.typical_unit == pytest.approx(np.exp(np.mean(np.log(state.units))))


def test_points_keep_their_bits_and_the_model_is_the_same_function():
    before = state_after(20, edges=(Edge(np.full(D, 0.3), np.zeros(D)),))
    after = relearned(before)
    assert (after.units != before.units).any()
    assert_array_equal(after.belief.points * after.units, before.belief.points * before.units)
    assert_array_equal(after.belief.centre * after.units, before.belief.centre * before.units)
    assert_array_equal(after.first_point * after.units, before.first_point * before.units)
    for found, edge in zip(after.edges, before.edges, strict=True):
        assert_array_equal(found.point * after.units, edge.point * before.units)
        assert_array_equal(found.centre * after.units, edge.centre * before.units)
    assert after.terrain.units is after.units
    assert_allclose(after.belief.gradient / after.units, -2.0 / TRUE * 1.4, rtol=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_units_that_fit_stay(seed):
    state = state_after(20, seed, units=TRUE)
    assert_array_equal(relearned(state).units, TRUE)


def test_curvature_that_no_variable_has_alone_is_no_matter_of_units():
    axes = np.linalg.qr(np.random.default_rng(1).standard_normal((D, D)))[0]
    hessian = (axes * np.array([1.0, 10.0, 100.0, 1000.0])) @ axes.T
    state = state_after(20, fun=lambda x: float(x @ hessian @ x - np.sum(x)))
    assert np.ptp(np.log2(relearned(state).units)) < 4.0  # eigenvalues ask for 5


def test_it_waits_for_enough_values():
    state = state_after(20, next_units=21)
    assert relearned(state) is state


def test_the_curvature_of_constraints_is_the_same_form_in_other_units():
    bend = np.arange(16.0).reshape(4, 4) + np.arange(16.0).reshape(4, 4).T
    before = state_after(20, bend=bend)
    after = relearned(before)
    x = np.array([0.3, -2.0, 0.01, 1.0])
    assert (x / after.units) @ after.bend @ (x / after.units) == pytest.approx((x / before.units) @ bend @ (x / before.units))


def test_a_variable_that_does_not_matter_or_is_fixed_gets_no_unit_of_its_own():
    """It would ask for a longer and longer one."""
    state = relearned(state_after(24, fun=lambda x: float((x[0] - 1.0) ** 2 + 1e4 * (x[1] - 0.01) ** 2)))
    assert_array_equal(state.units[2:], state.units[0])
    fixed = state_after(24, fun=lambda x: float((x[0] - 1.0) ** 2 + 1e4 * (x[1] - 0.01) ** 2 + x[2] ** 2))
    points = fixed.belief.points.copy()
    points[:, 3] = 0.0
    fixed = relearned(replace(fixed, belief=fixed.belief.but(points=points)))
    assert fixed.units[1] < fixed.units[0] / 8.0
    assert fixed.units[3] in fixed.units[:3]


def test_one_asks_again_once_half_as_many_batches_have_come():
    assert relearned(state_after(20, units=TRUE)).next_units == 30


def test_near_an_edge_one_asks_again_sooner():
    edges = (Edge(np.ones(D), np.zeros(D)),)
    assert relearned(state_after(80, units=TRUE, edges=edges)).next_units == 80 + 2 * (D + 1)


def test_curvatures_of_nothing_ask_for_no_units():
    assert_array_equal(_alike(np.zeros(3)), np.zeros(3))
    assert_array_equal(_alike(np.array([4.0, -4.0, 4.0**9])), [3.0, 3.0, -5.0])


def test_given_units_stay():
    seen = []
    zolal.minimize(f, np.zeros(D), x_scale=1.0, maxfev=60, rng=0, callback=lambda state: seen.append(state.units))
    assert all((units == 1.0).all() for units in seen)


def test_slopes_where_f_is_huge_do_not_loosen_what_is_small():
    """f has fallen along a slope of 2, and far looks have seen slopes of 10^12."""
    state = state_after(20, gradient_size=1e12, steepest=2.0)
    fallen = replace(state, first_value=state.belief.value + 1.0)
    assert largest_gradient(fallen) == pytest.approx(CONSTANTS.unconfirmed * 2.0)
    assert largest_gradient(state) == 1e12  # at a start that is the best point they are all there is


def test_a_covariance_that_rounding_has_spoilt_is_no_error():
    """Seen with a noisy sphere of ten variables, where everything is known."""
    belief = state_after(20).belief.repeated(np.zeros(D), np.array([1.0, 1.1, 1.2]))
    belief.__dict__["covariance"] = -1e-3 * np.eye(D)
    belief.__dict__["gradient"] = np.ones(D)
    assert largest_gradient(replace(state_after(20), belief=belief)) > 0.0
