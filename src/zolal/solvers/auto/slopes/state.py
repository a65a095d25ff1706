"""What the solver knows after k steps."""

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np

from zolal._array import Array, norm, rounding
from zolal.directions import Orthogonal
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.estimate import Estimate
from zolal.solvers.auto.slopes.lengths import Lengths
from zolal.solvers.auto.slopes.noise import Noise
from zolal.solvers.auto.slopes.pace import Pace
from zolal.solvers.auto.slopes.phases import Phase
from zolal.solvers.auto.slopes.points import Anchor, Mean, Move
from zolal.solvers.base import Candidate, State


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class SlopesState(State):
    """The state of the solver after k steps."""

    phase: Phase
    noise: Noise
    scale: float  # the problem's size, which steps and differences are relative to
    lengths: Lengths  # of differences
    used: int = 0  # directions so far
    steps: int = 0  # iterations after the first looks
    estimate: Estimate
    pace: Pace = field(default_factory=Pace)
    multipliers: Array
    start: Anchor | None = None
    anchor: Anchor | None = None  # where the last step began
    move: Move | None = None
    lost: int = 0  # steps in a row that led to where f has no value
    error: float = math.inf  # two standard errors of the stationarity
    best: Candidate
    mean: Mean | None = None  # where samples make the iterates jump about
    crosses: bool = False  # whether steps along one sample's slopes would cross the region
    first_step: float = CONSTANTS.first_free_step  # in units of the problem's size, where there are no constraints

    @property
    def residual(self) -> float:
        """The larger of feasibility and of stationarity with its error, the latter relative to the largest gradient seen."""
        return float(np.maximum((self.stationarity + self.error) / max(self.estimate.gradient_size, 1e-300), self.feasibility))

    @property
    def step_size(self) -> float | None:
        """eta, None before the first step."""
        return self.pace.step_size

    @property
    def difference_length(self) -> float:
        """The shorter length of a difference per coordinate: one that X has room for, and that rounding does not swallow."""
        least = CONSTANTS.rounding_lengths * rounding(self.x) * norm(self.x, math.inf)
        length = self.lengths.radius / math.sqrt(self.form.problem.dimension)
        return max(min(length, self.deepest_length / self.noise.reach), least)

    @property
    def first_lengths(self) -> tuple[float, float]:
        """The two lengths per coordinate of the first noisy differences."""
        root = math.sqrt(self.form.problem.dimension)
        short, long = CONSTANTS.first_noisy_lengths
        share = min(1.0, self.deepest_length / (long * self.scale / root))
        return share * short * self.scale / root, share * long * self.scale / root

    @property
    def deepest_length(self) -> float:
        """The longest difference per coordinate that X has room for."""
        d = self.form.problem.dimension
        return CONSTANTS.deepest * self.form.problem.region.depth(d) / Orthogonal(d, 1).largest_entry

    @property
    def longest_difference(self) -> float:
        """Up to where noisy differences may grow: in an unbounded region as far as the run has come."""
        across = self.form.problem.region.diameter(self.form.problem.dimension)
        if math.isfinite(across):
            return min(CONSTANTS.longest_share * across, self.deepest_length / self.noise.reach * math.sqrt(self.x.shape[0]))
        start = self.start.x if self.start is not None else self.x
        return 2.0 * max(norm(self.x), norm(self.x - start), 0.1 * self.scale)

    @property
    def measuring_step(self) -> float:
        """The longest step by which stationarity may be measured: the mapping of one that crosses the region is small everywhere."""
        return CONSTANTS.measuring_step * self.scale / max(self.estimate.gradient_size, 1e-300)
