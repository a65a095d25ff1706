"""A noisy probe that shows what a user of existing tools meets: two exact equalities, noise that no sample repeats, any dimension."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from scipy.optimize import NonlinearConstraint

from zolal._checks import nonnegative, nonnegative_int, positive_int, require
from zolal.problem import Problem


@final
@dataclass(frozen=True, eq=False)
class Distance:
    """||x - target||^2 + noise * N(0, 1), on one point or on rows; a call is not repeated by an equal one.

    The noise comes from a generator of this object, so a run is repeated by making the problem anew.
    """

    target: np.ndarray
    noise: float
    seed: int
    generator: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "generator", np.random.default_rng([self.seed, self.target.size, 0x6E]))

    def value(self, x: np.ndarray) -> np.ndarray:
        """||x - target||^2, without noise."""
        away = x - self.target
        return np.einsum("...i,...i->...", away, away)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        value = self.value(x)
        return value + self.noise * self.generator.standard_normal(np.shape(value)) if self.noise else value


def probe(dimension: int = 50, noise: float = 1e-3, seed: int = 0) -> Problem:
    """min ||x - t||^2 + noise * N(0, 1) subject to sum(x) = 1 and <x, x> = 1/2, from x = (1, ..., 1), which is far from feasible.

    t is normal with entries of variance 1/d. The noise is additive and new at every evaluation: there are no common samples. The solution
    is x = 1/d + w with w along t - mean(t), of length sqrt(1/2 - 1/d). Rows are evaluated at once.

    >>> problem = probe(5)
    >>> [round(float(value), 12) for value in problem.constraints.fun(problem.solution)]
    [1.0, 0.5]
    """
    d = positive_int("probe(dimension=...)", dimension)
    require(d >= 3, "probe(dimension=...)", "be at least 3, or two constraints leave nothing to choose", dimension)
    noise, seed = nonnegative("probe(noise=...)", noise), nonnegative_int("probe(seed=...)", seed)
    t = np.random.default_rng([seed, d, 0x70]).standard_normal(d) / np.sqrt(d)
    away, ones = t - t.mean(), np.ones(d)
    share = float(np.sqrt(0.5 - 1.0 / d) / np.linalg.norm(away))
    curved = 1.0 / share - 1.0  # the multiplier of <x, x>, from 2 (x - t) + lambda_1 + 2 lambda_2 x = 0
    return Problem(
        Distance(t, noise, seed),
        d,
        NonlinearConstraint(lambda x: np.array([x.sum(), x @ x]), [1.0, 0.5], [1.0, 0.5], jac=lambda x: np.stack([ones, 2.0 * x])),
        vectorized=True,
        gradient=lambda x: 2.0 * (x - t),
        x0=ones,
        solution=1.0 / d + share * away,
        multipliers=np.array([2.0 * t.mean() - 2.0 * (1.0 + curved) / d, curved]),
    )
