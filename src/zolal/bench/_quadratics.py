"""How many queries a quadratic on the sphere takes until its KKT residual is small."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from zolal._array import Array
from zolal.bench.base import Counted, solve
from zolal.campaigns import Task
from zolal.kkt import euclidean_residual
from zolal.problem import Problem
from zolal.problems import qcqp, sparse_qcqp

TARGET = 1e-2
MAKERS = dict(dense=qcqp, sparse=sparse_qcqp)


@final
@dataclass(frozen=True)
class Measured:
    """One run. queries: until the point that a user would get has the residual, None where it never has. residual: at the end."""

    queries: int | None
    residual: float
    evaluations: int


def task(kind: str, dimension: int, per_variable: float, seed: int) -> Task[Measured]:
    arguments = dict(kind=kind, dimension=dimension, per_variable=per_variable, seed=seed)
    return Task(measure, arguments, f"{kind} QCQP, d = {dimension}, seed {seed}")


def measure(kind: str, dimension: int, per_variable: float, seed: int) -> Measured:
    """One run until the residual is reached, within per_variable * d queries."""
    problem = MAKERS[kind](dimension, seed)
    found: list[int] = []
    last: list[float] = []

    def watch(state: Any, meter: Counted) -> bool:
        last[:] = [residual(problem, state.form.variables(state.best.z))]
        if last[0] <= TARGET:
            found.append(meter.count)
        return bool(found)

    _, meter = solve(problem, problem.x0, round(per_variable * dimension), seed, watch)
    return Measured(found[0] if found else None, last[0], meter.count)


def residual(problem: Problem, x: Array) -> float:
    """max(||x - Pi_X(x - grad f(x) - J^T lambda)||_2, ||c(x)||_2) with the exact gradient and the lambda of least squares."""
    equalities = problem.equalities(x)
    g, rows = problem.gradient(x), equalities.signed_jacobian(x)  # type: ignore[misc]
    lam = np.linalg.lstsq(rows.T, -g, rcond=None)[0]
    return euclidean_residual(problem.region, problem.regularizer, x, g + lam @ rows, equalities.signed_value(x))
