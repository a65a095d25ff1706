"""Smooth problems under linear equalities whose solutions are known, since they were chosen first.

For convex phi and any x*, y: f(x) = phi(x) - <grad phi(x*) + A^T y, x> has the gradient -A^T y at x*, so x* solves min f s.t. A x = A x*.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit, logsumexp, softmax

from zolal._array import Array
from zolal.constraints import linear
from zolal.problem import Problem

ROWS = 2  # linear equalities
BOWL = 0.05  # the curvature that every convex family has in every direction, so that its solution is the only one


def logistic(d: int, seed: int) -> Problem:
    """phi(x) = sum_i log(1 + exp(<a_i, x>)) + bowl."""
    rows = _rows(4 * d, d, seed)
    return _tilted(lambda x: float(np.sum(np.logaddexp(0.0, rows @ x))), lambda x: rows.T @ expit(rows @ x), d, seed)


def log_sum_exp(d: int, seed: int) -> Problem:
    """phi(x) = log(sum_i exp(<a_i, x>)) + bowl."""
    rows = 2.0 * _rows(2 * d, d, seed)
    return _tilted(lambda x: float(logsumexp(rows @ x)), lambda x: rows.T @ softmax(rows @ x), d, seed)


def quartic(d: int, seed: int) -> Problem:
    """phi(x) = sum_i <a_i, x>^4/4 + bowl."""
    rows = _rows(d, d, seed)
    return _tilted(lambda x: float(np.sum((rows @ x) ** 4)) / 4.0, lambda x: rows.T @ (rows @ x) ** 3, d, seed)


def exponentials(d: int, seed: int) -> Problem:
    """phi(x) = sum_i exp(<a_i, x>) + bowl."""
    rows = 0.5 * _rows(2 * d, d, seed)
    return _tilted(lambda x: float(np.sum(np.exp(rows @ x))), lambda x: rows.T @ np.exp(rows @ x), d, seed)


def rosenbrock(d: int, seed: int) -> Problem:
    """sum_i 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2 on a plane through its solution 1."""

    def fun(x: Array) -> float:
        return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))

    return _on_a_plane(fun, np.ones(d), _rows(ROWS, d, seed + 1), seed)


def _rows(number: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, number, d]).standard_normal((number, d)) / math.sqrt(d)


def _tilted(phi: Callable[[Array], float], gradient: Callable[[Array], Array], d: int, seed: int) -> Problem:
    """phi with a bowl, tilted so that a random point solves it under random equalities."""
    rng = np.random.default_rng([seed, d])
    solution, rows = rng.standard_normal(d), _rows(ROWS, d, seed + 1)
    slope = gradient(solution) + BOWL * solution + rows.T @ rng.standard_normal(ROWS)

    def fun(x: Array) -> float:
        return phi(x) + 0.5 * BOWL * float(x @ x) - float(slope @ x)

    return _on_a_plane(fun, solution, rows, seed)


def _on_a_plane(fun: Callable[[Array], float], solution: np.ndarray, rows: np.ndarray, seed: int) -> Problem:
    d = len(solution)
    x0 = np.random.default_rng([seed, d, 1]).standard_normal(d)
    right = rows @ solution
    return Problem(fun, d, [linear(rows, right, right)], x0=x0, solution=solution)
