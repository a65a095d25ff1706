"""Euclid's algorithm on values that were rounded, and on values that were not."""

import numpy as np
import pytest

from zolal.solvers.auto.grain import grain


@pytest.mark.parametrize("step", [0.1, 1.0, 1e-4, 3.0])
def test_what_all_values_are_multiples_of_is_found(step):
    values = step * np.random.default_rng(0).integers(0, 50, 30)
    assert grain(values, 1e-14) == pytest.approx(step, rel=1e-6)


def test_values_of_a_smooth_function_have_nothing_in_common():
    assert grain(np.random.default_rng(0).standard_normal(30) ** 3, 1e-16) == 0.0


def test_values_at_halved_distances_are_no_grid():
    assert grain(np.append(1.0, 1.0 + 2.0 ** -np.arange(12.0)), 1e-16) == 0.0


def test_few_different_values_say_nothing():
    assert grain(np.array([0.1, 0.2, 0.2, 0.3, 0.3]), 1e-16) is None
