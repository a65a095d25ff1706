"""The step: the minimiser of a quadratic model over X and the exact constraints in a trust region. No query is made for it.

A sequence of quadratic programmes with the constraints linearized, each followed by a restoration of the exact ones, so that every point on
the way is feasible and the model alone says whether it is better. The curvature of the constraints, sum_j y_j grad^2 c_j, comes from
differences of their derivatives (symmetric rank-one updates) and is kept from step to step. The trust region is a ball: its multiplier is
found by a secant on 1/|p|.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.linalg import LinAlgError

from zolal.errors import ConstraintError
from zolal.linearization import Linearization
from zolal.solvers.auto.dense import factorized, lowest, norm
from zolal.solvers.auto.programme import Solution, solve
from zolal.solvers.auto.terrain import TIGHT, Terrain

ROUNDS = 20  # quadratic programmes with new linearizations, at the most
TRIES = 8  # of the trust region's multiplier
HALVINGS, RESTORATIONS = 6, 8
SETTLED = 1e-3  # of the gain so far: a round that adds less is the last
OVERSHOT = 1.05  # of the radius: how long a step may be that keeps to it
FARTHEST = 1.1  # of the radius: how far its restoration may lead
ROUGH = 1e-6  # of a step: the violation at which a round ends; the last one is restored as far as rounding lets one
FLAT = 1e-6  # the least curvature of a programme, in units of slope over radius: it keeps its solution finite and matters no more
STRAIGHT = 1e-11  # the part of a step that rows may bend and still count as linear


class Model(NamedTuple):
    """<gradient, t> + t.hessian t/2 with t = u - centre."""

    centre: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray

    def change(self, u: np.ndarray) -> float:
        t = u - self.centre
        return float(self.gradient @ t + 0.5 * (t @ (self.hessian @ t)))

    def slope(self, u: np.ndarray) -> np.ndarray:
        return self.gradient + self.hessian @ (u - self.centre)


class Step(NamedTuple):
    """Where a step leads. gain: what the model says that f falls by. multipliers: of the rows. bend: the constraints' curvature.

    rows: linearized at its end. held: those that hold it back.
    """

    point: np.ndarray
    gain: float
    multipliers: np.ndarray
    bend: np.ndarray
    rows: Linearization
    held: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Stepper:
    """Steps over one terrain."""

    terrain: Terrain

    def minimiser(
        self,
        model: Model,
        rows: Linearization,
        radius: float,
        bend: np.ndarray,
        start: np.ndarray | None = None,
        prices: np.ndarray | None = None,
    ) -> Step:
        """From the model's centre, which is feasible; the gain is 0 where the model knows nothing better.

        rows: at the centre. start: a point to begin at instead, whatever f is there; then `rows` are those of that point. prices: what the
        multipliers were lately, for the curvature of outputs.
        """
        u, multipliers = model.centre if start is None else start, np.zeros(len(rows.value)) if prices is None else prices
        gain = -model.change(u) if start is not None else 0.0
        return self.longer(model, Step(u, gain, multipliers, bend, rows, rows.are_equalities), radius)

    def longer(self, model: Model, step: Step, radius: float) -> Step:
        """A step that goes on from the end of another one as far as a radius."""
        u, gain, multipliers, bend, rows, held = step
        ends, allowed = [step], 1.01 * rows.own_distance
        for _ in range(ROUNDS):
            try:
                found, convex = self._programme(model, u, rows, bend + self.terrain.bend(multipliers), radius, held)
            except LinAlgError:  # numbers so large or small that no factor exists: there is no step to be had from them
                break
            trial = self._feasible(model, u, rows, found.step, gain, allowed, max(FARTHEST * radius, norm(u - model.centre)))
            if trial is None and gain == 0.0 and bend.any():  # a curvature that leads nowhere is wrong: begin anew without it
                bend = np.zeros_like(bend)
                continue
            if trial is None:
                break
            after, value, gained = trial
            multipliers, held = found.multipliers, rows.are_equalities | (found.multipliers != 0.0)
            bent = _curved(rows, value, after - u)
            if bent:
                try:
                    new_rows = self.terrain.rows(after, value)
                except ConstraintError:
                    break
                known = len(multipliers) - len(self.terrain.outputs)
                bend = _updated(bend, after - u, multipliers[:known] @ (new_rows.jacobian - rows.jacobian)[:known])
                rows = new_rows
            else:
                rows = rows.at(value)
            u, added, gain = after, gained - gain, gained
            ends.append(Step(u, gain, multipliers, bend, rows, held))
            if (convex and not bent) or added <= SETTLED * gain:
                break
        tight = (self._tightened(model, end, allowed) for end in reversed(ends))  # where rows vanish, a rough end may be far from them
        return next((end for end in tight if end is not None), step._replace(point=model.centre, gain=0.0))._replace(bend=bend)

    def _tightened(self, model: Model, step: Step, allowed: float) -> Step | None:
        """The step restored as far as rounding lets one; None where that fails or costs the gain."""
        length = norm(step.point - model.centre)
        if not length > 0.0 or step.rows.own_distance <= TIGHT:
            return step
        point, left, value = self.terrain.restored(step.point, step.rows, RESTORATIONS)
        gain = -model.change(point)
        if left <= max(1e-9 * length, 1e-12, allowed) and (gain > 0.0 or step.gain <= 0.0):  # f may rise where outputs come to hold
            return step._replace(point=point, gain=gain, rows=step.rows.at(value))
        return None

    def _feasible(
        self, model: Model, u: np.ndarray, rows: Linearization, step: np.ndarray, gain: float, allowed: float, farthest: float
    ) -> tuple[np.ndarray, np.ndarray, float] | None:
        """The first of step, step/2, ... after whose restoration the model is better than before; the rows there, and the model's gain.

        allowed: the violation of the centre, which is more than rounding where nobody has found a feasible point. farthest: from the
        centre that it may lie: where rows curve much, restoration goes far.
        """
        length = norm(step)
        if not length > 0.0:
            return None
        for halvings in range(HALVINGS):
            trial, left, value = self.terrain.restored(u + 0.5**halvings * step, rows, RESTORATIONS, ROUGH * length)
            if left <= max(ROUGH * length, 1e-12, allowed) and norm(trial - model.centre) <= farthest:
                gained = -model.change(trial)
                if gained > gain:
                    return trial, value, gained
        return None

    def _programme(
        self, model: Model, u: np.ndarray, rows: Linearization, bend: np.ndarray, radius: float, held: np.ndarray
    ) -> tuple[Solution, bool]:
        """The step of one linearization within the ball, and whether the model is convex over it as it is.

        held: the rows that hold the step back, as far as is known. Across them it is fixed, so curvature there may be anything.
        """
        terrain, away, radius = self.terrain, u - model.centre, max(radius, 1e-300)  # huge values shrink it until it is none
        hessian, slope = model.hessian + bend, model.slope(u)
        if np.count_nonzero(held):
            scaled = rows.unit_rows[held]
            hessian = hessian + (10.0 * norm(hessian) + 1e-300) * (scaled.T @ scaled)
        shift = _convexity_shift(hessian, FLAT * norm(slope) / radius)
        lower, upper = terrain.around(u)

        def solved(price: float) -> tuple[Solution, float]:
            found = solve(_shifted(hessian, shift + price), slope + price * away, rows, lower, upper, radius)
            return found, norm(away + found.step)

        found, length = solved(0.0)
        convex = shift <= 2.0 * FLAT * norm(slope) / radius
        if length <= radius:
            return found, convex
        seen = [(0.0, length)]
        price = max(norm(slope) / radius - shift, 1e-3 * norm(hessian) + 1e-300) * 0.5
        best = found
        for _ in range(TRIES):
            found, length = solved(price)
            seen.append((price, length))
            best = found
            if 0.9 * radius <= length <= OVERSHOT * radius or (length < 0.9 * radius and price == 0.0):
                break
            price = _next_price(seen, radius)
        total = away + best.step
        length = norm(total)
        step = best.step
        if length > OVERSHOT * radius and not away.any():
            step = step * (radius / length)
        return Solution(step, best.multipliers), convex


def _next_price(seen: list[tuple[float, float]], radius: float) -> float:
    """The root of 1/length - 1/radius by a secant through the last two, kept between what is too cheap and what is too dear."""
    low = max((price for price, length in seen if length > radius), default=0.0)
    high = min((price for price, length in seen if length <= radius), default=math.inf)
    (one, first), (two, second) = seen[-2:]
    first, second = (1.0 / max(length, 1e-300) - 1.0 / radius for length in (first, second))
    price = two - second * (two - one) / (second - first) if second != first else math.nan
    if math.isinf(high):
        return price if low < price < 100.0 * low + 1e-300 else max(4.0 * low, 2.0 * two)
    margin = 0.05 * (high - low)
    return price if low + margin < price < high - margin else (math.sqrt(low * high) if low > 0.0 else 0.1 * high)


def _convexity_shift(hessian: np.ndarray, floor: float) -> float:
    """What has to be added to the diagonal so that no eigenvalue is below the floor or below rounding; 0 where none is."""
    least = floor + 1e-10 * norm(hessian) + 1e-300
    try:
        factorized(_shifted(hessian, -least))
        return 0.0
    except LinAlgError:
        return 2.0 * least - min(lowest(hessian), least)


def _shifted(matrix: np.ndarray, extra: float) -> np.ndarray:
    """With a number added to the diagonal."""
    found = matrix.copy()
    found.reshape(-1)[:: len(found) + 1] += extra
    return found


def _curved(rows: Linearization, value: np.ndarray, step: np.ndarray) -> bool:
    """Whether the rows bend along the step, at whose end they have these values."""
    if not len(rows.value):
        return False
    missed = np.abs(value - rows.value - rows.jacobian @ step) / rows.lengths
    size = norm(step) + np.abs(value) / rows.lengths
    return bool(np.count_nonzero(missed > STRAIGHT * size))


def _updated(bend: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The symmetric rank-one update: bend with bend step = change."""
    left = change - bend @ step
    product = float(left @ step)
    if abs(product) <= 1e-8 * norm(left) * norm(step):
        return bend
    return bend + np.outer(left, left) / product
