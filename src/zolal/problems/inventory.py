"""A stock problem of a kind that people have: a simulator gives the cost, purchasing gives the constraints."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from zolal.constraints import Constraint, linear
from zolal.problem import Problem
from zolal.sets import Box


@final
@dataclass(frozen=True, eq=False)
class Shop:
    """What is known of the products. Stock is counted in days of mean demand, money and volume per such day and as a share of all."""

    value: np.ndarray  # of one day's stock
    volume: np.ndarray  # of one day's stock
    missed: np.ndarray  # lost per day of unmet demand
    holding: np.ndarray  # paid per day of stock left over at night
    spread: np.ndarray  # of the logarithm of the daily demand

    @classmethod
    def random(cls, products: int, seed: int) -> "Shop":
        rng = np.random.default_rng([seed, products])
        value, volume = (rng.uniform(0.3, 2.0, products) for _ in range(2))
        missed, holding = value * rng.uniform(0.1, 1.5, products), value * rng.uniform(0.02, 0.2, products)
        money = value.sum()
        return cls(value / money, volume / volume.sum(), 100.0 * missed / money, 100.0 * holding / money, rng.uniform(0.2, 0.9, products))

    def simulate(self, stock: np.ndarray, demand: np.ndarray) -> float:
        """The mean daily cost of filling up to `stock` every morning, over the simulated days."""
        cost = np.maximum(demand - stock, 0.0) @ self.missed + np.maximum(stock - demand, 0.0) @ self.holding
        return float(np.mean(cost))

    def draw_demand(self, rng: np.random.Generator, days: int) -> np.ndarray:
        """Log-normal demand of mean 1 with a common shock per day, since busy days are busy for all products."""
        shock = 0.5 * rng.standard_normal((days, 1)) + math.sqrt(0.75) * rng.standard_normal((days, self.spread.size))
        return np.exp(self.spread * shock - 0.5 * self.spread**2)

    def diversity(self, stock: np.ndarray) -> float:
        """The effective number of products on the shelf, as a share of all: exp(entropy of the volume shares) / d."""
        share = stock * self.volume / (stock @ self.volume)
        return float(np.exp(-np.sum(share * np.log(share)))) / stock.size

    def diversity_gradient(self, stock: np.ndarray) -> np.ndarray:
        total, diversity = stock @ self.volume, self.diversity(stock)
        share = stock * self.volume / total
        return -diversity * (self.volume / total) * (np.log(share) + math.log(diversity * stock.size))


def inventory(products: int = 30, days: int = 20, seed: int = 0) -> Problem:
    """Stock levels of a shop: the cost comes from a simulator of random demand, the constraints are exact.

    The stock is worth exactly 1.2 days of demand (a linear equality), its volume stays below 1.15 days (an inequality), and the range stays
    diverse: the effective number of products is at least 3/4 of all (a nonlinear inequality). xi is one simulated period of `days` days.

    >>> problem = inventory(products=5)
    >>> problem.objective(problem.x0, problem.sample(np.random.default_rng(0))) > 0
    True
    """
    shop = Shop.random(products, seed)
    return Problem(
        shop.simulate,
        products,
        [
            linear(shop.value[None, :], 1.2, 1.2, name="budget"),
            linear(shop.volume[None, :], -np.inf, 1.15, name="volume"),
            Constraint(shop.diversity, 0.75, np.inf, jac=shop.diversity_gradient, name="diversity"),
        ],
        Box(0.1, 6.0),
        sample=lambda rng: shop.draw_demand(rng, days),
        x0=np.full(products, 1.2),
        names=[f"product {number}" for number in range(1, products + 1)],
    )


GOODS = ("bread", "milk", "apples", "coffee", "pasta", "wine")
FRESH = 3  # of them, the first ones


def corner_shop(days: int = 1000, seed: int = 0) -> Problem:
    """Stock levels of six named goods. One evaluation simulates `days` days of random demand; nothing of it can be repeated.

    Exact constraints: the stock is worth at most one day of demand (budget) and takes at most 1.3 days of shelf; half of what it takes are
    fresh goods (an equality); the range stays diverse (nonlinear). The shelves are nearly empty at the start.

    >>> problem = corner_shop(days=10)
    >>> problem.objective(problem.x0) > 0
    True
    """
    shop, rng = Shop.random(len(GOODS), 0), np.random.default_rng([seed, 365])
    is_fresh = np.arange(len(GOODS)) < FRESH
    return Problem(
        lambda stock: shop.simulate(stock, shop.draw_demand(rng, days)),
        len(GOODS),
        [
            linear(shop.value[None, :], -np.inf, 1.0, name="budget"),
            linear(shop.volume[None, :], -np.inf, 1.3, name="shelf"),
            linear(((is_fresh - 0.5) * shop.volume)[None, :], 0.0, 0.0, name="fresh goods"),
            Constraint(shop.diversity, 0.8, np.inf, jac=shop.diversity_gradient, name="variety"),
        ],
        Box(0.05, 4.0),
        x0=np.full(len(GOODS), 0.4),
        names=list(GOODS),
    )
