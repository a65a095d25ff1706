"""What values have in common that were rounded, printed or counted: multiples of one number, and plateaus."""

import itertools
import math
import statistics

import numpy as np

from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.dense import square_lengths

PLATEAU = 0.1  # lengths: how far away equal values say that f has steps


def grain(values: np.ndarray, rounding: float) -> float | None:
    """The largest number that all differences of the values are multiples of, up to rounding; 0 where they have no such thing in common.

    None where too few of them are different.

    Euclid's algorithm. Values of a smooth function have nothing in common, which shows after a few of them.
    """
    close = CONSTANTS.grain_margin * rounding
    every = np.sort(np.abs(values - values[0])[-CONSTANTS.grain_values :]).tolist()
    differences = [larger for smaller, larger in zip([0.0, *every], every, strict=False) if larger - smaller > 100.0 * close]
    if len(differences) < CONSTANTS.grain_least:
        return None
    ratios = [larger / smaller for smaller, larger in itertools.pairwise(differences)]
    if statistics.median(ratios) > CONSTANTS.grain_ratio:  # looks at halved distances, no grid
        return 0.0
    common = differences[0]
    for larger in differences[1:]:
        while common > 100.0 * close:
            rest = math.fmod(larger, common)
            if min(rest, common - rest) <= close:
                break
            larger, common = common, rest
        else:
            return 0.0
    return common


def is_plateau(offsets: np.ndarray, are_equal: np.ndarray) -> bool:
    """Whether, about one length away, values that are equal to the centre's lie in all directions that were looked at."""
    equal = offsets[are_equal]
    same = equal[square_lengths(equal) >= PLATEAU**2]
    if not len(same):
        return False
    there = offsets[square_lengths(offsets) >= PLATEAU**2]
    enough = len(same) >= min(offsets.shape[1], len(there))
    return enough and bool(np.linalg.matrix_rank(same) == np.linalg.matrix_rank(there))
