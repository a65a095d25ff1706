"""Fairness-constrained classification of a9a: passes over the data until feasibility, stationarity and slackness are at most 1e-2."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from zolal.bench.base import Claim, Counted, Finding, solve, spread
from zolal.campaigns import Campaign, Task
from zolal.problem import Problem
from zolal.problems import fairness, fairness_diagnostics
from zolal.tables import Table

TOLERANCE = 1e-2
BATCH = 256
ASKED, AIM = 25.0, 10.0  # passes
MEASURES = ("feasibility", "stationarity", "slackness")


@final
@dataclass(frozen=True)
class Measured:
    """One run. passes: after which all three measures of the point that a user would get are small, None if that does not happen.

    spent: passes in all. least, least_at: the least that the largest of the three was, and the passes by then. feasibility, stationarity,
    slackness: at the end.
    """

    passes: float | None
    spent: float
    least: float
    least_at: float
    feasibility: float
    stationarity: float
    slackness: float


@final
@dataclass(frozen=True)
class Grid:
    """What is run: every seed, within so many passes over the data."""

    seeds: int = 10
    passes: float = 40.0
    quick_seeds: ClassVar[int] = 1

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, 10.0)

    def tasks(self) -> list[Task[Measured]]:
        return [Task(measure, dict(passes=self.passes, seed=seed), f"fairness, seed {seed}") for seed in range(self.seeds)]


def measure(passes: float, seed: int) -> Measured:
    """One run on a9a within so many passes."""
    return passes_for(fairness("a9a", batch_size=BATCH), BATCH, passes, seed)


def passes_for(problem: Problem, batch: int, passes: float, seed: int) -> Measured:
    """One run. batch: the rows of the data that an evaluation looks at."""
    rows = problem.objective.data.sizes[1]  # type: ignore[attr-defined]
    found: list[float] = []
    last: list[Any] = []
    least, least_at = math.inf, 0.0

    def watch(state: Any, meter: Counted) -> bool:
        nonlocal least, least_at
        last[:] = [fairness_diagnostics(problem, state.form.variables(state.best.z))]
        passed, largest = meter.count * batch / rows, max(getattr(last[0], name) for name in MEASURES)
        if largest < least:
            least, least_at = float(largest), passed
        if largest <= TOLERANCE:
            found.append(passed)
        return bool(found)

    _, meter = solve(problem, problem.x0, int(passes * rows / batch), seed, watch)
    return Measured(
        passes=found[0] if found else None,
        spent=meter.count * batch / rows,
        least=least,
        least_at=least_at,
        feasibility=float(last[0].feasibility),
        stationarity=float(last[0].stationarity),
        slackness=float(last[0].slackness),
    )


def run(campaign: Campaign, grid: Grid) -> Finding:
    """All seeds; the target is met when every seed meets it."""
    runs = campaign.complete(grid.tasks())
    passes = [found.passes for found in runs]
    worst = max(math.inf if count is None else count for count in passes)
    claims = [Claim("passes", f"≤ {ASKED:g}", spread(passes), worst <= ASKED, f"≤ {AIM:g}", worst <= AIM)]
    lead = (
        f"Passes over the data (evaluations x {BATCH} / rows) until Feas., Stat. and Cs. of the point that a user would get are at most "
        f"{TOLERANCE:g}, measured with exact gradients; seeds: {grid.seeds}, budget {grid.passes:g} passes. The median over the seeds that "
        "got there, with the least and the largest; the target is met when every seed meets it. The paper prints 85.46 passes for "
        "Algorithm 1 and does not say how it counts them; in the count of this table Algorithm 1 with the printed step takes 26.6 "
        "(docs/reproduction.md)."
    )
    rows = [
        (
            str(seed),
            f"> {grid.passes:g}" if run.passes is None else f"{run.passes:.1f}",
            f"{run.least:.2e}",
            f"{run.least_at:.1f}",
            *(f"{getattr(run, name):.2e}" for name in MEASURES),
        )
        for seed, run in enumerate(runs)
    ]
    table = Table(
        "fairness-seeds", "Every seed", ("seed", "passes", "least of the largest", "at pass", "Feas. at the end", "Stat.", "Cs."), rows
    )
    return Finding("fairness", "Fairness-constrained classification (a9a)", [lead], claims, [table], campaign.seconds)
