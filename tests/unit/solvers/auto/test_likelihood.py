"""The marginal likelihood of the scales against SciPy's normal density, with the amplitude found numerically."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal, norm, t

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.factor import Scales
from zolal.solvers.auto.likelihood import Likelihood, Repeats
from zolal.solvers.auto.quadratic import Quadratic

GRID = [Scales(*each) for each in itertools.product((0.1, 1.0), (0.03, 0.5), (1e-3, 0.3), (0.5, 6.0), (0.2, 2.0))]


def covariance(offsets, weights, scales):
    """Element by element, as the prior is stated."""
    d, n = offsets.shape[1], len(offsets)
    found = np.diag(scales.noise / weights)
    for i, j in itertools.product(range(n), range(n)):
        a, b = offsets[i], offsets[j]
        found[i, j] += a @ b + scales.common**2 * (a @ a) * (b @ b) / 4 + scales.curvature**2 * (a @ b) ** 2 / 2
        found[i, j] += sum(scales.axes**2 * a[k] ** 2 * b[k] ** 2 / 4 for k in range(d))
        higher = (a @ b) ** 3 + (a @ b) ** 4 + CONSTANTS.radial * (a @ b) * (a @ a) * (b @ b)
        found[i, j] += scales.third**2 * (higher + ((a @ a) ** 5 if i == j else 0.0))
    return found


def profiled(offsets, values, weights, repeats, scales):
    """The largest log density over the amplitude of all contrasts of the values and of the repeated values' square.

    Each repeated value counts as often as the constants say.
    """
    highest = 20.0
    if repeats.number:  # noise may be a few times what repeats show
        highest = 2.0 * np.log(CONSTANTS.outvoted * repeats.student_factor) + np.log(repeats.square / repeats.number / scales.noise)
    repeats = Repeats(*(CONSTANTS.repeat_trust * each for each in repeats))
    contrasts = null_space(np.ones((1, len(values)))).T
    matrix, seen = contrasts @ covariance(offsets, weights, scales) @ contrasts.T, contrasts @ values

    def missed(log_amplitude):
        amplitude = np.exp(log_amplitude)
        noise = amplitude * scales.noise
        repeated = -0.5 * repeats.number * np.log(noise) - 0.5 * repeats.square / noise
        return -multivariate_normal(cov=amplitude * matrix).logpdf(seen) - repeated

    inside = minimize_scalar(missed, bounds=(-20.0, min(highest, 20.0)), method="bounded", options=dict(xatol=1e-8)).fun
    return -min(inside, missed(min(highest, 20.0)))


def pull(scales, d):
    first = Scales.first(d)
    distance = sum(np.log(getattr(scales, name) / getattr(first, name)) ** 2 for name in ("curvature", "third", "common", "axes"))
    return -0.5 * distance / CONSTANTS.prior_spread**2


@pytest.mark.parametrize("repeats", [Repeats(), Repeats(0.2, 3), Repeats(1e-5, 3)])
def test_differences_of_the_likelihood_are_those_of_normal_densities_at_the_best_amplitude(repeats):
    rng = np.random.default_rng(0)
    offsets, weights = 0.7 * rng.standard_normal((9, 3)), np.where(np.arange(9) == 2, 3.0, 1.0)
    values = offsets @ [1.0, -2.0, 0.5] + np.sum(offsets**2, axis=1) + 0.1 * rng.standard_normal(9)
    likelihood = Likelihood(offsets, values, weights, repeats, 0.0)
    found = np.array([likelihood(scales) - pull(scales, 3) for scales in GRID])
    expected = np.array([profiled(offsets, values, weights, repeats, scales) for scales in GRID])
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-5)


def test_the_climb_ends_where_no_neighbour_is_likelier():
    rng = np.random.default_rng(1)
    offsets = rng.standard_normal((25, 2))
    values = offsets @ [1.0, 2.0] + 3.0 * offsets[:, 0] ** 2 + 0.05 * rng.standard_normal(25)
    likelihood = Likelihood(offsets, values, np.ones(25), Repeats(0.01, 3), 1e-12)
    end = likelihood.climbed(likelihood.climbed(Scales.first(2, 1.0)))
    for name, factor in itertools.product(("curvature", "third", "noise", "common", "axes"), (0.5, 2.0)):
        near = end._replace(**{name: getattr(end, name) * (factor if name != "noise" else factor**2)})
        assert likelihood(near) <= likelihood(end)


def test_the_largest_scales_are_as_uneven_as_the_values_leave_open():
    """One factor of 2 more is ruled out, of the third order and of the curvature; a straight f with many values leaves little open."""
    rng = np.random.default_rng(2)
    for n, most in ((12, 1.0), (60, 1e-3)):
        offsets = rng.standard_normal((n, 3))
        values = offsets @ np.ones(3) + 1e-3 * rng.standard_normal(n)
        likelihood = Likelihood(offsets, values, np.ones(n), Repeats(4e-6, 4), 1e-12)
        likeliest = likelihood.climbed(Scales.first(3, 1e-6))
        least, found = likelihood(likeliest) - CONSTANTS.ruled_out, likelihood.largest(likeliest)
        for factor, is_left_open in ((1.0, True), (2.0, False)):
            rougher = likeliest._replace(third=factor * found.third)
            bent = likeliest._replace(curvature=factor * found.curvature, axes=factor * found.axes)
            assert (likelihood(rougher) >= least) == (likelihood(bent) >= least) == is_left_open
        assert (found.noise, found.common) == (likeliest.noise, likeliest.common)
        assert likeliest.third < found.third < most


def test_curvature_and_third_order_terms_are_told_apart_from_none():
    rng = np.random.default_rng(2)
    offsets = rng.standard_normal((30, 2))
    linear, bent = offsets @ [1.0, 2.0], offsets @ [0.1, 0.2] + 5.0 * offsets[:, 0] * offsets[:, 1]
    found = []
    for values in (linear, bent):
        likelihood, scales = Likelihood(offsets, values + 1e-6 * rng.standard_normal(30), np.ones(30), Repeats(), 1e-12), Scales.first(2)
        for _ in range(5):
            scales = likelihood.climbed(scales)
        found.append(scales)
    assert found[0].curvature < 0.05 * found[1].curvature
    assert max(each.third for each in found) < 0.1


def climbed(offsets, values):
    likelihood, scales = Likelihood(offsets, values, np.ones(len(values)), Repeats(), 1e-14), Scales.first(offsets.shape[1])
    for _ in range(5):
        scales = likelihood.climbed(scales)
    return scales


def test_curvature_that_is_shared_that_axes_have_and_that_is_general_are_told_apart():
    """By fewer values than a quadratic has coefficients."""
    rng, d = np.random.default_rng(4), 12
    offsets = rng.standard_normal((3 * d, d))
    slopes, each, half = offsets @ rng.standard_normal(d), rng.uniform(-3.0, 3.0, d), rng.standard_normal((d, d))
    shared = climbed(offsets, slopes + 1.5 * np.sum(offsets**2, axis=1))
    axes = climbed(offsets, slopes + 0.5 * offsets**2 @ each)
    general = climbed(offsets, slopes + 0.5 * np.einsum("ni,ij,nj->n", offsets, half + half.T, offsets))
    assert shared.common > 20.0 * np.sqrt(d) * max(shared.curvature, shared.axes)
    assert axes.axes > 20.0 * axes.curvature
    assert general.curvature > 0.2 * general.axes


def test_noise_stays_where_nothing_was_repeated():
    offsets = np.random.default_rng(3).standard_normal((12, 2))
    found = Likelihood(offsets, offsets[:, 0] ** 2, np.ones(12), Repeats(), 1e-20).climbed(Scales.first(2, 0.0))
    assert found.noise == 0.0


def test_repeats_add_squares_about_their_own_means():
    seen = Repeats().seen(np.array([1.0, 3.0])).seen(np.array([10.0, 10.0, 13.0]))
    assert seen.number == 3
    assert seen.square == pytest.approx(2.0 + 6.0)


def test_a_repeated_value_counts_for_several_beside_a_model_and_says_the_same_of_the_noise():
    repeats = Repeats(0.6, 4)
    trusted = repeats.trusted
    assert trusted.number == CONSTANTS.repeat_trust * 4 > 4
    assert trusted.square / trusted.number == pytest.approx(0.6 / 4)
    assert Repeats().trusted == Repeats()


def found_noise(trust, monkeypatch):
    """Of values with a wiggle that no cubic follows, of the size 0.05, where twelve repeats say that the noise is 0.01."""
    monkeypatch.setattr("zolal.solvers.auto.likelihood.CONSTANTS", replace(CONSTANTS, repeat_trust=trust))
    points = np.random.default_rng(4).uniform(-1.0, 1.0, (60, 2))
    values = points @ [1.0, 2.0] + 0.05 * np.sin(40.0 * points[:, 0])
    belief = Quadratic(points, values, np.ones(60), Repeats(12 * 0.01**2, 12), np.zeros(2), 1.0, Scales.first(2, 1.0), 60)
    for _ in range(3):
        belief = replace(belief, unsearched=60).fitted()
    return belief.noise


def test_a_few_repeats_hold_their_ground_against_many_values_that_the_model_misses(monkeypatch):
    assert found_noise(1, monkeypatch) > 0.025
    assert found_noise(CONSTANTS.repeat_trust, monkeypatch) < 0.02


def noisy_values(n, d):
    rng = np.random.default_rng([n, d])
    offsets = rng.standard_normal((n, d)) / np.sqrt(d)
    return offsets, offsets @ rng.standard_normal(d) + np.sum(offsets**2, axis=1) + 0.05 * rng.standard_normal(n)


@pytest.mark.parametrize("d", [1, 3, 12])
def test_what_differs_by_few_columns_is_judged_as_by_a_factor_of_its_own(d, monkeypatch):
    offsets, values = noisy_values(150, d)
    weights = np.where(np.arange(150) % 7, 1.0, 3.0)
    found = []
    for worthwhile in (100, 1000):
        monkeypatch.setattr("zolal.solvers.auto.likelihood.WORTHWHILE", worthwhile)
        likelihood = Likelihood(offsets, values, weights, Repeats(0.02, 8), 1e-14)
        end = likelihood.climbed(Scales.first(d, 1e-2))
        found.append((end, likelihood.seen))
    assert found[0][0] == found[1][0]
    assert found[0][1].keys() == found[1][1].keys()
    for scales, value in found[0][1].items():
        assert value == pytest.approx(found[1][1][scales], abs=1e-8)


def test_hardly_any_noise_and_few_values_get_factors_of_their_own():
    offsets, values = noisy_values(150, 3)
    scales = Scales.first(3, 1e-2)
    other = scales._replace(axes=2.0 * scales.axes)
    noisy, exact, few = (
        Likelihood(offsets[:n], values[:n], np.ones(n), repeats, 1e-14)
        for n, repeats in ((150, Repeats(0.02, 8)), (150, Repeats()), (50, Repeats(0.02, 8)))
    )
    assert noisy._changed(scales, other) == slice(1, None)
    assert noisy._changed(scales, scales._replace(common=1.0)) == slice(1)
    assert noisy._changed(scales, other._replace(common=1.0)) is None
    assert noisy._changed(scales, other._replace(third=1.0)) is None
    assert noisy._changed(scales, scales) is None
    assert noisy._changed(scales._replace(noise=1e-12), other._replace(noise=1e-12)) is None
    assert exact._changed(scales, other) is None
    assert few._changed(scales, other) is None


def test_only_the_last_factors_are_kept_and_none_without_noise():
    offsets, values = noisy_values(150, 3)
    noisy, exact = (Likelihood(offsets, values, np.ones(150), repeats, 1e-14) for repeats in (Repeats(0.02, 8), Repeats()))
    for likelihood in (noisy, exact):
        likelihood.climbed(Scales.first(3, 1e-2))
    assert 0 < len(noisy.factors) <= 11 < len(noisy.seen)
    assert not exact.factors


@pytest.mark.parametrize(("number", "near"), [(3, 0.1), (5, 0.02), (20, 1e-3), (100, 1e-4)])
def test_the_quantile_of_students_t_is_that_of_a_normal_number_times_a_factor(number, near):
    exact = t.ppf(norm.cdf(CONSTANTS.certain), number) / CONSTANTS.certain
    assert Repeats(1.0, number).student_factor == pytest.approx(exact, rel=near)
    assert Repeats().student_factor == 1.0


@pytest.mark.parametrize("repeats", [Repeats(), Repeats(0.3, 3), Repeats(1e-4, 3)])
@pytest.mark.parametrize("scales", GRID[::5])
def test_slopes_along_units_are_those_of_differences(repeats, scales):
    rng = np.random.default_rng(0)
    offsets, values = rng.standard_normal((17, 4)), rng.standard_normal(17)
    likelihood = Likelihood(offsets, values, rng.integers(1, 3, 17).astype(float), repeats, 1e-3)
    step = 1e-5 * np.eye(4)
    differences = [(likelihood.at(offsets / np.exp(e))(scales) - likelihood.at(offsets * np.exp(e))(scales)) / 2e-5 for e in step]
    assert likelihood.slopes_along_units(scales) == pytest.approx(differences, rel=1e-4, abs=1e-5)
