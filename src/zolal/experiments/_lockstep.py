"""Many attacks side by side: each image has a solver's state of its own, and the queries of all of them are evaluated at once."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from zolal.estimators.base import QueryBatch
from zolal.problems.attack import AttackSet
from zolal.solvers import MDLAL, MDLALState

BLOCK_ROWS = 1024  # of 784 pixels: 6 MB, which caches hold; larger blocks take longer


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


def evaluate(attacks: AttackSet, batches: list[QueryBatch], images: np.ndarray) -> np.ndarray:
    """The values of every image's batch, a row each; the batches have equal lengths, and blocks of query points bound the memory.

    The model has no noise, so the n evaluations at one base, which the batch asks for and which are counted, have one value.
    """
    shared = [replace(batch, share_base=True) for batch in batches]
    rows, n, bases = len(shared[0]), batches[0].directions.count, len(batches[0].bases)
    values = np.empty((len(batches), rows))
    together, piece = max(1, BLOCK_ROWS // rows), min(rows, BLOCK_ROWS)
    for first in range(0, len(batches), together):
        group = slice(first, first + together)
        for start in range(0, rows, piece):
            stop = min(start + piece, rows)
            points = np.concatenate([batch.points(start, stop) for batch in shared[group]])
            found = attacks.smoothed(points, np.repeat(images[group], stop - start))
            values[group, start:stop] = found.reshape(-1, stop - start)
    parted = values.reshape(len(batches), bases, n + 1)
    return np.stack([batch.arrange(part[:, 0], part[:, 1:]) for batch, part in zip(batches, parted, strict=True)])


def _margins(attacks: AttackSet, states: list[MDLALState]) -> np.ndarray:
    return attacks.margin(np.stack([state.x for state in states]), np.arange(len(states)))
