"""The attack on MNIST digits: model evaluations until one of them is at a point that the model gets wrong."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from zolal.bench.base import Claim, Counted, Finding, solve, spread
from zolal.campaigns import Campaign, Task
from zolal.problems import Attack, AttackSet, attack_images
from zolal.tables import Table

BUDGET = 12_000
SEEDS_APART = 10_000  # more than there are test images
MEDIAN, AIM, TAIL = 25, 12, 100
OTHERS = [  # zolal reproduce attack: method, successes, median over all images
    ("Non-Euc of the paper, as printed", "38 of 40", "1932"),
    ("Euc-matched of the paper, as printed", "38 of 40", "5382"),
    ("Non-Euc at its best step", "40 of 40", "138"),
    ("Euc-matched at its best step", "40 of 40", "138"),
    ("Square Attack (ART), every evaluation", "40 of 40", "46.5"),
    ("Square Attack (ART), points seen before for free", "40 of 40", "12.5"),
]


class Meter(Counted):
    """Counts evaluations, and sees in the model's answers at which of them the margin was negative for the first time."""

    def __init__(self, attack: Attack) -> None:
        super().__init__(replace(attack.problem, vectorized=False))
        self.attack = attack
        self.success: int | None = None

    def __call__(self, x: Any, *xi: Any) -> Any:
        value = super().__call__(x, *xi)
        if self.success is None and float(self.attack.margin(x)) < 0.0:
            self.success = self.count
        return value


@final
@dataclass(frozen=True)
class Measured:
    """All images with one seed. queries: of each image until success, None where there is none within the budget."""

    queries: list[int | None]


@final
@dataclass(frozen=True)
class Grid:
    """What is run: all images with every seed."""

    seeds: int = 10
    images: int = 40
    quick_seeds: ClassVar[int] = 1

    @classmethod
    def quick(cls, seeds: int) -> "Grid":
        return cls(seeds, 12)

    def tasks(self) -> list[Task[Measured]]:
        return [
            Task(measure, dict(count=self.images, seed=seed), f"attack on {self.images} images, seed {seed}") for seed in range(self.seeds)
        ]


def measure(count: int, seed: int) -> Measured:
    """Attack so many images of MNIST."""
    return all_attacked(attack_images(count), seed)


def all_attacked(attacks: AttackSet, seed: int) -> Measured:
    """Attack all images, each with a seed of its own."""
    return Measured([queries_for(attack, SEEDS_APART * seed + i) for i, attack in enumerate(attacks)])


def queries_for(attack: Attack, seed: int) -> int | None:
    """The number of the first evaluation at a point of negative margin."""
    meter = Meter(attack)
    problem = replace(attack.problem, vectorized=False)
    solve(problem, problem.x0, BUDGET, seed, lambda state, _: meter.success is not None, meter)
    return meter.success


def run(campaign: Campaign, grid: Grid) -> Finding:
    """All seeds; a target is met when every seed meets it."""
    runs = campaign.complete(grid.tasks())
    counts = np.array([[BUDGET if count is None else count for count in found.queries] for found in runs])
    successes = [sum(count is not None for count in found.queries) for found in runs]
    medians, tails = np.median(counts, axis=1), np.quantile(counts, 0.9, axis=1)
    total = grid.images
    claims = [
        Claim("successes", f"{total} of {total}", f"{spread(successes, 4)} of {total}", min(successes) == total),
        Claim("median", f"≤ {MEDIAN}", spread(medians, 4), bool(medians.max() <= MEDIAN), f"≤ {AIM}", bool(medians.max() <= AIM)),
        Claim("90th percentile", f"≤ {TAIL}", spread(tails, 4), bool(tails.max() <= TAIL)),
    ]
    lead = (
        f"Model evaluations until the first that is at a point of negative margin, over {total} images (softmax classifier, "
        f"box of 0.3); every call of the model is counted, and success is seen in its answers alone. Seeds: {grid.seeds}; the median "
        "over the seeds with the least and the largest; a target is met when every seed meets it."
    )
    mine = ("zolal, method auto", f"{min(successes)} of {total}", spread(medians, 4))
    table = Table("attack-others", "Beside others", ("method", "successes", "median evaluations"), [mine, *OTHERS], BESIDE)
    return Finding("attack", "Black-box attack on MNIST", [lead], claims, [table], campaign.seconds)


BESIDE = "The others: 40 images, docs/reproduction.md. Square Attack knows that it attacks an image; zolal knows a box and values."
