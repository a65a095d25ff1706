import numpy as np
from scipy.optimize import NonlinearConstraint, brentq

from zolal.problem import Problem


def sphere_quadratic(dimension: int = 20, noise: float = 0.1, seed: int = 0) -> Problem:
    """min E[<x, a*x>/2 + <b + noise xi, x>] subject to (||x||_2^2 - 1)/2 = 0, with a between -1 and 1: nonconvex, yet solved.

    The global minimiser is x = -b/(a + lambda) with the lambda > -min(a) at which ||x||_2 = 1. xi is standard normal, so the gradient of
    one sample has the standard deviation noise * sqrt(d).

    >>> float(np.linalg.norm(sphere_quadratic(5).solution).round(12))
    1.0
    """
    rng = np.random.default_rng([seed, dimension])
    a, b = np.linspace(-1.0, 1.0, dimension), rng.standard_normal(dimension) / np.sqrt(dimension)
    length = np.linalg.norm(b)
    multiplier = brentq(lambda lam: np.linalg.norm(b / (a + lam)) - 1.0, -a[0] + 1e-12, -a[0] + 2.0 * length + 1.0, xtol=1e-15, rtol=1e-15)
    return Problem(
        lambda x, xi: 0.5 * x @ (a * x) + (b + noise * xi) @ x,
        dimension,
        NonlinearConstraint(lambda x: 0.5 * (x @ x - 1.0), 0.0, 0.0, jac=lambda x: x),
        sample=lambda generator: generator.standard_normal(dimension),
        gradient=lambda x: a * x + b,
        x0=np.full(dimension, dimension**-0.5),
        solution=-b / (a + multiplier),
        multipliers=np.array([multiplier]),
    )
