"""The front door that SciPy users know."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import array_api_compat
import numpy as np
from scipy.optimize import Bounds, OptimizeResult

from zolal._array import Array, copied, is_finite, namespace, norm, to_numpy
from zolal._checks import positive, positive_int, shown
from zolal.constraints import as_constraints
from zolal.errors import InvalidArgumentError
from zolal.evaluation.crews import as_crew
from zolal.evaluation.faults import FaultPolicy
from zolal.methods import as_method
from zolal.naming import Naming
from zolal.problem import Problem
from zolal.regularizers import Regularizer, Zero
from zolal.result import Result
from zolal.runs.beginning import begun
from zolal.runs.certify import exact_gradient
from zolal.runs.checkpoint import constraint_table
from zolal.runs.opened import opened
from zolal.runs.session import Setup, carry_out
from zolal.sets import Box, ConvexSet, WholeSpace
from zolal.solvers import Auto


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
    method: str | None = None,
    geometry: Any = "auto",
    maxfev: float | None = None,
    tol: float = 1e-3,
    workers: Any = 1,
    on_error: str = "retry",
    retries: int | None = None,
    timeout: float | None = None,
    rng: Any = None,
    callback: Callable[[Any], Any] | None = None,
    progress: bool = False,
    checkpoint: Any = None,
    resume: bool = False,
    x_scale: Any = None,
    start: Result | None = None,
    options: dict[str, Any] | None = None,
) -> Result:
    """Minimise E[fun(x)] + h(x) over x in X subject to constraints, from noisy values of fun alone.

    fun: fun(x, *args); fun(x, xi, *args) when `sample` is given; fun(X, *args) on rows when `vectorized` (fun(X, [xi, ...], *args) with
        `sample`). A `Problem` may stand for fun and all that describes the problem.
    x0: the start, shape (d,); its array namespace (NumPy, PyTorch, ...) is the one that fun and the constraints get. A start outside X
        is projected, with a warning. A dict {name: number} or a pandas Series gives names to the variables; fun, constraints and `gradient`
        then get what x0 is, `vectorized` a dict of columns or a DataFrame, and `x` of the result is the same again.
    bounds: Bounds, pairs (low, high) or None, or a dict {name: (low, high) or None}, as X; or `region`, a set of `zolal.sets`.
    constraints: NonlinearConstraint, LinearConstraint, Bounds, SLSQP dicts, `zolal.Constraint`, a sequence of these, or a dict
        {name: constraint}. They are known exactly and cost no evaluation. Inequalities get slacks. A given derivative is checked once.
    regularizer: h, of `zolal.regularizers`.
    sample: draws xi from a numpy Generator; the same xi is then used at both ends of each difference, which removes most noise.
    gradient: the exact gradient of f where it is known; used for the final KKT measures only.
    method: "auto" unless given, which needs no options (docs/auto.md). "mdlal", Algorithm 1 of the paper, also where no method is named and
        options["step_size"] is given; "multistage", Algorithm 2, for infeasible starts. Baselines to compare with, all Euclidean:
        "szo-conex" (constraint extrapolation), "zo-penalty" (exact penalty), "zo-sgd" (descent on a quadratic penalty).
    geometry: p >= 2, a MirrorMap, or "auto", which is 2 (Euclidean).
    maxfev: the most evaluations of fun, never exceeded; unless given 500 d, or what some 200 steps cost if that is more.
    tol: the KKT residual to reach: violations are to be at most tol in the constraints' own terms, the stationarity at most tol times the
        largest gradient that the run has seen under "auto", tol itself under every other method; `message` prints both limits.
    workers: 1, a number of processes, -1 for one per core, a map-like callable such as `Pool.map`, a `concurrent.futures` executor, or
        a Dask client; the run is the same to the bit whoever evaluates.
    on_error: what becomes of an evaluation that raises, returns NaN or an infinity, exceeds `timeout` or takes its worker down, after its
        `retries`: "retry" (2 unless given) ends the run with its best point; "skip" (0) goes on without it, and ends the run where more
        than half of a step's evaluations are lost; "raise" raises. timeout: the seconds that one evaluation may take. A NameError,
        TypeError or AttributeError at the first call is a slip of the pen and raises in any case.
    rng: a seed or a numpy Generator; the run is a function of it.
    callback: called with the state (k, x, multipliers, stationarity, feasibility) after each step; returning True stops.
    progress: show a line with evaluations, rate, time left, objective, violation and residual while the run goes on.
    checkpoint: a folder that keeps the run: its state, the values received, and a trace that can be read meanwhile. resume: continue
        what the folder holds, bit for bit, or begin where it is empty; `maxfev` may be larger then, all else has to be the same.
    x_scale: for method "auto", the size of a typical change of each variable, a number, one per variable, or a dict by name; unless
        given, it comes from the bounds and from x0. Worth giving where variables have different units and neither says so. The numerical
        derivatives of constraints take steps relative to it, too.
    start: a result to go on from, instead of x0. Its x is carried over, and its multipliers to "mdlal"; everything else is learned
        anew, and evaluations are counted from 0.
    options: of the method, see `AutoOptions`, `MDLALOptions`, `MultiStageOptions`, `SZOConExOptions`, ... in `zolal.methods`.

    >>> import zolal
    >>> res = zolal.minimize(lambda x: (x - 1) @ (x - 1), [0.0, 0.0], maxfev=200, rng=0)
    >>> res.success, res.x.round(2).tolist()
    (True, [1.0, 1.0])
    """
    setup = prepare(
        fun,
        x0,
        args,
        bounds=bounds,
        constraints=constraints,
        region=region,
        regularizer=regularizer,
        sample=sample,
        vectorized=vectorized,
        gradient=gradient,
        method=method,
        geometry=geometry,
        maxfev=maxfev,
        tol=tol,
        rng=rng,
        callback=callback,
        x_scale=x_scale,
        start=start,
        options=options,
        policy=FaultPolicy(on_error, retries, timeout),
    )
    crew = as_crew(setup.problem, workers, timeout)
    with opened(setup, checkpoint, resume, progress) as session:
        return setup.naming.told(with_parameters(carry_out(session, crew), setup), setup.start.form)


def with_parameters(result: Result, setup: Setup) -> Result:
    """The result with its table of constraints and with what the run was given, for its page."""
    given = {name: value if isinstance(value, (int, float)) else str(value) for name, value in setup.chosen.items()}
    result.update(constraints=constraint_table(result, setup.start.form), parameters=given | dict(maxfev=setup.maxfev))
    return result


def prepare(
    fun: Any,
    x0: Any,
    args: Any = (),
    *,
    method: str | None,
    geometry: Any,
    maxfev: float | None,
    tol: float,
    rng: Any,
    callback: Any,
    options: dict[str, Any] | None,
    policy: FaultPolicy,
    x_scale: Any = None,
    start: Result | None = None,
    **described: Any,
) -> Setup:
    """The arguments of `minimize`, checked, as a run that has evaluated nothing yet."""
    if callback is not None and not callable(callback):
        raise InvalidArgumentError(f"`callback` must be callable, got {callback!r}.")
    described = dict(args=args) | described
    x0, maxfev = _begun(start, x0), _whole(maxfev)
    if isinstance(fun, Problem):
        whole, start_at = _whole_problem(fun, described), fun.x0 if x0 is None else x0
        naming = Naming.of(start_at, fun.names)
        x, problem = _start(naming.array(start_at), naming), naming.plain(whole)
    else:
        naming = Naming.of(x0, bounds=described.get("bounds"))
        x = _start(naming.array(x0), naming)
        problem = naming.plain(_problem(fun, x.shape[0], **described | dict(bounds=naming.bounds(described.get("bounds")))))
    if x.shape[0] != problem.dimension:
        raise InvalidArgumentError(f"`x0` must have {problem.dimension} entries, got {x.shape[0]}.")
    x = _inside(x, problem.region)
    if method is None:  # whoever knows a step size wants the method that takes one
        method = "mdlal" if isinstance(options, Mapping) and "step_size" in options else "auto"
    chosen = as_method(method, geometry, options)
    x_scale = naming.ordered("x_scale", x_scale)
    if x_scale is not None:
        scale = _x_scale(x_scale, problem.dimension)
        chosen = chosen._replace(solver=_scaled(chosen.solver, method, scale))
        parts = as_constraints(problem.constraints, problem.dimension)
        problem = replace(problem, constraints=[part.scaled(scale) for part in parts])
    seed, tol = _seed(rng), positive("minimize(tol=...)", tol)
    if problem.gradient is not None:
        exact_gradient(problem.gradient, x)
    multipliers = None if start is None else _multipliers(start)
    first, least = begun(chosen.solver, problem, x, seed, tol, multipliers)
    first.form.equalities.check_derivatives(x, problem.region, problem.names)
    own = chosen.solver.own_check(first)
    if own is not None:
        chosen = chosen._replace(check_directions=own if maxfev is None else min(own, _share(maxfev)))
    budget = _budget(maxfev, problem.dimension, len(chosen.solver.ask(first)), 2 * chosen.check_directions)
    named: dict[str, Any] = dict(
        method=method, geometry=geometry, options=options or {}, tol=tol, on_error=policy.on_error, retries=policy.retries
    )
    if x_scale is not None:
        named["x_scale"] = [float(scale) for scale in np.ravel(x_scale)]
    if start is not None:
        named["start"] = [] if multipliers is None else multipliers.tolist()
    setup = Setup(problem, chosen, first, budget, tol, policy, named, callback, rng is not None, naming, x, least, multipliers)
    return replace(setup, chosen=named | dict(maxfev=setup.maxfev)) if chosen.planned else setup


def _begun(start: Any, x0: Any) -> Any:
    """x0, or where the given result ended."""
    if start is None:
        return x0
    if not isinstance(start, OptimizeResult) or "x" not in start:
        raise InvalidArgumentError(f"`start` must be a result of `minimize`, got {start!r}.")
    if x0 is not None:
        raise InvalidArgumentError(f"Give `x0` or `start`, not both; `start.x` is where a run goes on, got x0={x0!r}.")
    return start.x


def _multipliers(start: Result) -> np.ndarray | None:
    """Those of a result, None where it has none."""
    try:
        return None if start.get("multipliers") is None else np.asarray(to_numpy(start.multipliers), dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"`start.multipliers` must be a vector of numbers, got {start.multipliers!r}.") from None


def _whole(maxfev: Any) -> int | None:
    """`maxfev` as an integer; 1e3 is one, too."""
    if isinstance(maxfev, (float, np.floating)) and float(maxfev).is_integer():
        maxfev = int(maxfev)
    return None if maxfev is None else positive_int("minimize(maxfev=...)", maxfev)


def _x_scale(given: Any, dimension: int) -> np.ndarray:
    """One positive number per variable."""
    try:
        scale = np.asarray(to_numpy(given), dtype=float)
    except (TypeError, ValueError):
        scale = np.asarray(np.nan)
    if scale.shape not in ((), (dimension,)) or not np.isfinite(scale).all() or not (scale > 0.0).all():
        raise InvalidArgumentError(f"`x_scale` must be a positive number or {dimension} of them, one per variable, got {given!r}.")
    return np.broadcast_to(scale, (dimension,)).copy()


def _scaled(solver: Any, method: str, x_scale: np.ndarray) -> Any:
    if not isinstance(solver, Auto):
        raise InvalidArgumentError(f"`x_scale` goes with method 'auto'; method {method!r} treats all variables alike.")
    return replace(solver, x_scale=x_scale)


def _whole_problem(problem: Problem, described: dict[str, Any]) -> Problem:
    """The given Problem, unless it is described a second time."""
    for name, value in described.items():
        if not (value is None or value is False or (isinstance(value, (tuple, list)) and not value)):
            raise InvalidArgumentError(f"`{name}` is part of the Problem and must not be given beside it, got {shown(value)}.")
    return problem


def _problem(
    fun: Any, dimension: int, *, args: Any, bounds: Any, region: ConvexSet | None, regularizer: Regularizer | None, **rest: Any
) -> Problem:
    h = Zero() if regularizer is None else regularizer
    return Problem(_with_args(fun, args), dimension, region=_region(bounds, region, dimension), regularizer=h, **rest)


def _start(x0: Any, naming: Naming) -> Array:
    """x0 as a vector of floats in its own namespace."""
    if x0 is None:
        raise InvalidArgumentError("`x0` must be given.")
    if array_api_compat.is_torch_array(x0):
        x0 = x0.detach()
    if np.ma.is_masked(x0):
        raise InvalidArgumentError(f"`x0` must have no masked entries, got {shown(x0)}.")
    try:
        x = x0 if array_api_compat.is_array_api_obj(x0) else np.asarray(x0)
    except Exception:  # whatever an object that poses as an array may raise
        raise InvalidArgumentError(f"`x0` must be a vector of numbers, got {shown(x0)}.") from None
    xp = namespace(x) if not isinstance(x, np.ndarray) or x.dtype.kind in "biufc" else None
    if xp is None or not xp.isdtype(x.dtype, ("real floating", "integral")):
        raise InvalidArgumentError(f"`x0` must hold real numbers, got {shown(x0)} of dtype {x.dtype}.")
    if x.ndim != 1 or x.shape[0] == 0:
        raise InvalidArgumentError(f"`x0` must be a vector with at least one entry, got shape {tuple(x.shape)}.")
    if xp.isdtype(x.dtype, "integral"):
        x = xp.astype(x, xp.float64)
    if x.dtype not in (xp.float32, xp.float64):
        raise InvalidArgumentError(f"`x0` must have single or double precision, got dtype {x.dtype}.")
    if not is_finite(x):
        bad = int(np.flatnonzero(~np.isfinite(to_numpy(x)))[0])
        entry = f"entry {bad}" if naming.like is None else repr((naming.names or ())[bad])
        raise InvalidArgumentError(f"`x0` must be finite, got {float(x[bad])} at {entry}.")
    return copied(x)


def _region(bounds: Any, region: ConvexSet | None, dimension: int) -> ConvexSet:
    """X from `bounds` or `region`."""
    if bounds is not None and region is not None:
        raise InvalidArgumentError("Give `bounds` or `region`, not both; Bounds in `constraints` go with any region.")
    if bounds is None:
        return WholeSpace() if region is None else region
    if not isinstance(bounds, Bounds):
        try:
            low, high = zip(*((None, None) if pair is None else pair for pair in bounds), strict=True)
            lower, upper = ([inf if b is None else float(b) for b in side] for side, inf in ((low, -np.inf), (high, np.inf)))
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                f"`bounds` must be scipy.optimize.Bounds or a sequence of (low, high) pairs, got {shown(bounds)}."
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
    warnings.warn(f"x0 lies outside the region and was projected onto it, by a distance of {norm(projected - x):.3g}.", stacklevel=4)
    return projected


def _seed(rng: Any) -> int:
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if rng is None:
        return int(np.random.SeedSequence().entropy) % 2**64  # type: ignore[arg-type]
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise InvalidArgumentError(f"`rng` must be a nonnegative integer, a numpy Generator or None, got {rng!r}.")


def _budget(maxfev: int | None, dimension: int, first_step: int, check: int) -> int:
    """The evaluations that the run may take, after what the final check needs."""
    if maxfev is None:
        return max(500 * dimension, 400 * first_step) - check
    needed = f"{first_step} evaluations for the first step and {check} for the final check"
    if maxfev < first_step + check:
        raise InvalidArgumentError(f"`maxfev` must be at least {first_step + check}: {needed}, got {maxfev}.")
    return maxfev - check


def _share(maxfev: int) -> int:
    """The directions of a final check, of two evaluations each, that take at most a quarter of the budget."""
    return maxfev // 8


def _with_args(fun: Any, args: Any) -> Any:
    if not callable(fun):
        raise InvalidArgumentError(f"`fun` must be callable or a zolal.Problem, got {fun!r}.")
    args = args if isinstance(args, tuple) else () if args is None else (args,)
    return _WithArgs(fun, args) if args else fun


@final
@dataclass(frozen=True, eq=False)
class _WithArgs:
    """fun(..., *args), in a form that can be sent to other processes."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]

    def __call__(self, *given: Any) -> Any:
        return self.fun(*given, *self.args)
