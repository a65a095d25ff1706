"""Coordinates of the smoothed l_q step on arrays of any namespace: the reference for the compiled ones."""

import math
from typing import Any, NamedTuple, Protocol

from zolal._array import Array, like, maximum, namespace
from zolal._roots import bounded_exp, log_coordinate_root, log_smoothed_square

TINY = 1e-300  # stands for 0 under a logarithm; the sign, which is 0 there, restores the 0

HIGHEST = 200.0  # log x is cut here: such an x comes only from multipliers far from their roots, and its powers must not overflow


class Point(NamedTuple):
    """The coordinates x for given multipliers, and the sums that the scalar equations need.

    With n = |x|^{e-1} the normal, rho = kappa x / phi(x) and M = rho times the derivative of the coordinate equation.
    """

    x: Array
    total: float  # sum (x^2 + delta^2)^{q/2}, the part of Psi
    growth: float  # sum phi(x) x / M, over the coordinates strictly inside the bounds
    size: float = 0.0  # sum n |x|
    along: float = 0.0  # sum n |x| / M
    across: float = 0.0  # sum n^2 rho / M


class Coordinates(Protocol):
    """Solves phi(x_i) / kappa + t x_i + theta x_i^{q-1} = w_i for every coordinate, w = |y| - threshold or level - (top - |y|)."""

    top: float  # max |y|, or max y where signs do not matter

    def inside(self, log_kappa: float, log_linear: float) -> Point:
        """The roots clipped to the bounds."""

    def surface(self, log_kappa: float, log_linear: float, log_power: float, exponent: float, level: float | None = None) -> Point:
        """The roots and the sums with the normal x^{e-1}; w = level - (top - |y|) where a level is given."""


class ArrayCoordinates:
    """`Coordinates` in the array API standard. `signed` is False where y itself takes the place of |y|."""

    def __init__(self, q: float, delta: float, y: Array, threshold: float, signed: bool, lower: Any, upper: Any) -> None:
        xp = namespace(y)
        self.q, self.delta, self.threshold = q, delta, threshold
        self.sign = xp.sign(y) if signed else xp.ones_like(y)
        self.y = xp.abs(y) if signed else y
        self.top = float(xp.max(self.y))
        # PyTorch refuses to look at the read-only bounds of a Box, hence the copy
        self.bounds = [xp.full_like(y, bound) if isinstance(bound, float) else like(bound.copy(), y) for bound in (lower, upper)]

    def inside(self, log_kappa: float, log_linear: float) -> Point:
        xp = namespace(self.y)
        root = self._roots(log_kappa, log_linear, -math.inf, None)
        free = root.sign * root.x
        x = xp.minimum(xp.maximum(free, self.bounds[0]), self.bounds[1])
        same = x == free
        power = xp.where(same, root.power, (x * x + self.delta**2) ** (0.5 * self.q))
        return Point(x, float(xp.sum(power)), float(xp.sum(xp.where(same, root.work / root.stiffness, xp.zeros_like(x)))))

    def surface(self, log_kappa: float, log_linear: float, log_power: float, exponent: float, level: float | None = None) -> Point:
        xp = namespace(self.y)
        root = self._roots(log_kappa, log_linear, log_power, level)
        alive = xp.abs(root.sign)
        normal = alive * root.x ** (exponent - 1.0)
        along = normal * root.x / root.stiffness
        terms = (root.power, alive * root.work / root.stiffness, normal * root.x, along, normal * normal * root.rho / root.stiffness)
        return Point(root.sign * root.x, *(float(xp.sum(term)) for term in terms))

    def _roots(self, log_kappa: float, log_linear: float, log_power: float, level: float | None) -> "_Roots":
        xp = namespace(self.y)
        w = self.y - self.threshold if level is None else level - (self.top - self.y)
        sign = xp.where(w > 0.0, self.sign, xp.zeros_like(w))
        log_w = log_kappa + xp.log(maximum(w, TINY))
        log_delta = math.log(self.delta) if self.delta > 0.0 else -math.inf
        s = log_coordinate_root(log_w, self.q / 2.0 - 1.0, log_delta, log_kappa + log_linear, log_kappa + log_power, self.q - 1.0)
        return _Roots.at(s, sign, self.q, log_delta, (log_kappa, log_linear, log_power))


class _Roots(NamedTuple):
    """Magnitudes x and what the sums need."""

    x: Array
    sign: Array
    power: Array  # (x^2 + delta^2)^{q/2}
    work: Array  # phi(x) x
    rho: Array
    stiffness: Array  # M

    @classmethod
    def at(cls, s: Array, sign: Array, q: float, log_delta: float, logs: tuple[float, float, float]) -> "_Roots":
        log_kappa, log_linear, log_power = logs
        s = namespace(s).minimum(s, namespace(s).full_like(s, HIGHEST))
        log_a, share = log_smoothed_square(s, log_delta)
        power = bounded_exp(0.5 * q * log_a)
        log_rho = log_kappa - (0.5 * q - 1.0) * log_a
        stiffness = 1.0 + (q - 2.0) * share
        if log_linear > -math.inf:
            stiffness = stiffness + bounded_exp(log_linear + log_rho)
        if log_power > -math.inf:
            stiffness = stiffness + (q - 1.0) * bounded_exp(log_power + (q - 2.0) * s + log_rho)
        return cls(bounded_exp(s), sign, power, power * share, bounded_exp(log_rho), stiffness)
