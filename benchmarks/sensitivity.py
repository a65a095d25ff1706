"""How much each constant of the automatic solver for few variables matters: evaluations with half and with twice of it.

python benchmarks/sensitivity.py [name ...]

The measure: evaluations until the exact f at the best point so far is as near to its least value as `TARGETS` asks for, or the budget where
it never is; the geometric mean over the problems and seeds, relative to that with the constant as it is. Outputs count as kept within the
same share. 1.00 is no difference; with eighteen runs and a random start in each, differences below a fifth say little. The constants were
not chosen on these problems.
"""

import math
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint, minimize, rosen
from scipy.special import logsumexp

import zolal
from zolal.solvers.auto.constants import CONSTANTS

SEEDS = (0, 1, 2)
BUDGET = 40  # per variable and one more


class Problem(NamedTuple):
    """f, its least value under the constraints, a start, and how near is near: a share of |f(start) - best|; noise: of the same.

    outputs: at most 0 where they hold; with the same noise.
    """

    fun: Callable[[np.ndarray], float]
    best: float
    x0: np.ndarray
    given: dict[str, Any]
    target: float
    noise: float
    outputs: Callable[[np.ndarray], np.ndarray] | None = None


def problems(seed: int) -> Iterator[Problem]:
    rng = np.random.default_rng([seed, 12])
    d = 8
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    hessian = turn @ np.diag(np.logspace(0, 3, d)) @ turn.T
    yield Problem(lambda x: float(0.5 * x @ hessian @ x), 0.0, rng.standard_normal(d), {}, 1e-5, 0.0)
    row = np.ones((1, 6))
    start = np.array([-1.2, 1.0, -1.2, 1.0, -1.2, 1.0]) + 0.1 * rng.standard_normal(6)
    start -= (start.sum() - 3.0) / 6.0
    best = minimize(rosen, start, constraints=[LinearConstraint(row, 3.0, 3.0)], method="SLSQP", options=dict(ftol=1e-14, maxiter=500)).fun
    yield Problem(rosen, float(best), start, dict(constraints=[LinearConstraint(row, 3.0, 3.0)]), 1e-4, 0.0)
    rows, shift = rng.standard_normal((4 * d, d)), rng.standard_normal(4 * d)

    def soft(x: np.ndarray) -> float:
        return float(logsumexp(rows @ x + shift))

    bounds = [(0.0, 1.0)] * d
    inside = rng.uniform(0.1, 0.9, d)
    yield Problem(soft, float(minimize(soft, inside, bounds=bounds).fun), inside, dict(bounds=bounds), 1e-4, 0.0)
    yield Problem(soft, float(minimize(soft, inside).fun), inside, {}, 1e-3, 3e-3)
    row = rng.standard_normal(d)

    def held(x: np.ndarray) -> np.ndarray:
        return np.array([x @ x - 1.0, float(np.exp(row @ x)) - 0.7])

    limits, outside = [dict(type="ineq", fun=lambda x: -held(x))], 2.0 * rng.standard_normal(d)
    best = minimize(soft, np.zeros(d), constraints=limits, method="SLSQP", options=dict(ftol=1e-14, maxiter=500)).fun
    for target, noise in ((1e-4, 0.0), (1e-2, 3e-3)):
        yield Problem(soft, float(best), outside, dict(constraints=zolal.Simulated(upper=[0.0, 0.0]), confidence=0.5), target, noise, held)


def spent(problem: Problem, seed: int) -> float:
    """Evaluations until the target, per variable and one more."""
    budget = BUDGET * (len(problem.x0) + 1)
    noise, count, first = np.random.default_rng([seed, 13]), 0, budget
    span = abs(problem.fun(problem.x0) - problem.best)
    goal = problem.best + problem.target * span

    def is_there(state: Any) -> bool:
        nonlocal first
        x = np.asarray(state.x)
        found = problem.fun(x) <= goal and (problem.outputs is None or bool((problem.outputs(x) <= problem.target).all()))
        first = count if found else first
        return found

    def value(x: np.ndarray) -> Any:
        nonlocal count
        count += 1
        found = problem.fun(x) + problem.noise * span * noise.standard_normal()
        return found if problem.outputs is None else (found, problem.outputs(x) + problem.noise * noise.standard_normal(2))

    zolal.minimize(value, problem.x0, **problem.given, maxfev=budget, tol=1e-9, rng=seed, callback=is_there)
    return first / (len(problem.x0) + 1)


def measure(change: tuple[str, Any] | None) -> float:
    """The geometric mean over all problems and seeds, with one constant changed."""
    before = getattr(CONSTANTS, change[0]) if change else None
    if change:
        object.__setattr__(CONSTANTS, *change)
    try:
        return math.exp(float(np.mean([math.log(spent(problem, seed)) for seed in SEEDS for problem in problems(seed)])))
    except Exception:
        return math.nan
    finally:
        if change:
            object.__setattr__(CONSTANTS, change[0], before)


def scaled(value: Any, factor: float) -> Any:
    if isinstance(value, tuple):
        return tuple(scaled(part, factor) for part in value)
    return max(round(value * factor), 1) if isinstance(value, int) else value * factor


def main() -> None:
    chosen = [field.name for field in fields(CONSTANTS) if len(sys.argv) < 2 or field.name in sys.argv[1:]]
    changes = [None, *((name, scaled(getattr(CONSTANTS, name), factor)) for name in chosen for factor in (0.5, 2.0))]
    with ProcessPoolExecutor(1) as pool:
        found = pool.map(measure, changes)
        usual = next(found)
        print(f"as it is: {usual:.2f} (d + 1)\nconstant              half  twice", flush=True)
        for name in chosen:
            print(f"{name:20s} {next(found) / usual:5.2f}  {next(found) / usual:5.2f}", flush=True)


if __name__ == "__main__":
    main()
