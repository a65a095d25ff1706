"""Section 7.2: a black-box attack on MNIST digits, at the paper's queries and at each method's best step, beside Square Attack."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from zolal.campaigns import Campaign, Task
from zolal.estimators import Momentum
from zolal.experiments._lockstep import attack_all
from zolal.experiments._square import MISSING, has_square_attack, square_attack
from zolal.mirror import Euclidean, SmoothedLq
from zolal.problems.attack import AttackSet, attack_images, margins, mnist_classifier
from zolal.problems.datasets import mnist
from zolal.schedules import InverseSqrt
from zolal.solvers import MDLAL

BUDGET = 12_000
MOMENTUM, SMOOTHING, DECAY, DELTA = 0.5, 1e-6, 25.0, 1e-2  # the momentum is printed; nu, the decay of eta_k and delta are those of 7.1
D = 784
P = math.ceil(2.0 * math.log(D)) + 1  # 15, as printed
MATCHED = math.ceil(2.0 * (P - 1) * D ** (2.0 / P))  # 69
DIRECTIONS = {"euc-theory": D, "euc-matched": MATCHED, "non-euc": MATCHED}
METHODS = tuple(DIRECTIONS)
PRINTED_MEDIANS = {"euc-matched": 5382, "non-euc": 1932}  # queries over all images; Euc-theory takes the step of Euc-matched
DECADES = {"euc-theory": (-2.0, 1.5), "euc-matched": (-2.0, 1.5), "non-euc": (0.5, 4.5)}  # of eta_0 in the pilots
FIRST_PILOT_SEED = 1001
SEEDS_APART = 10_000  # more than there are test images


def solver(method: str, step_size: float) -> MDLAL:
    """Algorithm 1 with the settings of Section 7.2; without constraints the penalty and the dual step have no effect."""
    mirror = SmoothedLq(P, DELTA) if method == "non-euc" else Euclidean()
    return MDLAL(Momentum(DIRECTIONS[method], SMOOTHING, momentum=MOMENTUM), InverseSqrt(step_size, DECAY), 1.0, 1.0, mirror)


class Margins(NamedTuple):
    """The mean margin over all images against the queries of each."""

    queries: list[int]
    means: list[float]


@final
@dataclass(frozen=True)
class Measured:
    """All images at one step size. queries, iterations: of each image at its first success, None without one. margins: at the end."""

    queries: list[int | None]
    iterations: list[int | None]
    margins: list[float]
    curve: Margins

    @property
    def checked(self) -> list[int | None]:
        """Queries with one margin check per iteration counted as one."""
        return [_sum(count, checks) for count, checks in zip(self.queries, self.iterations, strict=True)]


@final
@dataclass(frozen=True)
class Squared:
    """Square Attack on all images. distinct: queries without those at points that it had evaluated before."""

    queries: list[int | None]
    distinct: list[int | None]
    margins: list[float]

    @property
    def checked(self) -> list[int | None]:
        """It sees success in its own queries."""
        return self.queries


@final
@dataclass(frozen=True)
class Clean:
    """The classifier's accuracy on all test images, and the clean margins of those under attack."""

    accuracy: float
    margins: list[float]


def measure(method: str, step_size: float, count: int, skip: int, seed: int, run_on: bool) -> Measured:
    """Attack so many images, after those that are skipped. run_on: whether an image goes on after its success."""
    return attacked(attack_images(count, skip), method, step_size, seed, run_on)


def attacked(attacks: AttackSet, method: str, step_size: float, seed: int, run_on: bool) -> Measured:
    """Attack all images, each with a seed of its own."""
    run = attack_all(solver(method, step_size), attacks, _seeds(seed, len(attacks)), BUDGET, run_on=run_on)
    return Measured(
        queries=run.queries,
        iterations=run.iterations,
        margins=[round(value, 6) for value in run.margins],
        curve=Margins(run.counts, [round(value, 6) for value in run.means]),
    )


def square(count: int, skip: int, seed: int) -> Squared:
    """Square Attack on all images, one at a time."""
    attacks = attack_images(count, skip)
    runs = [square_attack(attack, own, BUDGET) for attack, own in zip(attacks, _seeds(seed, count), strict=True)]
    return Squared([run.queries for run in runs], [run.distinct for run in runs], [run.margin for run in runs])


def clean(count: int, skip: int) -> Clean:
    """What there is to know before any attack."""
    attacks, data = attack_images(count, skip), mnist()
    return Clean(
        accuracy=mnist_classifier().accuracy(data.test_images, data.test_labels),
        margins=margins(mnist_classifier().logits(attacks.images), attacks.labels).round(6).tolist(),
    )


def _seeds(seed: int, count: int) -> list[int]:
    """One seed per image, the same for all methods."""
    return [SEEDS_APART * seed + i for i in range(count)]


class Band(NamedTuple):
    """The mean over the seeds, between the least and the largest of them."""

    low: np.ndarray
    mean: np.ndarray
    high: np.ndarray

    @classmethod
    def over(cls, seeds: list[Any]) -> "Band":
        return cls(np.min(seeds, axis=0), np.mean(seeds, axis=0), np.max(seeds, axis=0))


class Curve(NamedTuple):
    """Success rate and mean margin over the images against queries. margin: None for Square Attack."""

    queries: np.ndarray
    success: Band
    margin: Band | None


@final
@dataclass(frozen=True)
class Row:
    """One line of a table: a method with its runs, one per seed, of which the table shows the median over the seeds.

    method: one of METHODS, or "square". p, num_directions, step_size (eta_0): None for Square Attack.
    """

    method: str
    p: int | None
    num_directions: int | None
    step_size: float | None
    runs: Sequence[Measured | Squared]

    @property
    def num_images(self) -> int:
        return len(self.runs[0].queries)

    @property
    def successes(self) -> float:
        """Images with a negative margin within the budget."""
        return float(np.median([_successes(run) for run in self.runs]))

    @property
    def median_successful(self) -> float | None:
        """The median of queries among successful attacks; None where there are none."""
        counts = [[count for count in run.queries if count is not None] for run in self.runs]
        medians = [float(np.median(values)) for values in counts if values]
        return float(np.median(medians)) if medians else None

    @property
    def median_all(self) -> float:
        """The median of queries over all images, failures at the budget."""
        return float(np.median(self.medians()))

    @property
    def median_checked(self) -> float:
        """The same with one margin check per iteration counted as a query."""
        return float(np.median([_median(run.checked) for run in self.runs]))

    def medians(self) -> list[float]:
        """The median over all images, one per seed."""
        return [_median(run.queries) for run in self.runs]

    def distinct_medians(self) -> list[float]:
        """The same for Square Attack when points that it evaluates again are free."""
        return [_median(run.distinct) for run in self.runs if isinstance(run, Squared)]

    @property
    def final_margin(self) -> tuple[float, float]:
        """Mean and standard deviation over the images of the margin at the end; Square Attack ends at success."""
        pairs = [(np.mean(run.margins), np.std(run.margins, ddof=1)) for run in self.runs]
        mean, deviation = np.median(pairs, axis=0)
        return float(mean), float(deviation)

    @property
    def curve(self) -> Curve:
        """For both panels of the figure."""
        counts = np.array([[BUDGET + 1 if count is None else count for count in run.queries] for run in self.runs])
        curves = [run.curve for run in self.runs if isinstance(run, Measured)]
        queries = np.array(curves[0].queries) if curves else np.unique([0, *counts[counts <= BUDGET], BUDGET])
        margin = Band.over([curve.means for curve in curves]) if curves else None
        return Curve(queries, Band.over([_shares(own, queries) for own in counts]), margin)


class Pilot(NamedTuple):
    """How a step size did on the pilots' images. median, mean: queries over all images, failures at the budget."""

    method: str
    step_size: float
    median: float
    successes: int
    mean: float


@final
@dataclass(frozen=True)
class Attacks:
    """The whole experiment.

    accuracy: of the classifier on all test images (the paper: 0.9076). clean_margins: of the images under attack, before it.
    printed: the first table, each step such that the pilots' median comes closest to the paper's (PRINTED_MEDIANS; Euc-theory at the step
    of Euc-matched). best: the second table, each method at the pilots' best step. square: Square Attack, or None with `missing` telling
    why in a sentence. pilots: every step tried. seconds: of processor time.
    """

    accuracy: float
    clean_margins: list[float]
    printed: list[Row]
    best: list[Row]
    square: Row | None
    missing: str | None
    pilots: list[Pilot]
    seconds: float


@final
@dataclass(frozen=True)
class Grid:
    """What is run. images: under attack, the first ones. pilot_images: those that follow. per_decade: step sizes of the pilots."""

    images: int = 40
    seeds: int = 3
    pilot_images: int = 20
    per_decade: int = 4

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        """Fewer images and a coarser grid of steps: a look at everything within a minute."""
        return cls(12, seeds, 8, 2)

    def steps(self, method: str) -> list[float]:
        """The pilots' values of eta_0."""
        low, high = DECADES[method]
        return [float(f"{10 ** (j / self.per_decade):.4g}") for j in range(round(low * self.per_decade), round(high * self.per_decade) + 1)]

    def pilots(self) -> dict[tuple[str, float], Task[Measured]]:
        return {
            (method, step): _task(method, step, self.pilot_images, self.images, FIRST_PILOT_SEED, False)
            for method in METHODS
            for step in self.steps(method)
        }

    def runs(self, steps: dict[str, float]) -> dict[tuple[str, float], list[Task[Measured]]]:
        """The tasks of a table, one per seed, by method and step."""
        return {
            (name, steps[name]): [_task(name, steps[name], self.images, 0, seed, True) for seed in range(self.seeds)] for name in METHODS
        }


def reproduce(campaign: Campaign, grid: Grid) -> Attacks:
    """Pilots on other images first, then the runs of both tables; Square Attack when ART is there."""
    pilots, beside = grid.pilots(), dict(count=grid.images, skip=0)
    first = Task(clean, beside, "MNIST classifier")
    squares = [Task(square, beside | dict(seed=seed), f"Square Attack, seed {seed}") for seed in range(grid.seeds)]
    squares = squares if has_square_attack() else []
    before: list[Task[Clean | Squared | Measured]] = [first, *squares, *pilots.values()]
    campaign.complete(before)
    trials = [_pilot(*which, campaign.complete([task])[0]) for which, task in pilots.items()]
    printed, best = grid.runs(closest(trials)), grid.runs(fastest(trials))
    campaign.complete_groups([*printed.values(), *best.values()])
    images = campaign.complete([first])[0]
    return Attacks(
        accuracy=images.accuracy,
        clean_margins=images.margins,
        printed=_rows(campaign, printed),
        best=_rows(campaign, best),
        square=Row("square", None, None, None, campaign.complete(squares)) if squares else None,
        missing=None if squares else MISSING,
        pilots=trials,
        seconds=campaign.seconds,
    )


def _rows(campaign: Campaign, runs: dict[tuple[str, float], list[Task[Measured]]]) -> list[Row]:
    return [
        Row(method, P if method == "non-euc" else 2, DIRECTIONS[method], step, campaign.complete(tasks))
        for (method, step), tasks in runs.items()
    ]


def closest(trials: list[Pilot]) -> dict[str, float]:
    """The steps whose medians come closest to the paper's, ties by the mean; Euc-theory takes that of Euc-matched."""
    steps = {}
    for method, printed in PRINTED_MEDIANS.items():
        mine = [trial for trial in trials if trial.method == method]
        steps[method] = min(mine, key=lambda trial: (abs(trial.median - printed), abs(trial.mean - printed))).step_size
    return steps | {"euc-theory": steps["euc-matched"]}


def fastest(trials: list[Pilot]) -> dict[str, float]:
    """The steps of fewest median queries, ties by successes, then by the mean, then the smaller one."""
    best = {}
    for method in METHODS:
        mine = [trial for trial in trials if trial.method == method]
        best[method] = min(mine, key=lambda trial: (trial.median, -trial.successes, trial.mean, trial.step_size)).step_size
    return best


def _task(method: str, step_size: float, count: int, skip: int, seed: int, run_on: bool) -> Task[Measured]:
    arguments = dict(method=method, step_size=step_size, count=count, skip=skip, seed=seed, run_on=run_on)
    return Task(measure, arguments, f"{method}, attack on {count} images, step {step_size:g}, seed {seed}")


def _pilot(method: str, step_size: float, run: Measured) -> Pilot:
    return Pilot(method, step_size, _median(run.queries), _successes(run), float(np.mean(_censored(run.queries))))


def _successes(run: Measured | Squared) -> int:
    return sum(count is not None for count in run.queries)


def _sum(count: int | None, checks: int | None) -> int | None:
    return None if count is None or checks is None else count + checks


def _censored(counts: list[int | None]) -> list[int]:
    return [BUDGET if count is None else count for count in counts]


def _median(counts: list[int | None]) -> float:
    return float(np.median(_censored(counts)))


def _shares(counts: np.ndarray, queries: np.ndarray) -> np.ndarray:
    shares: np.ndarray = np.mean(counts[:, None] <= queries, axis=0)
    return shares
