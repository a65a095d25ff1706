"""What is believed of the outputs that come with f: a posterior over quadratics for each, and what violations of their bounds cost."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np

from zolal._cached import cached_property
from zolal.constraints import Outputs
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.quadratic import Quadratic


class OutputRow(NamedTuple):
    """An output as its belief has it near a centre: value + <gradient, t> + t.hessian t/2 with t = u - centre, to lie in [low, high]."""

    centre: np.ndarray
    value: float
    gradient: np.ndarray
    hessian: np.ndarray | float  # 0 where it is straight
    low: float
    high: float

    def at(self, u: np.ndarray) -> float:
        t = u - self.centre
        return self.value + float(self.gradient @ t + 0.5 * (t @ np.dot(self.hessian, t)))

    def slope(self, u: np.ndarray) -> np.ndarray:
        return self.gradient + np.dot(self.hessian, u - self.centre)

    def eased(self, value: float) -> "OutputRow":
        """With bounds that leave room for a value outside of them."""
        return self._replace(low=min(self.low, value), high=max(self.high, value))


@final
@dataclass(frozen=True, eq=False)
class Reported:
    """The beliefs about all outputs, in one frame.

    outputs: what they must satisfy. first: the outputs of the first evaluation. multipliers: of the bounds, as of now. prices: what one
    unit of violation counts in units of f. sure: the standard errors within which the mean of each output has to keep its bounds, so that
    all of them hold with the confidence that is asked for. surprise: the mean square of what values missed their forecasts by, in standard
    deviations, which makes errors longer.
    """

    beliefs: tuple[Quadratic, ...]
    outputs: Outputs
    first: np.ndarray
    multipliers: np.ndarray
    prices: np.ndarray
    sure: float
    surprise: float = 1.0
    spare: np.ndarray | float = 0.0  # room beyond that for errors at the centre

    @classmethod
    def start(cls, outputs: Outputs, centre: np.ndarray, values: np.ndarray, length: float, confidence: float) -> "Reported":
        """After one evaluation."""
        beliefs = tuple(Quadratic.start(centre, float(value), length) for value in values)
        nothing = np.zeros(len(outputs))
        return cls(beliefs, outputs, values, nothing, nothing, outputs.errors_within(confidence) + CONSTANTS.chosen)

    def _each(self, change: Callable[[int, Quadratic], Quadratic]) -> "Reported":
        return replace(self, beliefs=tuple(change(j, belief) for j, belief in enumerate(self.beliefs)))

    def told(self, point: np.ndarray, rows: np.ndarray) -> "Reported":
        """After one evaluation at a point, or several; values that have never differed at one point count once."""

        def grown(j: int, belief: Quadratic) -> Quadratic:
            values = rows[:, j]
            same = belief.is_exact and bool((values == values[0]).all())
            return belief.told(point, values[:1] if same else values)

        return self._each(grown)

    def repeated(self, point: np.ndarray, rows: np.ndarray) -> "Reported":
        """After more evaluations at a point that was evaluated before."""

        def again(j: int, belief: Quadratic) -> Quadratic:
            same = belief.is_exact and bool((rows[:, j] == belief.value_at(point)).all())
            return belief if same else belief.repeated(point, rows[:, j])

        return self._each(again)

    def settled(self, centre: np.ndarray, length: float, same: bool) -> "Reported":
        """In the frame of a centre and a length; same: whether it is about the old one."""
        return self._each(lambda j, belief: belief.fitted() if same and not belief.is_full else belief.moved(centre, length))

    def foreseeing(self) -> "Reported":
        """For which all values that come are forecasts."""
        return self._each(lambda j, belief: belief.foreseeing())

    def foretold(self, point: np.ndarray) -> np.ndarray:
        """What an evaluation is believed to report."""
        return np.array([belief.value + belief.foretold(point).change for belief in self.beliefs])

    def tightened(self, point: np.ndarray) -> "Reported | None":
        """With more room for errors, where outputs would not keep their targets at a point, whose errors are its own; else None."""
        there = self.seen_from(point)
        low, high = there.targets
        missing = np.maximum(np.maximum(low - there.values, there.values - high), 0.0)
        if not (missing > 1e-3 * self.sure * there.errors()).any():
            return None
        return replace(self, spare=self.spare + missing)

    def seen_from(self, centre: np.ndarray) -> "Reported":
        return self._each(lambda j, belief: belief.seen_from(centre, belief.length))

    @property
    def is_exact(self) -> bool:
        return all(belief.is_exact for belief in self.beliefs)

    @property
    def values(self) -> np.ndarray:
        """At the centre, as believed."""
        return np.array([belief.value for belief in self.beliefs])

    @property
    def noises(self) -> np.ndarray:
        """The standard deviations of one evaluation."""
        return np.array([0.0 if belief.is_exact else belief.noise for belief in self.beliefs])

    def errors(self, is_repeated: bool = True) -> np.ndarray:
        """The standard errors of the values at the centre; unknown before one point was evaluated twice."""
        found = np.array([0.0 if belief.is_exact else belief.value_error for belief in self.beliefs])
        exact = np.array([noisy is False for noisy in self.outputs.noisy])  # as the user says
        return np.where(exact | is_repeated, math.sqrt(max(self.surprise, 1.0)) * found, np.inf)

    def margins(self, is_repeated: bool = True) -> np.ndarray:
        """What the means have to keep their bounds by.

        Longer where few repeated values tell the noise: z + (z^3 + z)/(4 n) errors, about a quantile of Student's distribution, by the
        first terms of Cornish and Fisher.
        """
        known = np.array([max(belief.repeats.number, 1) for belief in self.beliefs])
        return (self.sure + (self.sure**3 + self.sure) / (4.0 * known)) * self.errors(is_repeated)

    @cached_property
    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds with room for errors, where they leave any."""
        return self.outputs.narrowed(self.margins() + self.spare)

    def cost(self, values: np.ndarray) -> float:
        """What the violations of the targets by some values count, in units of f."""
        return float(self.prices @ np.abs(values - np.clip(values, *self.targets)))

    def violation(self) -> float:
        """The largest violation at the centre, as believed."""
        return float(np.max(np.abs(self.outputs.excess(self.values)), initial=0.0))

    def unsure(self) -> float:
        """The largest violation at the centre that errors may hide, once they are known."""
        values, errors = self.values, self.margins()
        return float(np.max(np.maximum(values + errors - self.outputs.upper, self.outputs.lower - values + errors), initial=0.0))

    def rows(self) -> tuple[OutputRow, ...]:
        """The models as rows that keep the targets."""
        targets = zip(self.beliefs, *self.targets, strict=True)
        return tuple(OutputRow(b.centre, b.value, b.gradient, b.hessian, float(low), float(high)) for b, low, high in targets)

    def priced(self, gradient: np.ndarray, multipliers: np.ndarray) -> "Reported":
        """With prices above the multipliers, so that no violation pays; before those are known, as f and the output compare in slope."""
        size = math.sqrt(float(gradient @ gradient)) or 1.0  # where f is the same everywhere, any price is right
        slopes = np.array([math.sqrt(max(float(b.gradient @ b.gradient), b.prior_variance)) for b in self.beliefs])
        least = np.maximum(CONSTANTS.overpriced * np.abs(multipliers), CONSTANTS.price_memory * self.prices)
        return replace(self, prices=np.maximum(least, size / np.maximum(slopes, 1e-300)))

    def raised(self, factor: float) -> "Reported":
        """With all prices times a number."""
        return replace(self, prices=factor * self.prices)

    def deviation(self, point: np.ndarray, multipliers: np.ndarray) -> float:
        """Of what the cost at a point is foretold to be: that of the outputs that hold x back, or would."""
        low, high = self.targets
        square = 0.0
        for j, belief in enumerate(self.beliefs):
            foretold = belief.foretold(point)
            value = belief.value + foretold.change
            if multipliers[j] or not low[j] <= value <= high[j]:
                square += (self.prices[j] * foretold.deviation) ** 2
        return math.sqrt(square)

    def doubt(self, multipliers: np.ndarray, measured: bool) -> np.ndarray:
        """What the outputs add to the covariance of the Lagrangian's gradient."""
        d = self.beliefs[0].dimension
        parts = (y * y * (b.measured[1] if measured else b.covariance) for y, b in zip(multipliers, self.beliefs, strict=True) if y)
        return sum(parts, np.zeros((d, d)))

    def best_radius(self) -> float:
        """How far a look goes that says most of the noisy outputs; 0 where none is noisy."""
        return max((belief.best_radius() for belief in self.beliefs if not belief.is_exact), default=0.0)

    def surprises(self, point: np.ndarray, values: np.ndarray, number: int) -> list[float]:
        """The squares of what the values of outputs that matter missed their forecasts by, in standard deviations."""
        each = zip(self.beliefs, values, self.multipliers, strict=True)
        return [belief.surprise(point, value, number) for belief, value, y in each if y]
