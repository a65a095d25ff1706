"""How far a point is from a KKT point: the paper's measures, exact or estimated from fresh evaluations."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from zolal._array import Array, like, norm, to_numpy
from zolal.estimators.base import QueryBatch
from zolal.mirror import Euclidean, MirrorMap, bregman_step
from zolal.regularizers.base import Regularizer
from zolal.sets.base import ConvexSet


def gradient_mapping(mirror: MirrorMap, region: ConvexSet, regularizer: Regularizer, x: Array, g: Array, eta: float) -> Array:
    """G_X(x, g, eta) = (x - x^+) / eta, x^+ = argmin_{y in X} <g, y> + h(y) + V(x, y) / eta (Section 3, unnumbered).

    It is 0 exactly where 0 lies in g + dh(x) + N_X(x) (Lemma 3.1). Differs from the paper: nothing.
    """
    return (x - bregman_step(mirror, region, regularizer, x, g, eta)) / eta


def kkt_measures(mirror: MirrorMap, mapping: Array, c: Array) -> tuple[float, float]:
    """||G_X||_q and ||c(x)||_p, the two sides of Definition 3.1, label `de:kkt` (Eq. (3.5), label `eps-KKT-2`, for p = 2).

    mapping: G_X(x, grad f(x) + grad c(x)^T lambda, eta). Differs from the paper: one point instead of an expectation.
    """
    return norm(mapping, mirror.q), norm(c, mirror.p)


def euclidean_residual(region: ConvexSet, regularizer: Regularizer, x: Array, g: Array, c: Array) -> float:
    """r_2 = max(||x - Pi_X(x - g)||_2, ||c(x)||_2), the diagnostic of the experiments (Section 7.1, unnumbered).

    Differs from the paper: ||c||_2 for more than one row, and the proximal operator of h where there is one.
    """
    return max(norm(gradient_mapping(Euclidean(), region, regularizer, x, g, 1.0)), norm(c))


def regularity_constant(region: ConvexSet, x: Array, pulled_back: Array, c: Array, p: float) -> float:
    """The largest beta with beta ||c(x)||_p <= dist_p(grad c(x)^T c(x), -N_X(x)) (Assumption 3.2, label `ass:ensc`).

    pulled_back: grad c(x)^T c(x). For p = 2 it is Eq. (3.6), label `CQ_2`. Infinite where c(x) = 0. Differs from the paper: nothing.
    """
    size = norm(c, p)
    return region.normal_distance(x, pulled_back, p) / size if size > 0.0 else math.inf


@final
@dataclass(frozen=True)
class KKT:
    """The KKT measures of one point.

    stationarity: ||G_X(x, grad f + grad c^T multipliers, eta)||_q. feasibility: ||c||_p, exact. euclidean: the diagnostic r_2.
    estimated: whether grad f was estimated from evaluations; then `standard_error` is that of the stationarity (NaN where there
    were no fresh evaluations to tell).
    """

    stationarity: float
    feasibility: float
    euclidean: float
    p: float
    estimated: bool
    standard_error: float = 0.0

    @classmethod
    def unknown(cls, feasibility: float) -> "KKT":
        """Of a point whose gradient nobody knows anything about."""
        return cls(math.nan, feasibility, math.nan, 2.0, True, math.nan)

    def below(self, tol: float, stationarity_tol: float | None = None, deviations: float = 1.0) -> bool:
        """Whether both measures are at most tol, the stationarity with so many standard errors; False where it is unknown.

        stationarity_tol: the limit of the stationarity where it is another one, since f has a scale of its own.
        """
        limit = tol if stationarity_tol is None else stationarity_tol
        return self.stationarity + deviations * self.standard_error <= limit and self.feasibility <= tol

    @property
    def stationarity_text(self) -> str:
        """The stationarity in words: exact, or an estimate with its standard error."""
        if math.isnan(self.stationarity):
            return "stationarity not measured"
        if not self.estimated:
            return f"stationarity {self.stationarity:.2e} (exact)"
        error = "unknown error" if math.isnan(self.standard_error) else f"standard error {self.standard_error:.1e}"
        return f"stationarity {self.stationarity:.2e} (estimated, {error})"

    def __str__(self) -> str:
        return f"{self.stationarity_text}, feasibility {self.feasibility:.2e}"


def refine_gradient(prior: Array, batch: QueryBatch, values: np.ndarray) -> tuple[Array, float]:
    """A gradient estimate from a prior guess and fresh slopes, with the root mean square of its Euclidean error.

    For a guess s that does not depend on the fresh directions, e_j = slope_j - <s, u_j> has E[e_j^2] = D^2 + noise, D = ||grad f - s||_2,
    and e_i e_j <u_i, u_j> has the mean D^2 for i != j, so the guess's error is told from the noise of the slopes whatever the
    dimension. The correction gain (1/n) sum_j e_j u_j is taken with the gain of least mean square error for the D^2 so measured, plus its
    own standard error (docs/algorithm.md). Directions without all their values are left out.
    """
    directions, kept = batch.directions, batch.kept(values)
    n, S_2 = int(kept.sum()), directions.moment_constant(directions.dimension, 2.0)
    errors = np.where(kept, batch.slopes(values)[0] - to_numpy(directions.dot(prior)), 0.0)
    total, square = directions.combine(like(errors, prior)), float(np.sum(errors**2)) / n
    length = norm(total)
    unbiased, distance = _square_distance(length * length, square, n, S_2)
    spread = (n - 1.0) * distance + S_2 * square
    gain = n * distance / spread if spread > 0.0 else 0.0
    left = distance * (1.0 - gain) ** 2 + gain**2 * max(S_2 * square - unbiased, 0.0) / n
    return prior + (gain / n) * total, math.sqrt(left)


def _square_distance(total: float, square: float, n: int, S_2: float) -> tuple[float, float]:
    """D^2 from ||sum_j e_j u_j||^2 and mean e_j^2: its unbiased estimate, and one standard error above that, at most mean e_j^2."""
    if n == 1:
        return 0.0, square
    unbiased = max(0.0, (total - n * S_2 * square) / (n * (n - 1.0)))
    error = math.hypot(math.sqrt(2.0 * S_2 / (n * (n - 1.0))) * square, 2.0 * math.sqrt(unbiased) * math.sqrt(square / n))
    return unbiased, min(square, unbiased + error)
