import numpy as np
from scipy.optimize import LinearConstraint, brentq

from zolal.problem import Problem
from zolal.regularizers import L1
from zolal.sets import Box


def l1_box(dimension: int = 20, weight: float = 0.2, noise: float = 0.1, seed: int = 0) -> Problem:
    """min E[||x - t - noise xi||^2 - ||noise xi||^2]/2 + weight ||x||_1 over [-1, 1]^d subject to <a, x> = 1/2.

    For the multiplier lambda the minimiser is clip(soft(t - lambda a, weight), -1, 1); lambda is the root of one monotone equation.

    >>> problem = l1_box(4)
    >>> float(problem.constraints.A[0] @ problem.solution)  # doctest: +ELLIPSIS
    0.5...
    """
    rng = np.random.default_rng([seed, dimension])
    t, a = rng.standard_normal(dimension), rng.uniform(0.5, 1.5, dimension)

    def minimiser(lam: float) -> np.ndarray:
        moved = t - lam * a
        return np.clip(np.sign(moved) * np.maximum(np.abs(moved) - weight, 0.0), -1.0, 1.0)

    multiplier = brentq(lambda lam: 0.5 - a @ minimiser(lam), -20.0, 20.0, xtol=1e-15, rtol=1e-15)
    return Problem(
        lambda x, xi: 0.5 * (x - t) @ (x - t) - noise * xi @ (x - t),
        dimension,
        LinearConstraint(a[None, :], 0.5, 0.5),
        Box(-1.0, 1.0),
        L1(weight),
        sample=lambda generator: generator.standard_normal(dimension),
        gradient=lambda x: x - t,
        x0=np.zeros(dimension),
        solution=minimiser(multiplier),
        multipliers=np.array([multiplier]),
    )
