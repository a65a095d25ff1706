"""Objectives with a domain that no constraint tells: outside of it there is no value."""

import numpy as np
import pytest
from scipy.optimize import minimize as others
from scipy.special import gammaln

import zolal

SEEDS = range(8)


def weighted_barrier(rng, d):
    """sum c_i x_i - log x_i with weights of three orders: least at 1/c_i."""
    c = 10.0 ** rng.uniform(-1.5, 1.5, d)
    return lambda x: float(c @ x - np.log(x).sum()) if (x > 0.0).all() else np.inf, np.ones(d)


def analytic_centre(rng, d):
    """-sum log(b - A x) in a random polytope."""
    A = np.vstack([rng.standard_normal((2 * d, d)), np.eye(d), -np.eye(d)])
    b = np.abs(rng.standard_normal(len(A))) + 0.2
    return lambda x: float(-np.log(b - A @ x).sum()) if (b - A @ x > 0.0).all() else np.nan, np.zeros(d)


def gamma_fit(rng, scale):
    """The likelihood of 150 numbers by shape and scale, whose sizes differ by hundreds."""
    data = rng.gamma(rng.uniform(0.5, 5.0), scale, 150)

    def fun(p):
        return float(-((p[0] - 1.0) * np.log(data) - data / p[1] - p[0] * np.log(p[1]) - gammaln(p[0])).mean()) if min(p) > 0.0 else np.nan

    return fun, np.array([1.0, 3.0 * scale])


def weibull_fit(rng, scale):
    data = rng.weibull(rng.uniform(0.7, 4.0), 150) * scale

    def fun(p):
        return float(-(np.log(p[0] / p[1]) + (p[0] - 1.0) * np.log(data / p[1]) - (data / p[1]) ** p[0]).mean()) if min(p) > 0.0 else np.inf

    return fun, np.array([1.0, 3.0 * scale])


KINDS = [(weighted_barrier, 3), (weighted_barrier, 6), (analytic_centre, 6), (gamma_fit, 2e-3), (weibull_fit, 0.05)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("make", "size"), KINDS, ids=lambda one: getattr(one, "__name__", one))
def test_the_edge_of_a_domain_holds_nobody_up(make, size, seed):
    fun, x0 = make(np.random.default_rng(seed), size)
    res = zolal.minimize(fun, x0, maxfev=60 * (len(x0) + 1), rng=seed)
    finite = lambda x: value if np.isfinite(value := fun(x)) else 1e10  # noqa: E731
    best = others(finite, res.x, method="Nelder-Mead", options=dict(maxfev=4000, maxiter=4000, xatol=1e-10, fatol=1e-13)).fun
    assert res.success
    assert fun(res.x) - best <= 1e-5 * (fun(x0) - best)


@pytest.mark.parametrize("seed", SEEDS)
def test_nor_does_it_with_noise(seed):
    fun, x0 = weighted_barrier(np.random.default_rng(seed), 3)
    noise, least = np.random.default_rng(seed), others(lambda z: fun(np.exp(z)), np.zeros(3)).fun
    size = 1e-3 * (fun(x0) - least)
    res = zolal.minimize(lambda x: fun(x) + size * noise.standard_normal(), x0, maxfev=240, rng=seed)
    assert fun(res.x) - least <= 2e-3 * (fun(x0) - least)
