"""Constants from data: what can be measured of the paper's constants within a budget of evaluations, with its spread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from array_api_compat import is_array_api_obj

from zolal._array import Array, like, norm
from zolal._checks import is_number, nonnegative_int, positive, positive_int, require
from zolal.constraints import Equalities
from zolal.directions import Rademacher
from zolal.errors import InvalidArgumentError, ObjectiveError
from zolal.estimators.base import QueryBatch
from zolal.evaluation.evaluate import MapEvaluator, VectorizedEvaluator
from zolal.kkt import regularity_constant
from zolal.problem import Problem
from zolal.theory.base import Constants
from zolal.theory.reach import region_bound

STREAM = 2  # directions and samples of the measurement are none of a run's


@final
@dataclass(frozen=True)
class EstimatedConstants:
    """Estimates, not bounds: the largest (for beta the smallest) value seen near x0, and how the values spread.

    constants: for `settings` and the bounds. spread: name -> (10 % quantile, median, 90 % quantile) over the places looked at; sigma,
    which only many places together tell, over five groups of them. nfev: evaluations spent. notes: what could not be measured.
    """

    constants: Constants
    spread: dict[str, tuple[float, float, float]]
    nfev: int
    notes: tuple[str, ...]


class _Place(NamedTuple):
    """What one pair of points near x0 tells."""

    L_f: float
    square: float  # the mean of the squared slopes
    slope_square: float  # an unbiased estimate of ||grad f||^2
    M_c: float
    L_c: float
    Mbar_c: float
    beta: float
    D_X: float
    value: float


def estimate_constants(
    problem: Problem,
    x0: Any,
    *,
    path: Sequence[Any] = (),
    p: float = 2.0,
    radius: float | None = None,
    smoothing: float = 1e-4,
    maxfev: int = 2000,
    rng: int = 0,
) -> EstimatedConstants:
    """Estimates of the constants of Assumptions 2.1 to 2.3 and 3.2 from pairs of points of X within `radius` of x0.

    With the slopes s_j = [F(x + nu u_j; xi_j) - F(x; xi_j)]/nu of n independent directions and samples, E[s_j^2] is ||grad f||^2 + sigma^2
    and E[s_i s_j <u_i, u_j>] is ||grad f||^2 for i != j, which gives M_f and sigma; the same u_j and xi_j at y give E[(s_j(x) - s_j(y))^2]
    = E||grad F(x) - grad F(y)||^2, hence L_f. The constraints' constants are exact at the points. Phi_inf cannot be measured: Phi_gap is
    the range of the values seen. D_X is that of the set X where X is bounded and known to be (`region_bound`).

    path: further centres, such as the iterates of a run, which are visited in turn; beta is then that along the path.
    p: the exponent of beta and, through q, of D_X. radius: 0.1 (1 + ||x0||_2) unless given. smoothing: nu.
    """
    nonnegative_int("estimate_constants(rng=...)", rng)
    positive("estimate_constants(smoothing=...)", smoothing)
    require(is_number(p) and 2 <= p < math.inf, "estimate_constants(p=...)", "be a finite number >= 2", p)
    centres = [_point(place, problem.dimension) for place in (x0, *path)]
    x = centres[0]
    radius = 0.1 * (1.0 + norm(x)) if radius is None else positive("estimate_constants(radius=...)", radius)
    n = max(8, 2 * math.isqrt(problem.dimension))
    places = positive_int("estimate_constants(maxfev=...)", maxfev) // (4 * n)
    if places < 2:
        needed = f"be at least {8 * n}, for two places with {n} directions"
        raise InvalidArgumentError(f"`estimate_constants(maxfev=...)` must {needed}, got {maxfev}.")
    equalities, generator = problem.equalities(x), np.random.default_rng([rng, 0x5A])
    found = [_look(problem, equalities, centres[i % len(centres)], p, radius, smoothing, n, (rng, i), generator) for i in range(places)]
    return _summary(problem, equalities, x, found, 4 * n * places, region_bound(problem.region, problem.dimension, p / (p - 1.0)))


def _look(
    problem: Problem,
    equalities: Equalities,
    x0: Array,
    p: float,
    radius: float,
    nu: float,
    n: int,
    identity: tuple[int, int],
    generator: Any,
) -> _Place:
    x, y = (problem.region.project(x0 + like(_step(generator, x0.shape[0], radius), x0)) for _ in range(2))
    directions = Rademacher(x.shape[0], n, seed=identity[0], iteration=identity[1], stream=STREAM)
    batch = QueryBatch((x, y), nu, directions)
    evaluation = (VectorizedEvaluator(problem) if problem.vectorized else MapEvaluator(problem))(batch)
    if evaluation.failure is not None:
        raise ObjectiveError(evaluation.failure)
    at_x, at_y = batch.slopes(evaluation.values)
    square, distance = float(np.mean(at_x**2)), max(norm(y - x), 1e-300)
    total = norm(directions.combine(like(at_x, x))) ** 2
    return _Place(
        math.sqrt(float(np.mean((at_x - at_y) ** 2))) / distance,
        square,
        (total - n * x.shape[0] * square) / (n * (n - 1.0)),
        *_constraint_constants(problem, equalities, x, y, p, distance),
        norm(x, p / (p - 1.0)),
        float(np.mean(batch.base_values(evaluation.values))) + problem.regularizer.value(x),
    )


def _constraint_constants(
    problem: Problem, equalities: Equalities, x: Array, y: Array, p: float, distance: float
) -> tuple[float, float, float, float]:
    """max ||grad c_i||, max ||grad c_i(x) - grad c_i(y)|| / ||x - y||, max |c_i|, beta."""
    if equalities.num_rows == 0:
        return 0.0, 0.0, 0.0, math.inf
    rows = [[equalities.vjp(z, like(unit, x))[0] for unit in np.eye(equalities.num_rows)] for z in (x, y)]
    c = equalities.value(x, equalities.initial_slacks(x))
    pulled, _ = equalities.vjp(x, c)
    changes = [norm(a - b) for a, b in zip(*rows, strict=True)]
    beta = regularity_constant(problem.region, x, pulled, c, p)
    return max(map(norm, rows[0])), max(changes) / distance, norm(c, math.inf), beta


def _summary(
    problem: Problem, equalities: Equalities, x0: Array, found: list[_Place], nfev: int, reach: float | None
) -> EstimatedConstants:
    table = {name: np.array([getattr(place, name) for place in found]) for name in _Place._fields}
    values, betas = table.pop("value"), table["beta"][np.isfinite(table["beta"])]
    square, slope_square = table.pop("square"), table.pop("slope_square")
    noise = max(float(np.mean(square - slope_square)), 0.0)
    table["M_f"] = np.sqrt(np.maximum(square - noise, 0.0))
    table["sigma"] = np.array(
        [math.sqrt(max(float(np.mean(part)), 0.0)) for part in np.array_split(square - slope_square, min(5, len(found)))]
    )
    notes = ["Phi_inf is unknown: Phi_gap and Phi_range are the range of the values seen."]
    if problem.sample is None:
        notes.append("The samples cannot be repeated: noise of the values, divided by the smoothing, is part of L_f, M_f and sigma.")
    if reach is None or not math.isfinite(reach):
        why = f"the extent of {problem.region!r} is not known" if reach is None else "X is unbounded, against Assumption 2.1"
        notes.append(f"D_X is that of the points seen: {why}.")
        reach = float(table["D_X"].max())
    if betas.size == 0:
        notes.append("beta was not seen, since no point violated a constraint; 1 stands for it.")
    l1, l2 = problem.regularizer.elastic_weights or (0.0, 0.0)
    if problem.regularizer.elastic_weights is None:
        notes.append(f"M_h of {problem.regularizer!r} is not known; 0 stands for it.")
    c0 = equalities.value(x0, equalities.initial_slacks(x0))
    constants = Constants(
        **{name: max(float(table[name].max()), 1e-12) for name in ("L_f", "M_f")},
        D_X=max(reach, 1e-12),
        **{name: float(table[name].max()) for name in ("M_c", "L_c")},
        Mbar_c=max(float(table["Mbar_c"].max()), norm(c0, math.inf)),
        sigma=math.sqrt(noise),
        beta=max(float(betas.min()), 1e-12) if betas.size else 1.0,
        Phi_gap=float(np.ptp(values)),
        Phi_range=float(np.ptp(values)),
        c0=norm(c0),
        M_h=l1 * math.sqrt(problem.dimension) + l2 * reach,
        m=max(equalities.num_rows, 1),
    )
    finite = {name: column[np.isfinite(column)] for name, column in table.items()}
    return EstimatedConstants(constants, {name: _spread(column) for name, column in finite.items() if column.size}, nfev, tuple(notes))


def _spread(column: np.ndarray) -> tuple[float, float, float]:
    low, middle, high = np.quantile(column, (0.1, 0.5, 0.9))
    return float(low), float(middle), float(high)


def _point(x: Any, dimension: int) -> Array:
    """A centre as a floating vector."""
    try:
        x = x if is_array_api_obj(x) and not isinstance(x, np.ndarray) else np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"`estimate_constants(x0=...)` must be a vector of numbers, got {x!r}.") from None
    require(tuple(x.shape) == (dimension,), "estimate_constants(x0=...)", f"have shape ({dimension},)", tuple(x.shape))
    return x


def _step(generator: Any, dimension: int, radius: float) -> np.ndarray:
    """A random vector with a length uniform in [0, radius]."""
    direction = generator.standard_normal(dimension)
    return direction * (radius * generator.random() / np.linalg.norm(direction))
