"""How far a point is from a KKT point: the paper's measures, exact or estimated from fresh evaluations."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from zolal._array import Array, like, norm
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

    def below(self, tol: float) -> bool:
        """Whether both measures are at most tol."""
        return self.stationarity <= tol and self.feasibility <= tol

    def __str__(self) -> str:
        error = f" +- {self.standard_error:.1e} (estimated)" if self.estimated else " (exact)"
        return f"stationarity {self.stationarity:.2e}{error}, feasibility {self.feasibility:.2e}"


def refine_gradient(prior: Array, batch: QueryBatch, values: np.ndarray) -> tuple[Array, float]:
    """A gradient estimate from a prior guess and fresh slopes, with the root mean square of its Euclidean error.

    For a guess s that does not depend on the fresh directions, e_j = slope_j - <s, u_j> has E[e_j^2] = ||grad f - s||_2^2 (E[uu^T] = I,
    smoothing bias and noise aside): the guess's error is measured whatever the dimension. The correction gain (1/n) sum_j e_j u_j
    with gain n / (n - 1 + S_2) is the one of least mean square error, and leaves the share 1 - gain of the squared error.
    """
    n = batch.directions.count
    errors = batch.slopes(values)[0] - np.asarray([float(value) for value in batch.directions.dot(prior)])
    gain = n / (n - 1.0 + batch.directions.moment_constant(batch.directions.dimension, 2.0))
    correction = batch.directions.combine(like(errors * (gain / n), prior))
    return prior + correction, math.sqrt(float(np.mean(errors**2)) * (1.0 - gain))
