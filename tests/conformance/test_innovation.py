"""What the innovation estimator promises: exactness after a sweep, an error of what it does not know, and a gain that follows noise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zolal.directions import Orthogonal
from zolal.errors import InvalidArgumentError
from zolal.estimators import Innovation
from zolal.estimators._filter import Filter
from zolal.estimators.concentrated import Concentrated
from zolal.estimators.survey import Probe, Survey

D = 12


def run(estimator, function, points, seed=0):
    """The estimates at the given points."""
    memory, gradients = estimator.start(seed), []
    for k, x in enumerate(points):
        batch = estimator.plan(memory, x, k)
        gradient, memory = estimator.absorb(memory, batch, np.array([function(batch.point(i)) for i in range(len(batch))]))
        gradients.append(gradient)
    return gradients, memory


@settings(max_examples=25)
@given(n=st.integers(1, 2 * D), seed=st.integers(0, 10**6), central=st.booleans())
def test_a_sweep_finds_the_gradient_of_a_linear_function_exactly(n, seed, central):
    g = np.random.default_rng(seed).standard_normal(D)
    estimates, _ = run(Innovation(n, 0.5, central=central), lambda x: g @ x + 3.0, [np.zeros(D)] * math.ceil(D / n), seed)
    if n <= D:
        np.testing.assert_allclose(estimates[-1], g, atol=1e-10)


@settings(max_examples=25)
@given(n=st.integers(1, D - 1), seed=st.integers(0, 10**6))
def test_before_a_sweep_ends_it_is_the_projection_onto_what_was_measured(n, seed):
    g = np.random.default_rng(seed).standard_normal(D)
    (estimate,), _ = run(Innovation(n, 0.5), lambda x: g @ x, [np.zeros(D)], seed)
    U = Orthogonal(D, n, seed=seed, start=0).rows()
    np.testing.assert_allclose(estimate, U.T @ (U @ g) / D, atol=1e-10)


def naive(estimator, function, points, seed):
    """The recursion with explicit directions and loops, for exact values."""
    s, used, estimates = np.zeros(D), 0, []
    for x in points:
        U = Orthogonal(D, estimator.num_directions, seed=seed, start=used).rows()
        nu = estimator.smoothing
        for u in U:  # one after the other is the same as all at once within a sweep
            s = s + ((function(x + nu * u) - function(x)) / nu - u @ s) * u / D
        used += len(U)
        estimates.append(s)
    return estimates


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), n=st.integers(1, D))
def test_the_estimates_follow_the_recursion(seed, n):
    rng = np.random.default_rng(seed)
    A, points = rng.standard_normal((D, D)), list(rng.standard_normal((5, D)))
    estimator = Innovation(n, 1e-3)
    estimates, _ = run(estimator, lambda x: x @ A @ x, points, seed)
    np.testing.assert_allclose(estimates, naive(estimator, lambda x: x @ A @ x, points, seed), atol=1e-7)


def test_under_noise_the_error_falls_as_one_over_the_sweeps():
    """At a fixed point E||s - g||^2 = d R / (d t) = R / t after t sweeps, R = sigma^2 / (2 nu^2); 20 runs of 20 sweeps within 40 %."""
    g, sigma, nu = np.linspace(-1, 1, 64), 0.1, 0.5
    R, errors = sigma**2 / (2 * nu**2), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        estimator = Innovation(16, nu, noise=sigma, central=True)
        estimates, _ = run(estimator, lambda x, rng=rng: g @ x + sigma * rng.standard_normal(), [np.zeros(64)] * 80, seed)
        errors.append(np.sum((estimates[-1] - g) ** 2))
    assert np.mean(errors) == pytest.approx(R / 20, rel=0.4)


def test_one_wild_value_does_not_move_the_estimate_far():
    rng, g = np.random.default_rng(0), np.ones(64) / 8
    wild = iter([1e6] + [0.0] * 10**6)
    estimator = Innovation(32, 0.5, noise=0.01, central=True)
    run(estimator, lambda x: g @ x, [np.zeros(64)] * 4)
    estimates, _ = run(estimator, lambda x: g @ x + 0.01 * rng.standard_normal() + next(wild), [np.zeros(64)] * 12)
    assert np.linalg.norm(estimates[-1] - g) < 1.0


def test_the_filter_averages_when_nothing_moves_and_trusts_when_it_does():
    rng, filtered, gains = np.random.default_rng(1), Filter(64), []
    for t in range(10):
        gain, filtered = filtered.absorb(rng.standard_normal(64) * math.sqrt(1.0 + 1.0 / (t + 1)), np.ones(64))
        gains.append(gain.mean())
    assert gains[-1] < 0.3 < gains[0]
    still, _ = filtered.absorb(rng.standard_normal(64), np.ones(64))
    moved, _ = filtered.moved(100.0).absorb(10.0 * rng.standard_normal(64), np.ones(64))
    assert still.mean() < 0.3 < 0.9 < moved.mean()
    exact, after = Filter(8).absorb(np.ones(8), np.zeros(8))
    assert exact.tolist() == [1.0] * 8
    assert after.noise == 0.0


@pytest.mark.parametrize("dimension", [256, 4096])
def test_a_gradient_with_few_entries_needs_few_slopes(dimension):
    """Five entries among d: 160 slopes are enough, whatever d."""
    rng = np.random.default_rng(dimension)
    g = np.zeros(dimension)
    g[rng.choice(dimension, 5, replace=False)] = [1.0, -1.0, 2.0, 0.5, -0.5]
    found = Concentrated.start(g)
    for start in range(0, 160, 32):
        directions = Orthogonal(dimension, 32, seed=3, start=start)
        slopes = directions.dot(g)
        found = found.judged(directions, slopes, dense_errors=slopes).absorb(directions, slopes)
    assert found.is_better
    np.testing.assert_allclose(found.estimate, g, atol=1e-3)


def test_a_dense_gradient_is_left_to_the_dense_estimate():
    rng = np.random.default_rng(0)
    g, found, dense = rng.standard_normal(1024), Concentrated.start(np.zeros(1024)), np.zeros(1024)
    for start in range(0, 2048, 64):
        directions = Orthogonal(1024, 64, seed=3, start=start)
        slopes = directions.dot(g)
        errors = slopes - directions.dot(dense)
        found = found.judged(directions, slopes, dense_errors=errors).absorb(directions, slopes)
        dense = dense + directions.combine(errors / 1024)
    assert not found.is_better


def test_a_survey_lists_its_probes():
    x, directions = np.arange(4.0), Orthogonal(4, 2, seed=1, iteration=7, start=3)
    survey = Survey((x, 2 * x), directions, (Probe(), Probe(0, 1, 0.5), Probe(0, 1, -0.5, 9), Probe(1)))
    U = directions.rows()
    np.testing.assert_allclose(survey.points(0, 4), [x, x + 0.5 * U[1], x - 0.5 * U[1], 2 * x])
    assert (len(survey), survey.smoothing, survey.resolved) == (4, 0.5, True)
    assert [survey.query(i).sample.number for i in range(4)] == [0, 0, 9, 0]
    assert survey.base_values(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1.0]
    pairs = Survey((x,), directions, (Probe(0, 0, 0.5), Probe(0, 0, -0.5)))
    assert pairs.base_values(np.array([1.0, 3.0])).mean() == 2.0


def test_a_bad_argument_gets_one_clear_sentence():
    for make, sentence in (
        (lambda: Innovation(4, 1e-3, noise=-1.0), "`Innovation(noise=...)` must be a nonnegative number, got -1.0."),
        (lambda: Innovation(4, 1e-3, central=1), "`Innovation(central=...)` must be True or False, got 1."),
    ):
        with pytest.raises(InvalidArgumentError) as error:
            make()
        assert str(error.value) == sentence
