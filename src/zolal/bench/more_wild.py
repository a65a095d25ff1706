"""The 53 problems of Moré and Wild, with and without noise, for the automatic method and for others."""

from dataclasses import dataclass
from typing import ClassVar, final

from zolal.bench import _least_squares
from zolal.bench._entrants import LABELS, WITHOUT, installed
from zolal.bench._field import LEVELS, PER_VARIABLE, REFERENCE, SAME, Field, Outcome, carry_out
from zolal.bench._standing import claims, tables
from zolal.bench.base import Finding
from zolal.campaigns import Campaign

QUICK = ("MW07", "MW15")


@final
@dataclass(frozen=True)
class Grid:
    """What is run: all problems, or every so-manieth of them, or those named. seconds: the limit of one run.

    rough: whether the noise is a function of x.
    """

    seeds: int = 1
    names: tuple[str, ...] = ()
    every: int = 1
    levels: tuple[float, ...] = LEVELS
    methods: tuple[str, ...] = WITHOUT
    seconds: float = 60.0
    rough: bool = False
    quick_seeds: ClassVar[int] = 1

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, QUICK, levels=LEVELS[:2], seconds=10.0)

    def field(self) -> Field:
        names = self.names or tuple(_least_squares.NAMES[:: self.every])
        return Field("more-wild", names, self.methods, self.levels, self.seeds, self.seconds, rough=self.rough)


def run(campaign: Campaign, grid: Grid) -> Finding:
    """All problems, all methods."""
    found = carry_out(campaign, grid.field())
    seconds = sum(one.seconds(grid.seconds) for one in found.runs)  # outside of the campaign's own
    title = "The problems of Moré and Wild"
    return Finding("more-wild", title, _lead(grid, found), claims(found), tables("more-wild", found), seconds, details=found.runs)


def _lead(grid: Grid, found: Outcome) -> list[str]:
    levels, same = ", ".join(f"{level:g}" for level in grid.levels), SAME if grid.rough else ""
    lead = [
        f"{len(found.facts)} of the 53 sums of squares of Moré and Wild (SIAM J. Optim. 20, 2009; `zolal.problems.more_wild`), 2 to 12 "
        f"variables, no constraints. {PER_VARIABLE} (n + 1) evaluations; Gaussian noise{same} of {levels} of the range f(start) - least "
        f"value known; seeds: {grid.seeds}; {grid.seconds:g} s per run. The least value: of SLSQP and trust-constr with exact gradients "
        f"from six starts ({REFERENCE:g} s) and of the exact runs of all methods; the size of the noise uses the former alone. Nobody is "
        "told that f is a sum of squares.",
        "auto gets a seed and the budget, the others their own defaults; Py-BOBYQA is told whether there is noise. SLSQP and trust-constr "
        "use forward differences, with steps of sqrt(noise level) max(1, |x_i|) where there is noise. pycma: a first step of 0.3.",
    ]
    missing = [LABELS[name] for name in grid.methods if name not in installed(grid.methods)]
    return [*lead, f"Not installed: {', '.join(missing)}."] if missing else lead
