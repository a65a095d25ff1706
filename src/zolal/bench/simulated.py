"""Constraints that only the simulator knows: CUTEst with all constraints as outputs, two systems with a simulator, and many variables."""

from dataclasses import dataclass
from typing import ClassVar, final

from zolal.bench import _s2mpj, _systems
from zolal.bench._entrants import BY_VALUES, LABELS, installed
from zolal.bench._field import LEVELS, PER_VARIABLE, Field, Outcome, carry_out
from zolal.bench._reference import FEASIBLE
from zolal.bench._standing import firsts, not_behind, tables
from zolal.bench._systems import SYSTEMS
from zolal.bench._thousand import Large
from zolal.bench.base import Claim, Finding
from zolal.campaigns import Campaign
from zolal.tables import Table

LARGE = "outputs"  # the name of the problem with many variables
QUICK = ("HS21", "tandem", LARGE)
MOST_ROWS = 30  # constraint rows: each is an output with a belief of its own
RIVAL, ACCURACY = "cobyqa", 1e-3  # whose evaluations are not to be fewer, and to what accuracy
NOISE = 1e-3  # with many variables


@final
@dataclass(frozen=True)
class Grid:
    """What is run: problems of CUTEst as `cutest` chooses them, the systems and the problem with many variables; or those named.

    seconds: the limit of one run on CUTEst. runs: of each system. dimension, patience: of the problem with many variables, and the limit
    of one run on it.
    """

    seeds: int = 1
    names: tuple[str, ...] = ()
    every: int = 1
    letters: str = _s2mpj.LETTERS
    levels: tuple[float, ...] = LEVELS
    methods: tuple[str, ...] = BY_VALUES
    seconds: float = 60.0
    runs: int = 100
    dimension: int = 1_000
    patience: float = 300.0
    quick_seeds: ClassVar[int] = 1

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, QUICK, levels=LEVELS[:2], methods=BY_VALUES[:3], seconds=10.0, runs=4, dimension=320, patience=10.0)

    def field(self) -> Field:
        few = set() if self.names else set(_s2mpj.names(self.letters, most_rows=MOST_ROWS))
        chosen = (name for name in self.names if name not in (*SYSTEMS, LARGE))
        names = tuple(chosen) if self.names else tuple(name for name in _s2mpj.names(self.letters)[:: self.every] if name in few)
        return Field("s2mpj", names, self.methods, self.levels, self.seeds, self.seconds, self.letters, blind=True)

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(name for name in SYSTEMS if not self.names or name in self.names)

    @property
    def large(self) -> Large | None:
        chosen = not self.names or LARGE in self.names
        return Large(self.dimension, NOISE, self.methods, self.seeds, self.patience) if chosen else None


def run(campaign: Campaign, grid: Grid) -> Finding:
    """All three parts."""
    found = carry_out(campaign, grid.field())
    claims = [*firsts(found.runs), *not_behind(found.runs, RIVAL, ACCURACY)]
    shown = tables("simulated", found) if grid.field().names else []
    seconds = sum(one.seconds(grid.seconds) for one in found.runs)
    for part in (_systems_part, _large_part):
        more, others = part(campaign, grid)
        claims, shown = claims + more, others + shown
    title = "Constraints that only the simulator knows"
    return Finding("simulated", title, _lead(grid, found), claims, shown, seconds + campaign.seconds, details=found.runs)


def _systems_part(campaign: Campaign, grid: Grid) -> tuple[list[Claim], list[Table]]:
    if not grid.systems:
        return [], []
    answers = _systems.carry_out(campaign, grid.systems, grid.runs)
    return _systems.claims(answers), [_systems.table(answers)]


def _large_part(campaign: Campaign, grid: Grid) -> tuple[list[Claim], list[Table]]:
    large = grid.large
    if large is None:
        return [], []
    answers = large.carry_out(campaign)
    return large.claims(answers), [large.table(answers)]


def _lead(grid: Grid, found: Outcome) -> list[str]:
    levels = ", ".join(f"{level:g}" for level in grid.levels)
    chosen = f"one in {grid.every} of the " if grid.every > 1 else "the "
    which = "chosen" if grid.names else f"{chosen}S2MPJ"
    lead = [
        f"{len(found.facts)} problems: {which} problems of `cutest`, names {grid.letters}, with at most {_s2mpj.LARGEST} variables and "
        f"{MOST_ROWS} constraint rows; {len(found.left_out)} more are left out and listed below. One evaluation gives f and the values of "
        "all constraint rows; bounds are known. Nobody has a derivative, and nobody is told which rows are linear. "
        f"{PER_VARIABLE} (n + 1) evaluations; Gaussian noise of {levels}: of the range for f, of the scale of its row for an output; "
        f"seeds: {grid.seeds}; {grid.seconds:g} s per run, one thread.",
        f"Feasible: no violation above {FEASIBLE:g} in the scales of `cutest`; with noise, none above its level and above the accuracy "
        "that is asked for, since who violates gains by that. Range, references and judgement as there. "
        "auto is asked for confidence 0.5, the others have no such wish. pycma and NOMAD (its progressive barrier) know inequalities alone "
        "and get all rows with half of what counts as feasible to spare; COBYQA and COBYLA get rows as they are. Whoever asks for f and "
        "rows by themselves pays once per point.",
    ]
    missing = [LABELS[name] for name in grid.methods if name not in installed(grid.methods)]
    return [*lead, f"Not installed: {', '.join(missing)}."] if missing else lead
