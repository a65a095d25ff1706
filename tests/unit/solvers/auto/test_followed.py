"""Outputs along a run of slopes: values, slopes, curvature and noise against functions that are known."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from zolal.directions import Orthogonal
from zolal.solvers.auto.followed import Followed
from zolal.solvers.auto.slopes.additive import Additive
from zolal.solvers.auto.slopes.exact import Exact

D = 16


def batch(noise, x, step, count=8, length=0.05):
    """Differences around x, whose directions go on where those of the last batch ended."""
    return noise.survey(Orthogonal(D, count, seed=3, iteration=step, start=count * step), x, (), length, False)


def told(followed, survey, noise, function):
    outputs = np.array([[function(survey.point(i))] for i in range(len(survey))])
    return followed.heard(survey, outputs, noise, True)


def test_an_exact_output_is_known_with_its_slope_after_one_sweep(rng):
    slope, x = rng.standard_normal(D), rng.standard_normal(D)
    followed = Followed.start(1, x)
    for step in range(2):
        followed = told(followed, batch(Exact(), x, step), Exact(), lambda z: 2.0 + slope @ z)
    assert_allclose(followed.gradients[0], slope, atol=1e-9)
    away = x + rng.standard_normal(D)
    assert followed.at(away)[0] == pytest.approx(2.0 + slope @ away, abs=1e-9)
    assert followed.spreads[0] == 0.0


def test_a_round_output_is_carried_with_its_curvature(rng):
    """o = |z|^2 has the bend 1 per square of a Euclidean length, and D per square of a length per coordinate."""
    x, away = rng.standard_normal((2, D))
    followed, noise = Followed.start(1, x), Additive(1e-12, 10.0)
    for step in range(8):
        followed = told(followed, batch(noise, x, step), noise, lambda z: z @ z + 1e-6 * rng.normal())
    assert followed.bends[0] == pytest.approx(D, rel=1e-2)
    there = followed.carried(away)
    assert there.values[0] == pytest.approx(away @ away, abs=0.1)
    assert_allclose(there.gradients[0], 2.0 * away, atol=0.2)
    assert there.values[0] == followed.at(away)[0]
    rows = followed.linearized(away, np.array([-np.inf]), np.array([1.0]))
    assert rows.violation == pytest.approx(away @ away - 1.0, abs=0.1)


@pytest.mark.parametrize("curved", [0.0, 1.0])
def test_values_are_as_certain_as_they_are_said_to_be_while_the_iterate_moves(curved):
    """The mean square of (value - truth) / error over runs is about 1, and values are surer than one batch alone makes them."""
    scores, errors = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        slope, x, noise = rng.standard_normal(D), rng.standard_normal(D), Additive(0.01, 10.0)

        def truth(z, slope=slope):
            return slope @ z + curved * z @ z

        followed = Followed.start(1, x)
        for step in range(30):
            x = x - 0.01 * rng.standard_normal(D)
            followed = told(followed, batch(noise, x, step), noise, lambda z, t=truth, rng=rng: t(z) + 0.1 * rng.normal())
        errors.append(np.sqrt(followed.variances[0]))
        scores.append((followed.values[0] - truth(x)) / errors[-1])
    assert 0.3 < np.mean(np.square(scores)) < 2.0
    assert np.mean(errors) < 0.1 / np.sqrt(16)


def test_the_spread_is_that_of_noise_and_not_of_slopes(rng):
    followed, noise = Followed.start(1, np.zeros(D)), Additive(1.0, 10.0)
    for step in range(30):
        followed = told(followed, batch(noise, np.zeros(D), step, length=1.0), noise, lambda z: 5.0 * z.sum() + 0.1 * rng.normal())
    assert followed.spreads[0] == pytest.approx(0.1, rel=0.3)


def test_what_a_far_point_says_of_a_near_one_counts_little(rng):
    """After a step that is taken back, values and slopes are those of where it began; those of a point beside it help."""
    x, noise = np.ones(D), Additive(1e-4, 10.0)

    def output(z):
        return np.sum(z**4) + 0.01 * rng.normal()

    here = Followed.start(1, x)
    for step in range(6):
        here = told(here, batch(noise, x, step), noise, output)
    far = here.beside(told(here, batch(noise, 20.0 * x, 6), noise, output))
    assert far.values[0] == pytest.approx(here.values[0], abs=np.sqrt(here.variances[0]))
    assert far.gradients[0] is here.gradients[0]
    near = here.beside(told(here, batch(noise, x + 1e-9, 6), noise, output))
    assert near.variances[0] < here.variances[0]
    assert_allclose(near.located, x)


def test_the_pull_is_the_gradient_of_the_weighted_outputs(rng):
    gradients = tuple(rng.standard_normal((2, D)))
    followed = replace(Followed.start(2, np.zeros(D)), gradients=gradients)
    assert_allclose(followed.pull(np.array([2.0, -0.5])), 2.0 * gradients[0] - 0.5 * gradients[1])


def test_what_one_knows_and_the_other_does_not_is_taken_over(rng):
    x = rng.standard_normal(D)
    nothing = Followed.start(1, x)
    known = told(nothing, batch(Exact(), x, 0), Exact(), lambda z: 2.0 + z[0])
    for both in (nothing.beside(known), known.beside(nothing)):
        assert both.values[0] == pytest.approx(2.0 + x[0])
        assert both.variances[0] == known.variances[0]
    assert nothing.beside(nothing).variances[0] == np.inf
