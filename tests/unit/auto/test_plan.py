"""What the belief says of its centre, and where it looks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from zolal import Constraint, Problem
from zolal.problem import SlackForm
from zolal.sets import Box, WholeSpace
from zolal.solvers.auto.factor import Scales
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.plan import Here, looked_at, multiplier_errors
from zolal.solvers.auto.quadratic import Quadratic
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
    scales = Scales(1e-2, 1e-2, (noise / spread) ** 2 / (gradient @ gradient) * len(x) if noise else 0.0)
    return Quadratic(points, values, np.ones(n + 1), repeats, x, spread, scales, n + 1, least=max(scales.noise, 1e-20))


def test_a_free_centre_is_as_stationary_as_its_gradient_is_small():
    x, gradient = np.zeros(D), np.arange(1.0, D + 1)
    terrain = terrain_of(x)
    here = Here.at(terrain, terrain.rows(x), belief_at(x, gradient), 0.1)
    assert here.stationarity == pytest.approx(np.linalg.norm(gradient), rel=1e-4)
    assert here.size == pytest.approx(np.linalg.norm(gradient), rel=1e-4)
    assert len(here.normals) == 0


def test_what_an_equality_holds_is_not_counted():
    x, gradient = np.full(D, 0.2), np.array([2.0, 1.0, 1.0, 1.0, 1.0])
    terrain = terrain_of(x, [TOTAL])
    here = Here.at(terrain, terrain.rows(x), belief_at(x, gradient), 0.1)
    along = gradient - gradient.mean()
    assert here.stationarity == pytest.approx(np.linalg.norm(along), rel=1e-3)
    assert here.multipliers[0] == pytest.approx(-gradient.mean(), rel=1e-3)
    assert_allclose(here.covariance @ np.ones(D), 0.0, atol=1e-12)


def test_bounds_that_surely_hold_x_back_are_not_counted():
    x, gradient = np.array([0.0, 0.0, 0.5, 0.5, 1.0]), np.array([3.0, -3.0, 1.0, 0.0, -2.0])
    terrain = terrain_of(x, region=Box(0.0, 1.0))
    here = Here.at(terrain, terrain.rows(x), belief_at(x, gradient), 0.01)
    assert here.stationarity == pytest.approx(np.sqrt(10.0), rel=1e-3)
    assert_allclose(np.abs(here.normals).sum(axis=0), [1.0, 0.0, 0.0, 0.0, 1.0], atol=1e-9)


def test_multipliers_lie_within_their_errors():
    """The truth lies within three stated errors in all but a few of 60 runs, and the errors are not idle: the mean square is about 1."""
    squares, x, gradient = [], np.full(D, 0.2), np.array([-2.0, -1.0, -3.0, -1.0, -0.5])
    terrain = terrain_of(x, [Constraint(lambda x: x.sum(), -np.inf, 1.0, jac=lambda x: np.ones((1, D)))])
    for seed in range(60):
        belief = belief_at(x, gradient, noise=0.1, seed=seed)
        here = Here.at(terrain, terrain.rows(x), belief, 0.1)
        error = multiplier_errors(here.rows, here.multipliers, belief.covariance, None)[0]
        squares.append(((here.multipliers[0] + gradient.mean()) / error) ** 2)
    assert np.sum(np.asarray(squares) > 9.0) <= 3
    assert 0.5 <= np.mean(squares) <= 2.0


def test_errors_of_prices_of_equalities_are_unknown_until_something_has_been_evaluated_across_them():
    x = np.full(D, 0.2)
    terrain = terrain_of(x, [TOTAL])
    belief = belief_at(x, np.ones(D), noise=0.1)
    here = Here.at(terrain, terrain.rows(x), belief, 0.1)
    assert np.isnan(multiplier_errors(here.rows, here.multipliers, belief.covariance, None)).all()


@pytest.mark.parametrize("constraints", [(), (TOTAL,), (SPHERE,)], ids=["nothing", "plane", "sphere"])
@pytest.mark.parametrize("region", [None, Box(0.0, 1.0), Box(0.2, 0.45)], ids=["free", "wide", "tight"])
def test_looks_are_feasible_and_within_the_bounds(constraints, region):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        terrain = terrain_of(np.full(D, 0.3), constraints, region)
        x = terrain.restored(rng.uniform(0.2, 0.45, D)).point
        here = Here.at(terrain, terrain.rows(x), belief_at(x, rng.standard_normal(D), n=2, seed=seed), 0.2)
        point = looked_at(terrain, here, here.covariance, rng.standard_normal(D), 0.1)
        if point is None:
            assert constraints
            assert here.error <= 1e-6 or region is not None
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
    point = looked_at(terrain, here, here.covariance, np.random.default_rng(0).standard_normal(D), 0.1)
    assert abs(point[2]) == pytest.approx(0.1, rel=1e-3)


def test_a_look_goes_to_the_side_that_descends():
    x, known = np.zeros(2), np.array([[1.0, 0.9]])
    terrain = terrain_of(x)
    for sign in (1.0, -1.0):
        here = Here.at(terrain, terrain.rows(x), belief_at(x, sign * np.array([5.0, 5.0]), n=4, directions=known), 0.1)
        point = looked_at(terrain, here, here.covariance, np.array([1.0, 0.3]), 0.1)
        assert here.gradient @ point <= 1e-12


def test_no_look_goes_across_a_bound_that_surely_holds_x_back():
    x = np.array([0.0, 0.5, 0.5, 0.5, 0.5])
    terrain = terrain_of(x, region=Box(0.0, 1.0))
    belief = belief_at(x, np.array([5.0, 0.1, 0.0, 0.0, 0.1]), n=30, noise=0.01)
    here = Here.at(terrain, terrain.rows(x), belief, 0.1)
    point = looked_at(terrain, here, here.covariance, np.random.default_rng(1).standard_normal(D), 0.1)
    assert point[0] == pytest.approx(0.0, abs=1e-12)


def test_where_constraints_leave_no_way_there_is_no_look():
    x = np.array([0.5, 0.5])
    pinned = Constraint(lambda x: x, np.array([0.5, 0.5]), np.array([0.5, 0.5]), jac=lambda x: np.eye(2))
    terrain = terrain_of(x, [pinned])
    here = Here.at(terrain, terrain.rows(x), belief_at(x, np.ones(2), n=3), 0.1)
    assert here.error == pytest.approx(0.0, abs=1e-9)
    assert looked_at(terrain, here, here.covariance, np.ones(2), 0.1) is None


def test_what_was_never_measured_across_a_bound_is_owed_by_the_certificate():
    x = np.array([0.0, 0.5, 0.5, 0.5, 0.5])
    terrain = terrain_of(x, region=Box(0.0, 1.0))
    gradient = np.array([5.0, 0.0, 0.0, 0.0, 0.0])
    seen = Here.at(terrain, terrain.rows(x), belief_at(x, gradient), 0.1)
    assert seen.unseen[1] == pytest.approx(seen.error)
    blind = Here.at(terrain, terrain.rows(x), belief_at(x, gradient + 1e-2, directions=np.eye(D)[1:]), 0.1)
    assert blind.unseen[1] >= blind.error
