"""Values that depend on a sample: one sample serves a whole batch, and its slopes are those of another function."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from zolal._array import Array, norm
from zolal.directions import Orthogonal
from zolal.estimators.survey import Probe, Survey
from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.exact import Exact
from zolal.solvers.auto.slopes.noise import Noise
from zolal.solvers.auto.slopes.pace import Pace, paced_by_sample
from zolal.solvers.auto.slopes.points import Anchor, Move
from zolal.solvers.auto.slopes.reading import Reading


@final
@dataclass(frozen=True)
class Sampled(Noise):
    """Equal calls with equal samples xi give equal values. variance: of a slope over the samples, whatever its length.

    Each batch has a step of its own, and the mean of the iterates does the averaging.
    """

    may_be_sparse: ClassVar[bool] = False

    @staticmethod
    def first_survey(directions: Orthogonal, x: Array, length: float) -> Survey:
        """Slopes with two samples each."""
        probes = [p for j in range(directions.count) for i in (2 * j, 2 * j + 1) for p in (Probe(sample=i), Probe(0, j, length, i))]
        return Survey((x,), directions, tuple(probes))

    @classmethod
    def first_read(cls, values: np.ndarray, length: float) -> Noise:
        """The variance of a slope over the samples; where they change nothing, not even a value, the values are exact."""
        slopes = (values[1::2] - values[0::2]).reshape(-1, 2) / length
        variance = float(np.nanmean((slopes[:, 0] - slopes[:, 1]) ** 2)) / 2.0
        if variance > 0.0:
            return cls(variance, float(len(slopes)))
        there = values[0::2][~np.isnan(values[0::2])]
        return cls(0.0, float(len(slopes))) if (there != there[:1]).any() else Exact()

    @staticmethod
    def repeated(slopes: np.ndarray, before: np.ndarray) -> float | None:
        """The variance of a slope, from slopes of equal directions with two samples; None where no direction has both."""
        squares = (slopes - before) ** 2
        return 0.5 * float(np.nanmean(squares)) if not np.isnan(squares).all() else None

    def survey(self, directions: Orthogonal, x: Array, others: tuple[Array, ...], length: float, look: bool) -> Survey:
        """F(x), then F at each of `others`, then F(x + nu u_j), all with one sample."""
        others = others if look else ()
        forward = (Probe(0, j, length) for j in range(directions.count))
        return Survey((x, *others), directions, (*(Probe(base) for base in range(1 + len(others))), *forward))

    def read(self, survey: Survey, values: np.ndarray, anchor: Anchor | None, curvature: Discounted) -> Reading:
        """Slopes of one sample and, where it looked there, what it says of the last step.

        The value is that of the point that would be returned, as a difference from the start.
        """
        directions = survey.directions
        assert isinstance(directions, Orthogonal)
        slopes = (values[len(survey.bases) :] - values[0]) / survey.smoothing
        noises, everywhere = np.full(len(slopes), self.variance), slopes == slopes
        if anchor is None:
            return Reading(directions, slopes, noises, 0.0, 0.0, 0.0, math.inf, curvature, everywhere, survey.bases[0])
        if len(survey.bases) == 1:
            return Reading(directions, slopes, noises, anchor.value, anchor.variance, 0.0, math.inf, curvature, everywhere, survey.bases[0])
        x, before, _, start, returned = survey.bases
        at_x, at_anchor, halfway, at_start, at_returned = (float(value) for value in values[:5])
        spread = self.variance / directions.dimension
        fresh = 1.0 if anchor.value == 0.0 else CONSTANTS.value_weight
        value, variance = anchor.value, anchor.variance
        if not math.isnan(at_returned - at_start):
            value += fresh * (at_returned - at_start - value)
            variance = (1.0 - fresh) ** 2 * variance + fresh**2 * spread * norm(returned - start) ** 2
        second = 4.0 * (at_x + at_anchor - 2.0 * halfway)
        change_variance = spread * norm(x - before) ** 2
        change = at_x - at_anchor
        return Reading(directions, slopes, noises, value, variance, change, change_variance, curvature, everywhere, x, None, second)

    def least_rise(self, survey: Survey, values: np.ndarray, anchor: Anchor) -> float:
        """As one sample has seen it, where it has looked at both points."""
        return float(values[0] - values[1]) if len(survey.bases) > 1 else -math.inf

    def num_directions(self, dimension: int, gain: float, steps: int) -> int:
        return max(CONSTANTS.sampled_directions, dimension // CONSTANTS.directions_share)

    def looks(self, steps: int, count: int) -> bool:
        """Whether the sample also looks at the points of the last step: at first always, then now and then."""
        every = math.ceil(CONSTANTS.look_share * CONSTANTS.look_evaluations / count)
        return steps < 2 * CONSTANTS.look_every or steps % every == every - 1

    def first_step(self, otherwise: float) -> float:
        return CONSTANTS.first_sampled_step

    def step_curvature(self, pace: Pace, dimension: int, count: int) -> float:
        """That of the pace counts the directions, too."""
        return pace.curvature / (1.0 + dimension / count)

    def paced(self, pace: Pace, move: Move, reading: Reading, rise: float, feasible: bool, went: float) -> tuple[Pace, bool]:
        return paced_by_sample(pace, move, reading, rise, feasible, went)
