"""The step that keeps the curvature of the penalty: constraints linearized inside the square, solved through its m-dimensional dual."""

import math
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from zolal._array import EPS, Array, like, namespace, norm, rounding, to_numpy
from zolal.linearization import Linearization
from zolal.mirror.base import MirrorMap, bregman_step
from zolal.regularizers.base import Regularizer
from zolal.sets.base import ConvexSet
from zolal.sets.whole_space import WholeSpace

NEWTON_STEPS = 30
TOLERANCE = 1e-10
ROUNDING = 64 * EPS


class KeptStep(NamedTuple):
    """x: the minimiser. multipliers: y with which the plain Bregman step along s + J^T y leads to x."""

    x: Array
    multipliers: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Subproblem:
    """<s, y> + h(y) + V(x, y) / eta over y in X: what is left once the constraints have a price."""

    mirror: MirrorMap
    region: ConvexSet
    regularizer: Regularizer
    x: Array
    s: Array
    step_size: float

    def solve(self, model: Linearization, y: np.ndarray) -> Array:
        """The Bregman step along s + J^T y."""
        g = self.s + namespace(self.x).matmul(like(y, self.x), model.jacobian)
        return bregman_step(self.mirror, self.region, self.regularizer, self.x, g, self.step_size)

    @property
    def is_linear(self) -> bool:
        """Whether the minimiser is an affine function of the price: Euclidean, all of R^d, no regularizer."""
        return self.mirror.p == 2.0 and isinstance(self.region, WholeSpace) and self.regularizer.elastic_weights == (0.0, 0.0)


def kept_curvature_step(problem: Subproblem, model: Linearization, multipliers: np.ndarray, penalty: float) -> KeptStep:
    """One step of the augmented Lagrangian with c linearized inside the square.

    x^+ = argmin_{y in X} <s, y> + h(y) + V(x, y)/eta + (mu/2) dist^2(c + J (y - x) + lambda/mu, [lower, upper])

    For equalities the last term is (mu/2) ||c + J (y - x) + lambda/mu||^2; inequalities have their slacks eliminated. The optimality
    condition is that of the plain Bregman step along s + J^T y with y = mu (w - P(w)), w = c + J (x^+ - x) + lambda/mu: m equations for y,
    solved by semismooth Newton steps whose derivatives are differences of Bregman steps (docs/algorithm.md). Not in the paper, which
    linearizes the square too (Eq. (3.4)); then eta must shrink as mu grows, and here it need not.

    problem: X, h, V, x, s and eta. model: c and J with their bounds. multipliers: lambda. penalty: mu.
    """
    if len(model.value) == 0:
        return KeptStep(problem.solve(model, multipliers), multipliers)
    stiff = min(penalty, len(multipliers) / max(problem.step_size * norm(namespace(problem.x).reshape(model.jacobian, (-1,))) ** 2, 1e-300))
    found, solved = _newton(problem, model, multipliers, Weights(penalty, penalty, stiff), np.asarray(multipliers, dtype=float))
    if solved or stiff == penalty:
        return found
    return _newton(problem, model, multipliers, Weights(penalty, stiff, stiff), found.multipliers)[0]


class Weights(NamedTuple):
    """penalty: mu. measure: sigma, by which the mismatch y - sigma (w' - P(w')), w' = w - y/mu + y/sigma, is measured.

    The mismatch vanishes at one y, whatever sigma is. With sigma = mu it is the plain one, but grows mu-fold where a row becomes active, so
    that a price somewhat too high for an inequality with a little room looks better than every other one along the way. With sigma about
    1/(eta ||J||^2), `stiff`, it is as large as the price's error on either side.
    """

    penalty: float
    measure: float
    stiff: float

    @property
    def shift(self) -> float:
        return 1.0 / self.measure - 1.0 / self.penalty


def _newton(problem: Subproblem, model: Linearization, multipliers: np.ndarray, weights: Weights, y: np.ndarray) -> tuple[KeptStep, bool]:
    """Semismooth Newton steps on the mismatch from the price y, and whether they have got there."""
    penalty, measure, stiff = weights
    x, w, gap = _mismatch(problem, model, multipliers, weights, y)
    for _ in range(NEWTON_STEPS):
        size = norm(problem.s) + float(np.linalg.norm(y) + penalty * np.linalg.norm(model.excess(w)))
        rounding = ROUNDING * penalty * float(np.linalg.norm(np.abs(model.value) + np.abs(w)))
        if np.linalg.norm(gap) <= max(TOLERANCE * size, rounding) * (measure / penalty):
            return KeptStep(x, y), True
        moved = w + weights.shift * y
        outside = (moved < model.lower) | (moved > model.upper)
        price = norm(problem.s) + float(np.linalg.norm(y) + stiff * np.linalg.norm(model.excess(w)))
        response = _response(problem, model, y, x, price) + weights.shift * np.eye(len(y))
        step = np.linalg.lstsq(np.eye(len(y)) - measure * outside[:, None] * response, -gap, rcond=None)[0]
        found = _line_search(problem, model, multipliers, weights, y, step, gap)
        if found is None:
            break
        y, x, w, gap = found
    return KeptStep(x, y), False


def _mismatch(
    problem: Subproblem, model: Linearization, lam: np.ndarray, weights: Weights, y: np.ndarray
) -> tuple[Array, np.ndarray, np.ndarray]:
    """The step for the price y, w there, and the mismatch, which is to vanish."""
    x = problem.solve(model, y)
    w = model.value + to_numpy(namespace(x).matmul(model.jacobian, x - problem.x)) + lam / weights.penalty
    return x, w, y - weights.measure * model.excess(w + weights.shift * y)


def _response(problem: Subproblem, model: Linearization, y: np.ndarray, x: Array, price: float) -> np.ndarray:
    """The derivative of J x(y), shape (m, m): -eta J J^T in closed form, or by differences of steps, short beside the price's own size."""
    xp, m = namespace(x), len(y)
    if problem.is_linear:
        return -problem.step_size * to_numpy(xp.matmul(model.jacobian, model.jacobian.T))
    epsilon = math.sqrt(rounding(x)) * max(price, 1e-300)
    columns = [
        to_numpy(xp.matmul(model.jacobian, problem.solve(model, y + epsilon * np.eye(m)[i]) - x)).astype(float) / epsilon for i in range(m)
    ]
    return np.stack(columns, axis=1)


def _line_search(
    problem: Subproblem, model: Linearization, lam: np.ndarray, weights: Weights, y: np.ndarray, step: np.ndarray, gap: np.ndarray
) -> tuple[np.ndarray, Array, np.ndarray, np.ndarray] | None:
    """The first of y + step, y + step/2, ... whose mismatch is smaller; None when rounding is all that is left."""
    for halvings in range(8):
        t = 0.5**halvings
        trial = y + t * step
        x, w, following = _mismatch(problem, model, lam, weights, trial)
        if np.linalg.norm(following) <= (1.0 - 0.1 * t) * np.linalg.norm(gap):
            return trial, x, w, following
    return None
