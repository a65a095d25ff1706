"""The methods of `zolal bench cutest` and `more-wild`, each as a user calls it: a start, a noisy objective, exact constraints, a budget."""

import contextlib
import importlib.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from zolal._array import Array
from zolal.bench._contest import SpentError
from zolal.bench._contestants import Trail, by_cma
from zolal.bench._given import Given
from zolal.bench._reference import FEASIBLE
from zolal.doors.minimize import minimize

LABELS = {
    "auto": "zolal auto",
    "cobyqa": "SciPy COBYQA",
    "cobyla": "SciPy COBYLA",
    "trust-constr": "SciPy trust-constr",
    "slsqp": "SciPy SLSQP",
    "cma": "pycma",
    "nomad": "NOMAD",
    "nelder-mead": "SciPy Nelder-Mead",
    "powell": "SciPy Powell",
    "py-bobyqa": "Py-BOBYQA",
}
WITH_CONSTRAINTS = ("auto", "cobyqa", "cobyla", "trust-constr", "slsqp", "cma")
BY_VALUES = ("auto", "cobyqa", "cobyla", "cma", "nomad")  # which can do with the values of constraints
WITHOUT = tuple(name for name in LABELS if name != "nomad")
NEEDS = {"cma": "cma", "nomad": "PyNomad", "py-bobyqa": "pybobyqa"}
TOL = 1e-6  # auto's; the others' defaults are of this size
STEP = 0.3  # pycma's first standard deviation; equalities are pairs of inequalities to it, half as wide as what counts as feasible

Objective = Callable[[Array], float]
Method = Callable[[Given, Any, float, int], Array]


def installed(methods: tuple[str, ...]) -> tuple[str, ...]:
    """Those whose packages are there."""
    return tuple(name for name in methods if name not in NEEDS or importlib.util.find_spec(NEEDS[name]) is not None)


def warm_up(method: str) -> None:
    if method == "auto":
        minimize(lambda x: float(x @ x), np.ones(2), maxfev=60, rng=0)


def _auto(given: Given, fun: Any, level: float, seed: int) -> Array:
    bounds = given.bounds if given.bounded else None
    return minimize(fun, given.x0, bounds=bounds, constraints=given.constraints, maxfev=fun.budget, tol=TOL, rng=seed).x


def _scipy(name: str, budget: str, differences: bool = False) -> Method:
    """A method of SciPy with its own defaults. budget: the name of the option that limits it. differences: whether it needs a gradient."""

    def solve(given: Given, fun: Any, level: float, seed: int) -> Array:
        trail = Trail(given.x0)
        more: dict[str, Any] = dict(bounds=given.bounds) if given.bounded else {}
        if given.constraints:
            more["constraints"] = given.constraints
        objective: Objective = fun
        if differences and level:
            objective = _Kept(fun)
            more["jac"] = lambda x: _forward(objective, x, math.sqrt(level), given)
        with contextlib.suppress(SpentError):
            return scipy_minimize(objective, given.x0, method=name, callback=trail, options={budget: fun.budget}, **more).x
        return trail.x

    return solve


class _Kept:
    """An objective that is not asked twice in a row for the same point, as SciPy's own differences do."""

    def __init__(self, fun: Objective) -> None:
        self.fun, self.x, self.value = fun, np.empty(0), math.nan

    def __call__(self, x: Array) -> float:
        if not np.array_equal(x, self.x):
            self.value = self.fun(x)
            self.x = np.array(x)
        return self.value


def _forward(fun: Objective, x: Array, step: float, given: Given) -> Array:
    """Forward differences with steps that fit the noise, inside the bounds; SciPy's, of 1e-8, see nothing but noise."""
    value, g = fun(x), np.zeros_like(x)
    for i in range(len(x)):
        h = step * max(1.0, abs(float(x[i])))
        if x[i] + h > given.bounds.ub[i]:
            h = -h if x[i] - h >= given.bounds.lb[i] else given.bounds.ub[i] - x[i]
        if h == 0.0:
            continue
        y = x.copy()
        y[i] += h
        g[i] = (fun(y) - value) / h
    return g


def _cma(given: Given, fun: Any, level: float, seed: int) -> Array:
    def inequalities(x: Array) -> Any:
        return given.inequalities(np.asarray(x), 0.5 * FEASIBLE).tolist()

    bounds = given.bounds if given.bounded else None
    return by_cma(fun, given.x0, STEP, fun.budget, seed, bounds, inequalities if given.constraints else None)


def _py_bobyqa(given: Given, fun: Any, level: float, seed: int) -> Array:
    import pybobyqa

    trail = Trail(given.x0)

    def traced(x: Array) -> float:
        trail(x)
        return float(fun(x))

    bounds = (given.bounds.lb, given.bounds.ub) if given.bounded else None
    with contextlib.suppress(SpentError):
        found = pybobyqa.solve(traced, given.x0, bounds=bounds, maxfun=fun.budget, objfun_has_noise=level > 0.0, do_logging=False)
        return trail.x if found.x is None else found.x
    return trail.x


METHODS: dict[str, Method] = {
    "auto": _auto,
    "cobyqa": _scipy("COBYQA", "maxfev"),
    "cobyla": _scipy("COBYLA", "maxiter"),
    "trust-constr": _scipy("trust-constr", "maxiter", differences=True),
    "slsqp": _scipy("SLSQP", "maxiter", differences=True),
    "cma": _cma,
    "nelder-mead": _scipy("Nelder-Mead", "maxfev"),
    "powell": _scipy("Powell", "maxfev"),
    "py-bobyqa": _py_bobyqa,
}
