"""What the automatic solver asks for in each phase, and what the answers say."""

import math
from typing import NamedTuple

import numpy as np

from zolal._array import Array, like, norm
from zolal.directions import Orthogonal
from zolal.estimators.base import QueryBatch
from zolal.estimators.survey import Probe, Survey
from zolal.solvers.auto.slopes.parts import ADDITIVE, EXACT, SAMPLED, Anchor, Mean, Noise, Weighted

FIRST = 4  # directions of the first batch
REPEATS = 6  # more values at the start, where there is noise
PAIRS = 8  # slopes measured with two samples each
LOOK_EVERY = 4  # iterations between two looks at the noise
SAMPLED_LOOK, LOOK_SHARE = 4, 32  # evaluations of a look of one sample at other points; directions for each of these
VALUE_WEIGHT = 0.3  # of a new difference from the start beside earlier ones
ROUNDING = 4.0 * 2.220446049250313e-16


class Reading(NamedTuple):
    """slopes along `directions` with their variances; f(x) with its variance; f(x) - f(anchor) with its variance, where there is one.

    curvature: the mean curvature of f over all directions, so far. short: which slopes have the shorter length. repeat: a square whose mean
    is the noise's variance, where there was one to see. second: 4 (F(x) + F(a) - 2 F((x + a)/2)) for the anchor a, with one sample.
    """

    directions: Orthogonal
    slopes: np.ndarray
    variances: np.ndarray
    value: float
    variance: float
    change: float
    change_variance: float
    curvature: Weighted
    short: np.ndarray
    repeat: float | None = None
    second: float = math.nan


def first_look(directions: Orthogonal, x: Array, length: float, slopes: bool) -> Survey:
    """The value at the start, twice, and with `slopes` a few forward differences that serve if both are equal."""
    return Survey((x,), directions, (Probe(), Probe(), *(Probe(0, j, length) for j in range(directions.count if slopes else 0))))


def noise_look(directions: Orthogonal, x: Array, lengths: tuple[float, float]) -> Survey:
    """More values at the start, and two central pairs of each length."""
    pairs = [Probe(0, 2 * i + j, sign * length, i) for i, length in enumerate(lengths) for j in range(2) for sign in (1.0, -1.0)]
    return Survey((x,), directions, (*(Probe(sample=i + 1) for i in range(REPEATS)), *pairs))


def read_noise(values: np.ndarray, lengths: tuple[float, float]) -> tuple[Noise, float]:
    """The variance of one evaluation, from the median distance of repeated ones, and the shorter length if its differences stand out."""
    repeated, pairs = values[:REPEATS], values[REPEATS:].reshape(2, 2, 2)
    distances = np.abs(np.subtract.outer(repeated, repeated))[np.triu_indices(REPEATS, 1)]
    variance = float((np.median(distances) / 0.954) ** 2)
    squares = (pairs[0, :, 0] - pairs[0, :, 1]) ** 2
    signal = float(np.mean(squares[~np.isnan(squares)])) if not np.isnan(squares).all() else 0.0
    return Noise(ADDITIVE, variance, float(REPEATS)), lengths[0] if signal > 16.0 * variance else lengths[1]


def sample_look(directions: Orthogonal, x: Array, length: float) -> Survey:
    """Slopes with two samples each."""
    probes = [p for j in range(PAIRS) for i in (2 * j, 2 * j + 1) for p in (Probe(sample=i), Probe(0, j, length, i))]
    return Survey((x,), directions, tuple(probes))


def read_samples(values: np.ndarray, length: float) -> Noise:
    """The variance of a slope over the samples."""
    slopes = (values[1::2] - values[0::2]).reshape(PAIRS, 2) / length
    variance = float(np.nanmean((slopes[:, 0] - slopes[:, 1]) ** 2)) / 2.0
    return Noise(SAMPLED, variance, float(PAIRS)) if variance > 0.0 else Noise()


def regular(directions: Orthogonal, x: Array, others: tuple[Array, ...], noise: Noise, length: float, look: bool) -> Survey:
    """The evaluations of an iteration.

    exact: F(x), then F(x + nu u_j). sampled: F(x), then F at each of `others`, then F(x + nu u_j), all with one sample. additive: pairs
    F(x +- nu u_j), nu and 2 nu by turns; with `look` two values at x.
    """
    n = directions.count
    if noise.kind == ADDITIVE:
        pairs = [Probe(0, j, sign * length * (1 + j % 2), j) for j in range(n) for sign in (1.0, -1.0)]
        return Survey((x,), directions, (*pairs, *([Probe(sample=n), Probe(sample=n + 1)] if look else [])))
    forward = tuple(Probe(0, j, length) for j in range(n))
    return Survey((x, *others), directions, (*(Probe(base) for base in range(1 + len(others))), *forward))


def sampled_points(x: Array, anchor: Anchor | None, start: Anchor | None, mean: Mean | None) -> tuple[Array, ...]:
    """Where one sample looks beside x: at the anchor, halfway there, at the start and at the mean of the iterates, all of them in X."""
    if anchor is None or start is None:
        return ()
    return anchor.x, 0.5 * (anchor.x + x), start.x, x if mean is None else mean.x


def read_regular(survey: Survey, values: np.ndarray, anchor: Anchor | None, noise: Noise, curvature: Weighted) -> Reading:
    """The answers to `regular`."""
    directions = survey.directions
    assert isinstance(directions, Orthogonal)
    if noise.kind == ADDITIVE:
        return _read_pairs(survey, directions, values, anchor, noise, curvature)
    length, bases = survey.smoothing, len(survey.bases)
    slopes = (values[bases:] - values[0]) / length
    if noise.kind == EXACT:
        value, variance = float(values[0]), 0.0
        change, change_variance = (value - anchor.value, 0.0) if anchor is not None else (0.0, math.inf)
        rounding = np.full(len(slopes), (ROUNDING * abs(value) / length) ** 2)
        return Reading(directions, slopes, rounding, value, variance, change, change_variance, curvature, slopes == slopes)
    return _read_sampled(survey, directions, values, slopes, anchor, noise, curvature)


def _read_sampled(
    survey: Survey,
    directions: Orthogonal,
    values: np.ndarray,
    slopes: np.ndarray,
    anchor: Anchor | None,
    noise: Noise,
    curvature: Weighted,
) -> Reading:
    """Slopes of one sample and, where it looked there, what it says of the last step.

    The value is that of the point that would be returned, as a difference from the start.
    """
    noises, everywhere = np.full(len(slopes), noise.variance), slopes == slopes
    if anchor is None:
        return Reading(directions, slopes, noises, 0.0, 0.0, 0.0, math.inf, curvature, everywhere)
    if len(survey.bases) == 1:
        return Reading(directions, slopes, noises, anchor.value, anchor.variance, 0.0, math.inf, curvature, everywhere)
    x, before, _, start, mean = survey.bases
    at_x, at_anchor, halfway, at_start, at_mean = (float(value) for value in values[:5])
    spread = noise.variance / directions.dimension
    fresh = 1.0 if anchor.value == 0.0 else VALUE_WEIGHT
    value = anchor.value + fresh * (at_mean - at_start - anchor.value)
    variance = (1.0 - fresh) ** 2 * anchor.variance + fresh**2 * spread * norm(mean - start) ** 2
    second = 4.0 * (at_x + at_anchor - 2.0 * halfway)
    change_variance = spread * norm(x - before) ** 2
    return Reading(directions, slopes, noises, value, variance, at_x - at_anchor, change_variance, curvature, everywhere, None, second)


def _read_pairs(
    survey: Survey, directions: Orthogonal, values: np.ndarray, anchor: Anchor | None, noise: Noise, curvature: Weighted
) -> Reading:
    """Central slopes of both lengths, and the mean curvature from the means of the pairs: M(2r) - M(r) = (3/2) r^2 tr(A)/d."""
    n, length = directions.count, survey.smoothing
    lengths = length * (1.0 + np.arange(n) % 2)
    pairs = values[: 2 * n].reshape(n, 2)
    slopes, means = (pairs[:, 0] - pairs[:, 1]) / (2.0 * lengths), 0.5 * (pairs[:, 0] + pairs[:, 1])
    short, squares, there = lengths == length, lengths**2 * directions.dimension, ~np.isnan(means)
    parts = [means[part & there] for part in (short, ~short)]
    spread = max(0.5 * noise.variance, *(float(np.var(part, ddof=1)) if len(part) > 2 else 0.0 for part in parts))
    if min(map(len, parts)) > 0:
        r2 = length**2 * directions.dimension
        seen = 2.0 * float(parts[1].mean() - parts[0].mean()) / (3.0 * r2)
        curvature = curvature.seen(seen, 4.0 / (9.0 * r2**2) * spread * sum(1.0 / len(part) for part in parts))
    value = float(np.nanmean(means - 0.5 * curvature.mean * squares))
    doubt = 0.25 * float(np.mean(squares)) ** 2 * (curvature.variance if curvature.weight > 0.0 else 0.0)
    variance = spread / max(int(there.sum()), 1) + doubt
    change, change_variance = (value - anchor.value, variance + anchor.variance) if anchor is not None else (0.0, math.inf)
    repeat = 0.5 * float(values[-1] - values[-2]) ** 2 if len(values) > 2 * n else None
    noises = noise.variance / (2.0 * lengths**2)
    return Reading(directions, slopes, noises, value, variance, change, change_variance, curvature, short, repeat)


def surprise(errors: np.ndarray) -> float:
    """||grad f - s|| as these innovations tell it, two standard errors above; infinite without any."""
    there = errors[~np.isnan(errors)]
    return math.sqrt(float(np.mean(there**2)) * (1.0 + 2.0 * math.sqrt(2.0 / len(there)))) if len(there) else math.inf


def repeated(slopes: np.ndarray, before: np.ndarray) -> float | None:
    """The variance of a slope over the samples, from slopes of equal directions with two of them; None where no direction has both."""
    squares = (slopes - before) ** 2
    return 0.5 * float(np.nanmean(squares)) if not np.isnan(squares).all() else None


def fresh_gradient(reading: Reading, x: Array) -> Array:
    """The mean of slope_j u_j over the slopes of this batch alone."""
    return reading.directions.combine(like(QueryBatch.mean_weights(reading.slopes), x))
