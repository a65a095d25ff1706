"""The front door that SciPy users know."""

from collections.abc import Callable
from typing import Any

import numpy as np

from zolal._array import Array
from zolal.doors.arguments import Arguments, prepare
from zolal.errors import UnsupportedError
from zolal.evaluation.crews import as_crew
from zolal.problem import Problem
from zolal.regularizers import Regularizer
from zolal.result import Result
from zolal.runs.carrying import carry_out
from zolal.runs.checkpoint import constraint_table
from zolal.runs.opened import opened
from zolal.runs.session import Setup
from zolal.sets import ConvexSet


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
    confidence: float = 0.95,
    asynchronous: bool = False,
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
        `zolal.Simulated` bounds what fun itself reports: fun then returns (value, outputs), one output per bound, or a dict by names.
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
        given, it comes from the bounds and from x0, and then from the values. Worth giving where variables have different units and neither
        bounds nor x0 say so: that saves some evaluations per variable. The numerical derivatives of constraints take steps relative to
        it, too.
    confidence: with which simulated outputs are to keep their bounds at the returned point, where their values have noise.
    asynchronous: for method "auto" with few variables: as many evaluations as there are workers are under way at a time, and each value
        is taken as it comes, so that nobody waits for the slowest. The run then depends on the order in which values come, which a
        checkpoint keeps: a run that is resumed goes on to the bit from what it has heard.
    start: a result to go on from, instead of x0. Its x is carried over, and its multipliers to "mdlal"; everything else is learned
        anew, and evaluations are counted from 0.
    options: of the method, see `AutoOptions`, `MDLALOptions`, `MultiStageOptions`, `SZOConExOptions`, ... in `zolal.methods`.

    >>> import zolal
    >>> res = zolal.minimize(lambda x: (x - 1) @ (x - 1), [0.0, 0.0], maxfev=200, rng=0)
    >>> res.success, res.x.round(2).tolist()
    (True, [1.0, 1.0])
    """
    setup = prepare(Arguments(**locals()))  # before any other name is bound here
    crew = as_crew(setup.problem, workers, timeout)
    if asynchronous and not crew.num_workers:
        raise UnsupportedError(f"`asynchronous=True` needs `workers` that answer one by one, and a map does not, got {workers!r}.")
    with opened(setup, checkpoint, resume, progress) as session:
        return setup.naming.told(with_parameters(carry_out(session, crew), setup), setup.start.form)


def with_parameters(result: Result, setup: Setup) -> Result:
    """The result with its table of constraints and with what the run was given, for its page."""
    given = {name: value if isinstance(value, (int, float)) else str(value) for name, value in setup.parameters.items()}
    result.update(constraints=constraint_table(result, setup.start.form), parameters=given | dict(maxfev=setup.maxfev))
    return result
