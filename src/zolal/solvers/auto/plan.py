"""What the belief says of its centre under the exact constraints, and where to look next."""

import math
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from zolal._cached import cached_property
from zolal.linearization import Linearization
from zolal.solvers.auto.across import Across
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import Span, norm, square_lengths, taken_out
from zolal.solvers.auto.programme import nearest, steepest
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.reported import Reported
from zolal.solvers.auto.terrain import Terrain

POWER_STEPS = 8
SHORTENINGS, LOOK_RESTORATIONS = 10, 8
FAR_ENOUGH, WORTHWHILE = 0.3, 0.1  # of what a look could tell: with this the first side will do; with less than that none
LOOSE = 1e-10  # the violation up to which a look is feasible
LEFT = 1e-7  # of the length of a normal: where equalities leave less of it, they are all there is to it
TOUCHING = 1e-8  # in units of the radius: what lies so near to a bound is at it
SAME_STEP = 0.01  # of its length: a step so near to a known point is the one that led there
SAME_LOOK = 0.3  # of the reach: a look so near to an old one says little that the old one has not
SAME_PLACE = 0.05  # of its way: a noisy look so near to an old one is one more value there


class Slope(NamedTuple):
    """A gradient at the centre and its covariance along what is free there.

    error: the root of the trace of the covariance. stationarity: the length of the projected gradient. multipliers: of the rows. Not free
    are equalities, and the active bounds and rows that surely hold x back. unexplored: what surprises add to the square of the error. tilt:
    by which the curvature beside a measured gradient differs from the believed one; None for a believed gradient.
    """

    gradient: np.ndarray
    covariance: np.ndarray
    error: float
    stationarity: float
    multipliers: np.ndarray
    unexplored: float = 0.0
    tilt: np.ndarray | None = None

    @property
    def is_ignorant(self) -> bool:
        """Whether the error is as large as what it is an error of, so that a look says more than a step."""
        return self.error**2 + self.unexplored > CONSTANTS.ignorance * self.stationarity**2

    @property
    def deviations(self) -> float:
        """The length that errors stay below in 99 of 100 cases, in units of `error`.

        Squares of errors are about as a sum of n squares of normal numbers, n = (tr C)^2/tr C^2; Wilson and Hilferty's formula for its
        quantile.
        """
        if not self.error > 0.0:
            return 1.0
        shares = self.covariance / self.error / self.error
        share = 2.0 / 9.0 * min(float((shares * shares).sum()), 1.0)
        return (1.0 - share + CONSTANTS.certain * math.sqrt(share)) ** 1.5


@final
@dataclass(frozen=True, eq=False)
class Here:
    """The centre under the constraints.

    believed: the slope by values and prior. measured: by the values alone, which a certificate answers for: nothing is taken for small in
    advance; None where the believed one is far from small.
    """

    centre: np.ndarray
    rows: Linearization
    largest: float
    believed: Slope
    measured: Slope | None

    @classmethod
    def at(
        cls,
        terrain: Terrain,
        rows: Linearization,
        belief: Quadratic,
        radius: float,
        largest: float = math.inf,
        surprise: float = 1.0,
        across: Across | None = None,
        reported: Reported | None = None,
    ) -> "Here":
        """largest: the largest gradient so far, per unit of u; infinite where all is to be known. surprise: the mean square of what values
        missed their forecasts by, in standard deviations. across: what is known of f off the equalities. reported: what is believed of
        outputs, whose models are the last rows."""
        u = belief.centre
        active = None if terrain.is_free else _Active.of(rows, terrain, u, TOUCHING * radius)
        sure = CONSTANTS.pressed * (1.0 + 2.0 / max(len(belief.values) - 1, 1))  # few values do not even tell their own spread
        sure *= math.sqrt(max(surprise, 1.0))

        chance = 0.0 if belief.is_exact else by_chance()

        def slope(gradient: np.ndarray, covariance: np.ndarray, tilt: np.ndarray | None = None) -> Slope:
            measured = tilt is not None
            if across is not None:
                gradient = across.completed(gradient)
            way = _Way.down(terrain, rows, u, gradient, radius)
            if reported is not None:
                covariance = covariance + reported.doubt(way.multipliers[-len(reported.beliefs) :], measured)
            if active is not None:
                covariance = active.held(gradient, way.multipliers, sure, covariance).taken_out(covariance)
            error = math.sqrt(max(float(covariance.trace()), 0.0))
            counts = not measured and reported is None
            unexplored = _unexplored(covariance, belief.prior_variance, surprise - 1.0 - chance) if counts else 0.0
            return Slope(gradient, covariance, error, way.stationarity, way.multipliers, unexplored, tilt)

        believed = slope(belief.gradient, belief.covariance)
        is_near = believed.stationarity + believed.error <= CONSTANTS.small * largest
        if not is_near:
            return cls(u, rows, largest, believed, None)
        return cls(u, rows, largest, believed, slope(*belief.measured_along(None if active is None else active.always_held.basis)))

    @property
    def slope(self) -> Slope:
        """The one to act on: the measured one once its error is below the largest gradient so far; before that, the believed one."""
        return self.measured if self.measured is not None and self.measured.error <= self.largest else self.believed

    @property
    def said(self) -> Slope:
        """The one to tell of."""
        return self.measured or self.believed


def by_chance() -> float:
    """By how much noise makes a surprise exceed 1: two standard deviations of a mean of squares that remembers so much of itself."""
    kept = CONSTANTS.noisy_surprise_memory
    return CONSTANTS.noise_margin * math.sqrt(2.0 * (1.0 - kept) / (1.0 + kept))


def _unexplored(covariance: np.ndarray, prior_variance: float, excess: float) -> float:
    """What the squared error lacks along directions that nobody has looked along.

    Where one has looked, steps have made slopes small, and the prior, which knows of no choice, takes the others for as small. By as much
    as values missed their forecasts lately, slopes may be larger that the prior alone vouches for. There C has the eigenvalue A, so that
    C^2/A is C; elsewhere it is next to nothing. excess: of the surprise, over what it is by chance.
    """
    return excess * float(np.vdot(covariance, covariance / max(prior_variance, 1e-300))) if excess > 0.0 else 0.0


class _Way(NamedTuple):
    """The way down from a point along a gradient as far as the radius, over the constraints.

    stationarity: its length per length of the gradient's step.
    """

    stationarity: float
    multipliers: np.ndarray

    @classmethod
    def down(cls, terrain: Terrain, rows: Linearization, u: np.ndarray, gradient: np.ndarray, radius: float) -> "_Way":
        short = max(radius / max(norm(gradient), 1e-300), 1e-300)
        found = steepest(short, gradient, rows, *terrain.around(u), radius)
        return cls(norm(found.step) / short, found.multipliers)


@final
@dataclass(frozen=True, eq=False)
class _Active:
    """The rows and bounds that x lies at. rows: which of them are active; equalities always are. bounds: -1, 0, 1 for low, none, high."""

    rows: Linearization
    which: np.ndarray
    bounds: np.ndarray
    fixed: np.ndarray

    @classmethod
    def of(cls, rows: Linearization, terrain: Terrain, u: np.ndarray, near: float) -> "_Active":
        which = rows.are_equalities
        if np.count_nonzero(which) < len(which):
            margin = near * rows.lengths
            which = which | (rows.value >= rows.upper - margin) | (rows.value <= rows.lower + margin)
        if not terrain.has_bounds:
            return cls(rows, which, np.zeros(len(u), dtype=int), np.zeros(len(u), dtype=bool))
        lower, upper = terrain.around(u)
        low, high = lower >= -near, upper <= near
        return cls(rows, which, np.where(high, 1, np.where(low, -1, 0)), low & high)

    @cached_property
    def unit_rows(self) -> np.ndarray:
        """Of the active ones."""
        return self.rows.unit_rows[self.which]

    @cached_property
    def has_rows(self) -> bool:
        return bool(np.count_nonzero(self.which))

    @cached_property
    def has_bounds(self) -> bool:
        return bool(np.count_nonzero(self.bounds))

    @cached_property
    def at_bounds(self) -> np.ndarray:
        return self.bounds != 0

    def held(self, gradient: np.ndarray, multipliers: np.ndarray, sure: float, covariance: np.ndarray) -> Span:
        """The span of the normals which surely hold x back. sure: the standard deviations that it takes."""
        pressed = self.pressed(gradient, multipliers, sure**2 * covariance)
        return self.always_held if np.count_nonzero(pressed) == np.count_nonzero(self.always) else self._span(pressed)

    def pressed(self, gradient: np.ndarray, multipliers: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Which of the normals hold x back by more than the doubt of the gradient along them; equalities and fixed variables always do."""
        if np.count_nonzero(self.always) == len(self.always):  # nothing else is there
            return self.always
        pull = gradient + self.rows.jacobian.T @ multipliers if len(multipliers) else gradient
        forces = (-self.bounds * pull)[self.at_bounds]
        if self.has_rows:
            forces = np.concatenate([np.abs(multipliers * self.rows.lengths)[self.which], forces])
        return self.always | (forces > np.sqrt(self.variances(covariance)))

    def variances(self, covariance: np.ndarray) -> np.ndarray:
        """Of the gradient along each normal, as far as the equalities leave it: what lies across them is never measured, nor needed."""
        found, own, squares = covariance.diagonal()[self.at_bounds], self.unit_rows, np.ones(np.count_nonzero(self.at_bounds))
        if np.count_nonzero(self.always):
            always = self.always_held.basis
            own = own - (own @ always.T) @ always
            found = taken_out(covariance, always).diagonal()[self.at_bounds]
            squares = 1.0 - square_lengths(always.T)[self.at_bounds]  # of what is left of the axes
        found = np.concatenate([np.einsum("ij,ij->i", own @ covariance, own), found])
        squares = np.concatenate([square_lengths(own), squares])
        return np.where(squares > LEFT**2, np.maximum(found, 0.0) / np.maximum(squares, LEFT**2), 0.0)

    @cached_property
    def always(self) -> np.ndarray:
        """Which of the normals are those of equalities and fixed variables."""
        own = self.rows.are_equalities[self.which]
        return np.concatenate([own, self.fixed[self.at_bounds]]) if self.has_bounds else own

    @cached_property
    def always_held(self) -> Span:
        return self._span(self.always)

    def _span(self, chosen: np.ndarray) -> Span:
        """Of the chosen normals."""
        number, axes = len(self.unit_rows), np.zeros(len(self.bounds), dtype=bool)
        axes[np.flatnonzero(self.at_bounds)[chosen[number:]]] = True
        return Span.of(axes, self.unit_rows[chosen[:number]])


def multiplier_errors(
    rows: Linearization, multipliers: np.ndarray, covariance: np.ndarray, across: Across | None, outputs: int = 0
) -> np.ndarray:
    """Standard errors of y = -(J J^T)^-1 J g over the rows that have a multiplier; 0 for the others.

    NaN for equalities across which nothing has been evaluated: what the belief says there is its prior and no more. outputs: how many of
    the rows, the last ones, are models of outputs, which looks need not keep.
    """
    errors, active = np.zeros(len(multipliers)), rows.are_equalities | (multipliers != 0.0)
    known = across is not None and across.is_known
    covariance = across.doubted(covariance) if across is not None and known else covariance
    if active.any():
        back = np.linalg.pinv(rows.jacobian[active].T, rcond=1e-10)
        errors[active] = np.sqrt(np.maximum(np.einsum("ij,ij->i", back @ covariance, back), 0.0))
    kept = rows.are_equalities & (np.arange(len(errors)) < len(errors) - outputs)
    return errors if known else np.where(kept, np.nan, errors)


def looked_at(
    terrain: Terrain, here: Here, covariance: np.ndarray, fresh: np.ndarray, reach: float, downwards: bool, seen: np.ndarray | None = None
) -> np.ndarray | None:
    """The point to look at: where the covariance is largest, within all that is known exactly.

    What a look can tell is the slope along the way that the constraints leave of it, so that is what counts; None where they leave none.
    fresh: random numbers, which choose among directions that are known equally little. reach: how far to look. downwards: on the side that
    descends instead. seen: where exact values are known. Beside them another one would tell little, whatever the model makes of it, which
    takes what it misses for independent; so where every look leads to one place, as in a corner, the next one goes less far.
    """
    t, largest = _least_known(covariance, fresh)
    if downwards and float(here.slope.gradient @ t) > 0.0:
        t = -t
    axis = np.zeros(len(t))
    axis[covariance.diagonal().argmax()] = 1.0  # in a corner bounds leave little of other directions
    allowed = max(LOOSE, 1.01 * here.rows.own_distance)

    def told(way: np.ndarray) -> float:
        return math.sqrt(max(float(way @ (covariance @ way)), 0.0))

    for _ in range(SHORTENINGS):
        best, most = 0.0 * t, 0.0
        for direction in (t, -t, axis, -axis):
            way = _left_of(reach * direction, terrain, here)
            if (tells := told(way)) > most:
                best, most = way, tells
            if most > FAR_ENOUGH * reach * largest:
                break
        if most > WORTHWHILE * reach * largest:
            point, left, _ = terrain.restored(here.centre + best, here.rows, LOOK_RESTORATIONS)
            worthwhile = left <= allowed and told(point - here.centre) > WORTHWHILE * reach * largest
            if worthwhile and not (seen is not None and is_among(point, seen, SAME_LOOK * reach)):
                return point
        reach *= 0.25
    return None


def is_among(point: np.ndarray, points: np.ndarray, near: float) -> bool:
    """Whether one of the points is so near."""
    return bool(square_lengths(points - point).min() <= near**2)


def _left_of(way: np.ndarray, terrain: Terrain, here: Here) -> np.ndarray:
    """What bounds and linearized rows leave of a way from the centre; what is blocked there by a bound goes to its other side."""
    (lower, upper), rows = terrain.around(here.centre), here.rows
    way = terrain.turned(here.centre, way)
    if not len(rows.value):
        return way
    there = rows.at(rows.value + rows.jacobian @ way)
    return way if there.violation == 0.0 else np.minimum(np.maximum(way + nearest(there, lower - way, upper - way), lower), upper)


def seen_again(belief: Quadratic, covariance: np.ndarray, fresh: np.ndarray, number: int = 1) -> list[np.ndarray]:
    """Points among those evaluated where one more value each says most of the least known slope, the best first."""
    t, _ = _least_known(covariance, fresh)
    return [belief.points[i] for i in belief.most_telling(t, number)]


def _least_known(covariance: np.ndarray, fresh: np.ndarray) -> tuple[np.ndarray, float]:
    """The direction of the largest variance, and the root of that."""
    largest = float(covariance.trace())
    if not largest > 0.0:
        return fresh / norm(fresh), 0.0
    shares = covariance / largest  # so that no step is longer than the one before, nor vanishes
    before = fresh
    for _ in range(POWER_STEPS - 1):
        before = shares @ before
    t = shares @ before
    length = norm(t)
    return t / length, math.sqrt(largest * length / norm(before))
