"""A portfolio of a prescribed risk. The growth of wealth is known from simulated years only; the risk is known exactly.

Twenty assets whose returns have heavy tails and jump together. One evaluation simulates ten years week by week and gives minus the growth
rate of the portfolio. The weights are nonnegative and sum to one (the simplex, kept exactly), and their risk is what the client has
agreed to: w' S w = risk^2 (a nonlinear equality).

    zolal solve examples/portfolio.py:problem --maxfev 4000 --seed 0 --checkpoint runs/portfolio
    python examples/portfolio.py
"""

import numpy as np

import zolal
from zolal.sets import Simplex

ASSETS, YEARS, WEEKS, RISK = 20, 10, 52, 0.15  # risk per year
MARKET = np.random.default_rng(7)
LOADINGS = MARKET.normal(0.12, 0.08, size=(ASSETS, 3))
OWN = MARKET.uniform(0.05, 0.35, size=ASSETS)
MEAN = 0.01 + 0.25 * (LOADINGS**2).sum(axis=1) + 0.2 * OWN**2 + MARKET.normal(0.0, 0.06, size=ASSETS)
COVARIANCE = LOADINGS @ LOADINGS.T + np.diag(OWN**2)


def draw(rng):
    """The returns of ten years, week by week: Student's t with five degrees of freedom, scaled to the covariance."""
    common, own = (rng.standard_t(5, size=(YEARS * WEEKS, size)) for size in (3, ASSETS))
    return MEAN / WEEKS + (common @ LOADINGS.T + own * OWN) * np.sqrt(0.6 / WEEKS)  # the variance of t_5 is 5/3


def minus_growth(weights, returns):
    """Minus the growth rate of wealth per year."""
    return -float(np.sum(np.log1p(returns @ weights))) / YEARS


def risk(weights):
    return weights @ COVARIANCE @ weights / RISK**2


def problem():
    return zolal.Problem(
        minus_growth,
        ASSETS,
        zolal.Constraint(risk, 1.0, 1.0, jac=lambda weights: 2.0 * COVARIANCE @ weights / RISK**2),
        Simplex(),
        sample=draw,
        x0=np.full(ASSETS, 1.0 / ASSETS),
    )


def main():
    result = zolal.minimize(problem(), maxfev=4_000, rng=0)
    print("weights", result.x.round(3))
    print("risk", round(float(np.sqrt(result.x @ COVARIANCE @ result.x)), 4), " asked for", RISK)
    print("growth per year", round(-result.fun, 4), "+-", round(result.fun_error, 4))
    print(result.message)


if __name__ == "__main__":
    main()
