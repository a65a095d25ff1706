"""The same noisy constrained problems for everyone: the automatic method, the paper's, its baselines, and what other packages offer."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from zolal._cached import cached_property
from zolal.bench._apart import Unanswered, call_apart
from zolal.bench._contest import FAMILIES, FEASIBLE, TOLERANCES, Verdict
from zolal.bench._contestants import METHODS, SHARES, available
from zolal.bench._contestants import measure as measure_here
from zolal.bench.base import Finding
from zolal.campaigns import Campaign, Task
from zolal.tables import Table

PER_VARIABLE, MOST = 50, 100_000  # the budget: min(50 d, 100,000)
LABELS = {
    "auto": "zolal auto",
    "mdlal": "the paper's method",
    "szo-conex": "SZO-ConEx",
    "zo-penalty": "ZO-Penalty",
    "cobyqa": "SciPy COBYQA",
    "cobyla": "SciPy COBYLA",
    "trust-constr": "SciPy trust-constr",
    "cma": "pycma fmin_con2",
    "nevergrad": "nevergrad",
}


@final
@dataclass(frozen=True)
class Grid:
    """What is run. levels: of the noise, as a part of the range. methods: of those that are installed. seconds: the limit of one run."""

    seeds: int = 1  # three families are three problems of a kind already
    dimensions: tuple[int, ...] = (10, 30, 100, 300, 1_000, 10_000)
    levels: tuple[float, ...] = (0.0, 1e-3, 1e-2)
    families: tuple[str, ...] = FAMILIES
    methods: tuple[str, ...] = tuple(METHODS)
    seconds: float = 60.0
    quick_seeds: ClassVar[int] = 1

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, (10,), (1e-3,), FAMILIES[:1], seconds=10.0)

    @cached_property
    def installed(self) -> tuple[str, ...]:
        """The methods that can be run."""
        return tuple(method for method in self.methods if method in available())

    def tasks(self, method: str, dimension: int, family: str) -> list[Task[Verdict | Unanswered]]:
        """Those of one method at one dimension in one family."""
        given = dict(method=method, family=family, dimension=dimension, budget=min(PER_VARIABLE * dimension, MOST), limit=self.seconds)
        return [
            Task(
                measure,
                given | dict(level=level, seed=seed),
                f"{method}, {family}, d = {dimension}, noise {level:g}, seed {seed}",
            )
            for level in self.levels
            for seed in range(self.seeds)
        ]


@final
@dataclass(frozen=True)
class Run:
    """One run with what it was given. outcome: of `measure`; None where the method was not tried any more."""

    method: str
    family: str
    dimension: int
    level: float
    outcome: Verdict | Unanswered | None

    @property
    def verdict(self) -> Verdict | None:
        """The outcome, where there was an answer and it is finite."""
        return self.outcome if isinstance(self.outcome, Verdict) and self.outcome.gap is not None else None

    def solved(self, tolerance: float) -> int | None:
        """The evaluation at which it was solved to this tolerance."""
        return self.verdict.solved[TOLERANCES.index(tolerance)] if self.verdict else None

    def seconds(self, limit: float) -> float:
        """What it took, or the limit of its time where there was no answer."""
        if self.outcome is None:
            return 0.0
        return limit if isinstance(self.outcome, Unanswered) else self.outcome.seconds


def measure(method: str, family: str, dimension: int, level: float, seed: int, budget: int, limit: float) -> Verdict | Unanswered:
    """One run in a process of its own."""
    given = dict(method=method, family=family, dimension=dimension, level=level, seed=seed, budget=budget)
    return call_apart(measure_here, given, limit)


def run(campaign: Campaign, grid: Grid) -> Finding:
    """Dimension by dimension, family by family; a method that answers none of these is not tried at what follows."""
    runs: list[Run] = []
    going = list(grid.installed)
    for d, family in ((d, family) for d in grid.dimensions for family in grid.families):
        outcomes = dict(zip(going, campaign.complete_groups([grid.tasks(method, d, family) for method in going]), strict=True))
        for method in grid.installed:
            tasks = grid.tasks(method, d, family)
            mine = zip(tasks, outcomes.get(method, [None] * len(tasks)), strict=True)
            runs += [Run(method, family, d, task.arguments["level"], found) for task, found in mine]
        late = {one.method for one in runs} - {one.method for one in runs if (one.dimension, one.family) == (d, family) and one.verdict}
        going = [method for method in going if method not in late]
    seconds = sum(one.seconds(grid.seconds) for one in runs)  # outside of the campaign's own
    tables = [*(_table(runs, grid, level) for level in grid.levels), _winners(runs, grid), _overhead(runs, grid)]
    return Finding("peers", "The same problems for everyone", _lead(grid), [], tables, seconds, details=runs)


def _lead(grid: Grid) -> list[str]:
    shares = ", ".join(f"{LABELS[name]} {share:g}" for name, share in SHARES.items())
    levels = ", ".join(f"{level:g}" for level in grid.levels)
    lead = [
        f"Problems: {', '.join(grid.families)}, with {', '.join(f'{d:,}' for d in grid.dimensions)} variables, from feasible starts; "
        f"additive noise of {levels} of the range f(start) - optimum, without common samples; min({PER_VARIABLE} d, {MOST:,}) evaluations; "
        f"{grid.seconds:g} s per run; seeds: {grid.seeds}. Every method is given the exact constraints. Gap: in units of the range. "
        f"Feasible: violation at most {FEASIBLE:g}; the constraints are of order 1.",
        "auto is given a seed and the budget. The paper's method and both baselines take 16 directions, differences that fit the noise, "
        f"and a fixed step: a share of what theory allows, chosen on another seed ({shares}). COBYQA, COBYLA: a first radius of the size "
        "of a coordinate. trust-constr: two-point differences with relative steps of the root of the noise level. pycma, nevergrad: steps "
        "of the size of a coordinate, equalities as pairs of inequalities; nevergrad is its CMA without noise, its TBPSA with noise.",
    ]
    missing = [LABELS[name] for name in grid.methods if name not in grid.installed]
    if missing:
        lead.append(f"Left out: {', '.join(missing)} (pip install 'zolal[bench]').")
    return lead


def _table(runs: list[Run], grid: Grid, level: float) -> Table:
    rows = []
    for method in grid.installed:
        mine = [[one for one in runs if (one.method, one.dimension, one.level) == (method, d, level)] for d in grid.dimensions]
        rows.append((LABELS[method], *map(_cell, mine)))
    note = (
        "Medians of gap / violation at the returned point over families and seeds; in brackets the runs that evaluated or returned a "
        "feasible point within 1 % of the optimum. No answer: over the time limit, or failed. Not tried: no answer to any problem of a "
        "family at this or a smaller dimension."
    )
    columns = ("method", *(f"d = {d:,}" for d in grid.dimensions))
    return Table(f"peers-noise-{level:g}", f"Noise {level:g} of the range: gap / violation (solved to 1 %)", columns, rows, note)


def _cell(runs: list[Run]) -> str:
    answered = [one.verdict for one in runs if one.verdict]
    if not answered:
        return "not tried" if all(one.outcome is None for one in runs) else "no answer"
    gap, violation = (float(np.median([getattr(found, name) for found in answered])) for name in ("gap", "violation"))
    solved = sum(one.solved(TOLERANCES[0]) is not None for one in runs)
    return f"{gap:.1e} / {violation:.0e} ({solved} of {len(runs)})"


def _winners(runs: list[Run], grid: Grid) -> Table:
    """Where others win: who solves most, and who needs fewest evaluations."""
    rows = []
    for d, level in ((d, level) for d in grid.dimensions for level in grid.levels):
        ranks = {}
        for method in grid.installed:
            counts = [one.solved(TOLERANCES[0]) for one in runs if (one.method, one.dimension, one.level) == (method, d, level)]
            reached = [count for count in counts if count is not None]
            if reached:
                ranks[method] = (-len(reached), float(np.median([math.inf if count is None else count for count in counts])), len(counts))
        order = sorted(ranks, key=lambda method: ranks[method][:2])
        told = [f"{LABELS[name]}: {-ranks[name][0]} of {ranks[name][2]}, {_evaluations(ranks[name][1])}" for name in order[:3]]
        first = LABELS[order[0]] if order else "nobody"
        rows.append((f"{d:,}", f"{level:g}", first, "; ".join(told) or "—"))
    note = "By the number of runs that were solved to 1 %, then by the median of evaluations until then."
    return Table("peers-winners", "Who comes first", ("d", "noise", "first", "the first three: solved, median evaluations"), rows, note)


def _evaluations(median: float) -> str:
    return "more than the budget" if math.isinf(median) else f"{median:.0f}"


def _overhead(runs: list[Run], grid: Grid) -> Table:
    rows = []
    for method in grid.installed:
        cells = []
        for d in grid.dimensions:
            mine = [one.verdict.overhead for one in runs if (one.method, one.dimension) == (method, d) and one.verdict]
            cells.append(f"{1e3 * float(np.median(mine)):.2g}" if mine else "—")
        rows.append((LABELS[method], *cells))
    note = "Seconds outside the objective, divided by evaluations; medians."
    return Table(
        "peers-overhead", "Overhead per evaluation in milliseconds", ("method", *(f"d = {d:,}" for d in grid.dimensions)), rows, note
    )
