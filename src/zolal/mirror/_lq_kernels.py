"""Compiled coordinates of the smoothed l_q step: the mathematics of `_lq_arrays` in vector instructions."""

import math
from typing import Any, NamedTuple

import numpy as np

from zolal.mirror import _lq_loops as loops
from zolal.mirror._lq_arrays import Point
from zolal.mirror._lq_loops import CHUNK

FAR_BELOW = -1e6  # log delta for delta = 0


class Equation(NamedTuple):
    """phi(x) + kappa (t x + theta x^{q-1}) = kappa w with w = level - (top - |y|), all in floats for the kernels."""

    q: float
    square: float  # delta^2
    log_delta: float
    log_kappa: float
    log_linear: float  # log kappa t
    log_power: float  # log kappa theta
    exponent: float  # e of the normal x^{e-1}
    level: float
    top: float
    largest: float  # the largest w
    signed: float  # 1 for |y|, 0 for y


class CompiledCoordinates:
    """As `ArrayCoordinates`, for NumPy float64; its points share one x, which the next call overwrites."""

    def __init__(self, q: float, delta: float, y: np.ndarray, threshold: float, signed: bool, lower: Any, upper: Any) -> None:
        self.q, self.delta, self.threshold, self.signed = q, delta, threshold, signed
        self.y, self.x = _read_only(y), np.empty(y.shape[0])
        self.top = float(loops.largest_entry(self.y, signed))
        self.lower, self.upper = (_read_only(bound) for bound in (lower, upper))
        self.parts = np.zeros(5 * (-(-self.y.size // CHUNK)))

    def inside(self, log_kappa: float, log_linear: float) -> Point:
        """The roots clipped to the bounds."""
        return self._point(self._equation(log_kappa, log_linear, -math.inf, 1.0, None), False)

    def surface(self, log_kappa: float, log_linear: float, log_power: float, exponent: float, level: float | None = None) -> Point:
        """The roots and the sums with the normal x^{e-1}; w = level - (top - |y|) where a level is given."""
        return self._point(self._equation(log_kappa, log_linear, log_power, exponent, level), True)

    def _equation(self, log_kappa: float, log_linear: float, log_power: float, exponent: float, level: float | None) -> Equation:
        level, top, largest = (-self.threshold, 0.0, self.top - self.threshold) if level is None else (level, self.top, level)
        log_delta = math.log(self.delta) if self.delta > 0.0 else FAR_BELOW
        logs = (log_delta, log_kappa, log_kappa + log_linear, log_kappa + log_power)
        return Equation(self.q, self.delta**2, *logs, exponent, level, top, largest if largest > 0.0 else 1.0, float(self.signed))

    def _point(self, equation: Equation, surface: bool) -> Point:
        return Point(self.x, *loops.evaluate(equation, self.y, self.lower, self.upper, surface, self.x, self.parts))


def scaled_powers(x: np.ndarray, scale: float, delta: float, q: float) -> tuple[np.ndarray, float]:
    """w_i = a_i^{q/2-1} x_i and sum_i a_i^{q/2} with a = x^2 + delta^2, x divided by the scale and delta already so."""
    w, parts = np.empty(x.size), np.empty(-(-x.size // CHUNK))
    return w, loops.powers(_read_only(x), scale, delta, q, w, parts)


def _read_only(values: Any) -> np.ndarray:
    """A contiguous vector that is never writeable: to numba that is a type, and each type costs a compilation."""
    vector = np.ascontiguousarray(values, dtype=float).view()  # a number becomes a vector of one
    vector.flags.writeable = False
    return vector
