"""The subproblem of the exact penalty, solved through its dual in one variable per constraint row.

min over x in X of <G, x> + h(x) + rho ||[g + J (x - x^k)]||_2 + ||x - x^k||_2^2 / (2 eta),

where [.] leaves the rows of equalities as they are and takes the positive part of the others. As ||[v]|| is the maximum of <y, v> over
||y||_2 <= 1, y >= 0 in the rows of inequalities, the dual is

max over ||y||_2 <= rho of D(y) = <y, g> + min_{x in X} <G + J^T y, x - x^k> + h(x) - h(x^k) + ||x - x^k||^2 / (2 eta).

For given y the inner minimum is an ordinary Euclidean step x(y). The gradient of D is v(y) = g + J (x(y) - x^k), and

gap(y) = rho ||[v(y)]|| - <y, v(y)> >= 0

is the difference of the primal value at x(y) and D(y), so that ||x(y) - x*||^2 <= 2 eta gap(y): a certificate that costs nothing.

One row is a scalar root. More rows: Newton's method, the quadratic model maximised on the ball and the cone exactly, followed by an exact
line search. The model's curvature is eta J J^T first, which is exact for X = R^d, h = 0 and never too small elsewhere, then measured by
differences, which is exact on the pieces of a polyhedral X.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import brentq, nnls

from zolal._array import EPS

ROUNDING = 500.0  # times eps: of the gap, relative to the terms of v that it is made of
CLOSE = 5000.0  # times eps: a relative step of this size is rounding
RIDGE = 1e-13  # keeps a singular curvature invertible
MAX_STEPS = 100
PATIENCE = 8  # steps without a smaller gap: rounding


@final
@dataclass(frozen=True, eq=False)
class Sides:
    """Rows v in [-limit, 0] as rows that are equalities or one-sided: a two-sided one becomes v <= 0 and -limit - v <= 0.

    Only one of both can be violated, so the length of the violation is the same.
    """

    limits: np.ndarray

    @property
    def lower(self) -> np.ndarray:
        """The rows that have a second side."""
        return np.flatnonzero((self.limits > 0.0) & np.isfinite(self.limits))

    @property
    def one_sided(self) -> np.ndarray:
        return np.append(self.limits > 0.0, np.ones(self.lower.size, dtype=bool))

    def split(self, v: np.ndarray) -> np.ndarray:
        return np.append(v, -self.limits[self.lower] - v[self.lower])

    def join(self, y: np.ndarray) -> np.ndarray:
        """The multipliers of v from those of both sides."""
        joined = y[: self.limits.size].copy()
        joined[self.lower] -= y[self.limits.size :]
        return joined

    def split_multipliers(self, y: np.ndarray) -> np.ndarray:
        return np.append(np.where(self.limits > 0.0, np.maximum(y, 0.0), y), np.maximum(-y[self.lower], 0.0))

    def spread(self, gram: np.ndarray) -> np.ndarray:
        """J J^T of the rows with both sides, from that of the rows v."""
        signs = np.vstack([np.eye(self.limits.size), -np.eye(self.limits.size)[self.lower]])
        return signs @ gram @ signs.T


@final
@dataclass(frozen=True, eq=False)
class DualBall:
    """max over ||y||_2 <= rho, y >= 0 where `one_sided`, of the concave D; `slope` is v(y), its gradient. curvature: eta J J^T.

    eps: the rounding of v, which is that of x.
    """

    g: np.ndarray
    slope: Callable[[np.ndarray], np.ndarray]
    curvature: np.ndarray
    one_sided: np.ndarray
    rho: float
    eps: float = EPS

    def solve(self, start: np.ndarray) -> np.ndarray:
        """The maximiser, from a guess."""
        if self.one_sided.size == 0:
            return start
        return self._single_row() if self.one_sided.size == 1 else self._newton(self.inside(start))

    def gap(self, y: np.ndarray, v: np.ndarray) -> float:
        """The gap of y, 0 where only rounding is left."""
        gap = self.rho * float(np.linalg.norm(np.where(self.one_sided, np.maximum(v, 0.0), v))) - float(y @ v)
        return gap if gap > ROUNDING * self.eps * self.rho * float(np.linalg.norm(self.g) + np.linalg.norm(v - self.g)) else 0.0

    def inside(self, y: np.ndarray) -> np.ndarray:
        """The nearest y of the ball and the cone."""
        y = np.where(self.one_sided, np.maximum(y, 0.0), y)
        return y * min(1.0, self.rho / max(float(np.linalg.norm(y)), 1e-300))

    def _single_row(self) -> np.ndarray:
        """v is decreasing: y is its root, or the end of the interval that is nearest to it."""
        at_zero = float(self.slope(np.zeros(1))[0])
        if at_zero == 0.0 or (at_zero < 0.0 and self.one_sided[0]):
            return np.zeros(1)
        end = float(np.copysign(self.rho, at_zero))
        at_end = float(self.slope(np.array([end]))[0])
        if at_zero * at_end >= 0.0:
            return np.array([end])
        return np.array([brentq(lambda y: float(self.slope(np.array([y]))[0]), 0.0, end, xtol=1e-300, rtol=4 * self.eps)])

    def _newton(self, y: np.ndarray) -> np.ndarray:
        v, bend, waited = self.slope(y), self.curvature, 0
        best = gap = self.gap(y, v)
        answer = y
        for _ in range(MAX_STEPS):
            if best == 0.0 or waited == PATIENCE:
                break
            before, bounded = y, bend is self.curvature
            y, v = self._line_search(y, v, self.model_maximiser(v + bend @ y, bend) - y)
            if y is before and bounded:
                break  # the model that never overshoots finds nothing better
            last, gap = gap, self.gap(y, v)
            answer, best, waited = (y, gap, 0) if gap < best else (answer, best, waited + 1)
            # a measured curvature that did not help gives way to the bound once: that step always ascends
            bend = self._measured_curvature(y, v) if bounded or gap <= 0.5 * last else self.curvature
        return answer

    def model_maximiser(self, b: np.ndarray, bend: np.ndarray) -> np.ndarray:
        """argmax of <b, y> - <y, bend y> / 2 on the ball and the cone: y(lam) with bend + lam I, lam >= 0 where ||y|| = rho."""
        scale = max(float(np.trace(bend)), 1e-6 * float(np.trace(self.curvature)), 1e-100)
        y = self._cone_maximiser(b, bend, RIDGE * scale)
        if np.linalg.norm(y) <= self.rho:
            return y
        # ||y(lam)|| <= ||b|| / lam brackets the root, in logarithms because lam may have any size
        ends = np.log(RIDGE * scale), np.log(2.0 * np.linalg.norm(b) / self.rho)
        lam = np.exp(brentq(lambda s: np.linalg.norm(self._cone_maximiser(b, bend, np.exp(s))) - self.rho, *ends, xtol=1e-14))
        return self.inside(self._cone_maximiser(b, bend, lam))

    def _cone_maximiser(self, b: np.ndarray, bend: np.ndarray, lam: float) -> np.ndarray:
        """argmax of <b, y> - <y, (bend + lam I) y> / 2 on the cone: least squares with signs, free rows as two of them."""
        values, vectors = np.linalg.eigh(bend)
        roots = np.sqrt(np.maximum(values, 0.0) + lam)
        target = (vectors.T @ b) / roots
        if not self.one_sided.any():
            return vectors @ (target / roots)
        rows = (roots[:, None] * vectors.T)[:, [*np.flatnonzero(~self.one_sided), *np.arange(b.size)]]
        num_free = int(np.sum(~self.one_sided))
        rows[:, :num_free] *= -1.0
        found = nnls(rows, target)[0]
        y = found[num_free:].copy()
        y[~self.one_sided] -= found[:num_free]
        return y

    def _line_search(self, y: np.ndarray, v: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best point between y and y + step, with its slope; y itself where the step is rounding."""
        if not v @ step > 0.0 or np.linalg.norm(step) <= CLOSE * self.eps * np.linalg.norm(y):
            return y, v
        full = self.slope(y + step)
        if full @ step >= -np.sqrt(self.eps) * (v @ step):  # not 0: at the maximum of an exact model the sign is rounding
            return y + step, full
        share = brentq(lambda a: float(self.slope(y + a * step) @ step), 0.0, 1.0, xtol=1e-4)
        return y + share * step, self.slope(y + share * step)

    def _measured_curvature(self, y: np.ndarray, v: np.ndarray) -> np.ndarray:
        length = 10.0 * np.sqrt(self.eps) * max(1.0, float(np.linalg.norm(y)))
        bend = np.stack([(v - self.slope(y + length * unit)) / length for unit in np.eye(y.size)], axis=1)
        return 0.5 * (bend + bend.T)
