"""Noise that is a function of x, as that of a fixed seed, of a mesh or of a simulator's tolerances: repeats at one point do not show it."""

import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint, NonlinearConstraint
from scipy.stats import gamma

import zolal

SEEDS = range(8)


def scattered(x):
    """A number that is as good as normal, and always the same for the same x."""
    return float(np.random.default_rng(zlib.crc32((x + 0.0).tobytes())).standard_normal())


def rough(f, size):
    return lambda x: f(x) + size * scattered(x)


def bowl(x):
    return 0.5 * float(np.logspace(0.0, 1.5, len(x)) @ (x - 1.0) ** 2)


PLANE = dict(constraints=LinearConstraint(np.ones((1, 6)), 6.0, 6.0))  # through the minimiser, as the sphere
SPHERE = dict(constraints=NonlinearConstraint(lambda x: float(x @ x), 6.0, 6.0))
BOX = dict(bounds=[(-1.0, 2.0)] * 6)
START = np.array([2.0, 2.0, 2.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("given", [{}, PLANE, SPHERE, BOX], ids=["free", "plane", "sphere", "box"])
def test_a_rough_f_is_minimised_to_far_below_its_noise(given, seed):
    res = zolal.minimize(rough(bowl, 1e-3 * bowl(START)), START, maxfev=420, rng=seed, **given)
    assert bowl(res.x) <= 1e-5 * bowl(START)
    assert res.maxcv <= 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_an_average_over_random_numbers_that_x_itself_draws_is_minimised(seed):
    """A newsvendor of six goods, 300 days for each x, seeded by x: the fractile of demand at 2/5 is best."""

    def cost(x, demand):
        return float((3.0 * x - 5.0 * np.minimum(x, demand)).sum(axis=1).mean())

    def simulated(x):
        return cost(x, np.random.default_rng([seed, zlib.crc32((x + 0.0).tobytes())]).gamma(4.0, 25.0, (300, 6)))

    days = np.random.default_rng(1).gamma(4.0, 25.0, (100_000, 6))
    start, best = cost(np.full(6, 150.0), days), cost(np.full(6, 25.0 * gamma(4.0).ppf(0.4)), days)
    res = zolal.minimize(simulated, np.full(6, 150.0), bounds=[(0.0, 300.0)] * 6, maxfev=400, rng=seed)
    assert cost(res.x, days) - best <= 0.02 * (start - best)  # the noise of one value


@pytest.mark.parametrize("shape", ["maximum", "distance"])
def test_kinks_are_not_taken_for_roughness(shape):
    shapes = dict(maximum=lambda x: float(np.abs(x - 1.0).max()), distance=lambda x: float(np.abs(x - 1.0).sum()))
    states = []
    res = zolal.minimize(shapes[shape], np.zeros(10), maxfev=1000, rng=0, callback=states.append)
    assert res.status == zolal.Status.NONSMOOTH
    assert states[-1].smooth_to < 0.01  # it was asked
    assert states[-1].is_exact


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("slope", "power"), [(1e3, 1.0), (1e4, 0.7)])
def test_nor_are_kinks_beside_a_steep_bound(slope, power, seed):
    """Across the bound f changes by thousands of times what it changes by along it."""
    rng = np.random.default_rng(seed)
    least, weights = rng.uniform(-1.0, 1.0, 3), 10.0 ** rng.uniform(-1.0, 1.0, 3)

    def fun(x):
        return slope * x[0] + float(weights @ np.abs(x[1:] - least) ** power)

    states = []
    zolal.minimize(fun, [1.0, 0.0, 0.0, 0.0], bounds=[(0.0, 2.0)] + [(-3.0, 3.0)] * 3, maxfev=250, rng=seed, callback=states.append)
    assert states[-1].is_exact


def test_a_simulator_that_has_gone_down_is_not_asked_for_ever():
    calls = iter(range(45))
    res = zolal.minimize(lambda x: bowl(x) ** 2 if next(calls, None) is not None else np.nan, START, maxfev=1000, rng=0, tol=1e-12)
    assert res.nfev < 200


@pytest.mark.parametrize("stop", [30, 60, 90])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path, stop):
    given = dict(fun=rough(bowl, 1e-3 * bowl(START)), x0=START, maxfev=150, rng=0, tol=1e-9, **SPHERE)
    zolal.minimize(**given, checkpoint=tmp_path, callback=lambda state: state.k == stop)
    resumed, whole = zolal.minimize(**given, checkpoint=tmp_path, resume=True), zolal.minimize(**given)
    assert_array_equal(resumed.x, whole.x)
    assert (resumed.fun, resumed.nfev, resumed.nit) == (whole.fun, whole.nfev, whole.nit)
