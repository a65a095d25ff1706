"""The probe of `zolal.problems.probe`: two exact equalities, noise that nothing repeats, up to ten thousand variables."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from zolal.bench.base import Claim, Finding, solve, spread
from zolal.campaigns import Campaign, Task
from zolal.problems import probe

VIOLATION = 1e-5
AIM = 0.1  # of the gap that is asked for


class Size(NamedTuple):
    """What is asked at one dimension. gap: to the optimum, relative to it."""

    dimension: int
    budget: int
    gap: float


SIZES = (Size(50, 3_000, 0.005), Size(1_000, 20_000, 0.01), Size(10_000, 200_000, 0.03))


@final
@dataclass(frozen=True)
class Measured:
    """One run. gap: of the exact objective at the result to the optimum, relative to it. violation: the largest |c| there."""

    evaluations: int
    gap: float
    violation: float
    optimum: float
    status: str


@final
@dataclass(frozen=True)
class Grid:
    """What is run: every size with every seed; the seed is that of the problem, too."""

    seeds: int = 10
    sizes: tuple[Size, ...] = SIZES
    quick_seeds: ClassVar[int] = 2

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, SIZES[:1])

    def tasks(self, size: Size) -> list[Task[Measured]]:
        arguments = dict(dimension=size.dimension, budget=size.budget)
        return [Task(measure, arguments | dict(seed=seed), f"probe, d = {size.dimension}, seed {seed}") for seed in range(self.seeds)]


def measure(dimension: int, budget: int, seed: int) -> Measured:
    """One run."""
    problem = probe(dimension, seed=seed)
    result, meter = solve(problem, problem.x0, budget, seed)
    exact = problem.objective.value  # type: ignore[attr-defined]
    best = float(exact(problem.solution))
    return Measured(
        evaluations=meter.count,
        gap=float(exact(np.asarray(result.x))) / best - 1.0,
        violation=problem.equalities(problem.x0).violation(result.x),
        optimum=best,
        status=result.status.name,
    )


def run(campaign: Campaign, grid: Grid) -> Finding:
    """All sizes; a target is met when every seed meets it."""
    runs = campaign.complete_groups([grid.tasks(size) for size in grid.sizes])
    claims = [claim for size, mine in zip(grid.sizes, runs, strict=True) for claim in _claims(size, mine)]
    lead = (
        f"min ||x - t||^2 + N(0, 1e-6) subject to sum(x) = 1 and <x, x> = 1/2 from x = (1, ..., 1). Seeds: {grid.seeds}, each with its own "
        "t. Gap: of the exact objective at the result to the optimum, relative to it. Medians over the seeds with the least and the "
        "largest; a target is met when every seed meets it."
    )
    return Finding("probe", "The noisy probe", [lead], claims, seconds=campaign.seconds)


def _claims(size: Size, runs: list[Measured]) -> list[Claim]:
    case = f"d = {size.dimension:,}, {size.budget:,} evaluations"
    gaps, violations = [run.gap for run in runs], [run.violation for run in runs]
    worst, farthest = max(gaps), max(violations)
    percent = spread([100.0 * gap for gap in gaps])
    goal = size.gap * AIM
    return [
        Claim(f"{case}: gap in %", f"≤ {100 * size.gap:g}", percent, worst <= size.gap, f"≤ {100 * goal:g}", worst <= goal),
        Claim(f"{case}: largest |c|", f"≤ {VIOLATION:g}", spread(violations), farthest <= VIOLATION),
    ]
