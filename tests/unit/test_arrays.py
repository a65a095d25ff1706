"""The same code on NumPy, array-api-strict and PyTorch: the same numbers, in the namespace of x0."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse
from array_api_compat import array_namespace
from numpy.testing import assert_allclose

import zolal
from registry import DIMENSION, DIRECTIONS, LQ_MAPS, MIRROR_MAPS, REGULARIZERS, SEPARABLE_REGULARIZERS, SETS
from zolal._array import like, namespace, norm, to_numpy, tree_sum, zeros
from zolal.errors import UnsupportedError
from zolal.sets import Box, LqBall, Product, Simplex, WholeSpace


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    """A namespace other than NumPy, with float64 as its default."""
    module = pytest.importorskip(request.param)
    return array_namespace(module.asarray(np.zeros(1)))


def vectors(rng):
    """Points inside and outside of every set, with ties and zeros."""
    yield np.zeros(DIMENSION)
    yield np.array([0.25, 0.25, -0.5, 0.0, 2.0, 0.3])
    for scale in (0.1, 3.0, 1e3):
        yield scale * rng.normal(size=DIMENSION)


def agrees(found, expected, xp, atol=1e-9):
    """Whether a vector has the namespace and the values that it should."""
    assert array_namespace(found) is xp
    assert_allclose(to_numpy(found), expected, rtol=1e-9, atol=atol)


@pytest.mark.parametrize("region", SETS, ids=repr)
def test_every_projection_is_the_same(region, xp, rng):
    for x in vectors(rng):
        projected = region.project(xp.asarray(x))
        agrees(projected, region.project(x), xp)
        assert region.contains(projected, 1e-8)
        assert region.contains(xp.asarray(x)) == region.contains(x)


@pytest.mark.parametrize("region", SETS, ids=repr)
def test_every_normal_cone_is_the_same(region, xp, rng):
    for x in vectors(rng):
        x, g = region.project(x), rng.normal(size=DIMENSION)
        assert region.normal_distance(xp.asarray(x), xp.asarray(g)) == pytest.approx(region.normal_distance(x, g), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=repr)
def test_every_proximal_operator_is_the_same(regularizer, xp, rng):
    for x in vectors(rng):
        agrees(regularizer.prox(xp.asarray(x), 0.7), regularizer.prox(x, 0.7), xp)
        assert regularizer.value(xp.asarray(x)) == pytest.approx(regularizer.value(x), rel=1e-12)


@pytest.mark.parametrize("mirror", MIRROR_MAPS, ids=repr)
def test_every_mirror_map_is_the_same(mirror, xp, rng):
    for x in list(vectors(rng))[1:]:
        agrees(mirror.grad(xp.asarray(x)), mirror.grad(x), xp, 1e-9 * (1 + np.abs(mirror.grad(x)).max()))
        agrees(mirror.grad_conjugate(xp.asarray(x)), mirror.grad_conjugate(x), xp, 1e-9 * (1 + np.abs(x).max()))
        assert mirror.potential(xp.asarray(x)) == pytest.approx(mirror.potential(x), rel=1e-10)


STEP_SETS = [*SETS, Product([(Box(-1.0, 1.0), 4), (Simplex(), 2)])]


@pytest.mark.parametrize("region", STEP_SETS, ids=repr)
@pytest.mark.parametrize("mirror", MIRROR_MAPS, ids=repr)
def test_every_bregman_step_is_the_same(mirror, region, xp, rng):
    g, x = 2.0 * rng.normal(size=DIMENSION), region.project(rng.normal(size=DIMENSION))
    for regularizer in SEPARABLE_REGULARIZERS:
        try:
            expected = zolal.bregman_step(mirror, region, regularizer, x, g, 0.3)
        except UnsupportedError:
            with pytest.raises(UnsupportedError):
                zolal.bregman_step(mirror, region, regularizer, xp.asarray(x), xp.asarray(g), 0.3)
            continue
        agrees(zolal.bregman_step(mirror, region, regularizer, xp.asarray(x), xp.asarray(g), 0.3), expected, xp)


@pytest.mark.parametrize("mirror", LQ_MAPS, ids=repr)
def test_a_step_in_the_natural_ball_is_the_same(mirror, xp, rng):
    region, g = LqBall(mirror.q, 0.8), 5.0 * rng.normal(size=DIMENSION)
    x = region.project(rng.normal(size=DIMENSION))
    expected = zolal.bregman_step(mirror, region, zolal.regularizers.L1(0.1), x, g, 0.3)
    agrees(zolal.bregman_step(mirror, region, zolal.regularizers.L1(0.1), xp.asarray(x), xp.asarray(g), 0.3), expected, xp)


@pytest.mark.parametrize("kind", DIRECTIONS)
def test_directions_are_the_same_to_the_bit(kind, xp, rng):
    directions, weights, v = kind(DIMENSION, 70, seed=2, iteration=3), rng.normal(size=70), rng.normal(size=DIMENSION)
    rows = directions.rows(reference=xp.asarray(v))
    assert (to_numpy(rows) == directions.rows()).all()
    agrees(directions.combine(xp.asarray(weights)), directions.combine(weights), xp)
    agrees(directions.dot(xp.asarray(v)), directions.dot(v), xp)
    agrees(directions.shift(xp.asarray(v), 0.1, 5), directions.shift(v, 0.1, 5), xp, 0.0)


def problem(xp, dtype, seen):
    """A bowl with a sphere as equality and a linear inequality; `seen` collects the arrays that the functions get."""
    target = xp.asarray(np.array([1.0, -0.5, 0.2]), dtype=dtype)
    normal = xp.asarray(np.array([1.0, 1.0, 1.0]), dtype=dtype)

    def watch(function):
        return lambda x, *rest: seen.append(x) or function(x, *rest)

    fun = watch(lambda x: xp.sum((x - target) ** 2))
    constraints = [
        zolal.Constraint(watch(lambda x: xp.sum(x * x)), 1.0, 1.0, jac=watch(lambda x: 2.0 * x)),
        zolal.Constraint(watch(lambda x: xp.sum(x * normal)), -math.inf, 0.4, vjp=watch(lambda x, y: y * normal)),
    ]
    return fun, constraints


def solve(xp, geometry, dtype="float64", seen=None, **arguments):
    dtype, seen = getattr(xp, dtype), [] if seen is None else seen
    fun, constraints = problem(xp, dtype, seen)
    x0 = xp.asarray(np.array([0.5, 0.4, 0.3]), dtype=dtype)
    options = dict(step_size=0.02, num_directions=5, smoothing=1e-2, penalty=5.0) | arguments.pop("options", {})
    arguments = dict(region=Box(-1.0, 1.0), regularizer=zolal.regularizers.L1(0.01), maxfev=300, rng=4) | arguments
    return zolal.minimize(fun, x0, constraints=constraints, geometry=geometry, options=options, **arguments)


@pytest.mark.parametrize("output", ["last", "best", "average"])
@pytest.mark.parametrize("geometry", [2, 4])
def test_a_whole_run_is_the_same_and_stays_in_the_namespace(geometry, output, xp):
    seen = []
    found = solve(xp, geometry, seen=seen, options=dict(output=output))
    expected = solve(array_namespace(np.zeros(1)), geometry, options=dict(output=output))
    agrees(found.x, expected.x, xp)
    assert {array_namespace(x) for x in seen} == {xp}
    assert {x.dtype for x in seen} == {xp.float64}
    assert_allclose(found.multipliers, expected.multipliers, atol=1e-7)
    assert (found.nfev, found.status, found.nit) == (expected.nfev, expected.status, expected.nit)
    assert found.kkt.stationarity == pytest.approx(expected.kkt.stationarity, abs=1e-6)


@pytest.mark.parametrize("directions", ["sphere", "gaussian"])
def test_a_run_with_any_directions_is_the_same(directions, xp):
    options = dict(directions=directions, share_base=True)
    found, expected = (solve(each, 2, maxfev=60, options=options) for each in (xp, array_namespace(np.zeros(1))))
    agrees(found.x, expected.x, xp)


@pytest.mark.parametrize("geometry", [2, 4])
def test_a_run_in_single_precision_stays_in_it(geometry, xp):
    seen = []
    found = solve(xp, geometry, "float32", seen)
    assert found.x.dtype == xp.float32
    assert {x.dtype for x in seen} == {xp.float32}
    assert_allclose(to_numpy(found.x), solve(array_namespace(np.zeros(1)), geometry).x, atol=0.05)


def test_a_single_precision_numpy_run_stays_in_it():
    seen = []
    assert solve(array_namespace(np.zeros(1)), 4, "float32", seen).x.dtype == np.float32
    assert {x.dtype for x in seen} == {np.dtype("float32")}


@pytest.mark.parametrize("region", SETS, ids=repr)
def test_every_projection_keeps_single_precision(region, rng):
    for x in vectors(rng):
        projected = region.project(x.astype(np.float32))
        assert projected.dtype == np.float32
        assert_allclose(projected, region.project(x), rtol=1e-4, atol=1e-5 * (1 + np.abs(region.project(x)).max()))


@pytest.mark.parametrize("mirror", MIRROR_MAPS, ids=repr)
def test_every_mirror_map_keeps_single_precision(mirror, rng):
    x, g = rng.normal(size=DIMENSION), rng.normal(size=DIMENSION)
    single, expected = x.astype(np.float32), zolal.bregman_step(mirror, WholeSpace(), zolal.regularizers.L1(0.1), x, g, 0.3)
    step = zolal.bregman_step(mirror, WholeSpace(), zolal.regularizers.L1(0.1), single, g.astype(np.float32), 0.3)
    for found, exact in (
        (step, expected),
        (mirror.grad(single), mirror.grad(x)),
        (mirror.grad_conjugate(single), mirror.grad_conjugate(x)),
    ):
        assert found.dtype == np.float32
        assert_allclose(found, exact, rtol=1e-2, atol=1e-3 * np.abs(exact).max())


def test_a_vectorized_function_gets_rows_of_the_namespace(xp):
    shapes = []

    def fun(X):
        assert array_namespace(X) is xp
        shapes.append(tuple(X.shape))
        return xp.sum(X * X, axis=1)

    res = zolal.minimize(fun, xp.asarray(np.ones(3)), vectorized=True, maxfev=40, rng=0, options=dict(step_size=0.1, num_directions=3))
    assert shapes[0] == (6, 3)
    assert array_namespace(res.x) is xp


def test_integers_become_double_precision(xp):
    res = zolal.minimize(lambda x: xp.sum(x * x), xp.asarray([1, 2]), maxfev=40, rng=0, options=dict(step_size=0.1, num_directions=3))
    assert res.x.dtype == xp.float64


def test_jacobians_of_scipy_serve_any_namespace(xp):
    matrix = np.array([[1.0, 2.0, 0.0]])
    forms = [lambda x: matrix, lambda x: scipy.sparse.csr_array(matrix), lambda x: scipy.sparse.linalg.aslinearoperator(matrix), None]
    x, y = xp.asarray(np.ones(3)), xp.asarray(np.array([2.0]))
    for jac in forms:
        constraint = zolal.Constraint(lambda x: xp.reshape(x[0] + 2.0 * x[1], (1,)), jac=jac)
        agrees(constraint.vjp_at(x, y), [2.0, 4.0, 0.0], xp)


@pytest.mark.parametrize("x0", [[1.0, math.nan], [[1.0]], [1j, 1.0]])
def test_a_bad_x0_is_refused_in_any_namespace(x0, xp):
    with pytest.raises(zolal.InvalidArgumentError, match="`x0` must"):
        zolal.minimize(lambda x: 0.0, xp.asarray(x0), options=dict(step_size=0.1))


def test_x0_is_not_changed_in_any_namespace(xp):
    x0 = xp.asarray(np.ones(2))
    res = zolal.minimize(lambda x: xp.sum(x * x), x0, maxfev=100, rng=0, options=dict(step_size=0.1, num_directions=3))
    assert float(x0[0]) == float(x0[1]) == 1.0
    res.x[0] = 7.0
    assert float(x0[0]) == 1.0


def test_a_torch_parameter_is_a_plain_start():
    torch = pytest.importorskip("torch")
    x0 = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res = zolal.minimize(lambda x: (x * x).sum(), x0, maxfev=100, rng=0, options=dict(step_size=0.1, num_directions=3))
    assert not res.x.requires_grad


def test_a_torch_model_as_constraint_leaves_no_graph_behind():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 1, dtype=torch.float64)
    weight = model.weight
    seen = []
    constraint = zolal.Constraint(lambda x: seen.append(x) or model(x), 0.0, 0.0, jac=lambda x: weight)
    options = dict(step_size=0.05, num_directions=3)
    res = zolal.minimize(lambda x: (x * x).sum(), torch.ones(2, dtype=torch.float64), constraints=constraint, maxfev=100, options=options)
    assert not res.x.requires_grad
    assert not any(x.requires_grad for x in seen)


def test_norms_and_sums_are_the_same_and_safe(xp):
    x = xp.asarray(np.array([3e200, -4e200]))
    assert norm(x) == pytest.approx(5e200)
    assert norm(x, 1.0) == pytest.approx(7e200)
    assert norm(x, math.inf) == 4e200
    assert norm(xp.asarray(np.zeros(0))) == 0.0
    assert float(tree_sum(xp.asarray(np.arange(7.0)))) == 21.0
    assert zeros(3, x).dtype == x.dtype
    assert namespace(like([1.0, 2.0], x), 2.0) is xp


def test_the_whole_space_returns_what_it_gets(xp):
    x = xp.asarray(np.ones(3))
    assert WholeSpace().project(x) is x
