import math
from dataclasses import dataclass
from typing import final

from zolal._array import Array, dot, is_numpy, namespace, norm
from zolal._checks import is_number, nonnegative, require
from zolal.mirror._lq_step import solve_lq_step
from zolal.mirror._proximal import proximal_point
from zolal.mirror.base import MirrorMap
from zolal.regularizers import Regularizer, Zero
from zolal.sets import ConvexSet, WholeSpace

LARGEST = 1e8  # of p


@final
@dataclass(frozen=True)
class SmoothedLq(MirrorMap):
    """The smoothed squared l_q norm, 1-strongly convex with respect to the l_q norm.

    v_delta(x) = (sum_i (x_i^2 + delta^2)^{q/2})^{2/q} / (2 (q - 1)),   1/p + 1/q = 1        (5.13)

    Implements Eq. (5.13), label `eq:smoothed_v`, and Appendix A. Differs from the paper: delta = 0, the plain squared l_q
    norm, is allowed, and p = 2 is the Euclidean map up to a constant.

    p: the dual exponent, p >= 2. delta: the smoothing delta >= 0.

    >>> SmoothedLq(p=4.0, delta=1e-2).q
    1.3333333333333333
    """

    p: float
    delta: float

    def __post_init__(self) -> None:
        require(is_number(self.p) and 2 <= self.p < math.inf, "SmoothedLq(p=...)", "be a finite number >= 2", self.p)
        require(self.p <= LARGEST, "SmoothedLq(p=...)", f"be at most {LARGEST:.0e}, beyond which q - 1 is lost in rounding", self.p)
        object.__setattr__(self, "p", float(self.p))
        object.__setattr__(self, "delta", nonnegative("SmoothedLq(delta=...)", self.delta))

    def potential(self, x: Array) -> float:
        """v_delta(x), Eq. (5.13), label `eq:smoothed_v`. Differs from the paper: scaled by the largest entry against overflow."""
        scale = self._scale(x)
        if scale == 0.0:
            return 0.0
        _, total = self._powers(x, scale)
        return scale**2 * total ** (2.0 / self.q) / (2.0 * (self.q - 1.0))

    def grad(self, x: Array) -> Array:
        """grad_i v_delta(x) = Psi^{2/q - 1} (x_i^2 + delta^2)^{q/2 - 1} x_i / (q - 1) (Appendix A, unnumbered).

        Differs from the paper: x and delta are scaled by the largest entry, as v_delta is homogeneous of degree 2 in both.
        """
        scale = self._scale(x)
        if scale == 0.0:
            return x
        w, total = self._powers(x, scale)
        return w * (scale * total ** (2.0 / self.q - 1.0) / (self.q - 1.0))

    def grad_conjugate(self, y: Array) -> Array:
        """The x with grad v_delta(x) = y."""
        return self._solve(WholeSpace(), Zero(), y, 1.0)

    def hessian_vector(self, x: Array, y: Array) -> Array:
        """(M(x) + Lambda(x)) y, the Hessian of v_delta applied to y (Appendix A, unnumbered). Needs delta > 0 or x without zeros.

        Differs from the paper: the same scaling as in `grad`; the Hessian is homogeneous of degree 0.
        """
        q, scale = self.q, self._scale(x)
        w, total = self._powers(x, scale)
        a = (x / scale) ** 2 + (self.delta / scale) ** 2
        diagonal = total ** (2.0 / q - 1.0) * a ** (q / 2.0 - 2.0) * ((q - 1.0) * (x / scale) ** 2 + (self.delta / scale) ** 2) / (q - 1.0)
        return diagonal * y + w * ((2.0 - q) / (q - 1.0) * total ** (2.0 / q - 2.0) * dot(w, y))

    def smoothness(self, dimension: int, radius: float) -> float:
        """L_v = (2-q)/(q-1) + (D_X^q + d delta^q)^{(2-q)/q} delta^{q-2} / (q-1)                (5.14)

        Implements Eq. (5.14), label `eq:Lv`, with D_X = radius. Differs from the paper: infinite for delta = 0 and q < 2.
        """
        q = self.q
        if q == 2.0:
            return 1.0
        if self.delta == 0.0:
            return math.inf
        base = radius**q + dimension * self.delta**q
        return (2.0 - q) / (q - 1.0) + base ** ((2.0 - q) / q) * self.delta ** (q - 2.0) / (q - 1.0)

    def step(self, region: ConvexSet, regularizer: Regularizer, x: Array, g: Array, step_size: float) -> Array:
        if self.p == 2.0:
            return proximal_point(region, regularizer, x - step_size * g, step_size)
        return self._solve(region, regularizer, self.grad(x) - step_size * g, step_size)

    def _solve(self, region: ConvexSet, regularizer: Regularizer, y: Array, step_size: float) -> Array:
        """The step in double precision: its roots need exponents and digits that single precision does not have."""
        xp = namespace(y)
        if y.dtype == xp.float64:
            return solve_lq_step(self.q, self.delta, region, regularizer, y, step_size)
        return xp.astype(solve_lq_step(self.q, self.delta, region, regularizer, xp.astype(y, xp.float64), step_size), y.dtype)

    def _scale(self, x: Array) -> float:
        return max(norm(x, math.inf), self.delta)

    def _powers(self, x: Array, scale: float) -> tuple[Array, float]:
        """w_i = a_i^{q/2-1} x_i and Psi = sum_i a_i^{q/2}, with a_i = x_i^2 + delta^2, all after division by `scale`."""
        xp = namespace(x)
        delta = self.delta / scale
        if is_numpy(x):
            from zolal.mirror._lq_kernels import scaled_powers  # numba is imported only where it is used

            return scaled_powers(x, scale, delta, self.q)
        x = x / scale
        if delta * delta == 0.0:
            size = xp.abs(x)
            w = size ** (self.q - 1.0)
            return xp.sign(x) * w, float(xp.sum(w * size))
        a = x * x + delta * delta
        power = a ** (self.q / 2.0 - 1.0)
        return power * x, float(xp.sum(a * power))
