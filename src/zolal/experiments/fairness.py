"""Section 7.3: fairness-constrained classification by Algorithm 1 and two baselines, data passes counted in three ways."""

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from zolal.campaigns import Campaign, Task
from zolal.estimators import Momentum
from zolal.experiments._readings import INTERVALS, Curve, First, MinibatchEvaluator, Point, Readings
from zolal.experiments._tuning import Plan, Search, Trial, search_all
from zolal.problems.datasets import FairnessData
from zolal.problems.fairness import DATA, fairness
from zolal.runs.loop import run
from zolal.runs.recording import Recorder
from zolal.runs.stopping import MaxIterations
from zolal.solvers import MDLAL, Solver, SZOConEx, ZOPenalty

METHODS = ("mdlal", "szo-conex", "zo-penalty")
NUM_DIRECTIONS, BATCH, SMOOTHING, PENALTY, DUAL_STEP = 8, 256, 1e-3, 1.0, 0.5  # n, minibatch, nu, mu, rho, as printed
PRINTED_STEPS = dict(a9a=0.6, bank=2.0)  # lendingclub is not in the paper: pilots choose
CAP = 120.0  # data passes in the paper's count
COUNTS = ("two-point", "algorithm", "shared")
FIRST_PILOT_SEED = 1001
PILOT_EVERY = 5  # iterations between the measurements of a pilot run
SETTINGS = {"mdlal": (), "szo-conex": ("proximal", "dual_step"), "zo-penalty": ("penalty",)}  # chosen beside the step size


@final
@dataclass(frozen=True)
class Choice:
    """What a method may choose: the step size eta; SZO-ConEx also its dual step r and proximal weights; ZO-Penalty its first rho."""

    step_size: float
    dual_step: float = 1.0
    proximal: float = 0.01
    penalty: float = 1.0


def passes(iterations: float, rows: int, count: str = "two-point") -> float:
    """Data passes of so many iterations on N = rows, each evaluation being one minibatch.

    count: "two-point", 2n = 16 evaluations per iteration; "algorithm", those of Algorithm 1 as written, 2n at first and then 4n, at x^k and
    x^{k-1}, also where alpha = 1 gives the latter no weight; "shared", n + 1 = 9 with one base value for all directions.
    """
    n = NUM_DIRECTIONS
    if count == "algorithm":
        evaluations = 2 * n * max(2 * iterations - 1, 0)
    else:
        evaluations = (2 * n if count == "two-point" else n + 1) * iterations
    return evaluations * BATCH / rows


def cap(rows: int) -> int:
    """The first iteration at which the paper's count reaches the cap: 954 for a9a, 663 for bank."""
    return math.ceil(CAP / passes(1, rows))


def solver(method: str, choice: Choice) -> Solver[Any]:
    """A method with the printed oracle: 8 Rademacher directions and one minibatch of 256, alpha = 1.

    Directions share the minibatch, so sharing the base value changes no number; it saves evaluations.
    """
    estimator = Momentum(NUM_DIRECTIONS, SMOOTHING, momentum=1.0, share_base=True)
    if method == "szo-conex":
        weights = dict(proximal=choice.proximal, constraint_proximal=choice.proximal)
        return SZOConEx(estimator, choice.step_size, dual_step=choice.dual_step, **weights)  # type: ignore[arg-type]
    if method == "zo-penalty":
        return ZOPenalty(estimator, choice.step_size, penalty=choice.penalty)
    return MDLAL(estimator, choice.step_size, PENALTY, DUAL_STEP)


@functools.cache
def _data(name: str) -> FairnessData:
    return DATA[name]()


def own_criterion(method: str) -> str:
    """Algorithm 1 stops at max(pres, dres) <= 1e-2, the baselines when Feas., Stat. and Cs. are at most that."""
    return "residual" if method == "mdlal" else "common"


@final
@dataclass(frozen=True)
class Measured:
    """One run. rows: N. weight: omega. ended: the name of a status. first: where each reading of the stopping rule ends it.

    last: the last iterate. least: of its own criterion, over all measurements.
    """

    rows: int
    weight: float
    ended: str
    first: list[First]
    last: Point
    least: float
    curve: Curve

    def ended_by(self, criterion: str, interval: int) -> Point | None:
        """Where a reading of the rule ends it; None where it is never met."""
        return next(first.point for first in self.first if (first.criterion, first.interval) == (criterion, interval))


def measure(data: str, method: str, multiple: float, seed: int, choice: dict[str, float], pilot: bool) -> Measured:
    """One run. A pilot follows its own criterion alone.

    multiple: omega in units of |S_min|/|S|. The run ends when every reading has been met, or at the cap.
    """
    weight = float(f"{multiple * _data(data).minority_share:.4g}")
    problem, algorithm = fairness(_data(data), weight, BATCH), solver(method, Choice(**choice))
    criteria = ("residual", "common") if method == "mdlal" and not pilot else (own_criterion(method),)
    intervals = (PILOT_EVERY,) if pilot else INTERVALS if method == "mdlal" else (1,)
    readings = Readings(problem, criteria, intervals, PILOT_EVERY if pilot else 1)
    rows = _data(data).sizes[1]
    start = algorithm.init(problem, problem.x0, seed)
    outcome = run(algorithm, start, MinibatchEvaluator(problem), readings | MaxIterations(cap(rows)), Recorder())
    return Measured(
        rows=rows,
        weight=weight,
        ended=outcome.stop.status.name,
        first=readings.firsts,
        last=replace(readings.points[-1], k=outcome.state.k),
        least=min(point.value(own_criterion(method)) for point in readings.points),
        curve=readings.curve,
    )


class Spread(NamedTuple):
    """Mean and sample standard deviation over the seeds; the deviation is 0 for one seed."""

    mean: float
    deviation: float


class Name(NamedTuple):
    """One method on one data set. multiple: omega in units of |S_min|/|S|; at 1 the minority's mean rate must not be below that of all."""

    data: str
    method: str
    multiple: float

    def run(self, seed: int, choice: Choice, pilot: bool = False) -> Task[Measured]:
        arguments = self._asdict() | dict(seed=seed, choice=vars(choice), pilot=pilot)
        return Task(measure, arguments, f"{self.method} on {self.data}, omega {self.multiple:g} x parity, seed {seed}")


@final
@dataclass(frozen=True)
class Cell:
    """The runs of one method on one data set with one omega, one per seed: a line of the table, a curve in two panels.

    choice: of the pilots, or as printed. runs: what `measure` returned.
    """

    name: Name
    choice: Choice
    runs: list[Measured]

    @property
    def rows(self) -> int:
        """N."""
        return self.runs[0].rows

    @property
    def weight(self) -> float:
        """Omega."""
        return self.runs[0].weight

    def ends(self, criterion: str | None = None, interval: int = 1) -> list[Point]:
        """Where each run ends under a reading of the rule; the last iterate where it was not met. The method's own one unless given.

        criterion: "residual" (Algorithm 1 alone) or "common". interval: iterations between checks; 1 unless the method is Algorithm 1.
        """
        return [first or run.last for first, run in zip(self._firsts(criterion, interval), self.runs, strict=True)]

    def capped(self, criterion: str | None = None, interval: int = 1) -> int:
        """How many runs did not meet the criterion within the cap."""
        return self._firsts(criterion, interval).count(None)

    def _firsts(self, criterion: str | None, interval: int) -> list[Point | None]:
        return [run.ended_by(criterion or own_criterion(self.name.method), interval) for run in self.runs]

    def measured(self, field: str, criterion: str | None = None, interval: int = 1) -> Spread:
        """field: "feasibility", "stationarity", "slackness", or "k" for the iterations, at the end of the runs."""
        return _spread([getattr(end, field) for end in self.ends(criterion, interval)])

    def passes(self, count: str = "two-point", criterion: str | None = None, interval: int = 1) -> Spread:
        """Data passes to the end, in one of COUNTS."""
        return _spread([passes(end.k, self.rows, count) for end in self.ends(criterion, interval)])


@final
@dataclass(frozen=True)
class Fairness:
    """The whole experiment.

    table: every method on every data set at omega = |S_min|/|S|; Algorithm 1 at the printed step where there is one, the others at what
    the pilots chose. tuned: Algorithm 1 at the pilots' step on the data sets that have a printed one, so that tuned methods can be compared
    with each other. weights: Algorithm 1 as in the table on every data set at each multiple of that omega, for its effect. trials: every
    trial of the pilots. seconds: of processor time, diagnostics included.
    """

    table: list[Cell]
    tuned: list[Cell]
    weights: list[Cell]
    trials: dict[Name, dict[Choice, Trial]]
    seconds: float


@final
@dataclass(frozen=True)
class Grid:
    """What is run: data sets, multiples of |S_min|/|S| for omega, seeds of the reported runs and of the pilots.

    thorough: whether the pilots of baselines choose their other settings beside the step size.
    """

    data: tuple[str, ...] = ("a9a", "bank", "lendingclub")
    multiples: tuple[float, ...] = (0.5, 1.0, 1.5)
    seeds: int = 10
    pilot_seeds: int = 2
    thorough: bool = True

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        """Two data sets, pilots of the step size alone: a look at everything within a minute."""
        return cls(("a9a", "bank"), (0.5, 1.0), seeds, 1, thorough=False)


def pilot(search: Search[Choice], name: Name, thorough: bool) -> Plan[Choice, Choice]:
    """The choice of a method on a data set: steps are doubled or halved, other settings multiplied or divided by 10, while that helps.

    So no end of a grid is chosen.
    """
    best = yield from search.climb(Choice(PRINTED_STEPS.get(name.data, 1.0)), "step_size", 2.0)
    if not thorough or not SETTINGS[name.method]:
        return best
    for setting in SETTINGS[name.method]:
        best = yield from search.climb(best, setting, 10.0)
    return (yield from search.climb(best, "step_size", 2.0))


def reproduce(campaign: Campaign, grid: Grid) -> Fairness:
    """Pilots first, then the table with what they chose, and Algorithm 1 at its tuned step and at the other values of omega."""
    names = [Name(data, method, 1.0) for data in grid.data for method in METHODS]
    searches = {name: Search[Choice]() for name in names}

    def trials(pairs: list[tuple[Name, Choice]]) -> list[Trial]:
        seeds = range(FIRST_PILOT_SEED, FIRST_PILOT_SEED + grid.pilot_seeds)
        groups = [[name.run(seed, choice, pilot=True) for seed in seeds] for name, choice in pairs]
        return [_trial(outcomes) for outcomes in campaign.complete_groups(groups)]

    chosen = search_all({name: (searches[name], pilot(searches[name], name, grid.thorough)) for name in names}, trials)
    printed = {Name(data, "mdlal", 1.0): Choice(PRINTED_STEPS[data]) for data in grid.data if data in PRINTED_STEPS}
    others = [Name(data, "mdlal", multiple) for data in grid.data for multiple in grid.multiples]
    steps = chosen | printed
    wanted = [
        [(name, steps[name]) for name in names],
        [(name, chosen[name]) for name in printed],
        [(name, steps[Name(name.data, "mdlal", 1.0)]) for name in others],
    ]
    pairs = list(dict.fromkeys(pair for group in wanted for pair in group))
    runs = dict(
        zip(
            pairs, campaign.complete_groups([[name.run(seed, choice) for seed in range(grid.seeds)] for name, choice in pairs]), strict=True
        )
    )
    table, tuned, weights = ([Cell(*pair, runs[pair]) for pair in group] for group in wanted)
    return Fairness(table, tuned, weights, {name: search.tried for name, search in searches.items()}, campaign.seconds)


def _trial(outcomes: list[Measured]) -> Trial:
    ends = [outcome.first[0].point for outcome in outcomes]
    cost = sum(cap(outcome.rows) if end is None else end.k for end, outcome in zip(ends, outcomes, strict=True))
    return Trial(ends.count(None), float(cost), float(np.mean([outcome.least for outcome in outcomes])))


def _spread(values: list[float]) -> Spread:
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
