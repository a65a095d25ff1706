"""What every convex set promises: the nearest point, a membership test, and the distance to its normal cone."""

import cvxpy as cp
import numpy as np
import pytest
import references
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from references import membership, minimum, normal_vector

from registry import DIMENSION, SETS, members_of
from zolal.errors import InvalidArgumentError
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace

norm = np.linalg.norm
wild_vectors = arrays(float, DIMENSION, elements=st.floats(-10, 10))
vectors = wild_vectors.map(lambda x: np.where(np.abs(x) < 1e-60, 0.0, x))  # so that powers in the claims do not underflow
scales = st.integers(-12, 12).map(lambda e: 10.0**e)
every_set = pytest.mark.parametrize("region", SETS, ids=repr)


@every_set
@given(x=vectors, z=vectors, scale=scales)
def test_projection_is_the_nearest_point(region, x, z, scale):
    x = scale * x
    p, w = region.project(x), region.project(z)
    assert (x - p) @ (w - p) <= 1e-12 * (norm(x) + norm(p)) * (norm(w) + norm(p))


@every_set
@given(x=vectors, z=vectors)
def test_projection_is_nonexpansive(region, x, z):
    assert norm(region.project(x) - region.project(z)) <= norm(x - z) * (1 + 1e-12) + 1e-13 * (norm(x) + norm(z))


@every_set
@given(x=wild_vectors, scale=scales)
def test_projection_lies_in_the_set_at_every_magnitude(region, x, scale):
    p = region.project(scale * x)
    assert np.isfinite(p).all()
    assert region.contains(p)


@every_set
@given(x=vectors, scale=scales)
def test_projection_is_idempotent(region, x, scale):
    p = region.project(scale * x)
    assert np.abs(region.project(p) - p).max() <= 1e-13 * (1 + np.abs(p).max())


@every_set
@given(x=vectors, moved=st.floats(1e-6, 1.0))
def test_a_point_pushed_out_along_its_normal_is_not_contained(region, x, moved):
    p = region.project(x)
    gap = norm(x - p)
    if gap > 1e-3:
        assert not region.contains(p + moved * (x - p) / gap)


@every_set
@pytest.mark.parametrize("spread", [0.3, 1.0, 30.0])
def test_projection_agrees_with_an_interior_point_solver(region, spread, rng):
    x, y = spread * rng.standard_normal(DIMENSION), cp.Variable(DIMENSION)
    minimum(cp.sum_squares(y - x), membership(region, y))
    np.testing.assert_allclose(region.project(x), y.value, atol=1e-6 * (1 + spread))


@every_set
@pytest.mark.parametrize("threshold", [0.0, 0.2, 1.5])
def test_soft_projection_solves_its_problem(region, threshold, rng):
    x, y = 2.0 * rng.standard_normal(DIMENSION), cp.Variable(DIMENSION)
    minimum(cp.sum_squares(y - x) / 2 + threshold * cp.norm1(y), membership(region, y))
    np.testing.assert_allclose(region.project_soft(x, threshold), y.value, atol=2e-5)


@every_set
@given(x=vectors, z=vectors, threshold=st.floats(0, 5))
def test_soft_projection_beats_every_other_point_of_the_set(region, x, z, threshold):
    def objective(y):
        return norm(y - x) ** 2 / 2 + threshold * np.abs(y).sum()

    best, other = region.project_soft(x, threshold), region.project(z)
    assert region.contains(best)
    assert objective(best) <= objective(other) - norm(best - other) ** 2 / 2 + 1e-11 * (1 + objective(other))


@every_set
@pytest.mark.parametrize("p", [2.0, 4.0])
@pytest.mark.parametrize("where", ["boundary", "vertex", "interior"])
def test_distance_to_the_normal_cone_agrees_with_an_interior_point_solver(region, p, where, rng):
    x = region.project({"boundary": 2.0, "vertex": 40.0, "interior": 0.05}[where] * rng.standard_normal(DIMENSION))
    g, n = rng.standard_normal(DIMENSION), cp.Variable(DIMENSION)
    expected = minimum(references.norm(g + n, p), normal_vector(region, x, n))
    assert region.normal_distance(x, g, p) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@every_set
@given(x=vectors, p=st.sampled_from([2.0, 3.0, 4.0, 13.8]), scale=scales)
def test_the_step_back_to_the_nearest_point_is_normal(region, x, p, scale):
    nearest = region.project(x)
    back = nearest - x
    if norm(back) > 1e-6:
        assert region.normal_distance(nearest, scale * back, p) <= 1e-6 * scale * norm(back)


@every_set
@given(x=vectors, g=vectors, p=st.sampled_from([2.0, 4.0]), scale=scales)
def test_distance_to_the_normal_cone_is_homogeneous_and_at_most_the_norm(region, x, g, p, scale):
    x = region.project(x)
    distance = region.normal_distance(x, g, p)
    assert distance <= norm(g, p) * (1 + 1e-12)
    assert region.normal_distance(x, scale * g, p) == pytest.approx(scale * distance, rel=1e-6, abs=1e-7 * scale * norm(g))


@pytest.mark.parametrize("region", [r for r in SETS if not isinstance(r, (Product, Box)) or r.dimension is None], ids=repr)
@given(x=st.floats(-1e6, 1e6))
def test_one_variable_is_enough(region, x):
    p = region.project(np.array([x]))
    assert p.shape == (1,)
    assert region.contains(p)


def test_equal_entries_far_above_the_simplex_share_its_mass():
    np.testing.assert_allclose(Simplex(3.0).project(np.full(4, 1e12)), np.full(4, 0.75), rtol=1e-15)


def test_the_caller_cannot_change_a_box_through_its_bounds():
    lower = np.zeros(2)
    region = Box(lower, 1.0)
    lower[:] = 5.0
    assert region.project(np.full(2, -1.0)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Simplex(-1.0), "`Simplex(radius=...)` must be a positive number, got -1.0."),
        (lambda: Simplex(True), "`Simplex(radius=...)` must be a positive number, got True."),
        (lambda: L1Ball(0), "`L1Ball(radius=...)` must be a positive number, got 0."),
        (lambda: L2Ball(float("nan")), "`L2Ball(radius=...)` must be a positive number, got nan."),
        (lambda: L2Ball(float("inf")), "`L2Ball(radius=...)` must be a positive number, got inf."),
        (lambda: L1Ball("2"), "`L1Ball(radius=...)` must be a positive number, got '2'."),
        (lambda: LqBall(1.0, 1), "`LqBall(q=...)` must be a finite number > 1 (L1Ball is q = 1, Box is q = infinity), got 1.0."),
        (lambda: LqBall(1.5, -2), "`LqBall(radius=...)` must be a positive number, got -2."),
        (lambda: Box(1.0, 0.0), "Lower bounds must not exceed upper bounds, got [1.0, 0.0] at coordinate 0."),
        (lambda: Box([0, 2], [1, 1]), "Lower bounds must not exceed upper bounds, got [2.0, 1.0] at coordinate 1."),
        (lambda: Box(np.inf, np.inf), "Lower bounds must not exceed upper bounds, got [inf, inf] at coordinate 0."),
        (lambda: Box([0, 1], [1, 2, 3]), "`Box` bounds must be numbers or vectors of one length, got shapes (2,) and (3,)."),
        (lambda: Box(float("nan"), 1.0), "`Box` bounds must not be NaN, got lower=nan, upper=1.0."),
        (lambda: Product([]), "`Product([(set, size), ...])` must hold at least one pair of a ConvexSet and its size, got []."),
        (
            lambda: Product([Simplex()]),
            "`Product([(set, size), ...])` must hold at least one pair of a ConvexSet and its size, got Simplex(radius=1.0).",
        ),
        (lambda: Product([(Simplex(), 0)]), "`Product([(set, size), ...]) size` must be a positive integer, got 0."),
        (lambda: Product([(Box([0, 0], 1), 3)]), "`Box dimension` must match the 3 variables, got 2."),
    ],
)
def test_a_bad_argument_gets_one_clear_sentence(make, sentence):
    with pytest.raises(InvalidArgumentError) as error:
        make()
    assert str(error.value) == sentence
    assert isinstance(error.value, ValueError)


def test_the_registry_holds_every_set():
    members = {WholeSpace, Box, NonNegative, L1Ball, L2Ball, LqBall, Simplex, Product}
    assert {type(region) for region in SETS} == members == members_of(ConvexSet)


def bent(region, y):
    """The coordinates in which y + t may lie outside of the set whatever y is: those without room, and those of a simplex."""
    if isinstance(region, Product):
        return np.concatenate([bent(part, block) for part, block in region.blocks(y)])
    if isinstance(region, Box):
        lower, upper = region.bounds_like(y)
        return lower == upper
    return np.full(y.shape, isinstance(region, Simplex))


@every_set
@given(x=vectors, corner=arrays(float, DIMENSION, elements=st.sampled_from([-1.0, 0.3, 1.0])), exponent=st.integers(-12, 1))
def test_the_cube_around_an_inner_point_lies_in_the_set(region, x, corner, exponent):
    x, margin = region.project(x), min(10.0**exponent, region.depth(DIMENSION))
    y = region.inner(x, margin * (1 - 1e-12))
    reached = y + np.where(bent(region, y), 0.0, margin * (1 - 1e-12) * corner)
    tolerance = 1e-13 if isinstance(region, (Simplex, Product)) else 0.0
    assert region.contains(y, tolerance)
    assert region.contains(reached, tolerance)


@every_set
@given(x=vectors, exponent=st.integers(-12, 0))
def test_an_inner_point_is_near_and_is_the_point_itself_if_that_is_deep_enough(region, x, exponent):
    x, margin = region.project(x), min(10.0**exponent, region.depth(DIMENSION))
    y = region.inner(x, margin)
    assert norm(y - x) <= DIMENSION * margin * (1 + 1e-9) + 1e-13 * norm(x)
    np.testing.assert_allclose(region.inner(y, margin), y, rtol=0.0, atol=1e-13 * (1.0 + norm(y)))


@every_set
@given(x=vectors)
def test_clipping_leaves_points_of_the_set_where_they_are(region, x):
    p = region.project(x)
    assert np.abs(region.clipped(p) - p).max() <= 1e-13 * (1 + np.abs(p).max())


def test_a_box_is_as_deep_as_its_narrowest_coordinate_that_is_not_fixed():
    assert Box(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.5])).depth(3) == 0.25
    assert Box(np.array([0.0, 1.0]), np.array([1.0, 1.0])).is_flat
    assert not Box(0.0, 1.0).is_flat
    assert Box(0.0, np.inf).depth(3) == np.inf
    assert Product([(Box(0.0, 1.0), 2), (L2Ball(1.0), 4)]).depth(6) == 0.5
