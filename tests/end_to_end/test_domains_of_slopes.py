"""Objectives with a domain, and ones that explode, where the belief is made of slopes: many variables, or samples."""

import numpy as np
import pytest

import zolal
from zolal import Status

MANY = 320  # more than a quadratic belief takes


def barrier(c, x):
    """c.x - sum log x, whose minimum is at 1/c; no number outside of x > 0."""
    return float(c @ x - np.log(x).sum()) if (x > 0.0).all() else np.nan


def gap(c, x):
    least = barrier(c, 1.0 / c)
    return (barrier(c, x) - least) / (barrier(c, np.full(len(c), 0.1)) - least)


@pytest.mark.parametrize(("noise", "sweeps", "left"), [(0.0, 10, 0.01), (0.1, 20, 0.4)])
def test_a_step_out_of_the_domain_is_taken_back(noise, sweeps, left):
    c, rng = np.linspace(1.0, 3.0, MANY), np.random.default_rng(1)
    res = zolal.minimize(lambda x: barrier(c, x) + noise * rng.standard_normal(), np.full(MANY, 0.1), maxfev=sweeps * MANY, rng=0)
    assert res.status in (Status.CONVERGED, Status.MAX_EVALUATIONS)
    assert gap(c, res.x) < left


@pytest.mark.parametrize(("d", "left"), [(20, 0.005), (MANY, 0.35)])
def test_the_same_with_samples(d, left):
    c = np.linspace(1.0, 3.0, d)
    res = zolal.minimize(
        lambda x, xi: barrier(c * (1.0 + 0.1 * xi), x), np.full(d, 0.1), sample=lambda rng: rng.standard_normal(d), maxfev=10 * MANY, rng=0
    )
    assert res.status in (Status.CONVERGED, Status.MAX_EVALUATIONS)
    assert gap(c, res.x) < left


@pytest.mark.parametrize(("noise", "left"), [(0.0, 0.6), (0.1, 0.95)])
def test_a_function_that_explodes_is_followed_down_and_not_called_solved_where_it_is_steepest(noise, left):
    rng = np.random.default_rng(1)

    def f(x):
        with np.errstate(over="ignore"):
            return float(np.exp(30.0 * x[:50]).sum() + 0.5 * ((x - 1.0) ** 2).sum()) + noise * rng.standard_normal()

    x0 = np.full(MANY, -1.0)
    res = zolal.minimize(f, x0, maxfev=10 * MANY, rng=0)
    assert not res.success
    assert f(res.x) < left * f(x0)


def test_a_function_without_values_beyond_the_start_ends_with_the_start():
    x0 = np.ones(MANY)
    calls = []

    def f(x):
        calls.append(x)
        return float(x @ x) if len(calls) <= 30 else np.nan

    res = zolal.minimize(f, x0, maxfev=5000, rng=0)
    assert res.status is Status.EVALUATION_FAILED
    assert len(calls) < 1000
    assert res.x @ res.x <= x0 @ x0


def test_values_of_any_size_are_descended():
    res = zolal.minimize(lambda x: 1e72 * float((x - 1.0) @ (x - 1.0)), np.zeros(MANY), maxfev=12 * MANY, rng=0)
    assert abs(res.x - 1.0).max() < 0.1


def test_a_run_gains_though_the_minimum_lies_outside_of_the_domain():
    """Steps end at the edge of a ball; the run goes along it slowly, and is not ended by it."""

    def f(x):
        return float((x - 1.0) @ (x - 1.0)) if x @ x < 50.0 else np.nan

    res = zolal.minimize(f, np.zeros(MANY), maxfev=12 * MANY, rng=0)
    assert res.status is Status.MAX_EVALUATIONS
    assert f(res.x) < 0.95 * MANY
