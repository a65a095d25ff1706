"""Values with noise of their own: central differences of two lengths, and the curvature that their means show."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from zolal._array import Array
from zolal.directions import Orthogonal
from zolal.estimators.survey import Probe, Survey
from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.lengths import Lengths
from zolal.solvers.auto.slopes.noise import Noise
from zolal.solvers.auto.slopes.pace import Pace, paced_by_change
from zolal.solvers.auto.slopes.points import Anchor, Move
from zolal.solvers.auto.slopes.reading import Reading

MEDIAN_DISTANCE = 0.954  # of two normal numbers, in standard deviations


@final
@dataclass(frozen=True)
class Additive(Noise):
    """Equal calls give unequal values. variance: of one evaluation."""

    reach: ClassVar[float] = 2.0

    @staticmethod
    def first_survey(directions: Orthogonal, x: Array, lengths: tuple[float, float]) -> Survey:
        """More values at the start, and two central pairs of each length."""
        pairs = [Probe(0, 2 * i + j, sign * length, i) for i, length in enumerate(lengths) for j in range(2) for sign in (1.0, -1.0)]
        return Survey((x,), directions, (*(Probe(sample=i + 1) for i in range(CONSTANTS.repeats)), *pairs))

    @classmethod
    def first_read(cls, values: np.ndarray, lengths: tuple[float, float]) -> tuple["Additive", float]:
        """The noise, from the median distance of repeated values, and the shorter length if its differences stand out, else the longer."""
        n = CONSTANTS.repeats
        repeated, pairs = values[:n], values[n:].reshape(2, 2, 2)
        distances = np.abs(np.subtract.outer(repeated, repeated))[np.triu_indices(n, 1)]
        variance = float((np.median(distances) / MEDIAN_DISTANCE) ** 2)
        squares = (pairs[0, :, 0] - pairs[0, :, 1]) ** 2
        signal = float(np.mean(squares[~np.isnan(squares)])) if not np.isnan(squares).all() else 0.0
        return cls(variance, float(n)), lengths[0] if signal > CONSTANTS.signal * variance else lengths[1]

    def survey(self, directions: Orthogonal, x: Array, others: tuple[Array, ...], length: float, look: bool) -> Survey:
        """Pairs F(x +- nu u_j), nu and 2 nu by turns; with `look` two values at x."""
        n = directions.count
        pairs = [Probe(0, j, sign * length * (1 + j % 2), j) for j in range(n) for sign in (1.0, -1.0)]
        return Survey((x,), directions, (*pairs, *([Probe(sample=n), Probe(sample=n + 1)] if look else [])))

    def read(self, survey: Survey, values: np.ndarray, anchor: Anchor | None, curvature: Discounted) -> Reading:
        """Central slopes of both lengths, and the mean curvature from the means of the pairs: M(2r) - M(r) = (3/2) r^2 tr(A)/d."""
        directions = survey.directions
        assert isinstance(directions, Orthogonal)
        n, length = directions.count, survey.smoothing
        lengths = length * (1.0 + np.arange(n) % 2)
        pairs = values[: 2 * n].reshape(n, 2)
        slopes, means = (pairs[:, 0] - pairs[:, 1]) / (2.0 * lengths), 0.5 * (pairs[:, 0] + pairs[:, 1])
        short, squares, there = lengths == length, lengths**2 * directions.dimension, ~np.isnan(means)
        parts = [means[part & there] for part in (short, ~short)]
        spread = max(0.5 * self.variance, *(float(np.var(part, ddof=1)) if len(part) > 2 else 0.0 for part in parts))
        if min(map(len, parts)) > 0:
            r2 = length**2 * directions.dimension
            seen = 2.0 * float(parts[1].mean() - parts[0].mean()) / (3.0 * r2)
            curvature = curvature.measured(seen, 4.0 / (9.0 * r2**2) * spread * sum(1.0 / len(part) for part in parts))
        value = float(np.nanmean(means - 0.5 * curvature.mean * squares))
        doubt = 0.25 * float(np.mean(squares)) ** 2 * (curvature.variance if curvature.weight > 0.0 else 0.0)
        variance = spread / max(int(there.sum()), 1) + doubt
        change, change_variance = (value - anchor.value, variance + anchor.variance) if anchor is not None else (0.0, math.inf)
        repeat = 0.5 * float(values[-1] - values[-2]) ** 2 if len(values) > 2 * n else None
        noises = self.variance / (2.0 * lengths**2)
        return Reading(directions, slopes, noises, value, variance, change, change_variance, curvature, short, survey.bases[0], repeat)

    def paced(self, pace: Pace, move: Move, reading: Reading, rise: float, feasible: bool, went: float) -> tuple[Pace, bool]:
        """s lags behind, so the largest curvature seen lately sets the pace."""
        return paced_by_change(pace, move, reading, rise, feasible, memory=CONSTANTS.curvature_memory)

    def lengthened(self, lengths: Lengths, reading: Reading, errors: np.ndarray, scale: float, longest: float) -> Lengths:
        return lengths.despite_noise(reading, errors, longest)

    def check_radius(self, radius: float, curvature: Discounted) -> float:
        """At most where the curvature of forward differences outweighs the noise."""
        if not curvature.significant:
            return radius
        return min(radius, math.sqrt(3.0 * math.sqrt(self.variance) / abs(curvature.mean)))
