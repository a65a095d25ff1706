"""Stock levels of goods that are ordered anew every day: a simulation tells what stays in stock and how much demand is met at once."""

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from zolal._checks import nonnegative_int, positive_int, require
from zolal.constraints import Simulated
from zolal.problem import Problem
from zolal.sets import Box

MEANS, SPREADS = (1.0, 2.0, 0.5), (0.25, 0.4, 0.15)  # of the demand of one day
HOLDING = (1.0, 0.6, 1.5)  # paid for one unit in stock at night
LEAD = 3  # days from an order to its delivery


@final
@dataclass(frozen=True, eq=False)
class BaseStock:
    """One call simulates `days` days with orders up to a level: (mean cost of what is left at night, [share of demand met at once]).

    Demand is normal and waits where stock is short. The stock at night is the level less the demand of LEAD + 1 days; what a day adds to
    the backlog is unmet. A call is not repeated by an equal one: the generator is of this object.
    """

    days: int
    seed: int
    generator: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "generator", np.random.default_rng([self.seed, self.days, 0xBA]))

    def cost(self, levels: np.ndarray) -> float:
        """Exactly: sum_i h_i E[(level - D)^+], D the demand of LEAD + 1 days."""
        mean, spread = _demand(LEAD + 1)
        return float(np.array(HOLDING) @ (levels - mean + spread * _loss((levels - mean) / spread)))

    def met(self, levels: np.ndarray) -> float:
        """Exactly: 1 - sum_i (E[backlog after the day] - E[backlog before it]) / E[demand]."""
        after, before = ((spread * _loss((levels - mean) / spread)) for mean, spread in (_demand(LEAD + 1), _demand(LEAD)))
        return 1.0 - float(np.sum(after - before)) / sum(MEANS)

    def __call__(self, levels: np.ndarray) -> tuple[float, list[float]]:
        demand = self.generator.normal(MEANS, SPREADS, (self.days + LEAD, len(MEANS)))
        total = np.cumsum(np.vstack([np.zeros(len(MEANS)), demand]), axis=0)
        after = total[LEAD + 1 :] - total[: -LEAD - 1] - levels
        before = after - demand[LEAD:]
        unmet = np.maximum(after, 0.0) - np.maximum(before, 0.0)
        cost = float(np.mean(np.maximum(-after, 0.0) @ np.array(HOLDING)))
        return cost, [1.0 - float(np.mean(unmet.sum(axis=1))) / sum(MEANS)]


def base_stock(service: float = 0.95, days: int = 200, seed: int = 0) -> Problem:
    """Levels of three goods with the least cost of stock such that a share `service` of all demand is met at once, from too low a start.

    Both come out of the simulation, with noise. The solution balances, good by good, what one more unit costs and what it serves.

    >>> problem = base_stock()
    >>> round(problem.objective.met(problem.solution), 12)
    0.95
    """
    require(0.5 < service < 1.0, "base_stock(service=...)", "be between 0.5 and 1", service)
    mean, spread = _demand(LEAD + 1)
    model = BaseStock(positive_int("base_stock(days=...)", days), nonnegative_int("base_stock(seed=...)", seed))
    return Problem(
        model,
        len(MEANS),
        Simulated(lower=service, name="demand met at once"),
        Box(mean - spread, mean + 6.0 * spread),
        x0=mean.copy(),
        solution=_solution(model, service),
        names=[f"level {number}" for number in range(1, len(MEANS) + 1)],
    )


def _demand(days: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the demand of so many days."""
    return days * np.array(MEANS), math.sqrt(days) * np.array(SPREADS)


def _loss(z: np.ndarray) -> Any:
    """E[(N - z)^+] of a standard normal N: phi(z) - z (1 - Phi(z))."""
    return np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) - z * ndtr(-z)


def _levels(price: float) -> np.ndarray:
    """Where h_i P(D <= level) = price P(D' <= level < D), D and D' with and without today: what is paid for service is what it costs."""
    (mean, spread), (less, narrow) = _demand(LEAD + 1), _demand(LEAD)

    def excess(level: float, i: int) -> float:
        full = ndtr((level - mean[i]) / spread[i])
        return float(HOLDING[i] * full - price * (ndtr((level - less[i]) / narrow[i]) - full))

    return np.array([brentq(excess, less[i], mean[i] + 8.0 * spread[i], args=(i,), xtol=1e-12) for i in range(len(mean))])


def _solution(model: BaseStock, service: float) -> np.ndarray:
    return _levels(brentq(lambda price: model.met(_levels(price)) - service, 1.0, 1e6, xtol=1e-10, rtol=1e-14))
