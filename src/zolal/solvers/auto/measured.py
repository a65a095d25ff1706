"""What values alone say of a gradient: without the prior of slopes."""

from typing import NamedTuple, final

import numpy as np

from zolal.solvers.auto.dense import divided
from zolal.solvers.auto.factor import Factor

UNMEASURED = 1e-9  # of the prior's precision: what values have said so little of counts as not measured


@final
class Measured(NamedTuple):
    """In units in which the prior of slopes has the covariance I.

    gradient, covariance: of slopes. mixed: what the value at the centre takes of each slope.
    """

    gradient: np.ndarray
    covariance: np.ndarray
    mixed: np.ndarray

    @classmethod
    def of(cls, factor: Factor) -> "Measured":
        """By least squares over v and g: with the products of all columns solved by L, the posterior is one of normal equations.

        Then the prior of slopes, whose precision is I, is taken back: precisions are sums, so a covariance C with the mean m becomes
        (I - C)^-1 C with the mean (I - C)^-1 m.
        """
        mixed = factor.with_ones / factor.ones_square
        gradient = factor.with_values - factor.with_ones * factor.mean
        covariance = mixed[:, None] * factor.with_ones - factor.products
        d = factor.dimension
        left = -covariance
        left.reshape(-1)[:: d + 1] += UNMEASURED  # I - C
        covariance.reshape(-1)[:: d + 1] += 1.0
        alone = divided(np.concatenate([covariance, gradient[:, None]], axis=1), left, UNMEASURED)
        return cls(alone[:, d], 0.5 * (alone[:, :d] + alone[:, :d].T), mixed)
