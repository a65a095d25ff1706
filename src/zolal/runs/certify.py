"""The final check of a point: its value and its KKT measures, from fresh evaluations or from the exact gradient."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from zolal._array import Array, copied, like, to_numpy, zeros
from zolal._checks import shown
from zolal.errors import ConstraintError, ObjectiveError
from zolal.estimators.base import KINDS, QueryBatch
from zolal.evaluation.faults import Evaluation
from zolal.kkt import KKT, euclidean_residual, gradient_mapping, kkt_measures, refine_gradient
from zolal.mirror import MirrorMap
from zolal.problem import Problem, SlackForm
from zolal.result import Status
from zolal.runs.stopping import Stop
from zolal.solvers.base import Candidate, Certified

NOTHING = Evaluation(np.empty(0), 0)
CHECK_STREAM = 1  # directions and samples of the check are none of the run's


class Certificate(NamedTuple):
    """fun: f(x) + h(x), NaN where nothing was evaluated. fun_error: its standard error. nfev: evaluations of the check."""

    fun: float
    fun_error: float
    kkt: KKT
    nfev: int
    stop: Stop | None = None  # why the check could not be made


def check_batch(x: Array, kind: str, count: int, smoothing: float, seed: int, k: int) -> QueryBatch:
    """The fresh queries of the check: a sample of its own for each direction, so that the value at x has a standard error."""
    return QueryBatch((x,), smoothing, KINDS[kind](x.shape[0], count, seed=seed, iteration=k, stream=CHECK_STREAM))


def certify(
    form: SlackForm,
    candidate: Candidate,
    mirror: MirrorMap,
    step_size: float,
    batch: QueryBatch | None = None,
    evaluation: Evaluation = NOTHING,
    known: Certified | None = None,
) -> Certificate:
    """The certificate of a candidate; without a batch it rests on the gradient estimate of the run, with an unknown error.

    known: what the solver knows by itself, which stands in for the batch; an exact gradient is better all the same.

    Whatever fails here ends in `stop` and in NaN where a number is missing; the point is never lost.
    """
    x = form.variables(candidate.z)
    if known is not None and (form.problem.gradient is None or known.reports is not None):
        return Certificate(known.fun, known.fun_error, known.kkt, evaluation.count)
    stop = None if evaluation.failure is None else Stop(evaluation.status, evaluation.failure)
    fresh = batch if stop is None else None
    fun, fun_error = (math.nan, math.nan) if fresh is None else _mean(fresh.base_values(evaluation.values))
    try:
        gradient, error, estimated = _gradient(form.problem, x, candidate.gradient, fresh, evaluation.values)
        kkt = _measure(form, candidate, gradient, mirror, step_size, estimated, error)
    except (ConstraintError, ObjectiveError) as problem:
        status = Status.CONSTRAINT_FAILED if isinstance(problem, ConstraintError) else Status.EVALUATION_FAILED
        kkt, stop = KKT(math.nan, math.nan, math.nan, mirror.p, True, math.nan), stop or Stop(status, str(problem))
    if known is not None:
        return Certificate(known.fun, known.fun_error, kkt, evaluation.count, stop)
    return Certificate(fun + form.problem.regularizer.value(x), fun_error, kkt, evaluation.count, stop)


def exact_gradient(gradient: Callable[[Array], Any], x: Array) -> Array:
    """The user's gradient at x; raises unless it is a finite real vector like x."""
    try:
        given = gradient(copied(x))
    except Exception as error:
        raise ObjectiveError(f"The gradient raised {type(error).__name__}: {error}.") from error
    try:
        value = to_numpy(given)
    except Exception:  # a ragged list, or an object that poses as an array
        value = np.asarray(None)
    if value.shape != tuple(x.shape) or value.dtype.kind not in "biuf" or not np.isfinite(value).all():
        raise ObjectiveError(f"The gradient must return {x.shape[0]} finite real numbers, got {shown(given)} of dtype {value.dtype}.")
    return like(value, x)


def _gradient(
    problem: Problem, x: Array, prior: Array | None, fresh: QueryBatch | None, values: np.ndarray
) -> tuple[Array | None, float, bool]:
    """The gradient of f at x, the standard error of its norm, and whether it is an estimate."""
    if problem.gradient is not None:
        return exact_gradient(problem.gradient, x), 0.0, False
    if fresh is None:
        return prior, math.nan, True
    return *refine_gradient(zeros(x.shape[0], x) if prior is None else prior, fresh, values), True


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
    return float(np.mean(values)) if values.size else math.nan, error
