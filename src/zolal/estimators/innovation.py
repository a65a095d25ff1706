from dataclasses import dataclass
from typing import final

import numpy as np

from zolal._array import Array, like, to_numpy, zeros
from zolal._checks import nonnegative, require
from zolal.directions import Directions, Orthogonal
from zolal.estimators._filter import Filter
from zolal.estimators.base import KINDS, Estimator, Memory, QueryBatch


@final
@dataclass(frozen=True, eq=False)
class InnovationMemory(Memory):
    """The running estimate with its filter, and how many directions have been used."""

    used: int = 0
    filter: Filter | None = None


@final
@dataclass(frozen=True)
class Innovation(Estimator):
    """A running gradient estimate, corrected by what each measured slope adds to it.

    s <- s + (1/d) sum_j gain_j (slope_j - <u_j, s>) u_j,      gain_j = P / (P + R)

    With orthogonal directions, which have length sqrt(d), a gain of 1 makes s agree with every slope of the sweep: its error is that of
    the directions not yet measured and of the slopes that have grown old, proportional to ||grad f - s|| and not to ||grad f||. The gain
    follows the noise: R is the variance of a slope, known from `noise` and the smoothing, and P that of what s does not know yet, from
    the recursion of `Filter` and the innovations themselves. Bias: that of the slopes, O(nu) forward and O(nu^2) central,
    what x has moved since a direction was measured, and, with noise, shrinkage towards 0, since gains are below 1. Variance: about R/t
    after t sweeps at one point. Memory: one vector. Derived in docs/algorithm.md. Not in the paper.

    noise: the standard deviation of one evaluation (0: gains of 1). central: F(x + nu u) - F(x - nu u) over 2 nu; 2n evaluations, of
    which nu may be large, as even derivatives cancel. Otherwise n + 1 with `share_base`, 2n without.

    >>> len(Innovation(num_directions=8, smoothing=1e-3).plan(Memory(seed=0), np.zeros(5), k=0))
    9
    """

    directions: str = "orthogonal"
    share_base: bool = True
    noise: float = 0.0
    central: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "noise", nonnegative("Innovation(noise=...)", self.noise))
        require(isinstance(self.central, bool), "Innovation(central=...)", "be True or False", self.central)

    def start(self, seed: int) -> InnovationMemory:
        return InnovationMemory(seed)

    def plan(self, memory: Memory, x: Array, k: int) -> QueryBatch:
        directions = self._directions(memory, x.shape[0], self.count(k), k)
        return QueryBatch((x,), self.smoothing_schedule(k), directions, self.share_base, self.central)

    def absorb(self, memory: Memory, batch: QueryBatch, values: np.ndarray) -> tuple[Array, InnovationMemory]:
        x = batch.bases[0]
        prior = zeros(x.shape[0], x) if memory.gradient is None else memory.gradient
        filtered = memory.filter if isinstance(memory, InnovationMemory) and memory.filter else Filter(x.shape[0])
        variance = (0.5 if self.central else 2.0) * (self.noise / batch.smoothing) ** 2
        gradient, filtered = corrected(prior, batch.directions, batch.slopes(values)[0], variance, filtered)
        used = (memory.used if isinstance(memory, InnovationMemory) else 0) + batch.directions.count
        return gradient, InnovationMemory(memory.seed, x, gradient, used, filtered)

    def _directions(self, memory: Memory, dimension: int, n: int, k: int) -> Directions:
        """The next n directions: orthogonal ones go on where the last ones ended."""
        if self.directions != "orthogonal":
            return KINDS[self.directions](dimension, n, seed=memory.seed, iteration=k)
        used = memory.used if isinstance(memory, InnovationMemory) else 0
        return Orthogonal(dimension, n, seed=memory.seed, iteration=k, start=used)


def corrected(
    s: Array, directions: Directions, slopes: np.ndarray, variances: float | np.ndarray, filtered: Filter
) -> tuple[Array, Filter]:
    """s + (1/d) sum_j gain_j e_j u_j with e_j = slope_j - <u_j, s>, sweep by sweep, and the filter after these innovations.

    Where there is noise, innovations beyond five times their median size are cut to it from eight on: heavy tails must not move s at will.
    Directions that are not orthogonal overlap, so n of them take the weight 1/max(d, n). A slope that is NaN was skipped and adds nothing.
    """
    parts = directions.by_sweep() if isinstance(directions, Orthogonal) else [directions]
    noises, first = np.broadcast_to(np.asarray(variances, dtype=float), slopes.shape), 0
    for part in parts:
        chosen = slice(first, first + part.count)
        errors = slopes[chosen] - to_numpy(part.dot(s))
        there = ~np.isnan(errors)
        errors[there] = _clipped(errors[there], noises[chosen][there])
        gains, filtered = filtered.absorb(errors[there], noises[chosen][there])
        weights = np.zeros(part.count)
        weights[there] = gains * errors[there] / max(part.dimension, part.count)
        s = s + part.combine(like(weights, s))
        first += part.count
    return s, filtered


def _clipped(errors: np.ndarray, variances: np.ndarray) -> np.ndarray:
    if len(errors) < 8 or np.max(variances) == 0.0:
        return errors
    limit = 5.0 * 1.4826 * float(np.median(np.abs(errors)))
    return np.clip(errors, -limit, limit) if limit > 0.0 else errors
