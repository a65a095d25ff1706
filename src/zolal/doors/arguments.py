"""The arguments of a run: one list for every door, and the run that they describe, checked."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import array_api_compat
import numpy as np
from scipy.optimize import Bounds, OptimizeResult

from zolal._array import Array, copied, is_finite, namespace, norm, to_numpy
from zolal._checks import is_number, positive, positive_int, shown
from zolal.constraints import as_constraints
from zolal.errors import InvalidArgumentError, StartWarning
from zolal.evaluation.faults import FaultPolicy
from zolal.methods import as_method
from zolal.naming import Naming
from zolal.problem import Problem
from zolal.regularizers import Regularizer, Zero
from zolal.result import Result
from zolal.runs.beginning import begun
from zolal.runs.certify import exact_gradient
from zolal.runs.session import Setup
from zolal.runs.stopping import Progress
from zolal.sets import Box, ConvexSet, WholeSpace
from zolal.solvers import Auto


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Arguments:
    """What a run can be given, by whichever door. `minimize` says what each of them is."""

    fun: Callable[..., Any] | Problem
    x0: Any = None
    args: Any = ()
    bounds: Any = None
    constraints: Any = ()
    region: ConvexSet | None = None
    regularizer: Regularizer | None = None
    sample: Callable[[np.random.Generator], Any] | None = None
    vectorized: bool = False
    gradient: Callable[[Array], Array] | None = None
    method: str | None = None
    geometry: Any = "auto"
    maxfev: float | None = None
    tol: float = 1e-3
    workers: Any = 1
    on_error: str = "retry"
    retries: int | None = None
    timeout: float | None = None
    rng: Any = None
    callback: Callable[[Any], Any] | None = None
    progress: bool = False
    checkpoint: Any = None
    resume: bool = False
    x_scale: Any = None
    confidence: float = 0.95
    asynchronous: bool = False
    start: Result | None = None
    options: dict[str, Any] | None = None


DESCRIBING = ("args", "bounds", "constraints", "region", "regularizer", "sample", "vectorized", "gradient")  # parts of a Problem


def prepare(given: Arguments) -> Setup:
    """The run that the arguments describe, checked, before anything is evaluated."""
    method, options, start, policy = given.method, given.options, given.start, FaultPolicy(given.on_error, given.retries, given.timeout)
    if given.callback is not None and not callable(given.callback):
        raise InvalidArgumentError(f"`callback` must be callable, got {given.callback!r}.")
    x0, maxfev = _begun(start, given.x0), _whole(given.maxfev)
    if isinstance(given.fun, Problem):
        whole, start_at = _whole_problem(given.fun, given), given.fun.x0 if x0 is None else x0
        naming = Naming.of(start_at, given.fun.names)
        x, problem = _start(naming.array(start_at), naming), naming.plain(whole)
    else:
        naming = Naming.of(x0, bounds=given.bounds)
        x = _start(naming.array(x0), naming)
        problem = naming.plain(_problem(given, x.shape[0], naming.bounds(given.bounds)))
    if x.shape[0] != problem.dimension:
        raise InvalidArgumentError(f"`x0` must have {problem.dimension} entries, got {x.shape[0]}.")
    x = _inside(x, problem.region)
    if method is None:  # whoever knows a step size wants the method that takes one
        method = "mdlal" if isinstance(options, Mapping) and "step_size" in options else "auto"
    if problem.simulated:
        _check_simulated(method, given.confidence)
    chosen = as_method(method, given.geometry, options)
    x_scale = naming.ordered("x_scale", given.x_scale)
    if x_scale is not None:
        scale = _x_scale(x_scale, problem.dimension)
        chosen = chosen._replace(solver=_scaled(chosen.solver, method, scale))
        parts = as_constraints(problem.known, problem.dimension)
        problem = replace(problem, constraints=[*(part.scaled(scale) for part in parts), *problem.simulated])
    if not isinstance(given.asynchronous, bool):
        raise InvalidArgumentError(f"`asynchronous` must be True or False, got {given.asynchronous!r}.")
    if given.asynchronous:
        chosen = chosen._replace(solver=_asynchronous(chosen.solver, method))
    if isinstance(chosen.solver, Auto) and problem.simulated:
        chosen = chosen._replace(solver=replace(chosen.solver, confidence=float(given.confidence)))
    seed, tol = _seed(given.rng), positive("minimize(tol=...)", given.tol)
    if problem.gradient is not None:
        exact_gradient(problem.gradient, x)
    multipliers = None if start is None else _multipliers(start)
    first, least = begun(chosen.solver, problem, x, seed, tol, multipliers)
    first.form.equalities.check_derivatives(x, problem.region, problem.names)
    own = chosen.solver.own_check(first)
    if own is not None:
        chosen = chosen._replace(check_directions=own if maxfev is None else min(own, _share(maxfev)))
    budget = _budget(maxfev, problem.dimension, Progress(first, 0, chosen.solver).next_cost, 2 * chosen.check_directions)
    named: dict[str, Any] = dict(
        method=method, geometry=given.geometry, options=options or {}, tol=tol, on_error=policy.on_error, retries=policy.retries
    )
    if x_scale is not None:
        named["x_scale"] = [float(scale) for scale in np.ravel(x_scale)]
    if problem.simulated:
        named["confidence"] = float(given.confidence)
    if given.asynchronous:
        named["asynchronous"] = True
    if start is not None:
        named["start"] = [] if multipliers is None else multipliers.tolist()
    return Setup(problem, chosen, first, budget, tol, policy, named, given.callback, given.rng is not None, naming, x, least, multipliers)


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
    except (TypeError, ValueError, OverflowError):
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
    except (TypeError, ValueError, OverflowError):
        scale = np.asarray(np.nan)
    if scale.shape not in ((), (dimension,)) or not np.isfinite(scale).all() or not (scale > 0.0).all():
        raise InvalidArgumentError(f"`x_scale` must be a positive number or {dimension} of them, one per variable, got {given!r}.")
    return np.broadcast_to(scale, (dimension,)).copy()


def _scaled(solver: Any, method: str, x_scale: np.ndarray) -> Any:
    if not isinstance(solver, Auto):
        raise InvalidArgumentError(f"`x_scale` goes with method 'auto'; method {method!r} treats all variables alike.")
    return replace(solver, x_scale=x_scale)


def _asynchronous(solver: Any, method: str) -> Any:
    if not isinstance(solver, Auto):
        raise InvalidArgumentError(f"`asynchronous=True` goes with method 'auto', got {method!r}, whose steps need all of their values.")
    return replace(solver, asynchronous=True)


def _check_simulated(method: Any, confidence: Any) -> None:
    if method != "auto":
        raise InvalidArgumentError(f"`Simulated` constraints go with method 'auto', got {method!r}, which knows its constraints exactly.")
    if not is_number(confidence) or not 0.5 <= confidence < 1.0:
        raise InvalidArgumentError(f"`confidence` must be a number from 0.5 to below 1, got {confidence!r}.")


def _whole_problem(problem: Problem, given: Arguments) -> Problem:
    """The Problem that was given as fun, unless it is described a second time."""
    for name in DESCRIBING:
        value = getattr(given, name)
        if not (value is None or value is False or (isinstance(value, (tuple, list)) and not value)):
            raise InvalidArgumentError(f"`{name}` is part of the Problem and must not be given beside it, got {shown(value)}.")
    return problem


def _problem(given: Arguments, dimension: int, bounds: Any) -> Problem:
    return Problem(
        _with_args(given.fun, given.args),
        dimension,
        given.constraints,
        region=as_region(bounds, given.region, dimension),
        regularizer=Zero() if given.regularizer is None else given.regularizer,
        sample=given.sample,
        vectorized=given.vectorized,
        gradient=given.gradient,
    )


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


def as_region(bounds: Any, region: ConvexSet | None, dimension: int) -> ConvexSet:
    """X from `bounds` or `region`."""
    if bounds is not None and region is not None:
        raise InvalidArgumentError("Give `bounds` or `region`, not both; Bounds in `constraints` go with any region.")
    if bounds is None:
        return WholeSpace() if region is None else region
    if not isinstance(bounds, Bounds):
        try:
            low, high = zip(*((None, None) if pair is None else pair for pair in bounds), strict=True)
            lower, upper = ([inf if b is None else float(b) for b in side] for side, inf in ((low, -np.inf), (high, np.inf)))
        except (TypeError, ValueError, OverflowError):
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
    distance = norm(projected - x)
    warnings.warn(f"x0 lies outside the region and was projected onto it, by a distance of {distance:.3g}.", StartWarning, stacklevel=4)
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
