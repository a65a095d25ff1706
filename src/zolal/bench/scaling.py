"""Units and noise: over random problems in random units the method must not diverge, must end feasible, and near the optimum."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from zolal.bench._cases import CONSTRAINTS, FAMILIES, NOISES, OBJECTIVE, PER_SEED, VARIABLES, Case, Facts, case
from zolal.bench.base import Claim, Finding, solve
from zolal.campaigns import Campaign, Task
from zolal.tables import Table

PER_VARIABLE, LEAST = 200, 1000  # the budget: max(200 d, 1000)
FEASIBLE = 1e-3  # of the factor of the constraints
NEAR = 0.05  # of the range
FEASIBLE_SHARE, NEAR_SHARE = 0.95, 0.90


@dataclass(frozen=True)
class Verdict:
    """How good a point is. violation: in units of the constraints' factor. gap, start_gap: in units of the range; None if not finite."""

    violation: float | None
    gap: float | None
    start_violation: float
    start_gap: float | None
    diverged: bool
    feasible: bool
    near: bool


@dataclass(frozen=True)
class Solved(Facts):
    """A case and the run on it."""

    budget: int
    evaluations: int
    status: str


@final
@dataclass(frozen=True)
class Measured(Verdict, Solved):
    """The same with the verdict on the result."""


@final
@dataclass(frozen=True)
class Grid:
    """What is run: every family under every noise once per seed, 550 problems for 10 seeds. small: 22 problems of few variables instead."""

    seeds: int = 10
    small: bool = False
    quick_seeds: ClassVar[int] = 1

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, True)

    def tasks(self) -> list[Task[Measured]]:
        numbers = range(0, self.seeds * 22 * 5, 5) if self.small else range(self.seeds * PER_SEED)  # 5 is prime to 11: no family is missed
        return [task(number, self.small) for number in numbers]


def task(number: int, small: bool) -> Task[Measured]:
    return Task(measure, dict(number=number, small=small), f"case {number}")


def measure(number: int, small: bool) -> Measured:
    """One case, solved with its number as seed."""
    drawn = case(number, small)
    budget = max(PER_VARIABLE * drawn.dimension, LEAST)
    result, meter = solve(drawn.problem, drawn.problem.x0, budget, number)
    facts, verdict = vars(drawn.facts), vars(judge(drawn, np.asarray(result.x)))
    return Measured(**facts, budget=budget, evaluations=meter.count, status=result.status.name, **verdict)


def judge(drawn: Case, x: np.ndarray) -> Verdict:
    """How good a point is."""
    problem = drawn.problem
    equalities = problem.equalities(problem.x0)
    start = equalities.violation(problem.x0) / drawn.constraints
    if not np.isfinite(x).all():
        return Verdict(None, None, start_violation=start, start_gap=None, diverged=True, feasible=False, near=False)
    violation = equalities.violation(x) / drawn.constraints
    gap, start_gap = ((drawn.value(y) - drawn.optimum) / drawn.range for y in (x, problem.x0))
    finite = math.isfinite(violation) and math.isfinite(gap)
    farther = violation > max(start, FEASIBLE)
    worse = start <= FEASIBLE and gap > start_gap + NEAR
    return Verdict(
        violation=violation if finite else None,
        gap=gap if finite else None,
        start_violation=start,
        start_gap=start_gap,
        diverged=not finite or farther or worse,
        feasible=finite and violation <= FEASIBLE,
        near=finite and violation <= FEASIBLE and gap <= NEAR,
    )


def run(campaign: Campaign, grid: Grid) -> Finding:
    """All cases, and what is asked of them."""
    runs = campaign.complete(grid.tasks())
    lead = (
        f"{len(runs)} random problems with known solutions ({', '.join(FAMILIES)}; {'5 to 8' if grid.small else '5 to 200'} variables) in "
        f"random units: f times 10^U(-{OBJECTIVE:g}, {OBJECTIVE:g}), x times 10^U(-{VARIABLES:g}, {VARIABLES:g}), c times "
        f"10^U(-{CONSTRAINTS:g}, {CONSTRAINTS:g}); in half of the smooth families each variable also times its own "
        f"10^U(-{VARIABLES:g}, {VARIABLES:g}). Noise of 0 or 0.1 to 10 % of the range of f; the problem's own start or one far away; "
        f"budget max({PER_VARIABLE} d, {LEAST}) evaluations."
    )
    terms = (
        f"Feasible: violation at most {FEASIBLE:g} times the factor of c. Near: feasible, and f + h at most {100 * NEAR:g} % of the range "
        "above the optimum, the range being the larger of |f + h - optimum| at this start and at the problem's own. Diverged: not finite, "
        "or more infeasible than the start and than that tolerance, or, from a feasible start, worse than it by more than 5 % of the range."
    )
    tables = [_by("family", FAMILIES, runs), _by("noise", NOISES, runs), _missed(runs), _all(runs)]
    return Finding("scaling", "Random problems in random units under noise", [lead, terms], _claims(runs), tables, campaign.seconds)


def _claims(runs: list[Measured]) -> list[Claim]:
    diverged, feasible, near = _verdicts(runs)
    total = len(runs)
    return [
        Claim("diverged", "none", f"{diverged} of {total}", diverged == 0),
        Claim("feasible", f"≥ {100 * FEASIBLE_SHARE:g} %", _share(feasible, total), feasible >= FEASIBLE_SHARE * total),
        Claim("within 5 % of the optimum", f"≥ {100 * NEAR_SHARE:g} %", _share(near, total), near >= NEAR_SHARE * total),
    ]


def _verdicts(runs: list[Measured]) -> tuple[int, int, int]:
    """How many diverged, how many are feasible, how many near."""
    return sum(run.diverged for run in runs), sum(run.feasible for run in runs), sum(run.near for run in runs)


def _by(field: str, values: tuple[str, ...], runs: list[Measured]) -> Table:
    rows = []
    for value in values:
        mine = [run for run in runs if getattr(run, field) == value]
        if mine:
            diverged, feasible, near = _verdicts(mine)
            gaps = [math.inf if run.gap is None else run.gap for run in mine]
            medians = (f"{100 * float(np.quantile(gaps, q)):.2g} %" for q in (0.5, 0.9))
            spent = f"{np.median([run.evaluations / run.budget for run in mine]):.2f}"
            rows.append((value, str(len(mine)), str(diverged), _share(feasible, len(mine)), _share(near, len(mine)), *medians, spent))
    columns = (field, "problems", "diverged", "feasible", "within 5 %", "median gap", "90th percentile", "budget used")
    return Table(f"scaling-{field}", f"By {field}", columns, rows)


COLUMNS = (
    "case",
    "family",
    "d",
    "noise",
    "level",
    "factor of f",
    "of x",
    "each its own",
    "of c",
    "start",
    "evaluations",
    "ended",
    "violation",
    "gap",
    "verdict",
)


def _missed(runs: list[Measured]) -> Table:
    rows = [line(run) for run in runs if not run.near or run.diverged]
    note = "Violation: in units of the factor of c. Gap: in units of the range. `zolal bench scaling --case N` runs case N alone."
    return Table("scaling-missed", "The cases that missed", COLUMNS, rows, note)


def _all(runs: list[Measured]) -> Table:
    return Table("scaling-cases", "All cases", COLUMNS, [line(run) for run in runs], folded=True)


def line(run: Measured) -> tuple[str, ...]:
    """A case as a row of text."""
    verdict = "diverged" if run.diverged else "met" if run.near else "not near" if run.feasible else "not feasible"
    f, x, c = (f"{factor:.1e}" for factor in (run.objective, run.variables, run.constraints))
    results = ("not finite" if result is None else f"{result:.1e}" for result in (run.violation, run.gap))
    head = (str(run.number), run.family, str(run.dimension), run.noise, f"{run.level:.1e}")
    return (
        *head,
        *(f, x, "yes" if run.own_units else "", c),
        "far" if run.far else "own",
        f"{run.evaluations} of {run.budget}",
        run.status.lower(),
        *results,
        verdict,
    )


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} % ({count} of {total})"
