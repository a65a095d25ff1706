"""What `minimize` itself takes per evaluation with few variables: processor time outside the objective, on one core.

    python benchmarks/overhead.py [dimensions]

min <x - t, H(x - t)>/2 from x = 0, with random eigenvectors and eigenvalues from 1 to 100; noise of a thousandth of the range; at most
30 (d + 1) evaluations, at most 1,000 in all. The shortest of three runs, whose evaluations are the same.
"""

import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from scipy.optimize import LinearConstraint

import zolal

RUNS, UNITS, MOST = 3, 30, 1000


def quadratic(d, level):
    """The objective, with its own random numbers, and its calls and seconds so far."""
    rng = np.random.default_rng(0)
    axes, _ = np.linalg.qr(rng.standard_normal((d, d)))
    hessian, target = (axes * np.logspace(0.0, 2.0, d)) @ axes.T, rng.standard_normal(d)
    scale = level * 0.5 * target @ hessian @ target
    spent = [0, 0.0]

    def fun(x):
        begun = time.process_time()
        value = 0.5 * (x - target) @ hessian @ (x - target) + scale * rng.standard_normal()
        spent[0], spent[1] = spent[0] + 1, spent[1] + time.process_time() - begun
        return value

    return fun, spent


def measured(d, level, constrained):
    """Evaluations, and milliseconds for each of them outside the objective."""
    fun, spent = quadratic(d, level)
    begun = time.process_time()
    zolal.minimize(fun, np.zeros(d), maxfev=min(UNITS * (d + 1), MOST), rng=0, **constrained)
    return spent[0], 1e3 * (time.process_time() - begun - spent[1]) / spent[0]


def main(dimensions):
    print(f"{'d':>4} {'values':>7} {'constraint':>11} {'evaluations':>12} {'ms per evaluation':>18}")
    for d in dimensions:
        kinds = dict(none={}, equality=dict(constraints=LinearConstraint(np.ones((1, d)), 0.0, 0.0)), box=dict(bounds=[(-1.0, 1.0)] * d))
        for values, level in (("exact", 0.0), ("noisy", 1e-3)):
            for name, constrained in kinds.items():
                measured(d, level, constrained)  # what is loaded once is not counted
                runs = [measured(d, level, constrained) for _ in range(RUNS)]
                print(f"{d:>4} {values:>7} {name:>11} {runs[0][0]:>12} {min(cost for _, cost in runs):>18.2f}", flush=True)


if __name__ == "__main__":
    main([int(d) for d in sys.argv[1:]] or [10, 20, 30, 100, 300])
