"""Far trials in a bounded region, with which the automatic method begins where nothing else keeps x."""

import math

import numpy as np
import pytest

import zolal
from zolal.directions import Gaussian
from zolal.mirror import Euclidean
from zolal.sets import Box, L2Ball, Simplex
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.leaps import Leaps

REGIONS = [Box(-1.0, 1.0), Box(0.0, 0.3), L2Ball(1.0), Simplex(1.0)]
D = 256


def leap(f, region, x0, count, seed=0):
    """So many leaps, and all that were made with their values."""
    leaps, made = Leaps.start(x0, f(x0)), []
    for k in range(count):
        point = leaps.target(Euclidean(), region, Gaussian(len(x0), 1, seed=seed, iteration=k).row(0, x0))
        made.append((point, f(point)))
        leaps = leaps.told(*made[-1])
    return leaps, made


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_leaps_stay_in_the_region_and_gain_on_a_linear_function(region):
    g = np.random.default_rng(1).standard_normal(D)
    x0 = np.full(D, 1.0 / D)
    leaps, made = leap(lambda x: float(g @ x), region, x0, D // CONSTANTS.leap_share)
    for point, _ in made:
        np.testing.assert_allclose(point, region.project(point), atol=1e-9)
    assert leaps.value == min(value for _, value in made) < g @ x0
    assert leaps.have_gained


def test_the_model_interpolates_the_last_leap_and_learns_the_gradient():
    """After a correction <s, a> is what was seen along a; on a linear f no correction leads away from the gradient."""
    g = np.random.default_rng(2).standard_normal(D)
    leaps, left = Leaps.start(np.zeros(D), 0.0), np.linalg.norm(g)
    for k in range(60):
        point = leaps.target(Euclidean(), REGIONS[0], Gaussian(D, 1, seed=5, iteration=k).row(0, g))
        before, leaps = leaps, leaps.told(point, float(g @ point))
        assert leaps.gradient @ (point - before.best) == pytest.approx(g @ (point - before.best))
        assert np.linalg.norm(g - leaps.gradient) <= left + 1e-12
        left = np.linalg.norm(g - leaps.gradient)
    assert left**2 < (1.0 - 0.5 * 60 / D) * (g @ g)


def test_values_that_are_missing_or_old_change_nothing_but_the_count():
    leaps = Leaps.start(np.zeros(D), 1.0)
    for point, value in ((np.ones(D), math.nan), (np.zeros(D), 1.0)):
        after = leaps.told(point, value)
        assert (after.count, after.idle) == (1, 1)
        assert after.value == 1.0
        assert not after.gradient.any()


def test_a_curved_function_ends_the_leaps_after_the_first_eight():
    leaps, _ = leap(lambda x: float(x @ x), REGIONS[0], np.full(D, 0.01), CONSTANTS.hope)
    assert leaps.have_ended
    assert not leaps.have_gained


def test_leaps_end_after_their_patience_or_a_part_of_the_dimension():
    leaps = Leaps(np.zeros(D), 0.0, np.zeros(D), count=D // CONSTANTS.leap_share - 1, patience=CONSTANTS.patience)
    assert not leaps.have_ended
    assert leaps.told(np.ones(D), 1.0).have_ended
    assert Leaps(np.zeros(D), 0.0, np.zeros(D), count=17, idle=CONSTANTS.patience, patience=CONSTANTS.patience).have_ended
    assert Leaps(np.zeros(100 * CONSTANTS.most_leaps), 0.0, np.zeros(D), count=CONSTANTS.most_leaps, patience=CONSTANTS.patience).have_ended


def test_a_corner_is_found_with_far_fewer_values_than_variables():
    """Who knows k random slopes of a linear f can make it fall by about sqrt(k/d) of all that is possible; leaps come close to that."""
    d = 1024
    g = np.random.default_rng(3).standard_normal(d)
    values = []

    def f(x):
        values.append(float(g @ x))
        return values[-1]

    zolal.minimize(f, np.zeros(d), region=Box(-1.0, 1.0), maxfev=d // 4, rng=0)
    fallen = -np.minimum.accumulate(values) / np.abs(g).sum()
    for k in (32, 64, 128):
        assert fallen[k] > 0.8 * math.sqrt(k / d)


@pytest.mark.parametrize("maxfev", [3, 4, 9, 40])
def test_the_best_leap_is_returned_when_the_budget_ends(maxfev):
    g = np.random.default_rng(4).standard_normal(D)
    seen = []

    def f(x):
        seen.append(float(g @ x) + 3.0)
        return seen[-1]

    res = zolal.minimize(f, np.zeros(D), region=Box(-1.0, 1.0), maxfev=maxfev, rng=0, options={"kkt_directions": 0})
    assert len(seen) <= maxfev
    assert g @ res.x + 3.0 == pytest.approx(min(seen))


def test_noise_is_found_out_before_a_leap_is_believed():
    rng = np.random.default_rng(5)
    res = zolal.minimize(
        lambda x: float(x @ x) + 1e-2 * rng.standard_normal(), np.full(D, 0.5), region=Box(-1.0, 1.0), maxfev=40 * D, rng=0
    )
    assert res.x @ res.x < 1e-2 * 0.25 * D


@pytest.mark.parametrize("region", [*REGIONS, Box(1.0, 1.0)], ids=str)
def test_a_linear_function_is_solved_with_little_more_than_one_value_per_variable(region):
    g = np.random.default_rng(6).standard_normal(D)
    x0 = np.full(D, 1.0 / D) if not isinstance(region, Box) else region.project(np.full(D, 0.1))
    res = zolal.minimize(lambda x: float(g @ x), x0, region=region, maxfev=10 * D, rng=0)
    assert res.success
    assert res.nfev < 2 * D
    assert region.normal_distance(res.x, g) < 1e-2 * np.linalg.norm(g)


@pytest.mark.parametrize("on_error", ["skip", "retry"])
def test_a_leap_without_a_value_is_skipped(on_error):
    """f is not finite in any corner, so every leap fails."""

    def f(x):
        with np.errstate(divide="ignore"):
            return float(np.sum(x - 0.5 * np.log(x)))

    res = zolal.minimize(f, np.full(D, 0.3), region=Box(0.0, 1.0), maxfev=20 * D, rng=0, on_error=on_error)
    np.testing.assert_allclose(res.x, 0.5, atol=0.02)
