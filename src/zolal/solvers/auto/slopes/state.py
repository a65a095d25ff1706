"""What the automatic solver knows after k steps, and the lengths of the differences that follow from it."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from zolal._array import Array, namespace, norm
from zolal.estimators._filter import Filter
from zolal.estimators.concentrated import Concentrated
from zolal.solvers.auto.slopes.leaps import Leaps
from zolal.solvers.auto.slopes.parts import EXACT, SAMPLED, Anchor, Mean, Move, Noise, Square, Weighted, diameter
from zolal.solvers.auto.slopes.survey import Reading
from zolal.solvers.base import Candidate, State


@final
@dataclass(frozen=True, eq=False)
class SlopesState(State):
    """The state of the automatic solver after k steps."""

    phase: str
    noise: Noise
    scale: float  # the length that steps and differences are relative to
    radius: float  # the shorter length nu sqrt(d) of a difference
    used: int  # directions so far
    steps: int  # iterations after the warm-up
    located: Array  # the point that s speaks of
    gradient: Array  # s
    filter: Filter
    concentrated: Concentrated
    curvature: Weighted  # the mean curvature of f, by which s is carried along
    lengths: tuple[Square, Square]  # innovations of slopes of the shorter and the longer length
    stiffness: float  # the last curvature of f along a step that was known well
    step_size: float | None
    multipliers: Array
    start: Anchor | None
    anchor: Anchor | None  # where the last step began
    move: Move | None
    size: float  # the largest ||grad f|| seen
    surprise: float  # ||grad f - s|| as the last innovations alone tell it where there is no noise, two standard errors above
    error: float  # two standard errors of the stationarity
    best: Candidate
    mean: Mean | None = None  # where samples make the iterates jump about
    flat: bool = False  # whether steps along samples are longer than the region is wide
    unrepeated: np.ndarray | None = None  # slopes whose directions come once more, to tell the samples' part in them
    leaps: Leaps | None = None  # while they go on
    first_step: float = 1.0  # in units of the problem's size, where there are no constraints
    peak: float = 0.0  # the largest stiffness that a sample has shown

    @property
    def residual(self) -> float:
        """The larger of feasibility and of stationarity with its error, the latter relative to the largest gradient seen."""
        return float(np.maximum((self.stationarity + self.error) / max(self.size, 1e-300), self.feasibility))


def rounding(x: Array) -> float:
    return float(namespace(x).finfo(x.dtype).eps)


def difference_length(state: SlopesState) -> float:
    """The shorter length of a difference per coordinate, at the least one that rounding does not swallow."""
    return max(state.radius / math.sqrt(state.form.problem.dimension), 16.0 * rounding(state.x) * norm(state.x, math.inf))


def first_lengths(state: SlopesState) -> tuple[float, float]:
    """The two lengths of the first noisy differences."""
    root = math.sqrt(state.form.problem.dimension)
    return 1e-2 * state.scale / root, 5e-2 * state.scale / root


def with_radius(state: SlopesState, reading: Reading, errors: np.ndarray) -> SlopesState:
    """Longer differences where they foretell better, shorter ones where they do not; in exact arithmetic only rounding asks for more."""
    d, x = state.x.shape[0], state.x
    if state.noise.kind == EXACT:
        rough = float(np.mean(reading.variances)) > 1e-6 * float(np.nanmean(reading.slopes**2))
        return replace(state, radius=min(10.0 * state.radius, max(state.radius, 1e-3 * state.scale))) if rough else state
    if state.noise.kind == SAMPLED:
        return state
    squares = [
        old.seen(errors[part], 1.0 - min(0.5, float(part.sum()) / max(32.0, 0.5 * d)))
        for old, part in zip(state.lengths, (reading.short, ~reading.short), strict=True)
    ]
    short, long = squares
    fewest, radius = min(short.number, long.number), state.radius
    if fewest >= 12.0:
        doubt = 3.0 * math.sqrt(2.0 / fewest)
        across = diameter(state.form.problem.region, d)
        start = state.start.x if state.start is not None else x
        most = 0.05 * across if math.isfinite(across) else 2.0 * max(norm(x), norm(x - start), 0.1 * state.scale)
        if long.mean < short.mean * (1.0 - min(0.5, doubt)) and 2.0 * radius <= most:
            radius, short, long = 2.0 * radius, long, Square()
        elif long.mean > short.mean * (1.0 + max(1.0, doubt)):
            radius, short, long = 0.5 * radius, Square(), short
    return replace(state, radius=radius, lengths=(short, long))
