"""What values alone say of a gradient: without the prior of slopes."""

from typing import NamedTuple, final

import numpy as np

from zolal.solvers.auto.dense import divided
from zolal.solvers.auto.factor import Factor

UNMEASURED = 1e-9  # of the prior's precision: what values have said so little of counts as not measured


@final
class Measured(NamedTuple):
    """In units in which the prior of slopes has the covariance I.

    gradient, covariance: of slopes. tilt: what takes the prior back, by which the curvature that goes with that gradient is told, too.
    """

    gradient: np.ndarray
    covariance: np.ndarray
    tilt: np.ndarray

    @classmethod
    def of(cls, factor: Factor, across: np.ndarray | None = None) -> "Measured":
        """By least squares over v and g: with the products of all columns solved by L, the posterior is one of normal equations.

        Then the prior of slopes, whose precision is I, is taken back: precisions are sums, so a covariance C with the mean m becomes
        (I - C)^-1 C with the mean (I - C)^-1 m. across: orthonormal rows along which nothing was looked at, so that the prior stays there,
        and no covariance is told. With the projection Q along what is left, the tilt is s = (I - QCQ)^-1 Q m and the mean m + C s.
        """
        mean = factor.with_values - factor.with_ones * factor.mean
        covariance = (factor.with_ones / factor.ones_square)[:, None] * factor.with_ones - factor.products  # C - I
        d = factor.dimension
        left = -covariance
        covariance.reshape(-1)[:: d + 1] += 1.0
        along, doubt = mean, covariance
        if across is not None:
            along, doubt, left = mean - (across @ mean) @ across, _within(covariance, across), _within(left, across) + across.T @ across
        left.reshape(-1)[:: d + 1] += UNMEASURED
        alone = divided(np.concatenate([doubt, along[:, None]], axis=1), left, UNMEASURED)
        tilt = alone[:, d]
        gradient = tilt if doubt is covariance else mean + covariance @ tilt
        return cls(gradient, 0.5 * (alone[:, :d] + alone[:, :d].T), tilt)


def _within(matrix: np.ndarray, across: np.ndarray) -> np.ndarray:
    """QMQ."""
    half = matrix - across.T @ (across @ matrix)
    return half - (half @ across.T) @ across
