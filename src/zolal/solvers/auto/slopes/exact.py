"""Values without noise: forward differences, and what they say is so."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from zolal._array import EPS, Array
from zolal.directions import Orthogonal
from zolal.estimators.survey import Probe, Survey
from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.lengths import Lengths
from zolal.solvers.auto.slopes.noise import Noise
from zolal.solvers.auto.slopes.pace import Pace, paced_by_change
from zolal.solvers.auto.slopes.points import Anchor, Move
from zolal.solvers.auto.slopes.reading import Reading

ROUNDING = 4.0 * EPS  # of a difference of two values, in units of the values


@final
@dataclass(frozen=True)
class Exact(Noise):
    """Equal calls give equal values; only rounding is in them."""

    is_exact: ClassVar[bool] = True

    def survey(self, directions: Orthogonal, x: Array, others: tuple[Array, ...], length: float, look: bool) -> Survey:
        """F(x), then F(x + nu u_j)."""
        return Survey((x,), directions, (Probe(), *(Probe(0, j, length) for j in range(directions.count))))

    def read(self, survey: Survey, values: np.ndarray, anchor: Anchor | None, curvature: Discounted) -> Reading:
        directions, length = survey.directions, survey.smoothing
        assert isinstance(directions, Orthogonal)
        value, slopes = float(values[0]), (values[1:] - values[0]) / length
        change, change_variance = (value - anchor.value, 0.0) if anchor is not None else (0.0, math.inf)
        error = ROUNDING * abs(value) / length
        rounding = np.full(len(slopes), error * error)
        return Reading(directions, slopes, rounding, value, 0.0, change, change_variance, curvature, slopes == slopes, survey.bases[0])

    def surprise(self, errors: np.ndarray) -> float:
        there = errors[~np.isnan(errors)]
        return math.sqrt(float(np.mean(there**2)) * (1.0 + 2.0 * math.sqrt(2.0 / len(there)))) if len(there) else math.inf

    def aged(self, curvature: float, length: float) -> float:
        return 0.0  # the next innovations say it without doubt

    def paced(self, pace: Pace, move: Move, reading: Reading, rise: float, feasible: bool, went: float) -> tuple[Pace, bool]:
        return paced_by_change(pace, move, reading, rise, feasible, memory=0.0)

    def lengthened(self, lengths: Lengths, reading: Reading, errors: np.ndarray, scale: float, longest: float) -> Lengths:
        return lengths.despite_rounding(reading, scale)
