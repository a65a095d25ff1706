"""Quadratics with a given condition number and one equality: how many evaluations a gap takes, with exact and with noisy values."""

import math
import time
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint

from zolal._array import Array
from zolal.bench._entrants import warm_up
from zolal.bench._field import ACCURACIES
from zolal.bench._given import Given
from zolal.bench._reference import FEASIBLE
from zolal.bench._trial import Ended, Trial
from zolal.bench.base import METHOD, Claim, Finding, solve, spread
from zolal.campaigns import Campaign, Task
from zolal.problem import Problem
from zolal.solvers.auto.certificate import answer
from zolal.solvers.auto.state import ModelledState
from zolal.tables import Table

SECONDS = 3600.0  # of a run; nothing but a fault takes as long
TOL = 1e-9  # no run ends by its own claim before the last accuracy is reached


class Row(NamedTuple):
    """What is asked of d variables and condition number kappa. level: of the noise, as a part of the range. budget: in units of d + 1.

    goals: the medians that a prototype needed to gaps of 1e-2, 1e-3 and 1e-5, in units of d + 1.
    """

    d: int
    kappa: float
    level: float
    budget: int
    goals: tuple[float, float, float]

    def __str__(self) -> str:
        return f"d = {self.d}, κ = {self.kappa:g}, noise {self.level:g}"


ROWS = (
    Row(10, 1.0, 0.0, 60, (1.4, 1.4, 2.5)),
    Row(10, 1e4, 0.0, 60, (4.7, 5.2, 5.2)),
    Row(20, 1e2, 0.0, 60, (8.0, 10.0, 10.5)),
    Row(20, 1e4, 0.0, 60, (10.0, 11.0, 13.0)),
    Row(30, 1e4, 0.0, 60, (11.0, 17.0, 28.0)),
    Row(300, 1.0, 0.0, 8, (1.2, 1.2, 2.6)),
    Row(10, 1.0, 1e-3, 60, (1.5, 2.7, 5.5)),
    Row(10, 1e4, 1e-3, 60, (5.2, 6.5, 10.4)),
    Row(20, 1e2, 1e-3, 60, (11.5, 12.4, 17.4)),
    Row(60, 1.0, 1e-3, 30, (1.2, 8.4, 14.0)),
)


@final
@dataclass(frozen=True, kw_only=True)
class Measured(Ended):
    """One run. firsts: by accuracy, the evaluation by which a feasible point of that gap was evaluated, or was what a user would get."""

    firsts: list[int | None]
    status: str


@final
@dataclass(frozen=True)
class Grid:
    """What is run: every row with every seed; the seed is that of the problem, too."""

    seeds: int = 10
    rows: tuple[Row, ...] = ROWS
    quick_seeds: ClassVar[int] = 2

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, (ROWS[0], ROWS[6]))

    def tasks(self, row: Row) -> list[Task[Measured]]:
        given = dict(d=row.d, kappa=row.kappa, level=row.level, budget=row.budget * (row.d + 1))
        return [Task(measure, given | dict(seed=seed), f"{row}, seed {seed}") for seed in range(self.seeds)]


def quadratic(d: int, kappa: float, seed: int) -> Given:
    """min <x - t, H (x - t)>/2 subject to sum(x) = 0 from x = 0, with f less its optimum and divided by its range: f is the gap.

    H has eigenvalues from 1 to kappa with equal ratios and random eigenvectors; t is standard normal. The minimiser is t - s H^{-1} 1 with
    the s that makes its sum 0.
    """
    rng = np.random.default_rng([seed, d, 0xC0D])
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    values = np.geomspace(1.0, kappa, d)
    t, ones = rng.standard_normal(d), np.ones(d)
    H, inverse = (basis * values) @ basis.T, (basis / values) @ basis.T
    best = t - inverse @ ones * (t.sum() / float(ones @ inverse @ ones))
    least = 0.5 * float((best - t) @ H @ (best - t))
    span = 0.5 * float(t @ H @ t) - least

    def fun(x: Array) -> float:
        return (0.5 * float((x - t) @ (H @ (x - t))) - least) / span

    bounds = Bounds(np.full(d, -np.inf), np.full(d, np.inf))
    return Given("quadratic", fun, lambda x: H @ (x - t) / span, np.zeros(d), bounds, [LinearConstraint(ones[None, :], 0.0, 0.0)])


def measure(d: int, kappa: float, level: float, budget: int, seed: int) -> Measured:
    """One run, which ends when the last accuracy is reached."""
    given = quadratic(d, kappa, seed)
    warm_up(METHOD)  # what is loaded or compiled once is not the method's time
    trial = Trial(given, level, 1.0, budget, seed, SECONDS)
    problem = Problem(given.fun, d, given.constraints[0], x0=given.x0)

    def watch(state: ModelledState, meter: Any) -> bool:
        begun = time.perf_counter()
        x = state.terrain.outward(answer(state, state.terrain))  # what a user would get now
        trial.inside += time.perf_counter() - begun
        trial.judge(x)
        return trial.best <= ACCURACIES[-1]

    result, _ = solve(problem, given.x0, budget, seed, watch, trial, TOL)
    found = trial.verdict(np.asarray(result.x))
    return Measured(
        firsts=[found.first(accuracy) for accuracy in ACCURACIES],
        status=result.status.name,
        evaluations=found.evaluations,
        least=found.least,
        value=found.value,
        violation=found.violation,
        overhead=found.overhead,
        seconds=found.seconds,
        late=found.late,
    )


def run(campaign: Campaign, grid: Grid) -> Finding:
    """All rows; a target is met when the median over the seeds is at or below the prototype's."""
    runs = campaign.complete_groups([grid.tasks(row) for row in grid.rows])
    pairs = list(zip(grid.rows, runs, strict=True))
    lead = (
        "Quadratics with random eigenvectors and log-spread eigenvalues from 1 to κ, sum(x) = 0, from x = 0; Gaussian noise of so many "
        f"parts of the range f(start) - optimum. Seeds: {grid.seeds}, each with its own problem. Counted: evaluations, in units of d + 1, "
        f"until a point that is feasible (violation at most {FEASIBLE:g}) and was evaluated, or would be returned then, has an "
        "exact gap of at most 1e-2, 1e-3, 1e-5 of the range. Medians over the seeds with the least and the largest; the targets are what a "
        "prototype needed on single runs."
    )
    claims = [claim for row, mine in pairs for claim in _claims(row, mine)]
    return Finding("conditioning", "Ill-conditioned quadratics", [lead], claims, [_overhead(pairs)], campaign.seconds)


def _claims(row: Row, runs: list[Measured]) -> list[Claim]:
    claims = []
    for index, (accuracy, goal) in enumerate(zip(ACCURACIES, row.goals, strict=True)):
        counts = [run.firsts[index] for run in runs]
        units = [None if count is None else count / (row.d + 1) for count in counts]
        middle = float(np.median([math.inf if unit is None else unit for unit in units]))
        claims.append(Claim(f"{row}: to {accuracy:g}", f"≤ {goal:g}", spread(units), middle <= goal))
    return claims


def _overhead(pairs: list[tuple[Row, list[Measured]]]) -> Table:
    rows = []
    for row, runs in pairs:
        cost = spread([1e3 * run.overhead for run in runs], 2)
        rows.append((str(row.d), f"{row.kappa:g}", f"{row.level:g}", f"{row.budget} (d + 1)", cost))
    columns = ("d", "κ", "noise", "budget", "milliseconds per evaluation")
    return Table("conditioning-overhead", "Overhead", columns, rows, "Seconds outside the objective, divided by evaluations.")
