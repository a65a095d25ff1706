"""The posterior over quadratics against Bayesian regression on all coefficients, written anew; and what it says of its own errors."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from regression import SCALES, Regression, belief_of, some
from scipy.stats import t as student

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.factor import Scales
from zolal.solvers.auto.likelihood import Repeats
from zolal.solvers.auto.quadratic import Quadratic

CASES = [(1, 2), (1, 9), (2, 4), (3, 30), (5, 12), (8, 60)]


@pytest.mark.parametrize(("d", "n"), CASES)
def test_everything_that_is_believed_is_what_regression_on_all_coefficients_says(d, n):
    points, values = some(d, n)
    weights = np.where(np.arange(n) == 0, 4.0, 1.0)
    belief = belief_of(points, values, weights=weights)
    offsets = (points - points[0]) / 0.5
    naive = Regression(offsets, values, weights, belief.repeats, SCALES)
    assert belief.amplitude == pytest.approx(naive.amplitude, rel=1e-8)
    assert belief.value == pytest.approx(naive.mean[0], rel=1e-9)
    assert belief.value_error == pytest.approx(np.sqrt(naive.amplitude * naive.inverse[0, 0]), rel=1e-7)
    assert_allclose(belief.gradient, naive.mean[1 : d + 1] / 0.5, rtol=1e-7, atol=1e-8)
    assert_allclose(belief.hessian, naive.hessian(d) / 0.5**2, rtol=1e-7, atol=1e-7)
    assert_allclose(belief.covariance, naive.amplitude * naive.inverse[1 : d + 1, 1 : d + 1] / 0.5**2, rtol=1e-6, atol=1e-8)
    assert belief.noise == pytest.approx(np.sqrt(naive.amplitude * SCALES.noise), rel=1e-8)


@pytest.mark.parametrize(("d", "n"), CASES)
def test_what_is_foretold_is_what_regression_on_all_coefficients_says(d, n):
    points, values = some(d, n, seed=1)
    belief = belief_of(points, values)
    naive = Regression((points - points[0]) / 0.5, values, np.ones(n), belief.repeats, SCALES)
    for t in np.random.default_rng(2).standard_normal((5, d)):
        found, expected = belief.foretold(points[0] + 0.5 * t), naive.foretold(t)
        assert found.change == pytest.approx(expected[0], rel=1e-7, abs=1e-8)
        assert found.deviation == pytest.approx(expected[1], rel=1e-6)
        assert found.value_deviation == pytest.approx(expected[2], rel=1e-6)


@pytest.mark.parametrize(("d", "n"), [(2, 12), (6, 40), (20, 90)])
def test_rows_that_were_added_one_by_one_say_the_same_as_rows_that_were_factorised_at_once(d, n):
    points, values = some(d, n)
    grown = belief_of(points[:3], values[:3])
    for point, value in zip(points[3:], values[3:], strict=True):
        grown = grown.told(point, np.array([value]))
    whole = belief_of(points, values)
    for name in ("value", "value_error", "amplitude", "gradient", "hessian", "covariance"):
        assert_allclose(getattr(grown, name), getattr(whole, name), rtol=1e-9, atol=1e-9)
    for found, expected in zip(grown.measured, whole.measured, strict=True):
        assert_allclose(found, expected, rtol=1e-6)
    assert_allclose(grown.foretold(points[4]), whole.foretold(points[4]), rtol=1e-9, atol=1e-9)


def test_a_belief_that_is_built_again_from_its_fields_has_the_same_bits():
    points, values = some(4, 60)
    grown = belief_of(points[:10], values[:10])
    for point, value in zip(points[10:], values[10:], strict=True):
        grown = grown.told(point, np.array([value]))
    again = replace(grown)
    assert again._kept is None
    for name in ("value", "value_error", "amplitude", "gradient", "hessian", "covariance"):
        assert_array_equal(getattr(grown, name), getattr(again, name))
    for found, expected in zip(grown.measured, again.measured, strict=True):
        assert_array_equal(found, expected)


def test_a_second_child_does_not_disturb_the_first():
    points, values = some(3, 12)
    parent = belief_of(points[:8], values[:8])
    first = parent.told(points[8], values[8:9])
    before = first.gradient.copy(), first.covariance.copy(), parent.gradient.copy()
    parent.told(points[9], values[9:10]).told(points[10], values[10:11])
    assert_array_equal(replace(first).gradient, before[0])
    assert_array_equal(first.covariance, before[1])
    assert_array_equal(parent.gradient, before[2])


@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_a_quadratic_is_known_from_as_many_values_as_it_has_coefficients(d):
    rng = np.random.default_rng(d)
    half = rng.standard_normal((d, d))
    hessian, gradient = half + half.T, rng.standard_normal(d)
    points = rng.standard_normal(((d + 1) * (d + 2) // 2, d))
    points[0] = 0.0
    values = 3.0 + points @ gradient + 0.5 * np.einsum("ni,ij,nj->n", points, hessian, points)
    belief = belief_of(points, values, scales=Scales(1.0, 1e-12, 1e-24), repeats=Repeats(), length=1.0)
    assert belief.value == pytest.approx(3.0, rel=1e-8)
    assert_allclose(belief.gradient, gradient, atol=2e-6)
    assert_allclose(belief.hessian, hessian, atol=2e-6)


def test_far_away_numbers_do_not_matter():
    """f + 1e6 is the same belief, and so is f in another place."""
    points, values = some(3, 20)
    plain, lifted = belief_of(points, values), belief_of(points + 1e4, values + 1e6)
    assert_allclose(lifted.gradient, plain.gradient, rtol=1e-6, atol=1e-6)
    assert lifted.value - 1e6 == pytest.approx(plain.value, abs=1e-6)


def drawn(d, n, seed, scales, amplitude=4.0):
    """A belief of values that come from the prior itself, with the gradient that they come from, and f without noise at another point."""
    rng = np.random.default_rng([seed, 7])
    offsets = rng.standard_normal((n + 1, d)) * rng.uniform(0.2, 1.0, (n + 1, 1))
    offsets[0] = 0.0
    half = rng.standard_normal((d, d))
    hessian = scales.curvature * (half + half.T) / np.sqrt(2.0)
    hessian += np.diag(scales.common * rng.standard_normal() + scales.axes * rng.standard_normal(d))
    gradient = rng.standard_normal(d)
    cubes = scales.third * np.einsum("ijk,ni,nj,nk->n", rng.standard_normal((d, d, d)), offsets, offsets, offsets)
    third = cubes + scales.third * np.sum(offsets**2, axis=1) ** 2 * rng.standard_normal(n + 1)
    clean = offsets @ gradient + 0.5 * np.einsum("ni,ij,nj->n", offsets, hessian, offsets) + third
    values = np.sqrt(amplitude) * (clean + np.sqrt(scales.noise) * rng.standard_normal(n + 1))
    four = values[0] + np.sqrt(amplitude * scales.noise) * rng.standard_normal(4)
    repeats = Repeats(float(np.sum((four - four.mean()) ** 2)), 3)
    belief = belief_of(offsets[:n], values[:n], scales=scales, repeats=repeats, centre=np.zeros(d), length=1.0)
    return belief, np.sqrt(amplitude) * gradient, offsets[n], np.sqrt(amplitude) * clean[n]


def test_errors_on_draws_from_the_prior_are_as_large_as_stated():
    """Over 300 draws the mean of chi^2/d has a standard deviation of about 0.05, and the amplitude is measured, too: [0.85, 1.2]."""
    squares, forecasts = [], []
    for seed in range(300):
        belief, gradient, point, clean = drawn(4, 25, seed, SCALES)
        missed = belief.gradient - gradient
        squares.append(missed @ np.linalg.solve(belief.covariance, missed) / 4)
        foretold = belief.foretold(point)
        forecasts.append(((clean - foretold.change) / foretold.deviation) ** 2)
    assert 0.85 <= np.mean(squares) <= 1.2
    assert 0.75 <= np.mean(forecasts) <= 1.3


def test_errors_are_about_as_large_as_stated_where_the_scales_have_to_be_found():
    squares = []
    for seed in range(100):
        belief, gradient, _, _ = drawn(4, 40, seed, SCALES)
        belief = replace(belief, scales=Scales.first(4, 1.0), unsearched=40, least=1e-20).fitted().told(*_one(belief)).fitted()
        missed = belief.gradient - gradient
        squares.append(missed @ np.linalg.solve(belief.covariance, missed) / 4)
    assert 0.6 <= np.median(squares) / 0.84 <= 1.8  # 0.84: the median of chi^2/4 with 4 degrees of freedom
    assert np.mean(squares) <= 2.5


def _one(belief):
    return belief.points[1], belief.values[1:2]


def test_four_values_at_one_point_pin_the_noise():
    """Four values alone give a deviation below a third of the truth in 4.6 % of cases; 181 of 200 fail to be reached once in a thousand."""
    right = 0
    for seed in range(200):
        values = 7.0 + 0.2 * np.random.default_rng(seed).standard_normal(4)
        belief = Quadratic.start(np.zeros(3), values[0], 1.0).repeated(np.zeros(3), values[1:])
        right += 1 / 3 <= belief.noise / 0.2 <= 3.0
    assert right >= 181


@pytest.mark.parametrize("noise", [1e-4, 0.05])
def test_noise_is_found_within_a_factor_of_three_after_some_values(noise):
    right = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 5])

        def f(x, rng=rng):
            return float(np.sum((x - 0.3) ** 2)) + noise * rng.standard_normal()

        start = np.zeros(3)
        belief = Quadratic.start(start, f(start), 0.5).repeated(start, np.array([f(start) for _ in range(3)]))
        for point in 0.5 * rng.standard_normal((30, 3)):
            belief = belief.told(point, np.array([f(point)])).fitted()
        right += 1 / 3 <= belief.noise / noise <= 3.0
    assert right >= 18


def test_values_have_noise_once_one_point_has_given_two():
    belief = Quadratic.start(np.zeros(2), 1.5, 0.1)
    assert belief.is_exact
    assert belief.value == 1.5
    noisy = belief.repeated(belief.centre, np.array([1.7]))
    assert not noisy.is_exact
    assert noisy.value == pytest.approx(1.6)
    assert noisy.noise == pytest.approx(0.2 / math.sqrt(2.0))


def test_noise_that_shows_late_is_found_as_large_as_noise_that_shows_first():
    rng = np.random.default_rng(5)

    def f(x):
        return float(np.sum((x - 0.3) ** 2)) + 0.05 * rng.standard_normal()

    belief = Quadratic.start(np.zeros(3), f(np.zeros(3)), 0.5)
    for point in 0.5 * rng.standard_normal((30, 3)):
        belief = belief.told(point, np.array([f(point)])).fitted()
    late = belief.repeated(belief.centre, np.array([f(np.zeros(3)) for _ in range(3)]))
    assert not late.is_exact
    assert len(late.values) == len(belief.values)
    assert 1 / 3 <= late.noise / 0.05 <= 3.0


def test_what_looked_like_a_grain_is_none_once_there_is_noise():
    points = np.random.default_rng(1).standard_normal((12, 2))
    belief = belief_of(points, np.round(points @ [1.0, 2.0], 1), centre=points[0])
    belief = replace(belief, grain=0.1)
    assert belief.repeated(belief.centre, np.array([belief.value_there + 0.3])).grain == 0.0


def test_equal_values_everywhere_are_flat_and_all_numbers_stay_finite():
    belief = Quadratic.start(np.zeros(2), 2.0, 0.1)
    for point in ([0.1, 0.0], [0.0, 0.1], [0.1, 0.1]):
        belief = belief.told(np.array(point), np.array([2.0])).fitted()
    assert belief.is_flat
    for name in ("value", "value_error", "gradient", "hessian", "covariance"):
        assert np.isfinite(getattr(belief, name)).all()
    assert_array_equal(belief.gradient, np.zeros(2))


@pytest.mark.parametrize("repeats", [Repeats(), Repeats(0.03, 3)])
def test_moving_keeps_the_nearest_points_and_what_they_say(repeats):
    points, values = some(2, 200)
    belief = belief_of(points, values, repeats=repeats)
    moved = belief.moved(points[5], 0.1)
    assert len(moved.values) < 200
    kept, far = np.linalg.norm(moved.points - points[5], axis=1), np.linalg.norm(points - points[5], axis=1)
    assert kept.max() <= np.sort(far)[len(kept) - 1] * (1 + 1e-12)
    slope = 2 * points[5] + np.cos(points[5])
    assert np.linalg.norm(moved.gradient - slope) <= 4.0 * np.sqrt(np.trace(moved.covariance))


def test_several_values_at_one_point_count_as_their_mean_and_tell_the_noise():
    points, values = some(3, 12)
    belief = belief_of(points, values, repeats=Repeats(0.03, 3))
    three = np.array([1.0, 1.2, 1.4])
    told = belief.told(points[0] + 0.1, three)
    assert told.values[-1] == pytest.approx(1.2)
    assert told.weights[-1] == 3.0
    assert told.repeats.number == 5
    assert told.repeats.square == pytest.approx(0.03 + 0.08)
    whole = belief_of(told.points, told.values, weights=told.weights, repeats=told.repeats)
    assert_allclose(told.gradient, whole.gradient, rtol=1e-9, atol=1e-9)


def test_the_best_radius_balances_noise_and_third_order_error():
    """It is longer than where they are equal, since third order is told apart; with as many values as coefficients."""
    belief = belief_of(*some(3, 20), weights=np.full(20, 0.2))
    balance = belief.best_radius() / belief.length / CONSTANTS.stretch
    assert SCALES.noise == pytest.approx(2.0 * SCALES.third**2 * balance**6)
    assert belief_of(*some(3, 20), scales=SCALES._replace(third=0.0)).best_radius() == np.inf


@pytest.mark.parametrize("more", [2.0, 1024.0])
def test_the_best_radius_is_shorter_the_more_values_share_the_noise(more):
    one, many = (belief_of(*some(3, 20), weights=np.full(20, each)).best_radius() for each in (1.0, more))
    assert many == pytest.approx(one * more**-0.1)
    few = belief_of(*some(3, 2)).best_radius()
    assert few == pytest.approx(belief_of(*some(3, 4)).best_radius())  # fewer values than coefficients share nothing


def naively_merged(belief):
    """One row per place, in the order in which places were first seen."""
    places = {}
    for point, value, weight in zip(belief.points, belief.values, belief.weights, strict=True):
        places.setdefault(tuple(point), []).append((value, weight))
    points, values, weights, square, number = [], [], [], belief.repeats.square, belief.repeats.number
    for point, seen in places.items():
        total = sum(weight for _, weight in seen)
        mean = sum(weight * value for value, weight in seen) / total
        points, values, weights = [*points, point], [*values, mean], [*weights, total]
        square += sum(weight * (value - mean) ** 2 for value, weight in seen)
        number += len(seen) - 1
    return np.array(points), np.array(values), np.array(weights), square, number


def repeated(d, n, seed=0, scales=SCALES):
    """A belief with many values at equal points, of several weights."""
    points, values = some(d, n, seed)
    rng = np.random.default_rng(seed)
    which = np.append(np.arange(n), rng.integers(0, n, 2 * n))
    values = values[which] + 0.1 * rng.standard_normal(3 * n)
    return belief_of(points[which], values, weights=rng.integers(1, 5, 3 * n).astype(float), scales=scales)


@pytest.mark.parametrize("seed", range(4))
def test_equal_points_are_merged_into_one_mean_and_differences_count_as_noise(seed):
    belief = repeated(3, 10, seed)
    merged, (points, values, weights, square, number) = belief._merged(), naively_merged(belief)
    assert_array_equal(merged.points, points)
    assert_allclose(merged.values, values, rtol=1e-13)
    assert_array_equal(merged.weights, weights)
    assert merged.repeats.square == pytest.approx(square, rel=1e-10)
    assert merged.repeats.number == number


def test_merging_leaves_what_is_believed():
    """Without an error of fifth order, which belongs to a point rather than to a value."""
    belief = repeated(3, 12, scales=Scales(0.7, 1e-9, 0.01))
    merged = belief._merged()
    assert len(merged.values) == 12
    assert merged.value == pytest.approx(belief.value, rel=1e-9)
    assert_allclose(merged.gradient, belief.gradient, rtol=1e-7, atol=1e-8)
    assert_allclose(merged.measured[0], belief.measured[0], rtol=1e-6, atol=1e-7)
    assert_allclose(merged.covariance / merged.amplitude, belief.covariance / belief.amplitude, rtol=1e-6, atol=1e-9)


def test_points_that_differ_are_not_merged_and_those_that_rounding_parts_are():
    points, values = some(3, 10)
    belief = belief_of(points, values)
    assert belief._merged() is belief
    near = belief_of(np.vstack([points, points[4] + [1e-13, 0.0, 0.0]]), np.append(values, 1.0))
    assert len(near._merged().values) == 10
    apart = belief_of(np.vstack([points, points[4] + [1e-6, 0.0, 0.0]]), np.append(values, 1.0))
    assert len(apart._merged().values) == 11


def test_scales_are_looked_for_among_merged_values_under_noise_alone():
    belief = replace(repeated(2, 8), unsearched=24)
    fitted = belief.fitted()
    assert len(fitted.values) == fitted.built == 8
    assert fitted.repeats.number == belief.repeats.number + 16
    exact = replace(belief, repeats=Repeats(), least=1e-20).fitted()
    assert len(exact.values) == 24
    assert exact.is_exact


def test_a_belief_that_is_seen_from_elsewhere_keeps_its_values_and_the_absolute_sizes_of_all_but_slopes():
    belief = belief_of(*some(3, 40))
    centre, length = belief.centre + np.array([0.2, -0.1, 0.15]), 0.3
    slope = [(belief.foretold(centre + h).change - belief.foretold(centre - h).change) / 2e-5 for h in 1e-5 * np.eye(3)]
    amplitude = length**2 * (np.dot(slope, slope) + np.trace(belief.covariance)) / 3
    seen = belief.seen_from(centre, length)
    assert_array_equal(seen.points, belief.points)
    assert_array_equal(seen.values, belief.values)
    assert seen.built == 40
    assert (seen.length, seen.repeats) == (length, belief.repeats)
    assert_array_equal(seen.centre, centre)
    assert seen.scales.noise * amplitude == pytest.approx(SCALES.noise * belief.amplitude, rel=1e-6)
    for name, power in (("curvature", 2), ("third", 3)):
        sizes = [
            np.sqrt(a) * getattr(each.scales, name) / each.length**power for each, a in ((belief, belief.amplitude), (seen, amplitude))
        ]
        assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)


def test_a_belief_that_is_seen_from_elsewhere_says_about_the_same():
    belief = belief_of(*some(3, 60))
    centre = belief.centre + 0.1
    seen = belief.seen_from(centre, 0.5)
    slope = 2 * centre + np.cos(centre)
    assert np.linalg.norm(seen.gradient - slope) <= 3.0 * np.sqrt(np.trace(seen.covariance))
    assert np.linalg.norm(seen.measured[0] - slope) <= 3.0 * np.sqrt(np.trace(seen.measured[1]))


def test_the_gradient_elsewhere_is_the_derivative_of_what_is_foretold():
    """By central differences; what is beyond fourth order has no mean."""
    belief = belief_of(*some(3, 40))
    for offset in np.random.default_rng(1).standard_normal((4, 3)):
        point = belief.centre + 0.4 * offset
        sides = [[belief.foretold(point + side * 1e-5 * axis).change for side in (1.0, -1.0)] for axis in np.eye(3)]
        slope = belief._factor.slope_at(belief.scales, (point - belief.centre) / belief.length) / belief.length
        assert_allclose(slope, np.diff(sides)[:, 0] / -2e-5, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("misses", "modest"), [((1.0, 1.0), False), ((0.01,), False), ((0.001,), True), ((0.1, 0.1, 0.1), True), ((30.0,), False)]
)
def test_scales_are_looked_for_at_once_where_exact_values_were_foretold_far_better_than_they_would_have_it(misses, modest):
    """The likelihood ratio of n normal numbers with the mean square m, beside those with m = 1: exp(n (m - 1 - log m)/2)."""
    belief = replace(belief_of(*some(3, 100), repeats=Repeats()), unsearched=len(misses), missed=sum(misses))
    assert (belief.fitted() is not belief) == modest
    noisy = replace(belief, repeats=Repeats(1.0, 3))
    assert noisy.fitted() is noisy


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_a_surprise_counts_as_much_as_it_is_unlikely_by_students_t(n):
    belief = belief_of(*some(1, n), repeats=Repeats())
    foretold = belief.foretold(belief.points[0] + 0.1)
    deviation = math.hypot(foretold.value_deviation, belief.rounding)
    found = belief.surprise(belief.points[0] + 0.1, belief.value + foretold.change + 3.0 * deviation, 1)
    assert found == pytest.approx(-2.0 * (student.logpdf(3.0, n - 1) - student.logpdf(0.0, n - 1)), rel=1e-6)
    assert found <= 9.0


def test_beside_a_single_value_nothing_surprises():
    assert Quadratic.start(np.zeros(2), 3.0, 1.0).surprise(np.ones(2), 1e6, 1) == 1.0
