from dataclasses import dataclass
from typing import Any, final

import numpy as np

from zolal._array import Array, like, namespace, norm, rounding, soft_threshold, to_numpy
from zolal.errors import InvalidArgumentError
from zolal.sets.base import TOLERANCE, ConvexSet

ROUNDINGS = 1e-14  # of a bound, up to which its distance from the other one is none
ENDLESS = 1e19  # a width from which on bounds are meant to be none, though they hold


@final
@dataclass(frozen=True, eq=False)
class Box(ConvexSet):
    """{x : lower <= x <= upper}; the bounds are numbers or vectors, infinite where there is none.

    >>> Box(-1.0, 1.0).project(np.array([3.0, 0.5])).tolist()
    [1.0, 0.5]
    """

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        try:
            lower, upper = (np.asarray(to_numpy(bound), dtype=float) for bound in (self.lower, self.upper))
        except (TypeError, ValueError):
            raise InvalidArgumentError(f"`Box` bounds must be numbers or vectors, got {self.lower!r} and {self.upper!r}.") from None
        if lower.ndim > 1 or upper.ndim > 1 or (lower.ndim == upper.ndim == 1 and lower.shape != upper.shape):
            raise InvalidArgumentError(
                f"`Box` bounds must be numbers or vectors of one length, got shapes {lower.shape} and {upper.shape}."
            )
        if np.isnan(lower).any() or np.isnan(upper).any():
            raise InvalidArgumentError(f"`Box` bounds must not be NaN, got lower={self.lower!r}, upper={self.upper!r}.")
        crossed = np.flatnonzero(np.atleast_1d(lower > upper) | np.atleast_1d(lower == np.inf) | np.atleast_1d(upper == -np.inf))
        if crossed.size:
            low, high = (np.broadcast_to(b, np.broadcast_shapes(lower.shape, upper.shape) or (1,))[crossed[0]] for b in (lower, upper))
            raise InvalidArgumentError(f"Lower bounds must not exceed upper bounds, got [{low}, {high}] at coordinate {crossed[0]}.")
        object.__setattr__(self, "lower", _frozen(lower))
        object.__setattr__(self, "upper", _frozen(upper))

    def __repr__(self) -> str:
        return f"Box({_short(self.lower)}, {_short(self.upper)})"

    @property
    def dimension(self) -> int | None:
        return next((len(b) for b in (self.lower, self.upper) if isinstance(b, np.ndarray)), None)

    def bounds_like(self, x: Array) -> tuple[Array, Array]:
        """Both bounds as vectors of the size and namespace of `x`."""
        xp = namespace(x)
        return tuple(like(b, x) if isinstance(b, np.ndarray) else xp.full_like(x, b) for b in (self.lower, self.upper))

    def project(self, x: Array) -> Array:
        xp = namespace(x)
        lower, upper = self.bounds_like(x)
        return xp.minimum(xp.maximum(x, lower), upper)

    def contains(self, x: Array, tolerance: float = TOLERANCE) -> bool:
        xp = namespace(x)
        return bool(xp.all(xp.abs(x - self.project(x)) <= tolerance * (1.0 + xp.abs(x))))

    def inner(self, x: Array, margin: float) -> Array:
        xp = namespace(x)
        lower, upper = self.bounds_like(x)
        lost, zero = 8.0 * rounding(x), xp.zeros_like(x)
        low, high = (xp.where(xp.isfinite(bound), bound, zero) for bound in (lower, upper))
        from_lower, from_upper = lower + margin + lost * (margin + xp.abs(low)), upper - margin - lost * (margin + xp.abs(high))
        deep = xp.where(from_lower > from_upper, 0.5 * low + 0.5 * high, xp.minimum(xp.maximum(x, from_lower), from_upper))
        return self.project(deep)

    def depth(self, dimension: int) -> float:
        half = 0.5 * np.broadcast_to(self._widths, (dimension,))
        return float(np.min(half, initial=np.inf, where=~np.broadcast_to(self._fixed, (dimension,))))

    def diameter(self, dimension: int) -> float:
        return float(np.linalg.norm(np.broadcast_to(self._widths, (dimension,))))

    @property
    def is_flat(self) -> bool:
        return bool(np.any(self._fixed))

    def clipped(self, x: Array) -> Array:
        return self.project(x)

    @property
    def _widths(self) -> np.ndarray:
        widths = np.asarray(self.upper, dtype=float) - np.asarray(self.lower, dtype=float)
        return np.where(widths < ENDLESS, widths, np.inf)

    @property
    def _fixed(self) -> np.ndarray:
        """Where the bounds are equal up to rounding."""
        size = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return self._widths <= ROUNDINGS * np.where(np.isfinite(size), size, 0.0)

    def project_soft(self, x: Array, threshold: float) -> Array:
        return self.project(soft_threshold(x, threshold))

    def normal_distance(self, x: Array, g: Array, p: float = 2.0) -> float:
        xp = namespace(x)
        lower, upper = self.bounds_like(x)
        slack = TOLERANCE * (1.0 + xp.abs(x))
        zero = xp.zeros_like(g)
        g = xp.where(x <= lower + slack, xp.minimum(g, zero), g)  # the cone at the lower bound takes any g >= 0
        return norm(xp.where(x >= upper - slack, xp.maximum(g, zero), g), p)


def _frozen(bound: np.ndarray) -> Any:
    """A scalar bound as a float, a vector as a private read-only copy."""
    if bound.ndim == 0:
        return float(bound)
    bound = bound.copy()
    bound.flags.writeable = False
    return bound


def _short(bound: Any) -> str:
    return repr(bound) if isinstance(bound, float) else f"<{len(bound)} bounds>"
