"""The front door that SciPy users know."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np
from scipy.optimize import Bounds

from zolal._array import Array, copied, is_finite, namespace, norm, to_numpy
from zolal._checks import positive, positive_int
from zolal.certify import certify, check_batch, exact_gradient
from zolal.errors import ConstraintError, InvalidArgumentError, UnsupportedError
from zolal.evaluate import Evaluator, MapEvaluator, VectorizedEvaluator
from zolal.kkt import KKT
from zolal.loop import Outcome, run
from zolal.methods import Method, as_method
from zolal.problem import Problem, SlackForm
from zolal.recording import Recorder
from zolal.regularizers import Regularizer, Zero
from zolal.result import Result, Status
from zolal.sets import Box, ConvexSet, WholeSpace
from zolal.solvers import State
from zolal.stopping import Callback, MaxEvaluations, MaxIterations, ResidualBelow, StoppingRule

FAILURES = (Status.EVALUATION_FAILED, Status.CONSTRAINT_FAILED, Status.DIVERGED, Status.OPTION_FAILED)


def minimize(
    fun: Callable[..., Any] | Problem,
    x0: Any = None,
    args: tuple[Any, ...] = (),
    *,
    bounds: Any = None,
    constraints: Any = (),
    region: ConvexSet | None = None,
    regularizer: Regularizer | None = None,
    sample: Callable[[np.random.Generator], Any] | None = None,
    vectorized: bool = False,
    gradient: Callable[[Array], Array] | None = None,
    method: str = "mdlal",
    geometry: Any = "auto",
    maxfev: int | None = None,
    tol: float = 1e-3,
    workers: Any = 1,
    rng: Any = None,
    callback: Callable[[Any], Any] | None = None,
    progress: bool = False,
    checkpoint: Any = None,
    options: dict[str, Any] | None = None,
) -> Result:
    """Minimise E[fun(x)] + h(x) over x in X subject to constraints, from noisy values of fun alone.

    fun: fun(x, *args); fun(x, xi, *args) when `sample` is given; fun(X, *args) on rows when `vectorized` (fun(X, [xi, ...], *args) with
        `sample`). A `Problem` may stand for fun and all that describes the problem.
    x0: the start, shape (d,); its array namespace (NumPy, PyTorch, ...) is the one that fun and the constraints get. A start outside X
        is projected, with a warning.
    bounds: Bounds or pairs (low, high), as X; or `region`, a set of `zolal.sets`.
    constraints: NonlinearConstraint, LinearConstraint, Bounds, SLSQP dicts, `zolal.Constraint`, or a sequence of these. They are known
        exactly and evaluated at iterates only. Inequalities get slacks.
    regularizer: h, of `zolal.regularizers`.
    sample: draws xi from a numpy Generator; the same xi is then used at both ends of each difference, which removes most noise.
    gradient: the exact gradient of f where it is known; used for the final KKT measures only.
    method: "mdlal", Algorithm 1 of the paper, or "multistage", Algorithm 2, for infeasible starts. Baselines to compare with, all
        Euclidean: "szo-conex" (constraint extrapolation), "zo-penalty" (exact penalty), "zo-sgd" (descent on a quadratic penalty).
    geometry: p >= 2, a MirrorMap, or "auto", which is 2 (Euclidean).
    maxfev: the most evaluations of fun, never exceeded; unless given 500 d, or what some 200 steps cost if that is more.
    tol: the KKT residual to reach.
    workers: 1, or a map-like callable such as `Pool.map`. rng: a seed or a numpy Generator; the run is a function of it.
    callback: called with the state (k, x, multipliers, stationarity, feasibility) after each step; returning True stops.
    options: of the method, see `MDLALOptions`, `MultiStageOptions`, `SZOConExOptions`, ... in `zolal.methods`.

    >>> import zolal
    >>> res = zolal.minimize(lambda x: (x - 1) @ (x - 1), [0.0, 0.0], maxfev=2000, rng=0, options=dict(step_size=0.2))
    >>> res.x.round(2).tolist()
    [1.0, 1.0]
    """
    _refuse_unfinished(progress, checkpoint)
    if callback is not None and not callable(callback):
        raise InvalidArgumentError(f"`callback` must be callable, got {callback!r}.")
    described = dict(
        args=args,
        bounds=bounds,
        constraints=constraints,
        region=region,
        regularizer=regularizer,
        sample=sample,
        vectorized=vectorized,
        gradient=gradient,
    )
    if isinstance(fun, Problem):
        problem, x = _whole_problem(fun, described), _start(fun.x0 if x0 is None else x0)
    else:
        x = _start(x0)
        problem = _problem(fun, x.shape[0], **described)
    if x.shape[0] != problem.dimension:
        raise InvalidArgumentError(f"`x0` must have {problem.dimension} entries, got {x.shape[0]}.")
    x = _inside(x, problem.region)
    chosen = as_method(method, geometry, options)
    seed, tol = _seed(rng), positive("minimize(tol=...)", tol)
    evaluator = _evaluator(problem, workers)
    if problem.gradient is not None:
        exact_gradient(problem.gradient, x)
    state = chosen.solver.init(problem, x, seed)
    budget = _budget(maxfev, problem.dimension, len(chosen.solver.ask(state)), 2 * chosen.check_directions)
    return _confirmed_run(chosen, state, evaluator, budget, tol, callback)


def _confirmed_run(chosen: Method, state: State, evaluator: Evaluator, budget: int, tol: float, callback: Any) -> Result:
    """Run and check; where the check does not confirm the run's own residual, go on, and check again after as many steps as before."""
    recorder, nfev, earliest = Recorder(), 0, 0
    while True:
        rule: StoppingRule = ResidualBelow(tol, earliest) | MaxEvaluations(budget)
        if chosen.max_iterations is not None:
            rule = MaxIterations(chosen.max_iterations) | rule
        if callback is not None:
            rule = Callback(callback, after=state.k) | rule
        outcome = run(chosen.solver, state, evaluator, rule, recorder, nfev)
        result = _result(chosen, outcome, evaluator, recorder, tol)
        if result.status is not Status.CONVERGED or result.success:
            return result
        state, nfev, earliest = outcome.state, result.nfev, 2 * outcome.state.k


def _whole_problem(problem: Problem, described: dict[str, Any]) -> Problem:
    """The given Problem, unless it is described a second time."""
    for name, value in described.items():
        if not (value is None or value is False or (isinstance(value, (tuple, list)) and not value)):
            raise InvalidArgumentError(f"`{name}` is part of the Problem and must not be given beside it, got {value!r}.")
    return problem


def _problem(
    fun: Any, dimension: int, *, args: Any, bounds: Any, region: ConvexSet | None, regularizer: Regularizer | None, **rest: Any
) -> Problem:
    h = Zero() if regularizer is None else regularizer
    return Problem(_with_args(fun, args), dimension, region=_region(bounds, region, dimension), regularizer=h, **rest)


def _result(chosen: Method, outcome: Outcome, evaluator: Evaluator, recorder: Recorder, tol: float) -> Result:
    state, stop, nfev = outcome
    failed = stop.status in FAILURES
    candidate = chosen.solver.best(state) if failed else chosen.solver.output(state)
    x = state.form.variables(candidate.z)
    mirror, step_size = chosen.solver.measures_at(state)
    batch = None
    if not failed and chosen.check_directions:
        batch = check_batch(x, chosen.directions, chosen.check_directions, chosen.smoothing(max(state.k - 1, 0)), state.seed, state.k)
    certificate = certify(state.form, candidate, mirror, step_size, batch, evaluator)
    if certificate.stop is not None and not failed:
        stop, failed = certificate.stop, True
    maxcv = _violation(state.form, x)
    success = not failed and certificate.kkt.below(tol) and maxcv <= tol
    return Result(
        x=copied(x),
        fun=certificate.fun,
        fun_error=certificate.fun_error,
        nfev=nfev + certificate.nfev,
        nit=state.k,
        success=success,
        status=stop.status,
        message=_message(stop.sentence, state.form.equalities.num_rows, maxcv, certificate.kkt, tol),
        maxcv=maxcv,
        multipliers=state.form.equalities.user_multipliers(candidate.multipliers),
        kkt=certificate.kkt,
        trace=recorder.trace,
        seed=state.seed,
    )


def _violation(form: SlackForm, x: Array) -> float:
    """The largest violation at x, NaN where a constraint fails."""
    try:
        return form.equalities.violation(x)
    except ConstraintError:
        return math.nan


def _message(reason: str, num_rows: int, maxcv: float, kkt: KKT, tol: float) -> str:
    """Why the run ended, and plainly how good the point is."""
    if num_rows == 0:
        feasible = "There are no constraints"
    elif math.isnan(maxcv):
        feasible = "The constraints could not be evaluated at the point"
    elif maxcv <= tol:
        feasible = f"The point is feasible to {maxcv:.1e} (tol {tol:.0e})"
    else:
        feasible = f"The point is not feasible, a constraint is violated by {maxcv:.1e} (tol {tol:.0e})"
    return f"{reason} {feasible}; {kkt.stationarity_text}."


def _start(x0: Any) -> Array:
    """x0 as a vector of floats in its own namespace."""
    if x0 is None:
        raise InvalidArgumentError("`x0` must be given.")
    if array_api_compat.is_torch_array(x0):
        x0 = x0.detach()
    try:
        x = x0 if array_api_compat.is_array_api_obj(x0) else np.asarray(x0)
    except ValueError:
        raise InvalidArgumentError(f"`x0` must be a vector of numbers, got {x0!r}.") from None
    xp = namespace(x) if not isinstance(x, np.ndarray) or x.dtype.kind in "biufc" else None
    if xp is None or not xp.isdtype(x.dtype, ("real floating", "integral")):
        raise InvalidArgumentError(f"`x0` must hold real numbers, got dtype {x.dtype}.")
    if x.ndim != 1 or x.shape[0] == 0:
        raise InvalidArgumentError(f"`x0` must be a vector with at least one entry, got shape {tuple(x.shape)}.")
    if xp.isdtype(x.dtype, "integral"):
        x = xp.astype(x, xp.float64)
    if x.dtype not in (xp.float32, xp.float64):
        raise InvalidArgumentError(f"`x0` must have single or double precision, got dtype {x.dtype}.")
    if not is_finite(x):
        bad = int(np.flatnonzero(~np.isfinite(to_numpy(x)))[0])
        raise InvalidArgumentError(f"`x0` must be finite, got {float(x[bad])} at entry {bad}.")
    return copied(x)


def _region(bounds: Any, region: ConvexSet | None, dimension: int) -> ConvexSet:
    """X from `bounds` or `region`."""
    if bounds is not None and region is not None:
        raise InvalidArgumentError("Give `bounds` or `region`, not both; Bounds in `constraints` go with any region.")
    if bounds is None:
        return WholeSpace() if region is None else region
    if not isinstance(bounds, Bounds):
        try:
            low, high = zip(*bounds, strict=True)
            lower, upper = ([inf if b is None else float(b) for b in side] for side, inf in ((low, -np.inf), (high, np.inf)))
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                f"`bounds` must be scipy.optimize.Bounds or a sequence of (low, high) pairs, got {bounds!r}."
            ) from None
        if len(lower) != dimension:
            raise InvalidArgumentError(f"`bounds` must have one pair per variable ({dimension}), got {len(lower)}.")
        bounds = Bounds(lower, upper)
    box = Box(*(b if np.size(b) != 1 else float(np.reshape(b, ())) for b in (bounds.lb, bounds.ub)))
    if box.dimension not in (None, dimension):
        raise InvalidArgumentError(f"`bounds` must have one pair per variable ({dimension}), got {box.dimension}.")
    return box


def _inside(x: Array, region: ConvexSet) -> Array:
    if region.contains(x):
        return x
    projected = region.project(x)
    warnings.warn(f"x0 lies outside the region and was projected onto it, by a distance of {norm(projected - x):.3g}.", stacklevel=3)
    return projected


def _seed(rng: Any) -> int:
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if rng is None:
        return int(np.random.SeedSequence().entropy) % 2**64  # type: ignore[arg-type]
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise InvalidArgumentError(f"`rng` must be a nonnegative integer, a numpy Generator or None, got {rng!r}.")


def _evaluator(problem: Problem, workers: Any) -> Evaluator:
    if not callable(workers) and not (isinstance(workers, int) and workers == 1):
        raise UnsupportedError(f"`workers` must be 1 or a map-like callable, got {workers!r}.")
    if problem.vectorized:
        return VectorizedEvaluator(problem)
    return MapEvaluator(problem, workers) if callable(workers) else MapEvaluator(problem)


def _budget(maxfev: int | None, dimension: int, first_step: int, check: int) -> int:
    """The evaluations that the run may take, after what the final check needs."""
    if maxfev is None:
        return max(500 * dimension, 400 * first_step) - check
    needed = f"{first_step} evaluations for the first step and {check} for the final check"
    if positive_int("minimize(maxfev=...)", maxfev) < first_step + check:
        raise InvalidArgumentError(f"`maxfev` must be at least {first_step + check}: {needed}, got {maxfev}.")
    return maxfev - check


def _with_args(fun: Any, args: Any) -> Any:
    if not callable(fun):
        raise InvalidArgumentError(f"`fun` must be callable or a zolal.Problem, got {fun!r}.")
    args = args if isinstance(args, tuple) else (args,)
    return (lambda *given: fun(*given, *args)) if args else fun


def _refuse_unfinished(progress: bool, checkpoint: Any) -> None:
    if progress or checkpoint is not None:
        raise UnsupportedError("`progress` and `checkpoint` are not available in this version; use `callback` to watch a run.")
