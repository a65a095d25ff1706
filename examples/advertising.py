"""Where to advertise? A model behind a function, with a budget.

A team has fitted a model of sales and offers it as a service: it takes the money per channel and answers with the predicted sales. Nobody
gives gradients, and one call in twenty ends in an error. The budget is spent exactly, and at least 30 % goes to regional channels.
Evaluations wait for the service, so eight threads ask at a time; failed calls are tried again; the run is kept in a folder.

    zolal solve examples/advertising.py:problem --maxfev 2000 --seed 0 --checkpoint runs/advertising
    python examples/advertising.py
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.optimize import LinearConstraint

import zolal
from zolal.sets import Box

CHANNELS, REGIONAL = 12, 4


class SalesModel:
    """Stands for the service: a small neural network that was fitted elsewhere, behind a line that is not always good."""

    def __init__(self, seed=3):
        rng = np.random.default_rng(seed)
        self.reach, self.scale = rng.uniform(0.5, 2.0, CHANNELS), rng.uniform(0.15, 0.5, CHANNELS)
        self.mixing = 0.1 * rng.normal(size=(CHANNELS, CHANNELS))
        self.line, self.lock = np.random.default_rng(0), threading.Lock()

    def predict(self, spend):
        """Sales, saturating in each channel, with channels that help and hinder each other."""
        with self.lock:
            good = self.line.random() > 0.05
        if not good:
            raise ConnectionError("the model does not answer")
        seen = 1.0 - np.exp(-spend / self.scale)
        return float(self.reach @ seen + seen @ self.mixing @ seen)


def minus_sales(spend, model=SalesModel()):  # noqa: B008
    return -model.predict(spend)


def problem():
    regional = np.r_[np.ones(REGIONAL), np.zeros(CHANNELS - REGIONAL)]
    return zolal.Problem(
        minus_sales,
        CHANNELS,
        [LinearConstraint(np.ones((1, CHANNELS)), 1.0, 1.0), LinearConstraint(regional[None, :], 0.3, np.inf)],
        Box(0.0, 1.0),
        x0=np.full(CHANNELS, 1.0 / CHANNELS),
    )


def main():
    with ThreadPoolExecutor(8) as threads:
        result = zolal.minimize(problem(), maxfev=2_000, rng=0, workers=threads)
    print("share of the budget per channel", result.x.round(3))
    print("predicted sales", round(-result.fun, 4), " with equal shares", round(-minus_sales(problem().x0), 4))
    print("budget", round(float(result.x.sum()), 4), " regional", round(float(result.x[:REGIONAL].sum()), 4))
    print("calls that failed", sum(count for _, count in result.failures), "of", result.nfev)
    print(result.message)


if __name__ == "__main__":
    main()
