"""The same problem in other units, to see whether a method minds."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from zolal._array import Array
from zolal._checks import positive
from zolal.constraints import Constraint, as_constraints
from zolal.errors import UnsupportedError
from zolal.problem import Problem
from zolal.regularizers import L1, BlockSum, ElasticNet, GroupL2, Regularizer, Zero
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace


def scaled(problem: Problem, objective: float = 1.0, variables: float = 1.0, constraints: float = 1.0) -> Problem:
    """The problem with y = variables * x in place of x, its objective times `objective` and its constraints times `constraints`.

    F'(y; xi) = objective F(y/variables; xi),  h'(y) = objective h(y/variables),  c'(y) = constraints c(y/variables),  y in variables X

    Start, gradient, solution and multipliers follow; samples are the same.

    >>> import zolal
    >>> problem = zolal.problems.l1_box(3)
    >>> other = scaled(problem, objective=1e6, variables=1e-3)
    >>> bool(np.allclose(other.solution, 1e-3 * problem.solution))
    True
    """
    a = positive("scaled(objective=...)", objective)
    b = positive("scaled(variables=...)", variables)
    c = positive("scaled(constraints=...)", constraints)
    fun, gradient = problem.objective, problem.gradient
    return dataclasses.replace(
        problem,
        objective=lambda y, *xi: a * fun(y / b, *xi),
        constraints=[_scaled_constraint(part, b, c) for part in as_constraints(problem.constraints, problem.dimension)],
        region=scaled_set(problem.region, b),
        regularizer=scaled_regularizer(problem.regularizer, a, b),
        gradient=None if gradient is None else lambda y: a / b * gradient(y / b),
        x0=None if problem.x0 is None else b * problem.x0,
        solution=None if problem.solution is None else b * problem.solution,
        multipliers=None if problem.multipliers is None else a / c * problem.multipliers,
    )


def _scaled_constraint(part: Constraint, b: float, c: float) -> Constraint:
    def product(y: Array, weights: Array) -> Array:
        return c / b * part.vjp_at(y / b, weights)

    return Constraint(
        lambda y: c * part.value_at(y / b),
        c * np.asarray(part.lower, dtype=float),
        c * np.asarray(part.upper, dtype=float),
        jac=None if part.vjp is not None else lambda y: c / b * part.jacobian_at(y / b),
        vjp=None if part.vjp is None else product,
        name=part.name,
    )


def scaled_set(region: ConvexSet, factor: float) -> ConvexSet:
    """{factor * x : x in the set}."""
    match region:
        case WholeSpace() | NonNegative():
            return region
        case Box():
            return Box(factor * region.lower, factor * region.upper)
        case L1Ball() | L2Ball() | LqBall() | Simplex():
            return dataclasses.replace(region, radius=factor * region.radius)
        case Product():
            return Product([(scaled_set(part, factor), size) for part, size in region.parts])
    raise UnsupportedError(f"{region!r} cannot be scaled; supported: {_names(SETS)}.")


def scaled_regularizer(h: Regularizer, a: float, b: float) -> Regularizer:
    """y -> a h(y / b)."""
    match h:
        case Zero():
            return h
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
