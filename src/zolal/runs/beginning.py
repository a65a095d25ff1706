"""Where a run begins: at its solver's own start, or at a feasible point that a search finds where that start violates the constraints."""

from typing import Any, NamedTuple

import numpy as np

from zolal._array import Array, like
from zolal.constraints import LeastViolation
from zolal.errors import ConstraintError
from zolal.problem import Problem
from zolal.solvers.base import Solver, State


class Beginning(NamedTuple):
    """The first state. least: where constraints that cannot all hold are violated least, None where they may hold."""

    state: State
    least: LeastViolation | None = None


def begun(solver: Solver[Any], problem: Problem, x: Array, seed: int, tol: float, multipliers: np.ndarray | None = None) -> Beginning:
    """The beginning of a run at x. multipliers: of an earlier run, for solvers that can use them.

    Where a solver that restores its points finds no start that satisfies the constraints to tol, a search minimises the violation. A
    minimum above tol ends the run before anything is evaluated. A point that satisfies the constraints is the start of a solver that needs
    one; it lies anywhere, so others do better from their own. Where the search tells neither, the run goes on.
    """
    state, least = _searched(solver, problem, x, seed, tol)
    equalities = state.form.equalities
    if multipliers is not None and multipliers.shape == (equalities.num_rows,) and np.isfinite(multipliers).all():
        state = solver.carried(state, like(multipliers * equalities.sign, state.c))
    return Beginning(state, least)


def _searched(solver: Solver[Any], problem: Problem, x: Array, seed: int, tol: float) -> Beginning:
    state = solver.init(problem, x, seed)
    if not solver.restores or _is_feasible(state, tol):
        return Beginning(state)
    try:
        found = state.form.equalities.least_violation(state.x, problem.region, tol)
        if found.violation > tol:
            return Beginning(state, found if found.is_minimum else None)
        if not state.begins_feasible:
            return Beginning(state)
        feasible = solver.init(problem, found.x, seed)
    except ConstraintError:
        return Beginning(state)
    return Beginning(feasible if _is_feasible(feasible, tol) else state)


def _is_feasible(state: State, tol: float) -> bool:
    form = state.form
    return form.equalities.violation(state.x) <= tol and form.problem.region.contains(state.x, tol)
