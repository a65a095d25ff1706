import numpy as np
from scipy.optimize import LinearConstraint, linprog

from zolal.problem import Problem
from zolal.sets import Simplex


def simplex_lp(dimension: int = 20, rows: int = 2, noise: float = 0.1, seed: int = 0) -> Problem:
    """min E[<cost + noise xi, x>] over the unit simplex subject to A x = b: a linear program known only through noisy costs.

    The optimum and the multipliers come from SciPy's HiGHS. b is A at the centre, so the centre is feasible and is the start.

    >>> simplex_lp(6, rows=1).multipliers.shape
    (1,)
    """
    rng = np.random.default_rng([seed, dimension, rows])
    cost, matrix = rng.standard_normal(dimension), rng.standard_normal((rows, dimension))
    centre = np.full(dimension, 1.0 / dimension)
    found = linprog(cost, A_eq=np.vstack([matrix, np.ones(dimension)]), b_eq=np.append(matrix @ centre, 1.0), method="highs")
    return Problem(
        lambda x, xi: (cost + noise * xi) @ x,
        dimension,
        LinearConstraint(matrix, matrix @ centre, matrix @ centre),
        Simplex(),
        sample=lambda generator: generator.standard_normal(dimension),
        gradient=lambda x: cost,
        x0=centre,
        solution=found.x,
        multipliers=-found.eqlin.marginals[:rows],
    )
