"""Constrained problems of CUTEst in their S2MPJ form, with and without noise, for the automatic method and for others."""

from dataclasses import dataclass
from typing import ClassVar, final

from zolal.bench import _s2mpj
from zolal.bench._entrants import LABELS, WITH_CONSTRAINTS, installed
from zolal.bench._field import LEVELS, PER_VARIABLE, REFERENCE, SAME, Field, Outcome, carry_out
from zolal.bench._reference import FEASIBLE, TIGHT
from zolal.bench._standing import claims, tables
from zolal.bench.base import Finding
from zolal.campaigns import Campaign

QUICK = ("HS21", "HS28", "HS71")


@final
@dataclass(frozen=True)
class Grid:
    """What is run: all problems with names of these letters, or every so-manieth of them, or those named. seconds: the limit of one run.

    rough: whether the noise is a function of x.
    """

    seeds: int = 1
    names: tuple[str, ...] = ()
    every: int = 1
    letters: str = _s2mpj.LETTERS
    levels: tuple[float, ...] = LEVELS
    methods: tuple[str, ...] = WITH_CONSTRAINTS
    seconds: float = 60.0
    rough: bool = False
    quick_seeds: ClassVar[int] = 1

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, QUICK, levels=LEVELS[:2], seconds=10.0)

    def field(self) -> Field:
        names = self.names or tuple(_s2mpj.names(self.letters)[:: self.every])
        return Field("s2mpj", names, self.methods, self.levels, self.seeds, self.seconds, self.letters, rough=self.rough)


def run(campaign: Campaign, grid: Grid) -> Finding:
    """All problems, all methods."""
    found = carry_out(campaign, grid.field())
    seconds = sum(one.seconds(grid.seconds) for one in found.runs)  # outside of the campaign's own
    title = "Constrained problems of CUTEst"
    return Finding("cutest", title, _lead(grid, found), claims(found), tables("cutest", found), seconds, details=found.runs)


def _lead(grid: Grid, found: Outcome) -> list[str]:
    levels, same = ", ".join(f"{level:g}" for level in grid.levels), SAME if grid.rough else ""
    chosen = f"one in {grid.every} of the " if grid.every > 1 else ""
    which = f"{len(grid.names)} chosen" if grid.names else f"{chosen}S2MPJ"
    lead = [
        f"{len(found.facts)} problems: {which} problems with linear or nonlinear constraints and an objective, names {grid.letters}, at "
        f"most {_s2mpj.LARGEST} variables and {_s2mpj.MOST_ROWS:,} constraint rows, in default sizes, without fixed variables, from "
        f"their own starts, moved into the bounds; {len(found.left_out)} more are left out and listed below. {PER_VARIABLE} (n + 1) "
        f"evaluations; Gaussian noise{same} of {levels} of the range; seeds: {grid.seeds}; {grid.seconds:g} s per run, one thread. "
        "Everyone gets noisy values of f, and exact constraints with their exact derivatives.",
        f"Feasible: no violation above {FEASIBLE:g}, each row divided by max(1, the largest entry of its gradient at the start, "
        f"|right-hand side|), each bound by max(1, |bound|). Range: f at the feasible point nearest the start, found from the constraints "
        f"alone, less the least value known. That is the least at points with violation at most {TIGHT:g}, over SLSQP and trust-constr "
        f"with exact gradients from six starts ({REFERENCE:g} s) and over the exact runs of all methods; the size of the noise uses the "
        "former alone. Every evaluated point is judged with exact f and constraints, and the returned one with the last evaluation.",
        "auto gets a seed and the budget, the others their own defaults. COBYLA is PRIMA's from SciPy 1.16 on. SLSQP and trust-constr use "
        "forward differences, with steps of sqrt(noise level) max(1, |x_i|) where there is noise. pycma: fmin_con2 with a first step of "
        "0.3, equalities as pairs of inequalities.",
    ]
    missing = [LABELS[name] for name in grid.methods if name not in installed(grid.methods)]
    return [*lead, f"Not installed: {', '.join(missing)}."] if missing else lead
