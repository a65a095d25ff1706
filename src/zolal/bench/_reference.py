"""What a problem is measured by: f at the feasible point nearest its start, and the least value that exact gradients find."""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import final

import numpy as np
from scipy.optimize import least_squares, minimize

from zolal._array import Array
from zolal.bench._given import Given

FEASIBLE = 1e-6  # the violation, in units of the rows' scales, up to which a point counts as feasible
TIGHT = 1e-10  # the same for a value that others are measured by, so that nobody is asked to gain by violating
STARTS = 4  # random ones, besides the problem's own and the nearest feasible point
UNBOUNDED = 1e12  # a fall by so many times max(1, |f|) is taken for no lower bound at all
NOTHING = 1e-6  # a fall by less than this times max(1, |f|), which a violation might gain, leaves nothing to measure


@final
@dataclass(frozen=True)
class Reference:
    """start: f at the feasible point nearest x0. best: the least value known at a feasible point. moved: from x0 to the nearest point."""

    start: float
    best: float
    moved: float


@final
@dataclass(frozen=True)
class Unmeasured:
    """A problem that nothing can be measured by. why: in a sentence."""

    why: str


class _LateError(Exception):
    """The time is over."""


class _Keeper:
    """The exact objective in other units, which keeps the least value at feasible points and ends a run that lasts too long.

    least: at tightly feasible points. loose: at feasible ones, for problems where nothing is tightly feasible.
    """

    def __init__(self, given: Given, unit: float, deadline: float) -> None:
        self.given, self.unit, self.deadline = given, unit, deadline
        self.least = self.loose = math.inf

    def __call__(self, x: Array) -> float:
        if time.perf_counter() > self.deadline:
            raise _LateError
        value = self.given.fun(x)
        if value < max(self.least, self.loose):
            violation = self.given.violation(x)
            self.least = min(self.least, value) if violation <= TIGHT else self.least
            self.loose = min(self.loose, value) if violation <= FEASIBLE else self.loose
        return value / self.unit

    def gradient(self, x: Array) -> Array:
        return self.given.gradient(x) / self.unit


def reference(given: Given, seconds: float) -> Reference | Unmeasured:
    """The nearest feasible point, which takes no evaluation of f to find, and the best value.

    best is that of SLSQP and trust-constr with exact gradients from x0, from the nearest feasible point and from random points around, over
    all points that they evaluate, within so many seconds.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if not math.isfinite(given.fun(given.x0)):
            return Unmeasured("f is not finite at the start")
        near = nearest(given, seconds)
        if near is None:
            return Unmeasured("no feasible point was found")
        start = given.fun(near)
        if not math.isfinite(start):
            return Unmeasured("f is not finite at the feasible point nearest the start")
        best = _best(given, near, seconds)
    if best < start - UNBOUNDED * max(1.0, abs(start)):
        return Unmeasured("f has no lower bound, it seems")
    if start - best <= NOTHING * max(1.0, abs(start)):
        return Unmeasured("the feasible point nearest the start is a solution")
    return Reference(start, best, float(np.linalg.norm(near - given.x0)))


def nearest(given: Given, seconds: float) -> Array | None:
    """x0 if it is feasible, else the feasible point nearest to it as far as local methods find it; None if they find none."""
    if given.violation(given.x0) <= FEASIBLE:
        return given.x0
    distance = _Distance(given, time.perf_counter() + seconds)
    for start in chain([given.x0], (_least_violation(given, x) for x in (given.x0, *_around(given)))):
        for method in ("SLSQP", "trust-constr"):
            _run(method, distance, distance.gradient, start, given)
            if distance.nearest is not None:
                return distance.nearest
    return None


class _Distance:
    """||x - x0||^2/2, which keeps the nearest feasible point that it was asked for."""

    def __init__(self, given: Given, deadline: float) -> None:
        self.given, self.deadline = given, deadline
        self.nearest: Array | None = None
        self.least = math.inf

    def __call__(self, x: Array) -> float:
        if time.perf_counter() > self.deadline:
            raise _LateError
        value = 0.5 * float((x - self.given.x0) @ (x - self.given.x0))
        if value < self.least and self.given.violation(x) <= FEASIBLE:
            self.nearest, self.least = np.array(x), value
        return value

    def gradient(self, x: Array) -> Array:
        return x - self.given.x0


def _best(given: Given, near: Array, seconds: float) -> float:
    unit = max(1.0, float(np.max(np.abs(np.nan_to_num(given.gradient(near))))))
    keeper = _Keeper(given, unit, time.perf_counter() + seconds)
    keeper(near)
    for start in (near, given.x0, *_around(given)):
        _run("SLSQP", keeper, keeper.gradient, start, given)
    _run("trust-constr", keeper, keeper.gradient, near, given)
    return keeper.least if math.isfinite(keeper.least) else keeper.loose


def _run(method: str, fun: Callable[[Array], float], gradient: Callable[[Array], Array], start: Array, given: Given) -> Array | None:
    """Where a method of SciPy ends; None where it fails or takes too long."""
    options = dict(maxiter=1000, ftol=1e-14) if method == "SLSQP" else dict(maxiter=2000, gtol=1e-10, xtol=1e-12)
    bounds = given.bounds if given.bounded else None
    try:
        return minimize(fun, start, jac=gradient, method=method, bounds=bounds, constraints=given.constraints, options=options).x
    except (_LateError, ValueError, ArithmeticError, np.linalg.LinAlgError, IndexError):
        return None


def _least_violation(given: Given, start: Array) -> Array:
    """A point of small violation near the start, by least squares over the rows that are violated."""
    lower, upper = given.bounds.lb, given.bounds.ub
    try:
        inside = np.clip(start, *_shrunk(lower, upper))
        value, slope = (lambda x: given.row_excess(x)[0]), (lambda x: given.row_excess(x)[1])
        return least_squares(value, inside, jac=slope, bounds=(lower, upper), xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=300).x
    except (ValueError, np.linalg.LinAlgError):
        return start


def _shrunk(lower: Array, upper: Array) -> tuple[Array, Array]:
    """The bounds, a little narrower: least squares wants a start strictly inside."""
    width = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    return lower + 1e-6 * width, upper - 1e-6 * width


def _around(given: Given) -> list[Array]:
    rng = np.random.default_rng([len(given.x0), 0x5EED])
    size = np.maximum(1.0, np.abs(given.x0))
    points = given.x0 + 0.5 * size * rng.standard_normal((STARTS, given.n))
    return list(np.clip(points, given.bounds.lb, given.bounds.ub))
