"""What error the values have, and all that follows from it: a family of three."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from zolal._array import Array
from zolal.directions import Orthogonal
from zolal.estimators.survey import Survey
from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.lengths import Lengths
from zolal.solvers.auto.slopes.pace import Pace
from zolal.solvers.auto.slopes.points import Anchor, Move
from zolal.solvers.auto.slopes.reading import Reading


@dataclass(frozen=True)
class Noise(ABC):
    """How slopes are measured in spite of an error of this kind, what the values then say, and how much of it to believe.

    variance: of one evaluation or of one slope, as the member says. weight: how many squares it rests on.
    """

    variance: float = 0.0
    weight: float = 0.0

    is_exact: ClassVar[bool] = False
    reach: ClassVar[float] = 1.0  # the longest difference in units of the shortest
    may_be_sparse: ClassVar[bool] = True  # whether a sparse estimate is kept beside s

    def seen(self, square: float) -> Self:
        """After one more square whose mean is the variance, older ones slowly forgotten."""
        kept = CONSTANTS.noise_memory * self.weight
        return replace(self, variance=(kept * self.variance + square) / (kept + 1.0), weight=kept + 1.0)

    @abstractmethod
    def survey(self, directions: Orthogonal, x: Array, others: tuple[Array, ...], length: float, look: bool) -> Survey:
        """The evaluations of an iteration at x. look: whether it looks at the noise, too. others: further points to look at then."""

    @abstractmethod
    def read(self, survey: Survey, values: np.ndarray, anchor: Anchor | None, curvature: Discounted) -> Reading:
        """The answers to `survey`. curvature: the mean curvature of f so far."""

    def least_rise(self, survey: Survey, values: np.ndarray, anchor: Anchor) -> float:
        """By how much f has surely risen since the anchor: the least value less the highest there. Means say nothing of explosions."""
        return float(np.nanmin(values)) - anchor.highest

    def num_directions(self, dimension: int, gain: float, steps: int) -> int:
        """Directions of the next batch: few at first, then d/64, so that steps and knowledge keep pace; more where gains are small.

        A batch that changes s little is not worth a step of its own, so the number grows as 1/gain, up to half a sweep.
        """
        first = CONSTANTS.first_directions
        regularly = max(first, dimension // CONSTANTS.directions_share)
        patient = min(int(regularly / max(gain, CONSTANTS.least_gain)), max(regularly, dimension // 2))
        growing = int(first * CONSTANTS.directions_growth ** min(max(steps - CONSTANTS.first_steps, 0), 60))
        return min(max(regularly, patient), growing)

    def looks(self, steps: int, count: int) -> bool:
        """Whether the iteration after so many steps, with `count` directions, looks at the noise."""
        return steps % CONSTANTS.look_every == CONSTANTS.look_every - 1

    def surprise(self, errors: np.ndarray) -> float:
        """||grad f - s|| as these innovations alone tell it, two standard errors above; infinite where noise is in them."""
        return math.inf

    def aged(self, curvature: float, length: float) -> float:
        """The square by which the gradient is taken to change along a step of this length."""
        return CONSTANTS.staleness * (curvature * length) ** 2

    def first_step(self, otherwise: float) -> float:
        """How far the first step goes along the constraints, in units of the problem's size."""
        return otherwise

    def step_curvature(self, pace: Pace, dimension: int, count: int) -> float:
        """The curvature of f along steps. count: directions of a batch."""
        return pace.curvature

    @abstractmethod
    def paced(self, pace: Pace, move: Move, reading: Reading, rise: float, feasible: bool, went: float) -> tuple[Pace, bool]:
        """The pace after the last step, and whether that has surely made things worse."""

    def lengthened(self, lengths: Lengths, reading: Reading, errors: np.ndarray, scale: float, longest: float) -> Lengths:
        """The lengths of the next differences."""
        return lengths

    def check_radius(self, radius: float, curvature: Discounted) -> float:
        """The length of the final check's forward differences, where those of the run have the length `radius`."""
        return radius
