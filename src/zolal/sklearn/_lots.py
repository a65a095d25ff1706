"""The best lot among classifiers: shares of those that were tried, by a linear programme, and which one to try next.

    minimise  sum_j q_j loss_j + M t   over  q >= 0, sum_j q_j = 1, t >= 0   with   lower - t <= sum_j q_j rates_j <= upper + t

The multipliers y of the limits price the rates: a classifier with loss + y.rates below that of all tried ones would make the lot better,
and where there is none the lot is the best that classifiers of this kind can make (Dantzig and Wolfe's column generation).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from zolal.sklearn._rates import Rates

DEAR = 1e3  # M in units of the losses' range: a limit is violated only where all lots do
SMALLEST = 1e-9  # a share that is none


class Tried(NamedTuple):
    """One classifier: its loss, its rates, and its weights."""

    loss: float
    rates: np.ndarray
    weights: np.ndarray


class Lot(NamedTuple):
    """Shares of the classifiers that were tried, the violation t that is left, and the price of each rate."""

    shares: np.ndarray
    violation: float
    prices: np.ndarray

    def price(self, one: Tried) -> float:
        """The loss and what the rates cost."""
        return one.loss + float(self.prices @ one.rates)


def best_lot(tried: list[Tried], limits: Rates) -> Lot:
    """The shares with the least expected loss."""
    losses, table = np.array([one.loss for one in tried]), np.array([one.rates for one in tried]).T.reshape(-1, len(tried))
    m, n = table.shape
    dear = DEAR * max(float(np.ptp(losses)), 1e-12 * float(np.max(np.abs(losses))), np.finfo(float).tiny)
    above, below = np.isfinite(limits.upper), np.isfinite(limits.lower)
    rows = np.vstack([table[above], -table[below]])
    found = linprog(
        np.append(losses - losses.min(), dear),
        A_ub=np.hstack([rows, -np.ones((len(rows), 1))]),
        b_ub=np.append(limits.upper[above], -limits.lower[below]),
        A_eq=np.append(np.ones(n), 0.0)[None, :],
        b_eq=[1.0],
    )
    prices = np.zeros(m)
    prices[above] -= found.ineqlin.marginals[: int(above.sum())]
    prices[below] += found.ineqlin.marginals[int(above.sum()) :]
    shares = np.where(found.x[:n] > SMALLEST, found.x[:n], 0.0)
    return Lot(shares / shares.sum(), float(found.x[n]), prices)
