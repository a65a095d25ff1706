"""A line of single servers in a row: rates cost money, and only a simulation tells how long customers take. Its optimum is known."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from zolal._checks import nonnegative_int, positive, positive_int
from zolal.constraints import Simulated
from zolal.problem import Problem
from zolal.sets import Box

ARRIVALS = 1.0  # customers per unit of time
PRICES = (1.0, 2.0, 1.5)  # of one unit of rate, server by server
SLOWEST, FASTEST = 1.25, 6.0  # rates to choose from
WARM_UP = 0.25  # of the customers, who find the line still emptier than it will be


@final
@dataclass(frozen=True, eq=False)
class Tandem:
    """One call simulates `customers` who pass all servers one after another: (price of the rates, [their mean time in the line]).

    Arrivals are Poisson, services exponential, queues first come, first served. A call is not repeated by an equal one: the generator is of
    this object, so a run is repeated by making the problem anew.
    """

    prices: np.ndarray
    customers: int
    seed: int
    generator: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "generator", np.random.default_rng([self.seed, self.customers, 0x7A]))

    def cost(self, rates: np.ndarray) -> float:
        return float(self.prices @ rates)

    def time(self, rates: np.ndarray) -> float:
        """The mean time in the line, exactly: sum_i 1/(rate_i - arrivals), for each server sees Poisson arrivals (Burke's theorem)."""
        return float(np.sum(1.0 / (rates - ARRIVALS)))

    def __call__(self, rates: np.ndarray) -> tuple[float, list[float]]:
        arrival = np.cumsum(self.generator.exponential(1.0 / ARRIVALS, self.customers))
        leave = arrival
        for rate in rates:
            leave = departures(leave, self.generator.exponential(1.0 / rate, self.customers))
        first = int(WARM_UP * self.customers)
        return self.cost(rates), [float(np.mean((leave - arrival)[first:]))]


def departures(arrivals: np.ndarray, services: np.ndarray) -> np.ndarray:
    """When customers leave one server: D_k = max(A_k, D_{k-1}) + S_k, which is Lindley's recursion, without a loop.

    >>> departures(np.array([0.0, 1.0, 5.0]), np.array([2.0, 1.0, 1.0])).tolist()
    [2.0, 3.0, 6.0]
    """
    worked = np.cumsum(services)
    return worked + np.maximum.accumulate(arrivals - (worked - services))


def tandem(limit: float = 2.0, customers: int = 1000, seed: int = 0) -> Problem:
    """Three servers in a row, as cheap as possible, such that customers take at most `limit` on average; the start is too slow.

    min <p, r> subject to sum_i 1/(r_i - a) <= limit, which only simulations tell, with noise. The solution is
    r_i = a + sum_j sqrt(p_j) / (limit sqrt(p_i)).

    >>> problem = tandem()
    >>> round(problem.objective.time(problem.solution), 12), round(problem.objective.cost(problem.solution), 4)
    (2.0, 11.121)
    """
    limit, customers = positive("tandem(limit=...)", limit), positive_int("tandem(customers=...)", customers)
    prices = np.array(PRICES)
    roots = np.sqrt(prices)
    return Problem(
        Tandem(prices, customers, nonnegative_int("tandem(seed=...)", seed)),
        len(prices),
        Simulated(upper=limit, name="time in the line"),
        Box(SLOWEST, FASTEST),
        x0=np.full(len(prices), 1.6),
        solution=ARRIVALS + roots.sum() / (limit * roots),
        names=[f"rate {number}" for number in range(1, len(prices) + 1)],
    )
