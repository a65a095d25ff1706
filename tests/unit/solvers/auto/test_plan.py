"""What the belief says of its centre, and where it looks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

from zolal import Constraint, Problem
from zolal.problem import SlackForm
from zolal.sets import Box, WholeSpace
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.factor import Scales
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.plan import Here, Slope, by_chance, looked_at, multiplier_errors, seen_again
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.step import Model, Stepper
from zolal.solvers.auto.terrain import Terrain

D = 5
TOTAL = Constraint(lambda x: x.sum(), 1.0, 1.0, jac=lambda x: np.ones((1, D)))
SPHERE = Constraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)


def terrain_of(x, constraints=(), region=None):
    problem = Problem(lambda x: 0.0, len(x), constraints=list(constraints), region=WholeSpace() if region is None else region)
    return Terrain.of(SlackForm(problem, problem.equalities(x)), np.ones(len(x)), x)


def belief_at(x, gradient, noise=0.0, n=40, spread=0.3, seed=0, directions=None):
    """Of a linear f with this gradient, from values around x; directions: what is measured, everything unless given."""
    rng = np.random.default_rng(seed)
    offsets = rng.standard_normal((n, len(x))) if directions is None else rng.standard_normal((n, len(directions))) @ directions
    points = np.vstack([x, x + spread * offsets])
    values = points @ gradient + noise * rng.standard_normal(n + 1)
    repeats = Repeats(3 * noise**2, 3) if noise else Repeats()
    scales = Scales(1e-2, 1e-3, (noise / spread) ** 2 / (gradient @ gradient) * len(x) if noise else 0.0)
    return Quadratic(points, values, np.ones(n + 1), repeats, x, spread, scales, n + 1, least=max(scales.noise, 1e-20))


def both(here):
    return here.believed, here.measured


def test_a_free_centre_is_as_stationary_as_its_gradient_is_small():
    x, gradient = np.zeros(D), np.arange(1.0, D + 1)
    terrain, belief = terrain_of(x), belief_at(x, gradient)
    here = Here.at(terrain, terrain.rows(x), belief, 0.1)
    for slope, (mean, covariance) in zip(both(here), ((belief.gradient, belief.covariance), belief.measured), strict=True):
        assert slope.stationarity == pytest.approx(np.linalg.norm(mean), rel=1e-9)
        assert_array_equal(slope.gradient, mean)
        assert_array_equal(slope.covariance, covariance)
        assert slope.error == pytest.approx(np.sqrt(np.trace(covariance)))
    assert here.measured.stationarity == pytest.approx(np.linalg.norm(gradient), rel=1e-6)


def test_what_an_equality_holds_is_not_counted():
    x, gradient = np.full(D, 0.2), np.array([2.0, 1.0, 1.0, 1.0, 1.0])
    terrain, belief = terrain_of(x, [TOTAL]), belief_at(x, gradient, noise=1e-4)
    along = np.eye(D) - np.full((D, D), 1.0 / D)
    here = Here.at(terrain, terrain.rows(x), belief, 0.1)
    measured = belief.measured_along(np.full((1, D), D**-0.5))[1]  # where nobody has left the equality
    for slope, covariance in zip(both(here), (belief.covariance, measured), strict=True):
        assert slope.stationarity == pytest.approx(np.linalg.norm(along @ gradient), rel=1e-3)
        assert slope.multipliers[0] == pytest.approx(-gradient.mean(), rel=1e-3)
        assert_allclose(slope.covariance, along @ covariance @ along, rtol=1e-9, atol=1e-9 * np.trace(covariance))


def test_bounds_that_surely_hold_x_back_are_not_counted():
    x, gradient = np.array([0.0, 0.0, 0.5, 0.5, 1.0]), np.array([3.0, -3.0, 1.0, 0.0, -2.0])
    terrain, belief = terrain_of(x, region=Box(0.0, 1.0)), belief_at(x, gradient, noise=1e-3)
    free = np.diag([0.0, 1.0, 1.0, 1.0, 0.0])
    here = Here.at(terrain, terrain.rows(x), belief, 0.01)
    for slope, covariance in zip(both(here), (belief.covariance, belief.measured[1]), strict=True):
        assert slope.stationarity == pytest.approx(np.sqrt(10.0), rel=1e-2)
        assert_allclose(slope.covariance, free @ covariance @ free, rtol=1e-9, atol=1e-12 * np.trace(covariance))
        assert slope.error == pytest.approx(np.sqrt(np.trace(free @ covariance)), rel=1e-9)


def test_what_is_far_from_small_is_not_measured():
    """Near is what adds up, with its error, to a tenth of the largest gradient so far."""
    x, gradient = np.zeros(D), np.ones(D)
    terrain, belief = terrain_of(x), belief_at(x, gradient, noise=0.05)
    believed = Here.at(terrain, terrain.rows(x), belief, 0.1).believed
    turn = 10.0 * (believed.stationarity + believed.error)
    far, near = (Here.at(terrain, terrain.rows(x), belief, 0.1, turn * factor) for factor in (0.999, 1.001))
    assert far.measured is None
    assert far.slope is far.said is far.believed
    assert near.slope is near.said is near.measured
    assert_array_equal(near.measured.gradient, belief.measured[0])


def test_one_acts_on_what_was_measured_once_its_error_is_below_the_largest_gradient_and_tells_of_it_before():
    x = np.zeros(D)
    terrain, belief = terrain_of(x), belief_at(x, 0.1 * np.ones(D), noise=0.05, n=4)
    everything = Here.at(terrain, terrain.rows(x), belief, 0.1)
    error, believed = everything.measured.error, everything.believed
    assert error > 10.0 * (believed.stationarity + believed.error)
    below, above = (Here.at(terrain, terrain.rows(x), belief, 0.1, error * factor) for factor in (0.999, 1.001))
    assert below.slope is below.believed
    assert below.said is below.measured
    assert above.slope is above.said is above.measured


def slope_of(covariance):
    return Slope(np.zeros(len(covariance)), covariance, np.sqrt(np.trace(covariance)), 0.0, np.empty(0))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 50, 300])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_deviations_of_equal_errors_are_a_quantile_of_chi_squared(n, scale):
    expected = np.sqrt(chi2.ppf(0.99, n) / n)
    assert slope_of(scale**2 * np.eye(n)).deviations == pytest.approx(expected, rel=0.01)
    padded = np.zeros((n + 3, n + 3))
    padded[:n, :n] = scale**2 * np.eye(n)
    assert slope_of(padded).deviations == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_deviations_of_unequal_errors_hold_99_of_100(seed):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((D, D)) * 10.0 ** rng.uniform(-1, 1, D)
    covariance = half @ half.T
    lengths = np.linalg.norm(rng.standard_normal((40_000, D)) @ half.T, axis=1)
    slope = slope_of(covariance)
    assert np.quantile(lengths, 0.99) == pytest.approx(slope.deviations * slope.error, rel=0.05)


def test_where_nothing_is_free_errors_are_none():
    assert slope_of(np.zeros((2, 2))).deviations == 1.0


@pytest.mark.parametrize("which", ["believed", "measured"])
def test_multipliers_lie_within_their_errors(which):
    """The truth lies within three stated errors in all but a few of 60 runs, and the errors are not idle: the mean square is about 1."""
    squares, x, gradient = [], np.full(D, 0.2), np.array([-2.0, -1.0, -3.0, -1.0, -0.5])
    terrain = terrain_of(x, [Constraint(lambda x: x.sum(), -np.inf, 1.0, jac=lambda x: np.ones((1, D)))])
    for seed in range(60):
        belief = belief_at(x, gradient, noise=0.1, seed=seed)
        here = Here.at(terrain, terrain.rows(x), belief, 0.1)
        multipliers = getattr(here, which).multipliers
        error = multiplier_errors(here.rows, multipliers, belief.covariance if which == "believed" else belief.measured[1], None)[0]
        squares.append(((multipliers[0] + gradient.mean()) / error) ** 2)
    assert np.sum(np.asarray(squares) > 9.0) <= 3
    assert 0.5 <= np.mean(squares) <= 2.0


def test_errors_of_prices_of_equalities_are_unknown_until_something_has_been_evaluated_across_them():
    x = np.full(D, 0.2)
    terrain = terrain_of(x, [TOTAL])
    belief = belief_at(x, np.ones(D), noise=0.1)
    here = Here.at(terrain, terrain.rows(x), belief, 0.1)
    assert np.isnan(multiplier_errors(here.rows, here.said.multipliers, belief.covariance, None)).all()


@pytest.mark.parametrize("constraints", [(), (TOTAL,), (SPHERE,)], ids=["nothing", "plane", "sphere"])
@pytest.mark.parametrize("region", [None, Box(0.0, 1.0), Box(0.2, 0.45)], ids=["free", "wide", "tight"])
def test_looks_are_feasible_and_within_the_bounds(constraints, region):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        terrain = terrain_of(np.full(D, 0.3), constraints, region)
        x = terrain.restored(rng.uniform(0.2, 0.45, D)).point
        here = Here.at(terrain, terrain.rows(x), belief_at(x, rng.standard_normal(D), n=2, seed=seed), 0.2)
        point = looked_at(terrain, here, here.slope.covariance, rng.standard_normal(D), 0.1, downwards=seed % 2 == 0)
        if point is None:
            assert constraints
            assert here.slope.error <= 1e-6 or region is not None
            continue
        assert ((point >= terrain.lower) & (point <= terrain.upper)).all()
        value = terrain.values(point)
        assert np.abs(value - np.clip(value, *terrain.interval)).max(initial=0.0) <= 1e-9
        assert 0.0 < np.linalg.norm(point - x) <= 0.1 * 1.5


def test_a_look_goes_along_what_is_least_known():
    x, known = np.zeros(D), np.eye(D)[[0, 1, 3, 4]]
    terrain = terrain_of(x)
    belief = belief_at(x, np.ones(D), directions=known)
    here = Here.at(terrain, terrain.rows(x), belief, 0.1)
    point = looked_at(terrain, here, here.slope.covariance, np.random.default_rng(0).standard_normal(D), 0.1, True)
    assert abs(point[2]) == pytest.approx(0.1, rel=1e-3)


def look_of(slope, downwards):
    """From 0 in two dimensions, where f has been seen along one line alone."""
    x = np.zeros(2)
    terrain = terrain_of(x)
    here = Here.at(terrain, terrain.rows(x), belief_at(x, slope, n=4, directions=np.array([[1.0, 0.9]])), 0.1, largest=0.0)
    assert here.slope is here.believed
    return here, looked_at(terrain, here, here.slope.covariance, np.array([1.0, 0.3]), 0.1, downwards)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_look_goes_to_the_side_that_descends_where_that_is_asked_for(sign):
    slope = sign * np.array([5.0, 5.0])
    here, down = look_of(slope, True)
    assert here.slope.gradient @ down < 0.0
    assert_allclose(look_of(-slope, True)[1], -down, atol=1e-9)
    either = look_of(slope, False)[1]
    assert np.linalg.norm(either) == pytest.approx(0.1)
    assert_allclose(look_of(-slope, False)[1], either, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_seen_again_says_most_of_the_least_known_slope(seed):
    rng = np.random.default_rng(seed)
    belief = belief_at(np.zeros(3), rng.standard_normal(3), noise=0.1, n=12, seed=seed)
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    covariance = axes @ np.diag([1e-4, 1e-4, 1.0]) @ axes.T
    found = seen_again(belief, covariance, rng.standard_normal(3), 2)
    assert_array_equal(found, belief.points[belief.most_telling(axes[:, 2], 2)])


def test_no_look_goes_across_a_bound_that_surely_holds_x_back():
    x = np.array([0.0, 0.5, 0.5, 0.5, 0.5])
    terrain = terrain_of(x, region=Box(0.0, 1.0))
    belief = belief_at(x, np.array([5.0, 0.1, 0.0, 0.0, 0.1]), n=30, noise=0.01)
    here = Here.at(terrain, terrain.rows(x), belief, 0.1)
    point = looked_at(terrain, here, here.slope.covariance, np.random.default_rng(1).standard_normal(D), 0.1, True)
    assert point[0] == pytest.approx(0.0, abs=1e-12)


def test_where_constraints_leave_no_way_there_is_no_look():
    x = np.array([0.5, 0.5])
    pinned = Constraint(lambda x: x, np.array([0.5, 0.5]), np.array([0.5, 0.5]), jac=lambda x: np.eye(2))
    terrain = terrain_of(x, [pinned])
    here = Here.at(terrain, terrain.rows(x), belief_at(x, np.ones(2), n=3), 0.1)
    for slope in both(here):
        assert slope.error == pytest.approx(0.0, abs=1e-9)
        assert looked_at(terrain, here, slope.covariance, np.ones(2), 0.1, True) is None


def test_what_was_never_measured_across_a_bound_is_owed_by_the_certificate():
    """The prior alone would have slopes there be as small as others are."""
    x = np.array([0.0, 0.5, 0.5, 0.5, 0.5])
    terrain = terrain_of(x, region=Box(0.0, 1.0))
    gradient = np.array([5.0, 0.0, 0.0, 0.0, 0.0])
    seen = Here.at(terrain, terrain.rows(x), belief_at(x, gradient, noise=0.01), 0.1)
    assert seen.said.error <= 0.1
    blind = Here.at(terrain, terrain.rows(x), belief_at(x, gradient + 1e-2, noise=0.01, directions=np.eye(D)[1:]), 0.1)
    assert blind.said.error >= 1e3 * blind.believed.error


def test_in_a_corner_a_look_goes_along_an_axis_where_the_diagonal_is_known():
    """At 0 in the positive orthant: with the slope along (1, ..., 1) known, what is left has mixed signs, which bounds forbid."""
    x = np.zeros(D)
    terrain = terrain_of(x, region=Box(0.0, 1.0))
    here = Here.at(terrain, terrain.rows(x), belief_at(x, np.ones(D)), 0.1)
    diagonal = np.ones(D) / np.sqrt(D)
    covariance = np.eye(D) - np.outer(diagonal, diagonal)
    for seed in range(10):
        point = looked_at(terrain, here, covariance, np.random.default_rng(seed).standard_normal(D), 0.1, True)
        assert point is not None
        assert point @ covariance @ point > 0.01 * (point @ point)
        assert (point >= 0.0).all()


def test_without_noise_no_look_goes_where_a_value_is_known():
    """In a corner constraints leave one way alone: looks along it go less and less far."""
    x = np.array([1.0, 1.0])
    terrain = terrain_of(x, [Constraint(lambda x: np.array([x @ x]), -np.inf, 2.0, jac=lambda x: 2 * x[None, :])], Box(0.0, 1.0))
    belief = belief_at(x, np.array([-1.0, -1.0]), n=0)
    here = Here.at(terrain, terrain.rows(x), belief, 0.5)
    seen = [x]
    for _ in range(5):
        point = looked_at(terrain, here, np.eye(2), np.array([0.3, 1.0]), 0.2, True, np.array(seen))
        assert min(np.linalg.norm(point - other) for other in seen) > 1e-5
        assert point @ point <= 2.0 + 1e-9
        seen.append(point)
    again = [looked_at(terrain, here, np.eye(2), np.array([0.3, 1.0]), 0.2, True) for _ in range(2)]
    assert_array_equal(*again)  # as noise would have it


def test_surprises_loosen_what_presses():
    """A gradient that presses against a bound by a few of its errors does so no longer where forecasts were wrong by as many."""
    x = np.zeros(2)
    terrain = terrain_of(x, region=Box(0.0, 1.0))
    belief = belief_at(x, np.array([0.3, -1.0]), noise=0.05, n=30)
    calm, surprised = (Here.at(terrain, terrain.rows(x), belief, 0.1, surprise=surprise).believed for surprise in (1.0, 1e4))
    assert surprised.error > calm.error


def test_constraints_are_asked_little_for_a_look():
    calls = []

    def rows(x):
        calls.append(1)
        return np.array([x @ x, x[0] * x[1]])

    curved = Constraint(rows, -np.inf, np.array([1.0, 0.2]), jac=lambda x: np.array([2 * x, [x[1], x[0], 0.0, 0.0, 0.0]]))
    x = np.full(D, 1.0 / np.sqrt(D))
    terrain = terrain_of(x, [curved])
    here = Here.at(terrain, terrain.rows(x), belief_at(x, -np.ones(D)), 0.1)
    for seed in range(20):
        calls.clear()
        point = looked_at(terrain, here, np.eye(D), np.random.default_rng(seed).standard_normal(D), 0.1, True)
        assert point is not None
        assert terrain.values(point)[0] <= 1.0 + 1e-9
        assert len(calls) <= 10


def test_directions_that_nobody_has_looked_along_are_as_doubtful_as_values_were_surprising():
    """Two of five are known to be flat, and by that the prior takes the others for as flat."""
    x = np.zeros(D)
    terrain, belief = terrain_of(x), belief_at(x, np.array([1.0, 0.0, 0.0, 0.0, 0.0]), directions=np.eye(D)[:2])
    calm, surprised = (Here.at(terrain, terrain.rows(x), belief, 0.1, surprise=surprise).believed for surprise in (1.0, 9.0))
    assert calm.unexplored == 0.0
    assert surprised.unexplored == pytest.approx(8.0 * 3.0 * belief.prior_variance, rel=1e-3)
    assert surprised.error == calm.error
    step = Slope(calm.gradient, calm.covariance, 1.0, 1.1, calm.multipliers)
    assert (step.is_ignorant, step._replace(unexplored=0.5).is_ignorant) == (False, True)


def test_where_all_is_known_surprises_make_nobody_ignorant():
    x = np.zeros(D)
    terrain, belief = terrain_of(x), belief_at(x, np.ones(D))
    assert Here.at(terrain, terrain.rows(x), belief, 0.1, surprise=100.0).believed.unexplored < 1e-5 * belief.prior_variance


def test_under_noise_surprises_count_as_far_as_they_are_none_of_its_doing():
    x = np.zeros(D)
    terrain, belief = terrain_of(x), belief_at(x, np.ones(D), noise=0.1, directions=np.eye(D)[:2])
    chance, surprising = (Here.at(terrain, terrain.rows(x), belief, 0.1, surprise=surprise).believed for surprise in (1.45, 9.0))
    assert chance.unexplored == 0.0
    doubt = np.sum(belief.covariance**2) / belief.prior_variance
    assert surprising.unexplored == pytest.approx((8.0 - by_chance()) * doubt, rel=1e-9)


def test_a_noisy_surprise_exceeds_one_by_two_deviations_by_chance():
    rng, mean, seen = np.random.default_rng(0), 1.0, []
    for square in rng.standard_normal(200_000) ** 2:
        mean = CONSTANTS.noisy_surprise_memory * mean + (1.0 - CONSTANTS.noisy_surprise_memory) * square
        seen.append(mean)
    assert pytest.approx(2.0 * np.std(seen), rel=0.05) == by_chance()


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_for_what_values_alone_say_nothing_is_added(noise):
    x = np.zeros(D)
    terrain, belief = terrain_of(x), belief_at(x, np.ones(D), noise=noise, directions=np.eye(D)[:2])
    assert Here.at(terrain, terrain.rows(x), belief, 0.1, surprise=100.0).measured.unexplored == 0.0


def test_along_a_curved_equality_what_was_measured_foretells_the_values_together_with_the_curvature():
    """f = (angle - 0.02)^2 on a circle: how f bends along it is told by values on it once, not by slopes across it and curvature again."""
    angles = np.array([0.05, -0.04, 0.1, -0.08])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    centre = np.array([1.0, 0.0])
    belief = Quadratic.start(centre, 4e-4, 0.1)
    for angle, point in zip(angles, points, strict=True):
        belief = belief.told(point, np.array([(angle - 0.02) ** 2]))
    belief = belief.fitted()
    terrain = terrain_of(centre, [SPHERE])
    rows = terrain.rows(centre)
    here = Here.at(terrain, rows, belief, 0.1)
    assert here.slope is here.measured
    step = Stepper(terrain).minimiser(
        Model(centre, here.slope.gradient, belief.hessian_beside(here.slope.tilt)), rows, 0.1, np.zeros((2, 2))
    )
    assert np.arctan2(step.point[1], step.point[0]) == pytest.approx(0.02, rel=0.05)
