"""Units that the values teach: those in which they are likeliest, by the same likelihood as that of the prior's scales.

The prior takes all variables alike. Where f is curved a hundred times as much along one of them as along another, values are much likelier
in variables divided by suitable factors, and there looks, radius and steps fit f.
"""

import math
from typing import NamedTuple

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.factor import Scales
from zolal.solvers.auto.likelihood import Likelihood
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.state import ModelledState

MOVES = 20  # of the climb, at the most
LONGEST = 8  # powers of 2 that a move may change a unit by
LEADING = 0.5  # of the largest slope of the likelihood: units with as much of it change together
ENOUGH, MANY = 4, 100  # values, per variable and at the least, that units are judged by
FARTHEST = 10  # powers of 2 that the curvature along a variable may ask for


def relearned(state: ModelledState) -> ModelledState:
    """In other units from time to time, where the values are clearly likelier in them and they are far from the present ones.

    Factors are powers of 2, so that points keep their bits. Not with outputs of a simulator, whose beliefs have the same frame, nor where f
    has steps, on which it is flat by chance.
    """
    belief = state.belief
    assert belief is not None
    if state.k < state.next_units or state.reported is not None or _has_steps(belief):
        return state
    soon = state.k + CONSTANTS.few * (belief.dimension + 1)  # near an edge f's own units are the ways to it, and change with x
    state = state.but(next_units=soon if state.edges else math.ceil(CONSTANTS.relearning * state.k))
    powers, scales = _likeliest(belief)
    return _in_units(state, powers, scales) if np.ptp(powers) >= CONSTANTS.apart else state


def _has_steps(belief: Quadratic) -> bool:
    """Whether exact values are the same at different points."""
    return belief.is_exact and len(np.unique(belief.values)) < len(belief.values)


class _Found(NamedTuple):
    """Units, as powers of 2 of the present ones, with the likeliest scales in them."""

    powers: np.ndarray
    likelihood: Likelihood
    scales: Scales
    worth: float  # the logarithm of the likelihood, less what the powers cost

    @classmethod
    def at(cls, powers: np.ndarray, likelihood: Likelihood, scales: Scales) -> "_Found":
        return cls(powers, likelihood, scales, likelihood(scales) - _cost(powers))

    def moved(self, direction: np.ndarray, offsets: np.ndarray) -> "_Found":
        """As far along a direction as it gets likelier, by 1, 2, 4, ... powers; the same where it does not."""
        best, length = self, 1
        while length <= LONGEST:
            powers = self.powers + length * direction
            found = _Found.at(powers, self.likelihood.at(offsets / np.exp2(powers)), self.scales)
            if not found.worth > best.worth:
                break
            best, length = found, 2 * length
        return best if best is self else _Found.at(best.powers, best.likelihood, best.likelihood.climbed(best.scales))

    def without(self, variable: int) -> float:
        """The worth where a variable plays no part."""
        offsets = self.likelihood.offsets.copy()
        offsets[:, variable] = 0.0
        return self.likelihood.at(offsets)(self.scales) - _cost(self.powers)


def _likeliest(belief: Quadratic) -> tuple[np.ndarray, Scales]:
    """Powers of 2 by which offsets are divided, and the scales there; zeros where nothing is clearly likelier.

    From the present units, or from those in which the curvatures along the variables are alike, the climb changes all units together along
    which the likelihood rises steeply, or the one with the largest slope alone. A variable without which the values are as likely tells
    nothing of its unit, which would become longer and longer: it gets the longest of the others.
    """
    likelihood = belief.likelihood(min(max(ENOUGH * (belief.dimension + 1), MANY), CONSTANTS.search_points))
    offsets, none = likelihood.offsets, np.zeros(belief.dimension)
    varies = offsets.any(axis=0)  # fixed variables have no unit
    if np.count_nonzero(varies) < 2:
        return none, belief.scales
    first = _Found.at(none, likelihood, likelihood.climbed(belief.scales))
    best, share, alike = first, LEADING, none.copy()
    alike[varies] = _alike(belief.hessian.diagonal()[varies])
    if np.ptp(alike) >= CONSTANTS.apart:
        there = likelihood.at(offsets / np.exp2(alike))
        best = max(first, _Found.at(alike, there, there.climbed(first.scales)), key=lambda found: found.worth)
    for _ in range(MOVES):
        slopes = best.likelihood.slopes_along_units(best.scales) - math.log(2.0) * best.powers / CONSTANTS.prior_spread**2
        slopes[varies] -= slopes[varies].mean()  # all units together are the length of the frame
        sizes = np.abs(slopes)
        found = best.moved(np.where(sizes >= share * sizes.max(), np.sign(slopes), 0.0), offsets)
        if found is best and share == 1.0:
            break
        best, share = found, 1.0 if found is best else LEADING
    price = 0.5 * math.log(len(offsets))  # of a free number, as Schwarz's criterion has it
    is_clear = best.worth > first.worth + price * (np.count_nonzero(varies) - 1)
    if not is_clear or np.ptp(best.powers[varies]) < CONSTANTS.apart:
        return none, belief.scales
    matters = np.array([best.without(i) < best.worth - 2.0 * price for i in range(belief.dimension)])  # each adds a slope and a curvature
    return (np.where(matters, best.powers, best.powers[matters].max()), best.scales) if matters.any() else (none, belief.scales)


def _alike(curvatures: np.ndarray) -> np.ndarray:
    """Powers of 2 in whose units all curvatures are about the same."""
    sizes = np.abs(curvatures)
    powers = -0.5 * np.log2(np.maximum(sizes, 4.0**-FARTHEST * sizes.max() + 1e-300))
    return np.round(powers - powers.mean())


def _cost(powers: np.ndarray) -> float:
    """What units are less likely before anything is known, by the same spread as that of the scales."""
    apart = math.log(2.0) * (powers - powers.mean())
    return 0.5 * float(apart @ apart) / CONSTANTS.prior_spread**2


def _in_units(state: ModelledState, powers: np.ndarray, scales: Scales) -> ModelledState:
    """The state in units that are 2^powers times the present ones, but for a common factor, which the length of the frame takes.

    How large slopes have been is asked anew; the way so far has had one.
    """
    belief, longest = state.belief, powers.max()
    assert belief is not None
    factors, number = np.exp2(powers - longest), len(belief.values)
    units, first, centre = state.units * factors, state.first_point / factors, belief.centre / factors
    frame = dict(centre=centre, length=belief.length * float(np.exp2(longest)), scales=scales)
    seen = belief.but(points=belief.points / factors, built=number, unsearched=number, **frame).fitted()
    way = norm(centre - first)
    new = state.but(
        units=units,
        typical_unit=math.exp(float(np.mean(np.log(units)))),
        belief=seen,
        first_point=first,
        edges=tuple(edge.in_units(factors) for edge in state.edges),
        bend=factors[:, None] * state.bend * factors,
        rows=None,
        measured=None,
        steepest=max(state.fallen - state.doubt, 0.0) / way if way > 0.0 else 0.0,
        gradient_size=0.0,
    )
    new.__dict__.pop("terrain", None)  # which is that of the old units
    return new
