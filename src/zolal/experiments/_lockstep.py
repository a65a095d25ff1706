"""Many attacks side by side: each image has a solver's state of its own, and the queries of all of them are evaluated at once."""

from typing import Any, NamedTuple

import numpy as np

from zolal.estimators.base import QueryBatch
from zolal.problems.attack import AttackSet
from zolal.solvers import MDLAL, MDLALState

BLOCK_ROWS = 8192  # of 784 pixels, about 50 MB


class Lockstep(NamedTuple):
    """What there is to know of a run. Lists over images, but for the last two.

    queries, iterations: at the first iterate with a negative margin, None without one. margins: at the last iterate.
    counts, means: queries of an image so far, and the mean margin over all images, at the start and after each iteration.
    """

    queries: list[int | None]
    iterations: list[int | None]
    margins: list[float]
    counts: list[int]
    means: list[float]


def attack_all(solver: MDLAL, attacks: AttackSet, seeds: list[int], budget: int, *, run_on: bool = True) -> Lockstep:
    """Attack every image with at most `budget` queries each; after every iteration its margin, smoothed by nothing, tells success.

    seeds: one per image. run_on: whether an image goes on after its success, up to the budget, as the paper's final margins ask for.
    The margins are measured apart and not among the queries.
    """
    everyone = np.arange(len(attacks))
    states = [solver.init(attack.problem, np.zeros(attack.image.size), seed) for attack, seed in zip(attacks, seeds, strict=True)]
    found: list[Any] = [None] * len(attacks)
    active = everyone
    margins = _margins(attacks, states)
    counts, means = [0], [float(np.mean(margins))]
    while active.size:
        batches = [solver.ask(states[i]) for i in active]
        if counts[-1] + len(batches[0]) > budget:
            break
        for i, values in zip(active, evaluate(attacks, batches, active), strict=True):
            states[i] = solver.tell(states[i], values)
        counts.append(counts[-1] + len(batches[0]))
        margins = _margins(attacks, states)
        means.append(float(np.mean(margins)))
        for i in active[margins[active] < 0.0]:
            found[i] = found[i] or (counts[-1], len(counts) - 1)
        if not run_on:
            active = active[margins[active] >= 0.0]
    firsts = [pair or (None, None) for pair in found]
    return Lockstep([pair[0] for pair in firsts], [pair[1] for pair in firsts], margins.tolist(), counts, means)


def evaluate(attacks: AttackSet, batches: list[QueryBatch], images: np.ndarray) -> list[np.ndarray]:
    """The values of every image's batch; the batches have equal lengths, and so many go together that a block of rows bounds the memory."""
    rows = len(batches[0])
    together = max(1, BLOCK_ROWS // rows)
    values: list[np.ndarray] = []
    for first in range(0, len(batches), together):
        group = slice(first, first + together)
        points = np.concatenate([batch.points(0, rows) for batch in batches[group]])
        values.extend(attacks.smoothed(points, np.repeat(images[group], rows)).reshape(-1, rows))
    return values


def _margins(attacks: AttackSet, states: list[MDLALState]) -> np.ndarray:
    return attacks.margin(np.stack([state.x for state in states]), np.arange(len(states)))
