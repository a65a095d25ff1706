"""What values alone say of the gradient: against regression without a prior of slopes, and on functions whose gradient is known."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from regression import SCALES, Regression, belief_of, some
from scipy.stats import chi2

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.factor import Scales
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.measured import UNMEASURED, Measured
from zolal.solvers.auto.plan import Slope
from zolal.solvers.auto.quadratic import Quadratic

NO_PRIOR = np.inf
CASES = [(1, 4), (1, 9), (2, 8), (3, 30), (5, 40), (8, 60)]


def regression_of(belief, *, slopes=NO_PRIOR):
    offsets = (belief.points - belief.centre) / belief.length
    return Regression(offsets, belief.values, belief.weights, belief.repeats, belief.scales, slopes=slopes)


def weighed(n):
    return np.where(np.arange(n) % 3 == 0, 4.0, 1.0)


@pytest.mark.parametrize("repeats", [Repeats(), Repeats(0.03, 3)])
@pytest.mark.parametrize(("d", "n"), CASES)
def test_values_say_what_regression_without_a_prior_of_slopes_says(d, n, repeats):
    belief = belief_of(*some(d, n), weights=weighed(n), repeats=repeats)
    naive, g = regression_of(belief), slice(1, d + 1)
    assert_allclose(belief.measured[0], naive.mean[g] / 0.5, rtol=1e-5, atol=1e-6)
    assert_allclose(belief.measured[1], belief.amplitude * naive.inverse[g, g] / 0.5**2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("d", "n"), [(1, 9), (3, 30), (5, 40)])
def test_curvature_beside_a_measured_gradient_is_that_of_the_same_regression(d, n):
    belief = belief_of(*some(d, n), weights=weighed(n))
    _, _, tilt = belief.measured_along(None)
    assert_allclose(belief.hessian_beside(tilt), regression_of(belief).hessian(d) / 0.5**2, rtol=1e-5, atol=1e-6)
    assert np.abs(belief.hessian_beside(tilt) - belief.hessian).max() > 1e-3


@pytest.mark.parametrize("across", [[0], [0, 2]])
def test_across_rows_the_prior_of_slopes_stays(across):
    d, free = 4, np.setdiff1d(np.arange(4), across)
    belief, prior = belief_of(*some(d, 30)), np.full(d, NO_PRIOR)
    prior[across] = 1.0
    naive = regression_of(belief, slopes=prior)
    gradient, covariance, tilt = belief.measured_along(np.eye(d)[across])
    assert_allclose(gradient, naive.mean[1 : d + 1] / 0.5, rtol=1e-5, atol=1e-6)
    assert_allclose(belief.hessian_beside(tilt), naive.hessian(d) / 0.5**2, rtol=1e-5, atol=1e-6)
    along = naive.inverse[1 : d + 1, 1 : d + 1][np.ix_(free, free)]
    assert_allclose(covariance[np.ix_(free, free)], belief.amplitude * along / 0.5**2, rtol=1e-5, atol=1e-6)
    assert_allclose(covariance[across], 0.0, atol=1e-12)


@pytest.mark.parametrize("repeats", [Repeats(), Repeats(0.03, 3)])
def test_the_prior_of_slopes_is_taken_back(repeats):
    """Along what no value has seen nothing is known; along the rest it is as if that were not there."""
    points, values = some(4, 40)
    points[:, 3] = points[0, 3]
    belief = belief_of(points, values, repeats=repeats)
    found, naive = Measured.of(belief._factor), regression_of(belief, slopes=1.0 / UNMEASURED)
    assert found.covariance[3, 3] == pytest.approx(1.0 / UNMEASURED, rel=1e-4)
    assert_allclose(found.covariance[:3, :3], naive.inverse[1:4, 1:4], rtol=1e-5, atol=1e-8)
    assert_allclose(found.gradient[:3], naive.mean[1:4], rtol=1e-5, atol=1e-7)
    assert belief.covariance[3, 3] == pytest.approx(belief.prior_variance, rel=1e-6)


def test_the_measured_gradient_is_not_shrunk():
    """Two noisy values along each direction: the belief takes a part of what they say, the measurement all of it."""
    d, slope = 3, np.array([3.0, -2.0, 1.0])
    points = np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
    belief = belief_of(points, points @ slope, scales=Scales(1e-6, 1e-6, 1.0), length=1.0)
    assert_allclose(belief.gradient, slope * 2.0 / 3.0, rtol=1e-4)
    assert_allclose(belief.measured[0], slope, rtol=1e-4)
    assert_allclose(belief.measured[1], belief.amplitude * np.eye(d) / 2.0, rtol=1e-4, atol=1e-6)


def sphere(d, n, lengths, seed=0):
    """Looks along random directions, of these lengths by turns, and the centre before them."""
    t = np.random.default_rng([seed, d, n]).standard_normal((n, d))
    reach = np.resize(lengths, n)[:, None]
    return np.vstack([np.zeros(d), reach * t / np.linalg.norm(t, axis=1)[:, None]])


def test_looks_of_one_length_do_not_tell_slopes_from_third_order_and_looks_of_two_do():
    """Over one length r only g + r^2 t is seen, so the doubt of r^2 t stays however many values there are."""
    third = 0.2
    for lengths, least, most in (((1.0,), 1.0, np.inf), ((1.0, 0.5), 0.0, 0.1)):
        points = sphere(3, 400, lengths)
        belief = belief_of(points, points[:, 0], scales=Scales(0.7, third, 1e-3, 3.6), length=1.0)
        found = np.linalg.eigvalsh(Measured.of(belief._factor).covariance) / (CONSTANTS.radial * third**2)
        assert least <= found.min()
        assert found.max() <= most


def test_a_slope_is_found_beneath_third_order():
    """f = g.a - (g.a)|a|^2: told apart by looks of two lengths where third order is as large as is believed, and not where it is not."""
    points, slope = sphere(3, 60, (1.0, 0.5)), np.array([1.0, -1.0, 0.5])
    values = points @ slope - (points @ slope) * np.sum(points**2, axis=1)
    right, wrong = (belief_of(points, values, scales=Scales(1.0, third, 1e-6), length=1.0) for third in (1.0, 1e-3))
    assert_allclose(right.measured[0], slope, atol=0.1)
    assert np.linalg.norm(right.gradient - slope) < 0.5 * np.linalg.norm(wrong.gradient - slope)


def variances_after_one_more(belief, direction):
    """Of the believed slope, after one more value at each of the points, by regression anew."""
    found = []
    for i in range(len(belief.values)):
        more = replace(belief, weights=belief.weights + np.eye(len(belief.values))[i])
        naive = regression_of(more, slopes=1.0)
        found.append(direction @ naive.inverse[1 : belief.dimension + 1, 1 : belief.dimension + 1] @ direction)
    return np.array(found)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("d", "n"), [(1, 6), (3, 20), (4, 35)])
def test_the_most_telling_point_is_where_one_more_value_takes_most_of_the_noise_away(d, n, seed):
    rng = np.random.default_rng(seed)
    belief = belief_of(*some(d, n, seed), weights=rng.integers(1, 6, n).astype(float))
    direction = rng.standard_normal(d)
    shares = direction @ regression_of(belief, slopes=1.0).shares[1 : d + 1]
    noises = [np.sum(shares**2 * SCALES.noise / (belief.weights + one)) for one in np.eye(n)]
    assert_array_equal(belief.most_telling(direction, 3), np.argsort(noises)[:3])


@pytest.mark.parametrize("seed", range(6))
def test_the_most_telling_point_is_about_the_best_one_where_all_is_computed_anew(seed):
    """The shares change with the weights, which makes one more value worth up to (w + 1)/w of what they say."""
    rng = np.random.default_rng(seed)
    belief = belief_of(*some(3, 20, seed), weights=rng.integers(4, 9, 20).astype(float))
    direction = rng.standard_normal(3)
    before = direction @ regression_of(belief, slopes=1.0).inverse[1:4, 1:4] @ direction
    gains = before - variances_after_one_more(belief, direction)
    assert gains[belief.most_telling(direction, 1)[0]] >= 0.8 * gains.max()


def test_a_point_with_many_values_is_left_for_its_equal():
    points = np.vstack([np.zeros(2), np.eye(2), -np.eye(2)])
    belief = belief_of(points, points[:, 0], weights=np.array([1.0, 9.0, 9.0, 1.0, 9.0]), length=1.0)
    assert belief.most_telling(np.array([1.0, 0.0]), 1) == [3]


def drawn(d, n, noise, third, seed):
    """A belief with scales that it has found, of values of a cubic at looks of two lengths, and the gradient that they come from."""
    rng = np.random.default_rng([seed, 3])
    half, slope = rng.standard_normal((d, d)), rng.standard_normal(d)
    hessian = half + half.T + 3.0 * np.sqrt(d) * rng.standard_normal() * np.eye(d)
    cubes = third * rng.standard_normal((d, d, d)) / 6.0

    def f(a):
        return a @ slope + 0.5 * a @ hessian @ a + np.einsum("ijk,i,j,k", cubes, a, a, a) + noise * rng.standard_normal()

    points = sphere(d, n, (1.0, 0.5), seed)
    belief = Quadratic.start(points[0], f(points[0]), 1.0).repeated(points[0], np.array([f(points[0]) for _ in range(3)]))
    for i, point in enumerate(points[1:]):
        belief = belief.told(point, np.array([f(point) for _ in range(2 if i % 8 == 0 else 1)]))
    for _ in range(3):
        belief = replace(belief, unsearched=n).fitted()
    return belief, slope


@pytest.mark.parametrize(("noise", "third"), [(0.05, 0.0), (0.05, 1.0), (0.05, 3.0), (0.5, 1.0), (0.5, 3.0)])
def test_errors_on_draws_of_cubics_are_as_large_as_stated(noise, third):
    """Over 100 draws in three dimensions a mean square of 1 has a standard deviation of about 0.09, and the noise is measured, too."""
    ratios, within = [], 0
    for seed in range(100):
        belief, slope = drawn(3, 60, noise, third, seed)
        gradient, covariance = belief.measured
        error = np.sqrt(np.trace(covariance))
        ratios.append(np.linalg.norm(gradient - slope) / error)
        within += ratios[-1] <= Slope(gradient, covariance, error, 0.0, np.empty(0)).deviations * belief.repeats.student_factor
    assert 0.8 <= np.sqrt(np.mean(np.square(ratios))) <= 1.2
    assert within >= 95  # of 99; fewer come once in 2000 times


@pytest.mark.parametrize("d", [2, 4])
def test_errors_on_draws_from_the_prior_are_as_large_as_stated(d):
    """With the amplitude and the scales known: the squares in units of their covariance are a chi^2 of d, tested at 1 in 1000."""
    squares, draws, scales = [], 300, Scales(0.5, 0.05, 0.01, 1.5 * np.sqrt(d))
    points = sphere(d, 12 * d, (1.0, 0.5))
    belief = belief_of(points, points[:, 0], scales=scales, length=1.0)
    found = Measured.of(belief._factor)
    lower = np.tril(belief._factor.lower)
    root = np.linalg.cholesky(lower @ lower.T - points @ points.T)
    rng, slope = np.random.default_rng([d, 1]), 100.0 * np.ones(d)  # far larger than the prior has it
    for _ in range(draws):
        values = points @ slope + 5.0 + root @ rng.standard_normal(len(points))
        missed = Measured.of(belief_of(points, values, scales=scales, length=1.0)._factor).gradient - slope
        squares.append(missed @ np.linalg.solve(found.covariance, missed))
    low, high = chi2.ppf([0.0005, 0.9995], draws * d)
    assert low <= np.sum(squares) <= high
