"""What a simple convex set offers: its projection, a membership test and its normal cone."""

import math
from abc import ABC, abstractmethod
from typing import Any

from scipy.optimize import minimize_scalar

from zolal._array import Array, norm, rounding
from zolal._checks import require
from zolal.errors import UnsupportedError

TOLERANCE = 1e-9  # relative; what counts as lying on the boundary


class ConvexSet(ABC):
    """A closed convex set with an exact Euclidean projection."""

    @abstractmethod
    def project(self, x: Array) -> Array:
        """The nearest point of the set in the Euclidean norm."""

    @abstractmethod
    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        """Whether `x` lies in the set, up to `tolerance` relative to the set's and the point's size."""

    @property
    def dimension(self) -> int | None:
        """The dimension that the set prescribes, or None when it fits every dimension."""
        return None

    def inner(self, x: Array, margin: float) -> Array:
        """A point y near x such that y + t lies in the set whenever |t_i| <= margin for all i, rounding included; x where it is one.

        Where `margin` exceeds `depth`, y lies as deep as the set allows. A set without an inside, as the simplex, or one that does not know
        it returns x.
        """
        return x

    def depth(self, dimension: int) -> float:
        """The largest margin that `inner` keeps, coordinates without any room left aside; infinite where nothing is in the way."""
        return math.inf

    def diameter(self, dimension: int) -> float:
        """The largest Euclidean distance of two points of the set, or a bound for it; infinite where it is unbounded or not known."""
        return math.inf

    @property
    def is_flat(self) -> bool:
        """Whether some coordinate has no room at all, so that `inner` leaves it where it is."""
        return False

    def clipped(self, x: Array) -> Array:
        """`x` brought back into the set, where that turns a small step in a straight line into another one, whatever the step."""
        return x

    def project_soft(self, x: Array, threshold: float) -> Array:
        """Argmin over y in the set of ||y - x||^2 / 2 + threshold ||y||_1."""
        if threshold == 0.0:
            return self.project(x)
        raise UnsupportedError(f"The l1 term has no exact step on {self!r}; supported sets: {_SUPPORTED}.")

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        """dist_p(g, -N_X(x)): how far -g is from the normal cone of the set at x, in the l_p norm."""
        raise UnsupportedError(f"The normal cone of {self!r} is not known; supported sets: {_SUPPORTED}.")

    def check_dimension(self, size: int) -> None:
        """Raise unless vectors of this size fit the set."""
        require(self.dimension in (None, size), f"{type(self).__name__} dimension", f"match the {size} variables", self.dimension)


_SUPPORTED = "WholeSpace, Box, NonNegative, L1Ball, L2Ball, LqBall, Simplex and Products of these"


def smallest_norm(residual: Any, upper: float, p: float, lower: float = 0.0) -> float:
    """min over t in [lower, upper] of ||residual(t)||_p, a convex function of t."""
    found = minimize_scalar(
        lambda t: norm(residual(float(t)), p), bounds=(lower, upper), method="bounded", options=dict(xatol=1e-13 * (upper - lower))
    )
    return min(float(found.fun), norm(residual(lower), p), norm(residual(upper), p))


def ray_distance(g: Array, ray: Array, p: float) -> float:
    """dist_p(g, {-t ray : t >= 0})."""
    length = norm(ray, 2.0)
    if length == 0.0:
        return norm(g, p)
    direction = ray / length
    # the minimiser satisfies ||g + t direction||_p <= ||g||_p, hence t <= 2 ||g||_p / ||direction||_p
    upper = 2.0 * norm(g, p) / norm(direction, p)
    return smallest_norm(lambda t: g + t * direction, upper, p) if upper > 0 else 0.0


def scaled_to(x: Array, length: float, radius: float) -> Array:
    """`x`, whose norm is `length`, shortened to the radius where it is longer, rounding included; 0 where the radius is not positive."""
    radius = max(radius, 0.0) * (1.0 - 16.0 * rounding(x))
    return x if length <= radius else x * (radius / length)


def bounded_by(value: float, bound: float, tolerance: float) -> bool:
    """Value <= bound up to a relative tolerance."""
    return value <= bound + tolerance * max(1.0, bound)
