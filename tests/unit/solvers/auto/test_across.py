"""Pairs of points across the equalities, and what they say of the gradient there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from zolal import Constraint, Problem
from zolal.problem import SlackForm
from zolal.sets import Box, WholeSpace
from zolal.solvers.auto.across import Across
from zolal.solvers.auto.terrain import Terrain

X = np.array([0.6, 0.0, 0.8, 0.0])
ROWS = Constraint(lambda x: np.array([x @ x, x[1] - x[3]]), [1.0, 0.0], [1.0, 0.0], jac=lambda x: np.stack([2 * x, [0.0, 1.0, 0.0, -1.0]]))
SLOPE = np.array([1.0, -2.0, 3.0, 0.5])


def across_of(count, reach=1e-3, region=None):
    problem = Problem(lambda x: 0.0, 4, constraints=[ROWS], region=WholeSpace() if region is None else region)
    return Across.of(Terrain.of(SlackForm(problem, problem.equalities(X)), np.ones(4), X), X, count, reach)


def test_pairs_of_a_linear_function_complete_the_gradient():
    across = across_of(2)
    seen = across.seen(across.points @ SLOPE, 0.0)
    assert seen.is_known
    hidden = SLOPE - across.normals.T @ (across.normals @ SLOPE) + 7.0 * across.normals.sum(axis=0)
    assert_allclose(seen.completed(hidden), SLOPE, atol=1e-9)


def test_the_normals_are_those_of_the_equalities():
    across = across_of(2)
    assert_allclose(across.normals @ across.normals.T, np.eye(2), atol=1e-12)
    gone = np.stack([X, [0.0, 1.0, 0.0, -1.0]])
    assert_allclose(gone - gone @ across.normals.T @ across.normals, 0.0, atol=1e-12)


@pytest.mark.parametrize("lost", [0, 3])
def test_where_a_value_is_missing_nothing_is_completed(lost):
    across = across_of(2)
    values = across.points @ SLOPE
    values[lost] = np.nan
    seen = across.seen(values, 0.0)
    assert not seen.is_known
    assert_allclose(seen.completed(SLOPE + 1.0), SLOPE + 1.0)


def test_where_not_every_normal_has_a_pair_nothing_is_completed():
    across = across_of(1)
    assert len(across.points) == 2
    assert not across.seen(across.points @ SLOPE, 0.0).is_known


def test_points_stay_within_the_bounds_and_slopes_are_right_all_the_same():
    region = Box(np.array([0.0, 0.0, 0.0, -1.0]), np.array([1.0, 1.0, 0.8, 1.0]))
    across = across_of(2, 0.05, region)
    assert all(region.contains(x, 0.0) for x in across.points)
    assert np.isfinite(across.seen(across.points @ SLOPE, 0.0).slopes).all()


def test_variances_are_those_of_differences():
    seen = across_of(2, 0.1).seen(np.zeros(4), noise=0.3)
    assert_allclose(seen.variances, 2 * (0.3 / 0.2) ** 2)
    doubted = seen.doubted(np.eye(4))
    assert_allclose(seen.normals @ doubted @ seen.normals.T, 2 * (0.3 / 0.2) ** 2 * np.eye(2), atol=1e-9)
    assert np.trace(doubted) == pytest.approx(2.0 + 2 * 4.5)
