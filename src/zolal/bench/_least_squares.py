"""The 53 problems of Moré and Wild in the form that `zolal bench more-wild` gives to everyone."""

import numpy as np
from scipy.optimize import Bounds

from zolal._array import Array
from zolal._checks import require
from zolal.bench._given import Given
from zolal.problems import MORE_WILD, more_wild, more_wild_residuals

NAMES = [f"MW{number:02d}" for number in range(1, len(MORE_WILD) + 1)]
TINY = 1e-30  # the imaginary step of a derivative without cancellation


def load(name: str) -> Given:
    """Problem MW01 to MW53."""
    require(name in NAMES, "name", f"be one of {NAMES[0]} to {NAMES[-1]}", name)
    number = NAMES.index(name) + 1
    row, problem = MORE_WILD[number - 1], more_wild(number)

    def gradient(x: Array) -> Array:
        steps = x + 1j * TINY * np.eye(row.n)
        jacobian = np.array([more_wild_residuals(row, step).imag / TINY for step in steps])
        return 2.0 * jacobian @ more_wild_residuals(row, x)

    return Given(name, problem.objective, gradient, problem.x0, Bounds(np.full(row.n, -np.inf), np.full(row.n, np.inf)), [])
