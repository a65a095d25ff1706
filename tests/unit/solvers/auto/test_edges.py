"""Points where f had no value: what is kept of them, and where steps and looks go beside them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint

from zolal import Problem
from zolal.sets import Box, WholeSpace
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.edges import Edge, fenced, met, passed
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.step import Model, Stepper

RADIUS, CENTRE = 1.0, np.array([0.5, 0.5])
EDGE = Edge(np.array([0.5, 0.1]), CENTRE)


def terrain_of(region=WholeSpace(), constraints=()):  # noqa: B008
    return Modelled(x_scale=np.ones(2)).init(Problem(lambda x: 0.0, 2, region=region, constraints=constraints), CENTRE, 0).terrain


def step_of(gradient, edges, terrain=None, hessian=0.0):
    terrain = terrain_of() if terrain is None else terrain
    terrain, rows = fenced(edges, terrain, terrain.rows(CENTRE), CENTRE, 8.0)
    model = Model(CENTRE, np.array(gradient), hessian * np.eye(2))
    return Stepper(terrain).minimiser(model, rows, RADIUS, np.zeros((2, 2))).point - CENTRE


def test_a_step_goes_along_an_edge_as_far_as_the_radius_and_half_of_the_way_towards_it():
    assert_allclose(step_of([1.0, 2.0], ()), -RADIUS * np.array([1.0, 2.0]) / np.sqrt(5.0), atol=0.06)
    along = step_of([1.0, 2.0], (EDGE,))
    assert along[1] == pytest.approx(-0.2)
    assert 0.9 * RADIUS <= np.linalg.norm(along) <= 1.06 * RADIUS


def test_away_from_an_edge_nothing_changes():
    assert_allclose(step_of([1.0, -2.0], (EDGE,)), step_of([1.0, -2.0], ()), atol=1e-9)
    assert_allclose(step_of([0.1, 0.1], (EDGE,), hessian=1.0), [-0.1, -0.1], atol=1e-6)


def test_bounds_and_rows_hold_beside_an_edge():
    box, plane = Box(0.0, 1.0), LinearConstraint([[1.0, 1.0]], 1.0, 1.0)
    assert step_of([1.0, 2.0], (EDGE,), terrain_of(region=box)) == pytest.approx([-0.5, -0.2])
    assert step_of([1.0, 2.0], (EDGE,), terrain_of(constraints=plane)) == pytest.approx([0.2, -0.2])


def test_far_edges_and_none_leave_the_terrain_as_it_is():
    terrain = terrain_of()
    rows = terrain.rows(CENTRE)
    assert fenced((), terrain, rows, CENTRE, 1.0) == (terrain, rows)
    assert fenced((EDGE,), terrain, rows, CENTRE, 0.1) == (terrain, rows)
    assert len(fenced((EDGE,), terrain, rows, CENTRE, 0.3)[1].value) == 1


def test_the_last_few_edges_are_kept():
    edges = ()
    for k in range(20):
        edges = met(edges, CENTRE + k, CENTRE)
    assert [edge.point[0] for edge in edges] == [k + 0.5 for k in range(20 - 3 * CONSTANTS.few, 20)]
    assert [edge.distance for edge in edges] == pytest.approx([k * np.sqrt(2.0) for k in range(14, 20)])


@pytest.mark.parametrize(("place", "left"), [(0.25, 1), (0.15, 0), (0.05, 0), (-0.05, 1)])
def test_an_edge_is_passed_where_a_value_lies_within_a_quarter_of_its_way(place, left):
    assert len(passed((EDGE,), np.array([0.5, place]))) == left
