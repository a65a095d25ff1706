"""The door for SciPy's users: zolal as a `method` of `scipy.optimize.minimize`, and of whatever in SciPy calls it."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, final

import numpy as np
from scipy.optimize import OptimizeResult, OptimizeWarning

from zolal._array import to_numpy
from zolal.doors.arguments import Arguments, as_region, prepare
from zolal.doors.minimize import with_parameters
from zolal.errors import InvalidArgumentError, ObjectiveError
from zolal.evaluation.crews import as_crew
from zolal.evaluation.faults import Answer
from zolal.result import Result, Status
from zolal.runs.carrying import carry_out
from zolal.runs.opened import opened
from zolal.runs.recording import FIELDS
from zolal.runs.session import FAILURES, Observer, Session

GIVEN_BY_SCIPY = {"fun", "x0", "args", "bounds", "constraints", "callback"}
MEANINGLESS = {"gradient", "start", "progress"}  # `jac`, `x0` and `disp` are what SciPy calls them
OPTIONS = {own.name for own in fields(Arguments)} - GIVEN_BY_SCIPY - MEANINGLESS | {"maxiter", "disp"}
DEFAULTS: dict[str, Any] = dict(rng=0, retries=0)  # SciPy's local methods give one result for one call, and call fun once per point


@final
@dataclass(frozen=True)
class ScipyMethod:
    """zolal as a method of SciPy: `scipy.optimize.minimize(fun, x0, method=zolal.scipy_method, bounds=..., constraints=..., options=...)`.

    options: those of `zolal.minimize` that SciPy has no name for (`maxfev`, `rng`, `sample`, `region`, `regularizer`, `x_scale`, `workers`,
    `on_error`, `retries`, `timeout`, `checkpoint`, `resume`, `geometry`, `vectorized`, `method`, and `options` for those of that method),
    and SciPy's own `tol`, `maxiter` (steps) and `disp` (a progress line). `rng` is 0 unless given. Others are ignored with an
    `OptimizeWarning`. `jac`, `hess` and `hessp` are not used, which a `RuntimeWarning` says.

    The callback is called after each step as `callback(intermediate_result=...)` where that is its parameter, with x, fun, nit, nfev and
    maxcv, else as `callback(x)`; what it returns is ignored, and `StopIteration` ends the run. What fun raises is raised, unless `on_error`
    is given; Ctrl-C raises KeyboardInterrupt, so that it also ends a global method around this one. A start outside the bounds, as
    `basinhopping` makes them, is moved onto them.

    >>> from scipy.optimize import minimize
    >>> res = minimize(lambda x: (x - 1) @ (x - 1), [0.0, 0.0], method=zolal.scipy_method, bounds=[(0, 0.5)] * 2, options=dict(maxfev=50))
    >>> res.success, res.x.round(9).tolist()
    (True, [0.5, 0.5])
    """

    options: Mapping[str, Any] = field(default_factory=dict)

    def with_options(self, **options: Any) -> "ScipyMethod":
        """The same method with options of its own, for callers that let none through, as `scipy.optimize.shgo` does."""
        return ScipyMethod({**self.options, **options})

    def lower(self) -> str:
        """What SciPy calls methods of others; `shgo` asks every method for it."""
        return "_custom"

    def __call__(
        self,
        fun: Callable[..., Any],
        x0: Any,
        args: Any = (),
        *,
        jac: Any = None,
        hess: Any = None,
        hessp: Any = None,
        bounds: Any = None,
        constraints: Any = (),
        callback: Callable[..., Any] | None = None,
        **options: Any,
    ) -> Result:
        """One run, as `scipy.optimize.minimize` calls it."""
        _warn_of_derivatives(jac=jac, hess=hess, hessp=hessp)
        own = _known({**self.options, **options})
        policy = {} if own.get("on_error") is None else dict(retries=None)  # as everywhere, once a policy is named
        watch = _Watch(callback)
        given = Arguments(
            fun=fun,
            x0=x0 if bounds is None else as_region(bounds, None, np.size(x0)).project(np.asarray(x0, dtype=float)),
            args=args,
            bounds=bounds,
            constraints=() if constraints is None else constraints,
            callback=watch.called,
            **{**DEFAULTS, **policy, **own},
        )
        setup = prepare(given)
        crew = as_crew(setup.problem, given.workers, given.timeout)
        with opened(setup, given.checkpoint, given.resume, given.progress) as session:
            watch.begin(session)
            try:
                result = with_parameters(carry_out(session, crew), setup)
            except ObjectiveError as error:
                raise watch.meant(error) from error.__cause__
        return watch.finished(result, raises="on_error" not in own)


scipy_method = ScipyMethod()
"""The method without options of its own: `scipy.optimize.minimize(fun, x0, method=zolal.scipy_method)`."""


def _warn_of_derivatives(**given: Any) -> None:
    names = [name for name, value in given.items() if value is not None]
    if names:
        warnings.warn(f"Method zolal does not use derivatives of fun ({', '.join(names)}).", RuntimeWarning, stacklevel=4)


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """SciPy's options as arguments of zolal; unknown ones are told of and left out, as SciPy does."""
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        warnings.warn(f"Unknown solver options: {', '.join(unknown)}", OptimizeWarning, stacklevel=4)
    own = {name: value for name, value in options.items() if name in OPTIONS - {"maxiter", "disp"} and value is not None}
    if options.get("maxiter") is not None:
        own["options"] = dict(own.get("options", {}), max_iterations=options["maxiter"])
    return own | dict(progress=bool(options.get("disp", False)))


class _Watch(Observer):
    """Looks on at a run for SciPy: tells its callback of each step, and keeps the last exception of fun."""

    def __init__(self, callback: Any) -> None:
        if callback is not None and not callable(callback):
            raise InvalidArgumentError(f"`callback` must be callable, got {callback!r}.")
        self.callback, self.by_name = callback, callback is not None and _takes_result(callback)
        self.error: BaseException | None = None
        self.stopped = False

    def begin(self, session: Session) -> None:
        self.session = session
        session.observers = (*session.observers, self)

    def called(self, state: Any) -> bool:
        """The callback after a step; True where it raises StopIteration."""
        if self.callback is None:
            return False
        x, last = np.array(to_numpy(state.x)), self.session.recorder.last
        fun = last[FIELDS.index("fun")] if last else state.fun
        try:
            if self.by_name:
                step = dict(nit=state.k, nfev=self.session.nfev, maxcv=float(state.feasibility))
                self.callback(intermediate_result=OptimizeResult(x=x, fun=fun, **step))
            else:
                self.callback(x)
        except StopIteration:
            self.stopped = True
        return self.stopped

    def heard(self, session: Session, answer: Answer) -> None:
        self.error = answer.error or self.error

    def meant(self, ours: ObjectiveError) -> BaseException:
        """What SciPy would raise in place of an error of ours: that of fun, or a ValueError where a value is no number."""
        return self.error if self.error is not None and not isinstance(self.error, ObjectiveError) else InvalidArgumentError(str(ours))

    def finished(self, result: Result, raises: bool) -> Result:
        """The result as SciPy's users know results."""
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if raises and result.status in FAILURES and self.error is not None:
            raise self.error
        if self.stopped:
            result.update(success=False, message=f"`callback` raised `StopIteration`. {result.message}")
        return result


def _takes_result(callback: Callable[..., Any]) -> bool:
    try:
        return set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):  # of a function in C
        return False
