"""Step sizes, prices and noise as functions of numbers, without PyTorch's tensors."""

import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'zolal[torch]'")

from zolal.torch._pace import FIRST, GOAL, LARGEST, SHORTEST, Price, Signal, centred, first_size, next_size, shortest_size, spread


def test_centred_differences_have_the_mean_of_slopes_without_that_of_curvature(rng):
    """Over directions: the mean of n/(n-1) (D_j - mean) u_j is the gradient, whatever constant all D_j share."""
    gradient, total = np.array([1.0, -2.0, 0.5]), np.zeros(3)
    for _ in range(4_000):
        u = rng.choice([-1.0, 1.0], size=(8, 3))
        total += np.asarray(centred((u @ gradient + 50.0).tolist())) @ u / 8
    np.testing.assert_allclose(total / 4_000, gradient, atol=0.1)


def test_missing_differences_count_as_nothing():
    assert centred([1.0, math.nan, 3.0]) == [-2.0, 0.0, 2.0]


def test_a_step_size_settles_at_its_goal_on_a_quadratic():
    """phi(t) = -gain t + q t^2/2 has its least value at gain/q."""
    size, gain, q = 1e-3, 2.0, 5.0
    for _ in range(200):
        size = next_size(size, gain, -gain * size + q * size**2 / 2, 1.0)
    assert size == pytest.approx(GOAL * gain / q)


@pytest.mark.parametrize("rate", [0.1, 3.0])
def test_a_schedule_multiplies_the_step_size_and_does_not_move_it(rate):
    size, gain, q = 0.2, 2.0, 5.0
    length = rate * size
    assert next_size(size, gain, -gain * length + q * length**2 / 2, 1.0, rate) == pytest.approx(size)


def test_noise_shortens_steps_by_the_share_of_the_signal(rng):
    signal = Signal()
    for _ in range(600):
        common, one, other = rng.normal(size=(3, 16))
        halves = list(zip(common + 2.0 * one, common + 2.0 * other, strict=True))
        signal = signal.seen([(a + b) / 2 for a, b in halves], halves)
    assert signal.share == pytest.approx(1.0 / 3.0, abs=0.12)  # 1 of 1 + (2^2)/2
    assert Signal().share == 1.0


def test_the_price_is_the_augmented_lagrangian_of_a_slack():
    """phi = f + min over z >= 0 of lambda (g + z) + (mu/2)(g + z)^2, by a fine grid of z."""
    price = Price(0.7, 0.2, 0.0)
    z = np.linspace(0.0, 5.0, 200_001)
    for g in (-1.0, -0.2, 0.0, 0.3, 1.5):
        slack = price.multiplier * (g + z) + price.penalty / 2 * (g + z) ** 2
        assert price.term(g) == pytest.approx(slack.min(), abs=1e-8)
        assert (price.term(g + 1e-6) - price.term(g - 1e-6)) / 2e-6 == pytest.approx(price.force(g), abs=1e-5)


def test_a_price_grows_while_a_bound_is_violated_and_falls_to_nothing():
    price = Price(0.0, 1.0, 0.5)
    for _ in range(1_000):
        price = price.after()
    assert price.multiplier == LARGEST
    price = Price(price.multiplier, 1.0, -0.5)
    for _ in range(1_000):
        price = price.after()
    assert price.multiplier == 0.0


def test_the_first_step_is_a_tenth_of_the_smoothing(rng):
    slopes, u = rng.normal(size=16) * 3.0, rng.choice([-1.0, 1.0], size=(16, 10_000))
    change = first_size(slopes.tolist()) * slopes @ u / 16
    assert np.sqrt(np.mean(change**2)) == pytest.approx(0.1, rel=0.05)
    assert spread([3.0, 4.0]) == pytest.approx(math.sqrt(12.5))


def test_no_step_is_so_short_that_rounding_hides_it():
    slopes = [0.3, -0.1, 0.2, -0.4]
    assert shortest_size(slopes) * FIRST == pytest.approx(SHORTEST * first_size(slopes))
    assert shortest_size([0.0, 0.0]) == 0.0
