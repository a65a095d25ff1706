"""The final check of a point: its value and its KKT measures, from fresh evaluations or from the exact gradient."""

import math
from typing import NamedTuple

import numpy as np

from zolal._array import Array, like, zeros
from zolal.estimators.base import KINDS, QueryBatch
from zolal.evaluate import Evaluation, Evaluator
from zolal.kkt import KKT, euclidean_residual, gradient_mapping, kkt_measures, refine_gradient
from zolal.mirror import MirrorMap
from zolal.problem import SlackForm
from zolal.solvers.base import Candidate

CHECK_STREAM = 1  # directions and samples of the check are none of the run's


class Certificate(NamedTuple):
    """fun: f(x) + h(x), NaN where nothing was evaluated. fun_error: its standard error. nfev: evaluations of the check."""

    fun: float
    fun_error: float
    kkt: KKT
    nfev: int


def check_batch(x: Array, kind: str, count: int, smoothing: float, seed: int, k: int) -> QueryBatch:
    """The fresh queries of the check: a sample of its own for each direction, so that the value at x has a standard error."""
    return QueryBatch((x,), smoothing, KINDS[kind](x.shape[0], count, seed=seed, iteration=k, stream=CHECK_STREAM))


def certify(
    form: SlackForm, candidate: Candidate, mirror: MirrorMap, step_size: float, batch: QueryBatch | None, evaluator: Evaluator
) -> Certificate:
    """The certificate of a candidate; without a batch it rests on the gradient estimate of the run, with an unknown error."""
    x = form.variables(candidate.z)
    evaluation = evaluator(batch) if batch is not None else Evaluation(np.empty(0), 0)
    usable = batch is not None and evaluation.failure is None
    fun, fun_error = _mean(batch.base_values(evaluation.values)) if batch is not None and usable else (math.nan, math.nan)
    gradient, error, estimated = candidate.gradient, math.nan, True
    if form.problem.gradient is not None:
        gradient, error, estimated = like(form.problem.gradient(x), x), 0.0, False
    elif batch is not None and usable:
        prior = zeros(x.shape[0], x) if gradient is None else gradient
        gradient, error = refine_gradient(prior, batch, evaluation.values)
    kkt = _measure(form, candidate, gradient, mirror, step_size, estimated, error)
    return Certificate(fun + form.problem.regularizer.value(x), fun_error, kkt, evaluation.count)


def _measure(
    form: SlackForm, candidate: Candidate, gradient: Array | None, mirror: MirrorMap, step_size: float, estimated: bool, error: float
) -> KKT:
    z, c = candidate.z, form.value(candidate.z)
    if gradient is None:
        _, feasibility = kkt_measures(mirror, 0.0 * z, c)
        return KKT(math.nan, feasibility, math.nan, mirror.p, estimated, error)
    g = form.gradient(z, gradient, candidate.multipliers)
    mapping = gradient_mapping(mirror, form.region, form.regularizer, z, g, step_size)
    stationarity, feasibility = kkt_measures(mirror, mapping, c)
    return KKT(stationarity, feasibility, euclidean_residual(form.region, form.regularizer, z, g, c), mirror.p, estimated, error)


def _mean(values: np.ndarray) -> tuple[float, float]:
    """The mean and its standard error, which one value alone cannot tell."""
    error = float(np.std(values, ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan
    return float(np.mean(values)), error
