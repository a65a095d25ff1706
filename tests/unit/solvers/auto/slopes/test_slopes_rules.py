"""The small rules of the solver for slopes, one by one."""

import math

import numpy as np
import pytest

from zolal.directions import Orthogonal
from zolal.solvers.auto.slopes.additive import Additive
from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.exact import Exact
from zolal.solvers.auto.slopes.lengths import Lengths
from zolal.solvers.auto.slopes.pace import adapted
from zolal.solvers.auto.slopes.points import Anchor, Mean
from zolal.solvers.auto.slopes.sampled import Sampled

D, A = 16, np.diag(np.linspace(0.5, 3.0, 16))
G = np.linspace(-1.0, 2.0, 16)


def quadratic(x):
    return float(G @ x + 0.5 * x @ A @ x)


def answers(survey, f=quadratic):
    return np.asarray([f(survey.point(i)) for i in range(len(survey))])


@pytest.mark.parametrize("noise", [Exact(), Additive(1e-6, 6.0), Sampled(1e-6, 8.0)], ids=lambda noise: type(noise).__name__)
def test_slopes_are_those_of_the_gradient(noise):
    x = np.linspace(0.0, 1.0, D)
    survey = noise.survey(Orthogonal(D, D, seed=1), x, (), 1e-4, False)
    reading = noise.read(survey, answers(survey), None, Discounted())
    np.testing.assert_allclose(reading.slopes, survey.directions.dot(G + A @ x), atol=4e-3)
    np.testing.assert_allclose(reading.mean_gradient(x), G + A @ x, atol=4e-3)


def test_pairs_of_two_lengths_show_the_mean_curvature():
    noise, x = Additive(1e-12, 6.0), np.zeros(D)
    survey = noise.survey(Orthogonal(D, D, seed=2), x, (), 0.1, False)
    reading = noise.read(survey, answers(survey, lambda x: 0.5 * 1.7 * x @ x), None, Discounted())
    assert reading.curvature.mean == pytest.approx(1.7)
    assert reading.value == pytest.approx(0.0, abs=1e-12)


def test_one_sample_shows_the_curvature_along_the_last_step():
    x, before = np.ones(D), np.zeros(D)
    anchor = Anchor(before, before, 0.0, 0.0, True)
    survey = Sampled(1.0, 8.0).survey(Orthogonal(D, 8), x, (before, 0.5 * x, before, x), 1e-4, True)
    reading = Sampled(1.0, 8.0).read(survey, answers(survey), anchor, Discounted())
    assert reading.second == pytest.approx(x @ A @ x)
    assert reading.change == pytest.approx(quadratic(x))


def test_a_change_between_points_beside_a_step_is_that_of_the_step_for_a_quadratic():
    step, s, x0 = np.linspace(0.1, 1.0, D), G, np.zeros(D)
    anchor = Anchor(x0, x0, quadratic(x0), 0.0, True)
    survey = Exact().survey(Orthogonal(D, 4), 0.8 * step, (), 1e-6, False)
    reading = Exact().read(survey, answers(survey), anchor, Discounted()).step_seen(anchor, step, s)
    assert reading.change == pytest.approx(quadratic(step))
    nothing = Exact().survey(Orthogonal(D, 4), 0.1 * step, (), 1e-6, False)
    assert Exact().read(nothing, answers(nothing), anchor, Discounted()).step_seen(anchor, step, s) is None


@pytest.mark.parametrize(
    ("curvature", "worse", "better", "expected"),
    [(2.0, False, True, 0.5), (0.1, False, True, 2.0), (50.0, False, False, 0.5), (math.nan, False, True, 2.0),
     (math.nan, False, False, 1.0), (5.0, True, False, 0.2), (100.0, True, False, 0.1), (-1.0, True, False, 0.5)],
)  # fmt: skip
def test_the_step_size_is_one_over_the_curvature_within_a_factor_two(curvature, worse, better, expected):
    assert adapted(1.0, curvature, worse, better) == pytest.approx(expected)


def test_differences_grow_where_longer_ones_foretell_better_and_shrink_where_they_do_much_worse():
    noise, rng = Additive(1.0, 6.0), np.random.default_rng(0)
    survey = noise.survey(Orthogonal(D, D), np.zeros(D), (), 0.1, False)
    reading = noise.read(survey, rng.standard_normal(len(survey)), None, Discounted())
    many = Lengths(0.4, Discounted(100.0, 100.0), Discounted(100.0, 100.0))
    better, worse = np.where(reading.short, 1.0, 0.01), np.where(reading.short, 0.01, 5.0)
    assert noise.lengthened(many, reading, better, 1.0, math.inf).radius in (0.4, 0.8)
    for _ in range(10):
        many = many.despite_noise(reading, better, math.inf)
    assert many.radius > 0.4
    assert many.despite_noise(reading, better, 0.0).radius == many.radius
    few = Lengths(0.4)
    for _ in range(10):
        few = few.despite_noise(reading, worse, math.inf)
    assert few.radius < 0.4


def test_a_variance_is_the_mean_of_its_squares_and_forgets():
    noise = Additive(4.0, 6.0)
    for _ in range(300):
        noise = noise.seen(1.0)
    assert noise.variance == pytest.approx(1.0, rel=1e-3)
    assert noise.weight == pytest.approx(1.0 / (1.0 - CONSTANTS.noise_memory), rel=1e-3)


def test_the_mean_forgets_its_start():
    one = np.ones(2)
    mean = Mean(100.0 * one, one, one)
    for _ in range(100):
        mean = mean.seen(one, 2.0 * one, 3.0 * one)
    np.testing.assert_allclose(mean.x, 1.0, atol=1e-6)
    np.testing.assert_allclose(mean.leading, 3.0, atol=1e-6)


def test_numbers_of_directions_grow_to_a_share_of_the_dimension():
    counts = [Exact().num_directions(4096, 1.0, steps) for steps in range(40)]
    assert counts[: CONSTANTS.first_steps] == [CONSTANTS.first_directions] * CONSTANTS.first_steps
    assert counts == sorted(counts)
    assert counts[-1] == 64
    assert Additive(1.0).num_directions(4096, 1e-2, 100) == 2048
    assert Sampled(1.0).num_directions(100, 1.0, 0) == CONSTANTS.sampled_directions


def test_samples_are_exact_only_where_they_change_no_value():
    """Rows: values at the base and beside it, by turns, two samples for each direction."""
    alike, shifted = np.array([1.0, 1.5, 1.0, 1.5]), np.array([1.0, 1.5, 3.0, 3.5])
    assert Sampled.first_read(alike, 0.1).is_exact
    assert Sampled.first_read(shifted, 0.1) == Sampled(0.0, 1.0)
    lost = np.array([1.0, np.nan, 1.0, np.nan, 1.0, 1.5, 1.0, 1.5])  # one direction has no slope
    assert Sampled.first_read(lost, 0.1).is_exact
