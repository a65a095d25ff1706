"""How fast should each desk of an office work? A noisy simulation with design constraints.

Visitors pass four desks one after the other. A simulator of 400 visitors gives their mean time in the office; there is no formula to
differentiate. Speed costs money: the budget is spent exactly (an equality), no desk works more than three times as fast as visitors come (a
bound), and the two back-office desks together stay below a limit (an inequality).

    zolal solve examples/queueing.py:problem --maxfev 5000 --seed 0 --checkpoint runs/queueing
    python examples/queueing.py
"""

import numpy as np
from scipy.optimize import LinearConstraint

import zolal
from zolal.sets import Box

VISITORS = 400
COST = np.array([1.0, 2.0, 4.0, 1.5])  # of one unit of speed, per desk
BUDGET = 16.0


def draw(rng):
    """One day: the gaps between visitors and the work that each brings to each desk, all of mean 1."""
    return rng.exponential(size=VISITORS), rng.exponential(size=(COST.size, VISITORS))


def time_in_office(speed, day):
    """The mean time from entering to leaving. A desk serves in order of arrival, so visitor n leaves it at

    max over j <= n of (arrival of j + the work of j, ..., n).
    """
    gaps, work = day
    arrival = leaving = np.cumsum(gaps)
    for desk, rate in enumerate(speed):
        done = np.cumsum(work[desk] / rate)
        leaving = done + np.maximum.accumulate(leaving - done + work[desk] / rate)
    return float(np.mean(leaving - arrival))


def problem():
    return zolal.Problem(
        time_in_office,
        COST.size,
        [LinearConstraint(COST[None, :], BUDGET, BUDGET), LinearConstraint([[0.0, 0.0, 1.0, 1.0]], -np.inf, 3.8)],
        Box(1.05, 3.0),
        sample=draw,
        x0=np.full(COST.size, BUDGET / COST.sum()),
    )


def main():
    result = zolal.minimize(problem(), maxfev=5_000, rng=0)
    print("speed of each desk", result.x.round(2))
    print("mean time in the office", round(result.fun, 3), "+-", round(result.fun_error, 3))
    print("largest violation", f"{result.maxcv:.1e}", " price of the budget", round(float(result.multipliers[0]), 3))
    print(result.message)


if __name__ == "__main__":
    main()
