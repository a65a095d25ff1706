"""How many values a quadratic needs, and whether some are just enough to tell that f is one."""

import math

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS

SPANNED = 1e-7  # of the farthest way: points that lie along a direction by less do not span it


def coefficients(directions: int) -> int:
    """Of a quadratic along so many directions."""
    return (directions + 1) * (directions + 2) // 2


def enough_for(dimension: int) -> int:
    """The values of a general quadratic, and a few more, up to what one can factorise."""
    return min(coefficients(dimension) + CONSTANTS.spare_points, max(CONSTANTS.most_points, 4 * (dimension + 1)))


def dimension_of(points: np.ndarray) -> int:
    """Of what some points span, seen from the first of them."""
    if len(points) < 2:
        return 0
    ways = points[1:] - points[0]
    squares = np.linalg.eigvalsh(ways @ ways.T if len(ways) < ways.shape[1] else ways.T @ ways)
    return int(np.count_nonzero(squares > SPANNED**2 * squares[-1]))


def are_just_enough(points: np.ndarray, new: int) -> bool:
    """Whether values are a few more than a quadratic has coefficients along all that they span, and these few have doubled.

    With fewer of them any third order will do; the first ones that are foretold by a quadratic alone say that there is none. new: how many
    of the points have come since that was last asked.
    """
    number = len(points)
    most = min((math.isqrt(8 * number - 7) - 3) // 2, points.shape[1])  # directions of a quadratic with fewer coefficients
    if number > CONSTANTS.search_points or number - coefficients(most) > CONSTANTS.spare_points:
        return False
    if dimension_of(points[: most + 3]) > most:  # a few of the points tell it for less
        return False
    beyond = number - coefficients(dimension_of(points))
    return 0 < beyond < CONSTANTS.spare_points and beyond <= 2 * new
