"""What the solver for few variables knows after k batches."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from zolal._array import EPS, Array
from zolal._cached import cached_property
from zolal.linearization import Linearization
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import norm
from zolal.solvers.auto.edges import Edge
from zolal.solvers.auto.quadratic import Quadratic
from zolal.solvers.auto.reported import Reported
from zolal.solvers.auto.terrain import Terrain
from zolal.solvers.base import Candidate, State


class Trial(NamedTuple):
    """What was foretold of a step: how much f falls, the standard deviation of that, and the step's length."""

    gain: float
    deviation: float
    length: float


class UnderWay(NamedTuple):
    """An evaluation that was asked for and has not been told. centre, radius: those that it was planned with."""

    slot: int
    number: int  # how many were asked for before
    point: np.ndarray
    trial: Trial | None
    centre: np.ndarray
    radius: float
    is_repeat: bool = False  # whether it asks for one more value at a point that has one


@final
@dataclass(frozen=True, eq=False)
class Flight:
    """The evaluations that are under way, in the order in which they were asked for. owed: those to be asked for next.

    asked: how many there have been. plans: how many of them were planned; the others were owed.
    """

    under_way: tuple[UnderWay, ...] = ()
    owed: tuple[UnderWay, ...] = ()
    asked: int = 0
    plans: int = 0


@final
@dataclass(frozen=True, eq=False)
class ModelledState(State):
    """The state after k batches. z: the centre of the belief, which is the best point so far but for the first looks."""

    units: np.ndarray
    typical_unit: float  # their geometric mean, by which gradients per unit become ordinary ones where all units are equal
    radius: float  # Delta, in units
    asked: np.ndarray  # u of the next evaluation
    trial: Trial | None  # what was foretold of it where it is a step; None for a look
    first_point: np.ndarray  # u of the start
    first_value: float  # there, NaN before it is known
    belief: Quadratic | None
    bend: np.ndarray  # the curvature of the constraints
    multipliers: Array
    rows: Linearization | None = None  # the constraints at the centre
    measured: np.ndarray | None = None  # the centre that they belong to
    failures: int = 0  # steps in a row that were not accepted
    has_failed: bool = False  # whether a step ever was not
    is_warned: bool = False  # whether a step failed, or any value was missing, since the last step that was accepted
    looks: int = 0  # in a row, without a step between them
    next_looks: tuple[np.ndarray, ...] = ()  # those that were planned together with the next evaluation
    repeats: int = 0  # more values that are asked for at the centre
    unanswered: int = 0  # times that such a value did not come
    is_repeated: bool = False  # whether some point has given two values, which tells whether there is noise
    hair: float = 0.0  # how far from a point more values at it are asked for, where f is rough or may be
    smooth_to: float = math.inf  # the radius down to which f has been seen to be smooth
    steepest: float = 0.0  # the mean slope of a move, per unit of u, that f has surely fallen along: the largest so far
    missing: int = 0  # evaluations in a row that gave no value
    has_missed: bool = False  # whether any gave none
    edges: tuple[Edge, ...] = ()  # points where f had no value, which steps and looks keep away from
    next_units: int = 0  # the batch after which other units are asked for next
    plateau: float = 0.0  # the radius that a plateau around the centre asks for
    last_length: float = math.inf  # of the last step that was accepted
    is_stuck: bool = False  # whether there is nothing left to evaluate
    surprise: float = 1.0  # the mean square of what values missed their forecasts by, in standard deviations, lately
    first_spread: float = 0.0  # by how much the first looks differ from the start: the size of f where the start is a solution
    gradient_size: float = 0.0  # the largest gradient believed in, per typical unit
    error: float = math.inf  # the root mean square error of the gradient along what is free
    deviations: float = 2.0  # of `error` that are added to the stationarity before it counts as small
    reported: Reported | None = None  # what is believed of the outputs that come with f
    flight: Flight | None = None  # where several evaluations are under way at a time
    gain: float = math.inf  # what the next step is foretold to gain

    def but(self, **changes: Any) -> "ModelledState":
        """With some fields changed: `dataclasses.replace`, which asks for every field by name, takes ten times as long."""
        new = object.__new__(ModelledState)
        new.__dict__.update(self.__dict__, **changes)
        new.__dict__.pop("_batch", None)  # what is asked for is asked for by one state
        return new

    @cached_property
    def terrain(self) -> Terrain:
        """The bounds and constraints, which every state of a run has in common."""
        return Terrain.of(self.form, self.units, self.x)

    @property
    def begins_feasible(self) -> bool:
        return True

    @property
    def fun(self) -> float:
        """f at the iterate, as believed."""
        return math.nan if self.belief is None else self.belief.value

    @property
    def fun_error(self) -> float:
        """Unknown before one point was evaluated twice."""
        return self.belief.value_error if self.belief is not None and self.is_repeated else math.nan

    @property
    def stationarity_error(self) -> float:
        return self.error if self.is_repeated else math.nan

    @property
    def best(self) -> Candidate:
        """The centre, as other states name their best point."""
        return Candidate(self.z, self.multipliers, None)

    @property
    def fallen(self) -> float:
        """By how much f has fallen since the start, and what violations of outputs cost."""
        if self.belief is None:
            return 0.0
        begun = 0.0 if self.reported is None else self.reported.cost(self.reported.first)
        return self.first_value + begun - self.merit

    @property
    def extent(self) -> float:
        """What gains are small beside: what f has fallen by; before it clearly has, also the first values' spread."""
        return max(self.fallen, 0.0 if self.has_clearly_fallen else self.first_spread, 1e-300)

    @property
    def has_clearly_fallen(self) -> bool:
        """Whether f has fallen by much more than rounding or noise; what the first looks saw, maybe where f is huge, is no measure then."""
        if self.belief is None:
            return False
        rounding = CONSTANTS.clear * max(abs(self.first_value), abs(self.belief.value))
        return self.fallen > max(rounding, CONSTANTS.clear_doubts * self.doubt)

    @property
    def has_yet_to_fall(self) -> bool:
        """Whether f has not clearly fallen yet although a step is foretold to gain what a value can tell.

        Where bounds are loose the first looks see f change by so much that all there is to gain near the start would be next to nothing. A
        value at the start that is 0, or rounding of what they saw, has nothing to lose.
        """
        if self.belief is None or self.reported is not None or self.has_clearly_fallen:
            return False
        if not self.is_exact:
            return self.gain > CONSTANTS.noise_margin * self.noise
        value = abs(self.first_value)
        return value > EPS**1.5 * self.first_spread and self.gain > CONSTANTS.rounding * EPS * value

    @property
    def merit(self) -> float:
        """f at the centre with what violations of outputs cost there, as believed."""
        assert self.belief is not None
        return self.belief.value + (0.0 if self.reported is None else self.reported.cost(self.reported.values))

    @property
    def noise(self) -> float:
        """The standard deviation of the merit of one evaluation, 0 where nothing is noisy.

        The belief takes what it misses for noise; a value that lies above another by more than repeats allow is none of the noise's doing.
        """
        assert self.belief is not None
        own = 0.0 if self.belief.is_exact else min(self.belief.noise, self.belief.repeats.most_noise)
        return own if self.reported is None else math.hypot(own, norm(self.reported.prices * self.reported.noises))

    @property
    def doubt(self) -> float:
        """What noise may have made of the difference between the start and the centre, which was chosen by the values that vouch for it."""
        assert self.belief is not None
        if self.is_exact:
            return 0.0
        error = self.belief.value_error
        return CONSTANTS.noise_margin * math.hypot(self.noise, error) + CONSTANTS.chosen * error

    @property
    def has_fallen(self) -> bool:
        """Whether f is surely less at the centre than it was at the start, which was evaluated once."""
        return self.fallen > self.doubt

    @property
    def is_hidden(self) -> bool:
        """Whether all values of f, near and far, differ by no more than noise does."""
        belief = self.belief
        if belief is None or belief.is_exact or len(belief.values) <= 2 * belief.dimension:
            return False
        most = (1.0 + CONSTANTS.hidden / math.sqrt(2.0 * len(belief.values))) * belief.noise  # a spread of N values is known to 1/sqrt(2N)
        return float(np.std(belief.values)) <= most and not (self.reported is None and self.has_fallen)

    @property
    def is_aimless(self) -> bool:
        """Whether outputs are all that matters: f has been the same wherever it was evaluated, or noise hides what it changes by."""
        belief = self.belief
        if belief is None or self.reported is None:
            return False
        far = CONSTANTS.longest_look * self.radius >= CONSTANTS.farthest_look * math.sqrt(len(self.units))  # as far as looks may go
        return (far and self.is_hidden) or (belief.is_flat and len(belief.values) > belief.dimension)

    @property
    def is_exact(self) -> bool:
        """Whether equal points have given equal values, and equal outputs."""
        assert self.belief is not None
        return self.belief.is_exact and (self.reported is None or self.reported.is_exact)

    @property
    def best_radius(self) -> float:
        """How far a look goes that says most of what is noisy.

        An output that is straight asks for no end of it, as does f where noise hides it, and gets a few lengths.
        """
        assert self.belief is not None
        if self.reported is None:
            return self.belief.best_radius()
        most = CONSTANTS.farthest_look * max(norm(self.belief.centre - self.first_point), math.sqrt(len(self.units)))
        outputs = min(self.reported.best_radius(), most)
        own = min(self.belief.best_radius(), most) if self.is_aimless else self.belief.best_radius()
        return outputs if self.belief.is_exact and outputs else max(own, outputs)

    @property
    def residual(self) -> float:
        """The largest of: stationarity and doubt, relative to the largest gradient; the root of the relative gain; feasibility."""
        if self.belief is None or not self.is_repeated or not self.gradient_size > 0.0:
            return math.inf
        gain = math.sqrt(max(self.gain, 0.0) / self.extent)
        unsure = 0.0 if self.reported is None else self.reported.unsure()
        return float(max((self.stationarity + self.deviations * self.error) / self.gradient_size, gain, self.feasibility, unsure))
