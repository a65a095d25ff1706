"""What is known of outputs around the iterate of slopes: their values, slopes and noise, carried along as the iterate moves."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from zolal._array import Array, dot, namespace, norm, zeros
from zolal.estimators._filter import Filter
from zolal.estimators.innovation import corrected
from zolal.estimators.survey import Survey
from zolal.linearization import Linearization
from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.noise import Noise
from zolal.solvers.auto.slopes.sampled import Sampled

FORGOTTEN = 0.8  # of curvatures and spreads, per batch


@final
@dataclass(frozen=True, eq=False)
class Followed:
    """One entry per output: its value at `located` with the variance of that, its gradient there with the filter that vouches for it.

    spreads: the standard deviation of one value. bends: what an output rises by on either side, per square of a difference's length per
    coordinate.
    """

    values: np.ndarray
    variances: np.ndarray
    gradients: tuple[Array, ...]
    filters: tuple[Filter, ...]
    located: Array
    spreads: np.ndarray
    bends: np.ndarray
    weight: float = 0.0  # that the bends have been seen with
    seen: float = 0.0  # batches, as far as they are not forgotten

    @classmethod
    def start(cls, number: int, x: Array) -> "Followed":
        nothing, d = np.zeros(number), x.shape[0]
        return cls(nothing, np.full(number, np.inf), (zeros(d, x),) * number, (Filter(d),) * number, x, nothing, nothing)

    def at(self, x: Array) -> np.ndarray:
        """The values there, by the slopes and what is surely known of the curvature."""
        way = x - self.located
        return self.values + np.array([dot(gradient, way) for gradient in self.gradients]) + self.known_bends * norm(way) ** 2

    def linearized(self, x: Array, lower: np.ndarray, upper: np.ndarray) -> Linearization:
        """The outputs there as rows that ought to lie between bounds."""
        there, xp = self.carried(x), namespace(x)
        return Linearization(there.values, xp.stack(list(there.gradients)), lower, upper)

    @property
    def bend_variances(self) -> np.ndarray:
        return self.spreads**2 / self.weight if self.weight > 0.0 else np.zeros_like(self.spreads)

    @property
    def known_bends(self) -> np.ndarray:
        """Per square of a Euclidean length, where they are three standard errors from 0."""
        return np.where(self.bends**2 > 9.0 * self.bend_variances, self.bends, 0.0) / self.located.shape[0]

    def straightened(self, outputs: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The outputs without what their curvature adds at the ends of long differences: what the iterate itself would report."""
        return outputs - np.outer(lengths * lengths, self.bends)

    def carried(self, x: Array) -> "Followed":
        """To another point. What slopes and curvature leave open on the way makes values less certain, and curvature slopes."""
        square = norm(x - self.located) ** 2
        if square == 0.0:
            return self
        bends = self.known_bends
        open_slopes = np.array([_open(filtered) for filtered in self.filters]) / x.shape[0]
        possible = (self.bends**2 + self.bend_variances) / x.shape[0] ** 2
        variances = self.variances + open_slopes * square + possible * square**2
        turned = 4.0 * possible * square  # by which a gradient changes along the way, about
        filters = tuple(filtered.moved(float(turn)) for filtered, turn in zip(self.filters, turned, strict=True))
        gradients = tuple(g + 2.0 * float(b) * (x - self.located) if b else g for g, b in zip(self.gradients, bends, strict=True))
        return replace(self, values=self.at(x), variances=variances, gradients=gradients, filters=filters, located=x)

    def pull(self, weights: np.ndarray) -> Array:
        """The gradient of <weights, outputs>."""
        return sum((float(y) * gradient for y, gradient in zip(weights, self.gradients, strict=True)), 0.0 * self.located)

    def beside(self, other: "Followed") -> "Followed":
        """What both know of the point of the first: values by the inverse of their variances, slopes of whoever knows them better."""
        back = other.carried(self.located)
        unknown = np.isinf(self.variances)
        own = np.where(unknown, 1.0, self.variances)
        share = np.where(unknown, 1.0, own / np.maximum(own + back.variances, 1e-300))
        better = [_open(mine) <= _open(theirs) for mine, theirs in zip(self.filters, back.filters, strict=True)]
        return replace(
            back,
            values=self.values + share * (back.values - self.values),
            variances=np.where(unknown, back.variances, (1.0 - share) * own),
            gradients=tuple(pair[not first] for pair, first in zip(zip(self.gradients, back.gradients, strict=True), better, strict=True)),
            filters=tuple(pair[not first] for pair, first in zip(zip(self.filters, back.filters, strict=True), better, strict=True)),
        )

    def heard(self, survey: Survey, outputs: np.ndarray, noise: Noise, tells_slopes: bool) -> "Followed":
        """After one batch around a point. noise: of what kind."""
        new = self.carried(survey.bases[0])
        lengths = np.array([probe.length for probe in survey.probes])
        paired = bool((lengths < 0.0).any())  # otherwise differences have one end, where slopes and curvature are not told apart
        near = np.array([probe.base == 0 for probe in survey.probes]) & np.isfinite(outputs).all(axis=1) & (paired | (lengths == 0.0))
        if near.any():
            new = new._bent(outputs[near], lengths[near])._valued(outputs[near], lengths[near], isinstance(noise, Sampled))
        return new._sloped(survey, outputs, noise) if tells_slopes else new

    def _bent(self, outputs: np.ndarray, lengths: np.ndarray) -> "Followed":
        squares = lengths * lengths
        around = squares - np.mean(squares)
        weight = FORGOTTEN * self.weight + float(around @ around)  # short differences say little of it
        if weight == 0.0:
            return self
        return replace(self, bends=(FORGOTTEN * self.weight * self.bends + around @ outputs) / weight, weight=weight)

    def _valued(self, outputs: np.ndarray, lengths: np.ndarray, is_shared: bool) -> "Followed":
        """The values after the mean of a batch, each by the inverse of its variance. is_shared: whether one sample made all of them.

        Then the batch itself does not tell the noise, and what values were missed by does.
        """
        straight = self.straightened(outputs, lengths)
        means, seen = np.mean(straight, axis=0), FORGOTTEN * self.seen + 1.0
        if not self.seen:
            variance = np.zeros_like(means) if is_shared else _variance(straight, lengths)
            return replace(self, values=means, variances=variance / len(straight), spreads=np.sqrt(variance), seen=seen)
        missed = means - self.values
        squares = missed * missed if is_shared else _variance(straight, lengths)
        spreads = np.sqrt(self.spreads**2 + (squares - self.spreads**2) / seen)
        doubt = float(np.mean(lengths * lengths)) ** 2 * replace(self, spreads=spreads).bend_variances  # of the straightening
        error = spreads**2 / (1 if is_shared else len(straight)) + doubt
        gains = np.where(error > 0.0, 1.0 - error / np.maximum(self.variances + error, 1e-300), 1.0)
        gains = np.maximum(gains, 1.0 - FORGOTTEN) if is_shared else gains
        return replace(self, values=self.values + gains * missed, variances=gains * error, spreads=spreads, seen=seen)

    def _sloped(self, survey: Survey, outputs: np.ndarray, noise: Noise) -> "Followed":
        gradients, filters = [], []
        for j, (gradient, filtered) in enumerate(zip(self.gradients, self.filters, strict=True)):
            own = noise if isinstance(noise, Sampled) else replace(noise, variance=float(self.spreads[j]) ** 2)
            reading = own.read(survey, outputs[:, j], None, Discounted())
            variances = 0.0 * reading.variances if isinstance(noise, Sampled) else reading.variances
            found, known = corrected(gradient, reading.directions, reading.slopes, variances, filtered)
            gradients.append(found)
            filters.append(known)
        return replace(self, gradients=tuple(gradients), filters=tuple(filters))


def _open(filtered: Filter) -> float:
    """What is not known of a gradient, in squares of its length."""
    return math.inf if filtered.prior is None else filtered.prior


def _variance(outputs: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of one value at one point: by the means of both ends of differences, where slopes cancel; of all values where there are few."""
    first = np.flatnonzero((lengths[:-1] > 0.0) & (lengths[1:] == -lengths[:-1]))
    if len(first) < 2:
        return np.asarray(np.var(outputs, axis=0))
    return np.asarray(2.0 * np.var(0.5 * (outputs[first] + outputs[first + 1]), axis=0, ddof=1))
