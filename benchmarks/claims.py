"""How often noisy solvable runs claim success, and how often the claim is true: by exact gradients, which the runs never see.

python benchmarks/claims.py [runs] [first seed] [tol]
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy.special import expit, logsumexp, softmax

import zolal
from zolal.solvers.auto.programme import solve
from zolal.solvers.auto.state import ModelledState
from zolal.solvers.auto.terrain import Terrain

TOL = 1e-2
BUDGET = 500  # evaluations per variable and one more
NOISE = (-3.5, -2.5)  # powers of ten of the noise, as a share of what f can fall by
FAMILIES = ("quadratic", "logistic", "log-sum-exp", "exp")
LIMITS = ("nothing", "equalities", "box")


class Smooth(NamedTuple):
    """A convex function and its exact gradient."""

    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Task:
    """One solvable noisy problem. best: the least value of f; spread: f(start) - best, which the noise is a share of."""

    family: str
    limit: str
    smooth: Smooth
    x0: np.ndarray
    matrix: np.ndarray
    right: np.ndarray
    bounds: list[tuple[float, float]] | None
    noise: float
    seed: int

    @property
    def constraints(self) -> list[optimize.LinearConstraint]:
        return [optimize.LinearConstraint(self.matrix, self.right, self.right)] if len(self.right) else []

    @property
    def start(self) -> np.ndarray:
        """x0 where the equalities hold: the nearest point of them."""
        return self.x0 - np.linalg.pinv(self.matrix) @ (self.matrix @ self.x0 - self.right) if len(self.right) else self.x0

    def best(self) -> float:
        equalities = [dict(type="eq", fun=lambda x: self.matrix @ x - self.right, jac=lambda x: self.matrix)] if len(self.right) else []
        given = dict(jac=self.smooth.gradient, bounds=self.bounds, constraints=equalities, method="SLSQP")
        return float(optimize.minimize(self.smooth.value, self.start, **given, options=dict(maxiter=1000, ftol=1e-14)).fun)


def smooth(family: str, d: int, rng: np.random.Generator) -> Smooth:
    """A random member of a family, with its minimiser at a distance of about 1 to 2 from 0."""
    if family == "quadratic":
        turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
        hessian = turn @ np.diag(np.logspace(0, rng.uniform(0, 2), d)) @ turn.T
        target = rng.standard_normal(d)
        return Smooth(lambda x: float(0.5 * (x - target) @ hessian @ (x - target)), lambda x: hessian @ (x - target))
    if family == "logistic":
        rows = rng.standard_normal((8 * d, d)) * np.where(rng.uniform(size=8 * d) < 0.5, 1.0, -1.0)[:, None]
        return Smooth(
            lambda x: float(np.mean(np.logaddexp(0.0, -rows @ x)) + 0.05 * x @ x),
            lambda x: -rows.T @ expit(-rows @ x) / len(rows) + 0.1 * x,
        )
    if family == "log-sum-exp":
        rows, shift = rng.standard_normal((4 * d, d)), rng.standard_normal(4 * d)
        return Smooth(lambda x: float(logsumexp(rows @ x + shift) + 0.05 * x @ x), lambda x: rows.T @ softmax(rows @ x + shift) + 0.1 * x)
    weights = rng.uniform(0.5, 3.0, d)
    return Smooth(lambda x: float(np.sum(np.exp(1.5 * x) - weights * x)), lambda x: 1.5 * np.exp(1.5 * x) - weights)


def task(seed: int) -> Task:
    """Number `seed`: families and limits in turn, the rest at random."""
    rng = np.random.default_rng([seed, 10])
    family, limit = FAMILIES[seed % len(FAMILIES)], LIMITS[seed // len(FAMILIES) % len(LIMITS)]
    d = int(rng.integers(2, 16))
    function, x0 = smooth(family, d, rng), rng.standard_normal(d)
    rows = int(rng.integers(1, max(d // 3, 1) + 1)) if limit == "equalities" else 0
    matrix, right = rng.standard_normal((rows, d)), rng.standard_normal(rows)
    bounds = [(0.0, 1.0)] * d if limit == "box" else None
    x0 = rng.uniform(0.1, 0.9, d) if limit == "box" else x0
    made = Task(family, limit, function, x0, matrix, right, bounds, 0.0, seed)
    spread = function.value(made.start) - made.best()
    noise = spread * 10 ** rng.uniform(*NOISE)
    return Task(family, limit, function, x0, matrix, right, bounds, noise, seed)


class Claim(NamedTuple):
    """What a run said, and what is true of its answer.

    stationarity: the norm of the projected exact gradient at the answer, in the terms of res.kkt.stationarity. start, largest: the largest
    such norm of an unprojected gradient at the start, and over the whole run. limit: the stationarity that the run took for small enough.
    """

    task: Task
    success: bool
    status: zolal.Status
    share: float
    said: float
    error: float
    stationarity: float
    start: float
    largest: float
    limit: float
    gap: float
    tol: float

    @property
    def is_true(self) -> bool:
        return self.stationarity <= self.tol * self.start

    @property
    def is_true_by_its_own_limit(self) -> bool:
        return self.stationarity <= self.limit

    @property
    def missed(self) -> float:
        """The true stationarity over the stated one with its error: near 1 or below where errors are honest."""
        return self.stationarity / max(self.said + self.error, 1e-300)


def projected(state: ModelledState, x: np.ndarray, gradient: np.ndarray) -> float:
    """The norm of the projected gradient at x, measured as a run measures it: by a step in units as long as the radius."""
    terrain, typical = Terrain.of(state.form, state.units, x), np.exp(np.mean(np.log(state.units)))
    u, slope = terrain.inward(x), gradient * state.units
    short = state.radius / max(float(np.linalg.norm(slope)), 1e-300)
    found = solve(np.eye(len(u)) / short, slope, terrain.rows(u), terrain.lower - u, terrain.upper - u, state.radius)
    return float(np.linalg.norm(found.step)) / short / float(typical)


def made(job: Task, tol: float = TOL) -> Claim:
    """One run."""
    values, d, states, gradients = np.random.default_rng([job.seed, 11]), len(job.x0), [], []

    def seen(state: ModelledState) -> None:
        states[:] = [state]
        gradients.append(job.smooth.gradient(state.x))

    best = job.best()
    budget = BUDGET * (d + 1)
    found = zolal.minimize(
        lambda x: job.smooth.value(x) + job.noise * values.standard_normal(), job.x0, bounds=job.bounds, constraints=job.constraints,
        maxfev=budget, tol=tol, rng=job.seed, callback=seen,
    )  # fmt: skip
    state = states[-1]
    typical = float(np.exp(np.mean(np.log(state.units))))
    sizes = [float(np.linalg.norm(gradient * state.units)) / typical for gradient in gradients]  # in the units of the answer
    stationarity = projected(state, found.x, job.smooth.gradient(found.x))
    gap = (job.smooth.value(found.x) - best) / (job.smooth.value(job.start) - best)
    said, error = found.kkt.stationarity, found.kkt.standard_error
    limit = tol * state.gradient_size
    share = found.nfev / budget
    return Claim(job, found.success, found.status, share, said, error, stationarity, sizes[0], max(sizes), limit, gap, tol)


def claims(runs: int, first: int = 0, tol: float = TOL) -> Iterator[Claim]:
    for seed in range(first, first + runs):
        yield made(task(seed), tol)


def share(of: list[bool]) -> float:
    return float(np.mean(of)) if of else float("nan")


def line(claim: Claim) -> str:
    """said, error and true stationarity in units of the run's own limit; the start's gradient in units of the largest."""
    job, limit = claim.task, max(claim.limit, 1e-300)
    mark = "" if not claim.success else "true" if claim.is_true else "own" if claim.is_true_by_its_own_limit else "FALSE"
    about = f"{job.seed:4d} {job.family:12s} {job.limit:10s} {len(job.x0):3d} {job.noise:.1e} {mark:7s} {claim.status.name:16s}"
    measures = " ".join(f"{size / limit:6.2f}" for size in (claim.said, claim.error, claim.stationarity))
    return f"{about} {claim.share:5.2f} {measures} {claim.missed:6.1f} {claim.start / claim.largest:5.2f} {claim.gap:8.1e}"


def main() -> None:
    given = (*sys.argv[1:], *("200", "0", str(TOL))[len(sys.argv) - 1 :])
    runs, first, tol = int(given[0]), int(given[1]), float(given[2])
    began, seen = time.perf_counter(), []
    print("seed family       limit        d noise   success status           budget  said  error   true missed start gap")
    for claim in claims(runs, first, tol):
        seen.append(claim)
        print(line(claim), flush=True)
    claimed = [claim for claim in seen if claim.success]
    print(
        f"\n{runs} runs in {time.perf_counter() - began:.0f} s; median share of the budget {np.median([claim.share for claim in seen]):.2f}"
    )
    missed = np.quantile([claim.missed for claim in seen], [0.5, 0.9])
    print(f"true stationarity over what is said plus its error: median {missed[0]:.1f}, nine in ten below {missed[1]:.1f}")
    print(f"success claimed                                        {share([claim.success for claim in seen]):6.1%}  (wanted: 80 %)")
    print(f"claims true: projected gradient <= tol * start's       {share([claim.is_true for claim in claimed]):6.1%}  (wanted: 95 %)")
    print(f"claims true: projected gradient <= the run's own limit {share([claim.is_true_by_its_own_limit for claim in claimed]):6.1%}")
    for name in (*FAMILIES, *LIMITS):
        part = [claim for claim in seen if name in (claim.task.family, claim.task.limit)]
        true = share([claim.is_true for claim in part if claim.success])
        print(f"  {name:12s} {len(part):4d} runs, claimed {share([claim.success for claim in part]):6.1%}, of these true {true:6.1%}")


if __name__ == "__main__":
    main()
