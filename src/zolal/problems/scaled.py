"""The same problem in other units, to see whether a method minds."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import diags, issparse

from zolal._array import Array
from zolal._checks import positive
from zolal.constraints import Constraint, as_constraints
from zolal.errors import InvalidArgumentError, UnsupportedError
from zolal.problem import Problem
from zolal.regularizers import L1, BlockSum, ElasticNet, GroupL2, Regularizer, Zero
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace


def scaled(problem: Problem, objective: float = 1.0, variables: float | np.ndarray = 1.0, constraints: float = 1.0) -> Problem:
    """The problem with y = variables * x in place of x, its objective times `objective` and its constraints times `constraints`.

    variables: one factor, or, over the whole space, a box or what is not negative, one for each variable.

    F'(y; xi) = objective F(y/variables; xi),  h'(y) = objective h(y/variables),  c'(y) = constraints c(y/variables),  y in variables X

    Start, gradient, solution and multipliers follow; samples are the same.

    >>> import zolal
    >>> problem = zolal.problems.l1_box(3)
    >>> other = scaled(problem, objective=1e6, variables=1e-3)
    >>> bool(np.allclose(other.solution, 1e-3 * problem.solution))
    True
    """
    a = positive("scaled(objective=...)", objective)
    b = _factors(variables, problem.dimension)
    c = positive("scaled(constraints=...)", constraints)
    fun, gradient = problem.objective, problem.gradient
    return dataclasses.replace(
        problem,
        objective=lambda y, *xi: a * fun(y / b, *xi),
        constraints=[_scaled_constraint(part, b, c) for part in as_constraints(problem.known, problem.dimension)],
        region=scaled_set(problem.region, b),
        regularizer=scaled_regularizer(problem.regularizer, a, b),
        gradient=None if gradient is None else lambda y: a / b * gradient(y / b),
        x0=None if problem.x0 is None else b * problem.x0,
        solution=None if problem.solution is None else b * problem.solution,
        multipliers=None if problem.multipliers is None else a / c * problem.multipliers,
    )


def _scaled_constraint(part: Constraint, b: float | np.ndarray, c: float) -> Constraint:
    def product(y: Array, weights: Array) -> Array:
        return c / b * part.vjp_at(y / b, weights)

    return Constraint(
        lambda y: c * part.value_at(y / b),
        c * np.asarray(part.lower, dtype=float),
        c * np.asarray(part.upper, dtype=float),
        jac=None if part.vjp is not None else lambda y: _by_column(part.jacobian_at(y / b), c / b),
        vjp=None if part.vjp is None else product,
        name=part.name,
    )


def _by_column(jacobian: Any, factors: float | np.ndarray) -> Any:
    """The columns of a matrix, dense or sparse, times their factors."""
    return jacobian @ diags(factors) if issparse(jacobian) and np.ndim(factors) else factors * jacobian


def _factors(variables: float | np.ndarray, dimension: int) -> float | np.ndarray:
    if np.ndim(variables) == 0:
        return positive("scaled(variables=...)", variables)
    try:
        factors = np.asarray(variables, dtype=float)
    except (TypeError, ValueError):
        factors = np.empty(0)
    if factors.shape != (dimension,) or not (np.isfinite(factors) & (factors > 0.0)).all():
        raise InvalidArgumentError(f"`scaled(variables=...)` must be positive, one number or {dimension}, got {variables!r}.")
    return factors


def scaled_set(region: ConvexSet, factor: float | np.ndarray) -> ConvexSet:
    """{factor * x : x in the set}."""
    match region:
        case WholeSpace() | NonNegative():
            return region
        case Box():
            return Box(factor * region.lower, factor * region.upper)
        case L1Ball() | L2Ball() | LqBall() | Simplex() if np.ndim(factor) == 0:
            return dataclasses.replace(region, radius=float(factor) * region.radius)
        case Product() if np.ndim(factor) == 0:
            return Product([(scaled_set(part, factor), size) for part, size in region.parts])
    if np.ndim(factor):
        raise UnsupportedError(f"{region!r} cannot be scaled by one factor for each variable; supported: {_names(SETS[:3])}.")
    raise UnsupportedError(f"{region!r} cannot be scaled; supported: {_names(SETS)}.")


def scaled_regularizer(h: Regularizer, a: float, b: float | np.ndarray) -> Regularizer:
    """y -> a h(y / b)."""
    if isinstance(h, Zero):
        return h
    if isinstance(b, np.ndarray):
        raise UnsupportedError(f"{h!r} cannot be scaled by one factor for each variable; supported: Zero.")
    match h:
        case L1():
            return L1(a / b * h.weight)
        case ElasticNet():
            return ElasticNet(a / b * h.l1, a / b**2 * h.l2)
        case GroupL2():
            return GroupL2(a / b * h.weight, h.sizes)
        case BlockSum():
            return BlockSum([(scaled_regularizer(part, a, b), size) for part, size in h.parts])
    raise UnsupportedError(f"{h!r} cannot be scaled; supported: {_names(REGULARIZERS)}.")


SETS: tuple[Callable[..., ConvexSet], ...] = (WholeSpace, NonNegative, Box, L1Ball, L2Ball, LqBall, Simplex, Product)
REGULARIZERS: tuple[Callable[..., Regularizer], ...] = (Zero, L1, ElasticNet, GroupL2, BlockSum)


def _names(kinds: tuple[Any, ...]) -> str:
    return ", ".join(kind.__name__ for kind in kinds)
