"""What the tests of the review's problems share: noise, gaps relative to the start, and seeds of which some are slow."""

import numpy as np
import pytest

from zolal import Constraint

SEEDS = range(3)
MORE = range(3, 11)


def noisy(f, size, seed):
    values = np.random.default_rng([seed, 99])
    return lambda x: f(x) + size * values.standard_normal()


def gap(f, x, x0, best):
    return (f(x) - best) / (f(np.asarray(x0, dtype=float)) - best)


def total(d, value):
    return Constraint(lambda x: x.sum(), value, value, jac=lambda x: np.ones((1, d)))


def distance(x):
    return float(np.linalg.norm(x - 1.0))


def seeds(quick=SEEDS, slow=MORE):
    return pytest.mark.parametrize("seed", [*quick, *(pytest.param(seed, marks=pytest.mark.slow) for seed in slow)])
