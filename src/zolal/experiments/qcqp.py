"""Section 7.1: how the number of queries grows with the dimension, on the dense problem as printed and on its sparse sibling."""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np

from zolal.campaigns import Campaign, Task
from zolal.estimators import Momentum
from zolal.experiments._quadratic import QuadraticEvaluator
from zolal.experiments._tuning import Plan, Search, Trial, search_all
from zolal.experiments._watch import Watch
from zolal.mirror import Euclidean, SmoothedLq
from zolal.problems.qcqp import qcqp, sparse_qcqp
from zolal.result import Status
from zolal.runs.loop import run
from zolal.runs.recording import Recorder
from zolal.runs.stopping import MaxEvaluations
from zolal.schedules import InverseSqrt
from zolal.solvers import MDLAL

METHODS = ("euc-theory", "euc-matched", "non-euc")
PENALTY, SMOOTHING, DECAY = 20.0, 1e-6, 25.0  # mu, nu and the 25 of eta_k = eta_0 / sqrt(1 + k/25), as printed
PRINTED_STEPS = (0.005, 0.01, 0.02, 0.04, 0.08)
DUAL_STEPS = (0.1, 1.0, 10.0)  # rho_k is not printed; the theory asks for less than mu
MOMENTA = (0.5, 0.05)  # 0.5 is printed; the sparse problem chooses
DELTAS = (1e-2, 1e-5)  # 1e-2 is printed; the sparse problem chooses
FIRST_PILOT_SEED = 1001
REFINED = 2**10  # larger dense problems, whose pilots are long, take over rho and choose the step alone, on one pilot seed
PROBLEMS = dict(dense=qcqp, sparse=sparse_qcqp)
FINE, COARSE = 1e-2, 0.3  # the paper's target; one that Euclidean steps reach on the sparse problem, so that their growth can be measured
COARSE_DIMENSION = 2**14  # the largest for the coarse target: Euclidean runs take minutes beyond


@final
@dataclass(frozen=True)
class Choice:
    """The settings that a pilot run chooses: eta_0, rho, alpha, delta."""

    step_size: float
    dual_step: float = 1.0
    momentum: float = 0.5
    delta: float = 1e-2


def num_directions(method: str, d: int) -> int:
    """n = d for Euc-theory, ceil(e (p - 1)) with p = 2 ln d for the two others."""
    return d if method == "euc-theory" else math.ceil(math.e * (2.0 * math.log(d) - 1.0))


def solver(method: str, d: int, choice: Choice) -> MDLAL:
    """Algorithm 1 with the settings of Section 7.1."""
    mirror = SmoothedLq(2.0 * math.log(d), choice.delta) if method == "non-euc" else Euclidean()
    estimator = Momentum(num_directions(method, d), SMOOTHING, momentum=choice.momentum)
    return MDLAL(estimator, InverseSqrt(choice.step_size, DECAY), PENALTY, choice.dual_step, mirror)


def budget(problem: str, target: float, d: int) -> int:
    """The most queries of a run: on the dense problem just above the largest count that the paper prints, 96.4 d at d = 2^14."""
    if problem == "dense":
        return 97 * d
    return max(128 * d, 2**17) if target == COARSE else 2**19


class Curve(NamedTuple):
    """The best residual so far against queries."""

    queries: list[int]
    residuals: list[float]


@final
@dataclass(frozen=True)
class Measured:
    """One run. queries: the first count with r_2 <= target, None when censored. residual: the best one. ended: the name of a status."""

    queries: int | None
    iterations: int
    residual: float
    ended: str
    curve: Curve


def measure(problem: str, target: float, method: str, d: int, seed: int, choice: dict[str, float], limit: int) -> Measured:
    """One run of at most so many queries."""
    instance, algorithm = PROBLEMS[problem](d, seed), solver(method, d, Choice(**choice))
    watch = Watch(instance, target)
    outcome = run(
        algorithm,
        algorithm.init(instance, instance.x0, seed),
        QuadraticEvaluator(instance.objective),  # type: ignore[arg-type]
        watch | MaxEvaluations(limit),
        Recorder(),
    )
    return Measured(
        queries=outcome.nfev if outcome.stop.status is Status.CONVERGED else None,
        iterations=outcome.state.k,
        residual=watch.best,
        ended=outcome.stop.status.name,
        curve=Curve(watch.queries, [float(f"{value:.4g}") for value in watch.residuals]),
    )


def pilot(search: Search[Choice], problem: str, method: str, start: Choice, refine: bool) -> Plan[Choice, dict[str, Choice]]:
    """By protocol: the choice within what is printed, and the choice when the grid of steps is widened.

    The step is doubled or halved for as long as that helps, so that no end of a grid is chosen. rho_k is not printed, so it is chosen, too;
    of the sparse problem nothing is printed, so it also chooses the momentum and the delta of the mirror map. refine: whether to choose
    these, or to keep what `start` has.
    """
    if problem == "dense":
        printed = yield from search.scan(start, "step_size", PRINTED_STEPS)
        if refine:
            printed = yield from search.scan(printed, "dual_step", DUAL_STEPS)
        widened = yield from search.climb(printed, "step_size", 2.0)
        return dict(printed=printed, widened=widened)
    yield [start]  # a sensible choice first, so that worse ones are cut short
    best = yield from search.climb(start, "step_size", 2.0)
    if refine:
        best = yield from search.scan(best, "momentum", MOMENTA)
        if method == "non-euc":
            best = yield from search.scan(best, "delta", DELTAS)
        best = yield from search.scan(best, "dual_step", DUAL_STEPS)
        best = yield from search.climb(best, "step_size", 2.0)
    return dict(widened=best)


class Name(NamedTuple):
    """One method on one problem of one dimension, to one residual."""

    problem: str
    target: float
    method: str
    d: int

    def run(self, seed: int, choice: Choice, limit: int) -> Task[Measured]:
        arguments = self._asdict() | dict(seed=seed, choice=vars(choice), limit=limit)
        return Task(measure, arguments, f"{self.method}, {self.problem} QCQP to {self.target:g}, d = {self.d}, seed {seed}")

    @property
    def limit(self) -> int:
        return budget(self.problem, self.target, self.d)


@final
@dataclass(frozen=True)
class Grid:
    """What is run: dimensions of both problems, seeds of the reported runs and of the pilots."""

    dense: tuple[int, ...] = (2**6, 2**8, 2**10, 2**12, 2**14)
    sparse: tuple[int, ...] = (2**6, 2**8, 2**10, 2**12, 2**14, 2**16)
    seeds: int = 10
    pilot_seeds: int = 2
    targets: dict[str, tuple[float, ...]] = field(default_factory=lambda: dict(dense=(FINE,), sparse=(FINE, COARSE)))

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        """Small dimensions and the coarse target alone: a look at everything within two minutes."""
        return cls((2**6, 2**8), (2**6, 2**8), seeds, 1, targets=dict(dense=(FINE,), sparse=(COARSE,)))

    def names(self, d: int) -> list[Name]:
        """What there is to run in this dimension."""
        return [
            Name(problem, target, method, d)
            for problem, targets in self.targets.items()
            for target in targets
            for method in METHODS
            if d in getattr(self, problem) and (target != COARSE or d <= COARSE_DIMENSION)
        ]


@final
@dataclass(frozen=True)
class Pilots:
    """The pilot runs of a grid, from small dimensions to large ones: each search starts where that of the dimension before ended."""

    campaign: Campaign
    grid: Grid
    searches: dict[Name, Search[Choice]] = field(default_factory=dict)

    def choices(self) -> dict[Name, dict[str, Choice]]:
        """What every pilot chose, by protocol; the costly dimensions first, so that the processes of the runs end together."""
        found: dict[Name, dict[str, Choice]] = {}
        for d in sorted({*self.grid.dense, *self.grid.sparse}):
            self.searches.update({name: Search() for name in self.grid.names(d)})
            plans = {
                name: (search, pilot(search, name.problem, name.method, _start(name, found), self._thorough(name)))
                for name, search in self.searches.items()
                if name.d == d
            }
            found |= search_all(plans, self._trials)
        return dict(sorted(found.items(), key=lambda item: -item[0].d))

    def _trials(self, pairs: list[tuple[Name, Choice]]) -> list[Trial]:
        groups = [[name.run(seed, choice, self._limit(name)) for seed in self._seeds(name)] for name, choice in pairs]
        outcomes = self.campaign.complete_groups(groups)
        return [_trial(found, self._limit(name)) for (name, _), found in zip(pairs, outcomes, strict=True)]

    def _thorough(self, name: Name) -> bool:
        return name.problem == "sparse" or name.d <= REFINED

    def _seeds(self, name: Name) -> range:
        return range(FIRST_PILOT_SEED, FIRST_PILOT_SEED + (self.grid.pilot_seeds if self._thorough(name) else 1))

    def _limit(self, name: Name) -> int:
        """64 d on the dense problem, where nothing reaches the target; what has cost more than the best has lost.

        No count grows faster than d, so eight times that of a quarter of the dimension is ample, too.
        """
        smaller = self.searches.get(name._replace(d=name.d // 4), Search[Choice]())
        whole = 64 * name.d if name.problem == "dense" else name.limit
        return int(min(whole, self.searches[name].least_cost, 8.0 * smaller.least_cost))


def _start(name: Name, found: dict[Name, dict[str, Choice]]) -> Choice:
    """Where a search starts: at the choice of the dimension before, with the step's trend over the last two if it falls."""
    smaller = sorted((other for other in found if other[:3] == name[:3]), key=lambda other: other.d)
    if not smaller:
        sparse = Choice(1.0, 1.0, 0.05, 1e-5) if name.method == "non-euc" else Choice(PRINTED_STEPS[-1])
        return Choice(PRINTED_STEPS[-1]) if name.problem == "dense" else sparse
    last = found[smaller[-1]]["widened"]
    trend = last.step_size / found[smaller[-2]]["widened"].step_size if len(smaller) > 1 else 1.0
    return replace(last, step_size=float(f"{last.step_size * min(trend, 1.0):.6g}"))


@final
@dataclass(frozen=True)
class Cell:
    """The runs of one method on one problem of one dimension, with the choice of the pilots. protocol: "printed" or "widened"."""

    name: Name
    protocol: str
    choice: Choice
    runs: list[Measured]

    @property
    def queries(self) -> list[int | None]:
        """The first count with r_2 <= target of each run; None where the run was censored."""
        return [run.queries for run in self.runs]

    @property
    def curves(self) -> list[Curve]:
        """Queries and the best residual so far of each run, the last iterate included, which need not be at a stored count."""
        return [self._curve(run) for run in self.runs]

    def _curve(self, run: Measured) -> Curve:
        n = num_directions(self.name.method, self.name.d)
        spent, (queries, residuals) = 2 * n + 4 * n * (run.iterations - 1), run.curve
        return Curve([*queries, spent], [*residuals, run.residual]) if spent > queries[-1] else run.curve

    @property
    def mean_queries(self) -> float:
        """The mean count as the paper reports it, censored runs at the budget: a lower bound of the true mean when there are any."""
        return float(np.mean([self.name.limit if count is None else count for count in self.queries]))


@final
@dataclass(frozen=True)
class Ablation:
    """The whole experiment: its cells, the trials of the pilots, and the processor seconds that both took."""

    cells: list[Cell]
    trials: dict[Name, dict[Choice, Trial]]
    seconds: float


def reproduce(campaign: Campaign, grid: Grid) -> Ablation:
    """Pilots first, then the reported runs with what they chose."""
    pilots = Pilots(campaign, grid)
    chosen = pilots.choices()
    wanted = [(name, protocol, choice) for name, choices in chosen.items() for protocol, choice in choices.items()]
    runs = campaign.complete_groups([[name.run(seed, choice, name.limit) for seed in range(grid.seeds)] for name, _, choice in wanted])
    cells = [Cell(*which, found) for which, found in zip(wanted, runs, strict=True)]
    return Ablation(cells, {name: search.tried for name, search in pilots.searches.items()}, campaign.seconds)


def growth(cells: list[Cell]) -> float | None:
    """The exponent a of queries ~ d^a by least squares over the dimensions where every run reached the target; None below three."""
    whole = [cell for cell in cells if None not in cell.queries]
    if len(whole) < 3:
        return None
    logs = np.log([[cell.name.d, np.median(np.asarray(cell.queries, float))] for cell in whole])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def _trial(outcomes: list[Measured], limit: int) -> Trial:
    counts = [outcome.queries for outcome in outcomes]
    cost = sum(limit if count is None else count for count in counts)
    return Trial(counts.count(None), float(cost), float(np.mean([outcome.residual for outcome in outcomes])))
