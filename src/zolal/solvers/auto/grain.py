"""What values have in common that were rounded, printed or counted."""

import math

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS


def grain(values: np.ndarray, rounding: float) -> float | None:
    """The largest number that all differences of the values are multiples of, up to rounding; 0 where they have no such thing in common.

    None where too few of them are different.

    Euclid's algorithm. Values of a smooth function have nothing in common, which shows after a few of them.
    """
    close = CONSTANTS.grain_margin * rounding
    differences = np.sort(np.abs(values - values[0])[-CONSTANTS.grain_values :])
    differences = differences[np.diff(differences, prepend=0.0) > 100.0 * close]
    if len(differences) < CONSTANTS.grain_least:
        return None
    if float(np.median(differences[1:] / differences[:-1])) > CONSTANTS.grain_ratio:  # looks at halved distances, no grid
        return 0.0
    common = float(differences[0])
    for difference in differences[1:]:
        larger = float(difference)
        while common > 100.0 * close:
            rest = math.fmod(larger, common)
            if min(rest, common - rest) <= close:
                break
            larger, common = common, rest
        else:
            return 0.0
    return common
