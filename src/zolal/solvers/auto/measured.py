"""What values alone say of a gradient: without the prior of slopes, and with third order apart from them where there is noise."""

from typing import NamedTuple, final

import numpy as np

from zolal.solvers.auto.dense import divided
from zolal.solvers.auto.factor import Factor

ROUNDING = 1e-14  # of the largest eigenvalue
UNMEASURED = 1e-9  # of the prior's precision: what values have said so little of counts as not measured


@final
class Measured(NamedTuple):
    """In units in which the prior of slopes has the covariance I.

    gradient, covariance: of slopes. mixed: what the other coefficients take of a slope, as columns.
    """

    gradient: np.ndarray
    covariance: np.ndarray
    mixed: np.ndarray

    @classmethod
    def of(cls, factor: Factor, bent_variance: float) -> "Measured":
        """By least squares over v, g and, where the factor has them, the coefficients t of (t.a)|a|^2 with their prior variance.

        Over one length of looks (t.a)|a|^2 cannot be told from g.a, and noise hides which of them it is: looks of two lengths tell. With
        the products of all columns solved by L, the posterior is one of normal equations. Then the prior of slopes, whose precision is I,
        is taken back: precisions are sums, so a covariance C with the mean m becomes (I - C)^-1 C with the mean (I - C)^-1 m.
        """
        d, products, with_values = factor.dimension, factor.products, factor.with_values
        ones_products, ones_square = factor.with_ones, factor.ones_square
        extra = products.shape[0] - d
        others = np.empty((extra + 1, extra + 1))
        others[0, 0], others[0, 1:], others[1:, 0] = ones_square, ones_products[d:], ones_products[d:]
        others[1:, 1:] = products[d:, d:]
        if extra:
            others.reshape(-1)[extra + 2 :: extra + 2] += 1.0 / bent_variance
        crossed = np.concatenate([ones_products[None, :d], products[d:, :d]])
        mixed = divided(crossed, others, ROUNDING * float(others.diagonal().max()))
        gradient = with_values[:d] - mixed.T @ np.concatenate([[factor.ones_with_values], with_values[d:]])
        covariance = crossed.T @ mixed - products[:d, :d]
        left = -covariance
        left.reshape(-1)[:: d + 1] += UNMEASURED  # I - C
        covariance.reshape(-1)[:: d + 1] += 1.0
        alone = divided(np.concatenate([covariance, gradient[:, None]], axis=1), left, UNMEASURED)
        return cls(alone[:, d], 0.5 * (alone[:, :d] + alone[:, :d].T), mixed)
