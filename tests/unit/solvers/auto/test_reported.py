"""Beliefs about outputs: room for errors, prices, and probabilities, against SciPy and naive loops."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, t

from zolal.constraints import Outputs, Simulated
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.reported import Reported
from zolal.solvers.base import Reports

OUTPUTS = Outputs.of([Simulated(upper=1.0), Simulated(0.0, 0.1), Simulated(-1.0)])
POINTS = np.random.default_rng(1).normal(size=(20, 2))


def outputs_at(x, rng=None, noise=0.0):
    exact = np.array([x @ x, x[0] - 2.0 * x[1] + 0.05, x[0] * x[1]])
    return exact if rng is None else exact + noise * rng.normal(size=3)


def believed(noise=0.0, confidence=0.95, seed=0, outputs=OUTPUTS):
    """At 0, after looks around it; with noise the centre has four values."""
    rng = np.random.default_rng(seed)
    reported = Reported.start(outputs, np.zeros(2), outputs_at(np.zeros(2), rng, noise), 1.0, confidence)
    if noise:
        reported = reported.repeated(np.zeros(2), np.array([outputs_at(np.zeros(2), rng, noise) for _ in range(3)]))
    for point in POINTS:
        reported = reported.told(point, outputs_at(point, rng, noise)[None])
    return reported.settled(np.zeros(2), 1.0, True)


def test_exact_outputs_are_known_with_their_slopes_and_curvature():
    reported = believed()
    assert reported.is_exact
    assert_allclose(reported.values, [0.0, 0.05, 0.0], atol=1e-9)
    assert_allclose(reported.beliefs[1].gradient, [1.0, -2.0], atol=1e-4)
    assert_allclose(reported.beliefs[0].hessian, 2.0 * np.eye(2), atol=1e-2)
    for row, point in [(row, point) for row in reported.rows() for point in POINTS[:3]]:
        t, slope = point - row.centre, row.slope(point)
        assert row.at(point) == pytest.approx(row.value + row.gradient @ t + 0.5 * t @ row.hessian @ t)
        ends = [row.at(point + 1e-6 * e) - row.at(point - 1e-6 * e) for e in np.eye(2)]
        assert_allclose(slope, np.array(ends) / 2e-6, atol=1e-6)


def test_room_for_errors_is_shared_by_all_outputs_and_never_more_than_there_is():
    reported = believed(noise=0.2)
    assert reported.sure == pytest.approx(norm.ppf(1.0 - 0.05 / 3) + CONSTANTS.chosen)
    low, high = reported.targets
    assert (reported.errors() > 0.01).all()
    margins = reported.margins()
    assert high[0] == pytest.approx(1.0 - margins[0])
    assert low[2] == pytest.approx(-1.0 + margins[2])
    assert low[1] == pytest.approx(0.05)
    assert high[1] == pytest.approx(0.05)
    assert [(row.low, row.high) for row in reported.rows()] == list(zip(low, high, strict=True))


def test_errors_are_what_values_at_the_centre_scatter_by():
    """Over many seeds, the values believed at the centre lie about the true ones as far as their errors say."""
    runs = [believed(noise=0.2, seed=seed) for seed in range(40)]
    missed = np.array([(run.values - outputs_at(np.zeros(2))) / run.errors() for run in runs])
    assert 0.7 < np.sqrt(np.mean(missed**2)) < 1.4
    assert abs(np.mean(missed)) < 4.0 / math.sqrt(missed.size)


def test_errors_are_unknown_before_a_point_was_evaluated_twice_unless_the_user_knows():
    one = Outputs.of([Simulated(upper=1.0), Simulated(0.0, 0.1, noisy=False), Simulated(-1.0)])
    reported = Reported.start(one, np.zeros(2), np.array([0.5, 0.05, 0.0]), 1.0, 0.9)
    assert_array_equal(reported.errors(is_repeated=False), [np.inf, 0.0, np.inf])
    assert_array_equal(reported.errors(is_repeated=True), np.zeros(3))


def test_what_errors_may_hide_is_the_largest_violation_within_them():
    reported = believed(noise=0.2)
    values, errors = reported.values, reported.margins()
    sides = [values[0] + errors[0] - 1.0, values[1] + errors[1] - 0.1, errors[1] - values[1], -1.0 - values[2] + errors[2]]
    assert reported.unsure() == pytest.approx(max(0.0, *sides))


@pytest.mark.parametrize("number", [30, 100, 1000])
def test_margins_are_quantiles_of_students_distribution(number):
    reported = believed(noise=0.2)
    beliefs = tuple(replace(belief, repeats=belief.repeats._replace(number=number)) for belief in reported.beliefs)
    reported = replace(reported, beliefs=beliefs)
    quantile = t.ppf(norm.cdf(reported.sure), number)
    assert_allclose(reported.margins(), quantile * reported.errors(), rtol=0.02)


def test_surprises_make_errors_longer():
    reported = believed(noise=0.2)
    assert_allclose(replace(reported, surprise=4.0).errors(), 2.0 * reported.errors())
    assert_allclose(replace(reported, surprise=0.1).errors(), reported.errors())


def test_values_that_never_differ_count_once():
    reported = believed().told(np.ones(2), np.tile(outputs_at(np.ones(2)), (2, 1)))
    assert reported.is_exact
    again = reported.repeated(reported.beliefs[0].centre, reported.values[None] + 0.0 * np.ones((2, 1)))
    assert again.beliefs[0].is_exact or again.beliefs[0].value_there != reported.values[0]


def test_cost_is_the_priced_distance_to_the_targets():
    reported = replace(believed(), prices=np.array([2.0, 3.0, 5.0]))
    values = np.array([1.5, -0.5, -1.25])
    assert reported.cost(values) == pytest.approx(2.0 * 0.5 + 3.0 * 0.5 + 5.0 * 0.25)
    assert reported.cost(np.array([0.5, 0.05, 3.0])) == 0.0
    assert reported.raised(10.0).cost(values) == pytest.approx(10.0 * reported.cost(values))


def test_prices_exceed_multipliers_and_fall_slowly():
    reported, gradient = believed(), np.array([3.0, 4.0])
    y = np.array([-7.0, 0.1, 0.0])
    prices = reported.priced(gradient, y).prices
    assert (prices >= CONSTANTS.overpriced * np.abs(y)).all()
    assert prices[1] == pytest.approx(max(0.15, 5.0 / max(math.sqrt(5.0), math.sqrt(reported.beliefs[1].prior_variance))), rel=1e-3)
    later = replace(reported, prices=np.full(3, 100.0)).priced(gradient, 0.0 * y).prices
    assert later[1] == pytest.approx(100.0 * CONSTANTS.price_memory)


def test_a_flat_objective_leaves_violations_a_price():
    assert (believed().priced(np.zeros(2), np.zeros(3)).prices > 0.0).all()


def test_multipliers_carry_the_doubt_of_their_outputs_into_the_lagrangian():
    reported, y = believed(noise=0.2), np.array([2.0, 0.0, -3.0])
    covariances = [belief.covariance for belief in reported.beliefs]
    assert_allclose(reported.doubt(y, measured=False), 4.0 * covariances[0] + 9.0 * covariances[2])
    assert_array_equal(reported.doubt(0.0 * y, measured=True), np.zeros((2, 2)))


def test_only_outputs_that_matter_make_a_forecast_of_the_cost_uncertain():
    reported = replace(believed(noise=0.2), prices=np.array([2.0, 3.0, 5.0]))
    point = np.array([0.1, 0.1])
    assert reported.targets[0][1] > reported.beliefs[1].value + reported.beliefs[1].foretold(point).change  # it would break its bound
    one = reported.deviation(point, np.zeros(3))
    assert one == pytest.approx(3.0 * reported.beliefs[1].foretold(point).deviation)
    both = reported.deviation(point, np.array([1.0, 0.0, 0.0]))
    assert both == pytest.approx(math.hypot(one, 2.0 * reported.beliefs[0].foretold(point).deviation))


def test_probabilities_are_those_of_the_normal_distribution():
    values, errors = np.array([0.9, 0.12, -1.0]), np.array([0.1, 0.05, 0.0])
    reports = Reports(values, errors, np.zeros(3), np.zeros(3))
    tol = 0.01
    expected = [norm.cdf(1.01, 0.9, 0.1), norm.cdf(0.11, 0.12, 0.05) - norm.cdf(-0.01, 0.12, 0.05), 1.0]
    assert_allclose(reports.probabilities(OUTPUTS, tol), expected, rtol=1e-12)
    assert reports._replace(values=np.array([0.9, 0.12, -1.02])).probabilities(OUTPUTS, tol)[2] == 0.0


def test_no_probability_is_known_without_an_error():
    reports = Reports(np.zeros(3), np.full(3, np.inf), np.zeros(3), np.zeros(3))
    assert np.isnan(reports.probabilities(OUTPUTS, 0.01)).all()
