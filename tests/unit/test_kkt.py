"""KKT measures: zero at KKT points, exact where the gradient is known, and honest about their error where it is not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import zolal
from registry import DIMENSION, LQ_MAPS, SEPARABLE_REGULARIZERS, SETS
from zolal.directions import Gaussian, Rademacher, Sphere
from zolal.errors import UnsupportedError
from zolal.estimators import QueryBatch
from zolal.kkt import KKT, euclidean_residual, gradient_mapping, kkt_measures, refine_gradient, regularity_constant
from zolal.mirror import Euclidean, SmoothedLq
from zolal.regularizers import L1, Zero
from zolal.sets import Box, L2Ball, NonNegative, WholeSpace

vectors = st.lists(st.floats(-3, 3), min_size=DIMENSION, max_size=DIMENSION).map(np.array)


def kkt_pair(region, regularizer, y):
    """A point x and a g with 0 in g + dh(x) + N_X(x): the optimality condition of the proximal point of y."""
    x = zolal.bregman_step(Euclidean(), region, regularizer, y, np.zeros_like(y), 1.0)
    return x, x - y


@pytest.mark.parametrize("regularizer", SEPARABLE_REGULARIZERS, ids=repr)
@pytest.mark.parametrize("region", SETS, ids=repr)
@given(y=vectors, eta=st.floats(0.05, 5.0))
def test_the_gradient_mapping_is_zero_at_a_kkt_point(region, regularizer, y, eta):
    x, g = kkt_pair(region, regularizer, y)
    for mirror in (Euclidean(), SmoothedLq(3.0, 1e-2), SmoothedLq(6.0, 0.1)):
        try:
            mapping = gradient_mapping(mirror, region, regularizer, x, g, eta)
        except UnsupportedError:
            continue
        assert np.abs(mapping).max() <= 1e-7 * (1 + np.abs(g).max()) / min(eta, 1.0)


@pytest.mark.parametrize("mirror", [Euclidean(), *LQ_MAPS], ids=repr)
def test_the_gradient_mapping_is_not_zero_elsewhere(mirror, rng):
    x, g = kkt_pair(Box(-1.0, 0.5), L1(0.3), rng.normal(size=DIMENSION))
    worse = np.where(x > -0.5, 1.0, -1.0)  # a way that is open at x
    assert np.abs(gradient_mapping(mirror, Box(-1.0, 0.5), L1(0.3), x, g + 2.0 * worse, 0.1)).max() > 1e-3


@given(x=vectors, g=vectors, eta=st.floats(0.01, 10.0))
def test_the_gradient_mapping_is_g_in_the_whole_euclidean_space(x, g, eta):
    assert_allclose(gradient_mapping(Euclidean(), WholeSpace(), Zero(), x, g, eta), g, atol=1e-12 / eta)


def test_measures_are_the_lq_norm_of_the_mapping_and_the_lp_norm_of_c():
    mapping, c = np.array([3.0, -4.0]), np.array([1.0, -2.0, 2.0])
    assert kkt_measures(Euclidean(), mapping, c) == pytest.approx((5.0, 3.0))
    q = 4 / 3
    expected = (3**q + 4**q) ** (1 / q), (1 + 16 + 16) ** 0.25
    assert kkt_measures(SmoothedLq(4.0, 1e-2), mapping, c) == pytest.approx(expected)
    assert kkt_measures(Euclidean(), mapping, np.zeros(0))[1] == 0.0


def test_the_euclidean_residual_is_a_projected_step_of_length_one():
    x, g = np.array([0.5, -1.0]), np.array([-2.0, 1.0])
    assert euclidean_residual(Box(-1, 1), Zero(), x, g, np.array([0.1])) == pytest.approx(0.5)
    assert euclidean_residual(Box(-1, 1), Zero(), x, g, np.array([0.6, -0.8])) == pytest.approx(1.0)
    assert euclidean_residual(WholeSpace(), Zero(), x, g, np.zeros(0)) == pytest.approx(math.sqrt(5))


def sphere(x, radius_squared):
    """c(x) = ||x||^2 - r^2 and grad c(x)^T c(x)."""
    c = np.array([x @ x - radius_squared])
    return c, 2 * x * c[0]


def test_the_regularity_constant_of_a_sphere_in_a_box_is_the_one_by_hand():
    box, corner = Box(-1.0, 1.0), np.array([1.0, 0.5])
    c, pulled = sphere(corner, 1.0)  # c = 1/4, (1/2, 1/4): the cone at x_1 = 1 does not help a descent to the inside
    assert regularity_constant(box, corner, pulled, c, 2.0) == pytest.approx(math.sqrt(5))
    c, pulled = sphere(corner, 4.0)  # c = -11/4, (-11/2, -11/4): the cone takes the first entry
    assert regularity_constant(box, corner, pulled, c, 2.0) == pytest.approx(1.0)
    c, pulled = sphere(-corner, 4.0)
    assert regularity_constant(box, -corner, pulled, c, 2.0) == pytest.approx(1.0)


@pytest.mark.parametrize("p", [2.0, 3.0, 10.0])
def test_the_regularity_constant_inside_the_set_is_a_ratio_of_norms(p):
    x = np.array([0.3, -0.4])
    c, pulled = sphere(x, 1.0)
    by_hand = 2 * (0.3**p + 0.4**p) ** (1 / p)
    for region in (WholeSpace(), Box(-1, 1), L2Ball(2.0)):
        assert regularity_constant(region, x, pulled, c, p) == pytest.approx(by_hand)


def test_the_regularity_constant_on_the_edge_of_a_ball_is_zero_where_the_cone_takes_all():
    x = np.array([0.6, 0.8])
    c, pulled = sphere(x, 4.0)  # the sphere lies outside the ball: -grad points out of it, along the normal
    assert regularity_constant(L2Ball(1.0), x, pulled, c, 2.0) == pytest.approx(0.0, abs=1e-6)
    c, pulled = sphere(x, 0.25)
    assert regularity_constant(L2Ball(1.0), x, pulled, c, 2.0) == pytest.approx(2.0)


def test_the_regularity_constant_of_two_rows_and_of_a_feasible_point():
    x, jac = np.array([0.0, 2.0]), np.array([[1.0, 1.0], [0.0, 1.0]])
    c = np.array([2.0, -1.0])  # J^T c = (2, 1); x_1 = 0 takes the positive first entry
    assert regularity_constant(NonNegative(), x, jac.T @ c, c, 2.0) == pytest.approx(1 / math.sqrt(5))
    assert regularity_constant(NonNegative(), x, np.zeros(2), np.zeros(2), 2.0) == math.inf


D = 20
CENTRE = np.linspace(-1.0, 1.0, D)
SCALE = np.linspace(0.5, 2.0, D)


def gradient(x):
    return SCALE * (x - CENTRE)


def noisy(x, xi):
    return float(0.5 * (x - CENTRE) @ gradient(x) + xi @ x)


def run(seed, **arguments):
    options = dict(step_size=0.02, num_directions=16, share_base=True, kkt_directions=arguments.pop("kkt_directions", 16))
    arguments = dict(sample=lambda rng: 0.1 * rng.normal(size=D), maxfev=250, rng=seed, options=options) | arguments
    return zolal.minimize(noisy, np.zeros(D), **arguments)


@pytest.mark.parametrize("geometry", [2, 4])
def test_estimated_stationarity_is_within_three_standard_errors(geometry):
    hits = 0
    for seed in range(100):
        estimated = run(seed, geometry=geometry)
        mirror = Euclidean() if geometry == 2 else SmoothedLq(4, 1e-3)
        mapping = gradient_mapping(mirror, WholeSpace(), Zero(), estimated.x, gradient(estimated.x), 0.02)
        exact, _ = kkt_measures(mirror, mapping, np.zeros(0))
        hits += abs(estimated.kkt.stationarity - exact) <= 3 * estimated.kkt.standard_error
    assert hits >= 95


def test_stationarity_is_exact_and_labelled_so_when_the_gradient_is_given():
    res = run(0, gradient=gradient)
    assert not res.kkt.estimated
    assert res.kkt.standard_error == 0.0
    assert_allclose(res.kkt.stationarity, np.linalg.norm(gradient(res.x)), rtol=1e-9)
    assert "(exact)" in str(res.kkt)
    assert "(exact)" in res.message


def test_an_estimate_is_labelled_so_with_its_standard_error():
    res = run(0)
    assert res.kkt.estimated
    assert res.kkt.standard_error > 0
    assert "estimated" in res.message
    assert f"{res.kkt.standard_error:.1e}" in res.message


def test_without_fresh_evaluations_the_error_is_unknown():
    res = run(0, kkt_directions=0)
    assert res.kkt.estimated
    assert math.isnan(res.kkt.standard_error)
    assert math.isnan(res.fun_error)


def test_the_final_check_uses_directions_that_the_run_did_not():
    moved = []
    run(0, sample=lambda rng: moved.append(rng.random()) or np.zeros(D))
    assert len(moved) == 250 - (250 - 17 - 32) % 34
    assert not set(moved[-32:]) & set(moved[:-32])


@pytest.mark.parametrize("kind", [Rademacher, Sphere, Gaussian])
def test_a_refined_gradient_has_the_root_mean_square_error_that_it_tells(kind, rng):
    true, prior = rng.normal(size=D), rng.normal(size=D)
    squared, told = [], []
    for seed in range(400):
        batch = QueryBatch((np.zeros(D),), 1e-3, kind(D, 12, seed=seed), share_base=True)
        values = np.array([true @ batch.point(i) for i in range(len(batch))])
        refined, error = refine_gradient(prior, batch, values)
        squared.append((refined - true) @ (refined - true))
        told.append(error**2)
    # equal in the mean; the ratio of the means has a relative error of a few percent
    ratio = np.mean(squared) / np.mean(told)
    assert 0.85 < ratio < 1.15
    assert np.mean(squared) < (prior - true) @ (prior - true)


def test_a_perfect_guess_is_left_alone():
    true = np.arange(1.0, D + 1)
    batch = QueryBatch((np.zeros(D),), 0.5, Rademacher(D, 9, seed=1))
    refined, error = refine_gradient(true, batch, np.array([true @ batch.point(i) for i in range(len(batch))]))
    assert_allclose(refined, true, rtol=1e-12)
    assert error < 1e-10


def test_below_asks_both_measures_and_refuses_nan():
    assert KKT(0.1, 0.1, 0.1, 2.0, False).below(0.1)
    assert not KKT(0.2, 0.1, 0.2, 2.0, False).below(0.1)
    assert not KKT(0.1, 0.2, 0.2, 2.0, False).below(0.1)
    assert not KKT(math.nan, 0.0, 0.0, 2.0, True).below(0.1)


@pytest.mark.parametrize("dimension", [1, 2, 30])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_standard_error_of_a_refined_gradient_is_the_size_of_its_error(dimension, noise):
    """Over 200 seeds: the root mean square error lies between half and twice the reported one (both 0 where nothing is uncertain)."""
    errors, reported = [], []
    for seed in range(200):
        rng = np.random.default_rng([seed, dimension])
        gradient = rng.standard_normal(dimension)
        prior = gradient + 0.1 * rng.standard_normal(dimension)
        batch = QueryBatch((np.zeros(dimension),), 1.0, Rademacher(dimension, 24, seed=seed))
        slopes = batch.directions.rows() @ gradient + noise * rng.standard_normal(24)
        refined, error = refine_gradient(prior, batch, np.stack([np.zeros(24), slopes], axis=1).ravel())
        errors.append(np.sum((refined - gradient) ** 2))
        reported.append(error**2)
    true, told = np.sqrt(np.mean(errors)), np.sqrt(np.mean(reported))
    assert 0.5 * told <= true + 1e-9  # 1e-9: rounding, where nothing is uncertain
    assert true <= 2.0 * told + 1e-9


def test_success_counts_the_standard_error():
    assert not KKT(5e-4, 0.0, 0.0, 2.0, True, 1e-1).below(1e-3)
    assert not KKT(5e-4, 0.0, 0.0, 2.0, True, np.nan).below(1e-3)
    assert KKT(5e-4, 0.0, 0.0, 2.0, True, 1e-4).below(1e-3)
