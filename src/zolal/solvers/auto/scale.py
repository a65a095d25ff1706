"""One unit per variable: what counts as a step of order 1 in it."""

import numpy as np

ALIKE = 100.0  # the ratio of large to small |x0| up to which variables are taken to be of one kind


def units(lower: np.ndarray, upper: np.ndarray, x0: np.ndarray, given: np.ndarray | None = None) -> np.ndarray:
    """`given`; else the width of finite bounds; else from |x0|; else 1.

    Without bounds the sizes of the start's entries are those of the variables only where they differ by orders of magnitude: entries of
    one order, as those of a random start, say nothing about which variable is longer, and all get their median. The decision is made by
    the tenth and the ninetieth of a hundred entries, so that single entries near 0 do not make it. Zeros get the typical size of others.
    """
    if given is not None:
        return np.broadcast_to(np.asarray(given, dtype=float), x0.shape).copy()
    width = upper - lower
    bounded = np.isfinite(width) & (width > 0.0)
    found = np.where(bounded, width, 0.0)
    free = ~np.isfinite(width)
    sizes = np.abs(x0[free])
    there = sizes[sizes > 0.0]
    if len(there):
        typical = float(np.exp(np.mean(np.log(there)))) if _differ(there) else float(np.median(there))
        found[free] = np.where(sizes > 0.0, sizes, typical) if _differ(there) else typical
    else:
        found[free] = 1.0
    fixed = np.isfinite(width) & ~bounded
    found[fixed] = np.median(found[~fixed]) if not fixed.all() else 1.0
    return found


def _differ(sizes: np.ndarray) -> bool:
    small, large = np.quantile(sizes, [0.1, 0.9])
    return bool(large > ALIKE * small)
