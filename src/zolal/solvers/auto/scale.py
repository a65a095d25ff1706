"""One unit per variable: what counts as a step of order 1 in it."""

import numpy as np

from zolal.sets.box import ENDLESS

ALIKE = 100.0  # the ratio of large to small |x0| up to which variables are taken to be of one kind
SAME = 1e-9  # by which widths may differ that are meant to be equal
NOTHING = 1e-15  # of the largest |x0|: what is less is a 0 that rounding has left
NARROW, WIDE = 2.0, 1e-3  # a bounded variable's unit is its width or 2 |x0|, whichever is less, and at least a thousandth of the width


def units(lower: np.ndarray, upper: np.ndarray, x0: np.ndarray, given: np.ndarray | None = None) -> np.ndarray:
    """`given`; else the width of finite bounds, where the start does not show that they are loose; else from |x0|; else 1."""
    if given is not None:
        return np.broadcast_to(np.asarray(given, dtype=float), x0.shape).copy()
    width = upper - lower
    free, fixed = ~(width < ENDLESS), width == 0.0
    bounded = ~free & ~fixed
    found = np.ones_like(x0)
    found[bounded] = width[bounded] * _shares(np.abs(x0[bounded]), width[bounded])
    found[free] = _sizes(np.abs(x0[free]))
    found[fixed] = np.median(found[~fixed]) if not fixed.all() else 1.0
    return found


def _shares(sizes: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The unit over the width, from |x0| over the width: 1 unless the start is much nearer to 0 than the bounds are wide.

    Bounds such as [0, 10^5] around a start of 1 say that nobody knows them, not that 10^5 is a step of order 1. Variables with bounds of
    one width are of one kind. A start of 0 says nothing of its own kind, which then gets what others show.
    """
    ratios = np.zeros_like(sizes)
    for width in np.unique(widths):
        kind = np.abs(widths - width) <= SAME * width
        ratios[kind] = _sizes(sizes[kind]) / width if sizes[kind].any() else 0.0
    shares = np.clip(NARROW * ratios, WIDE, 1.0)
    told = ratios > 0.0
    return np.where(told, shares, np.exp(np.mean(np.log(shares[told]))) if told.any() else 1.0)


def _sizes(sizes: np.ndarray) -> np.ndarray:
    """From |x0| alone.

    Entries of one order, as those of a random start, do not say which variable is longer, so all get their median. Entries that differ by
    orders of magnitude do; the tenth and the ninetieth of a hundred decide, so that single entries near 0 do not. Zeros get the
    typical size of the others, and so do entries that are nothing beside the largest one.
    """
    shown = sizes > NOTHING * np.max(sizes, initial=0.0)
    there = sizes[shown]
    if not len(there):
        return np.ones_like(sizes)
    small, large = np.exp(np.quantile(np.log(there), [0.1, 0.9]))
    if large <= ALIKE * small:
        return np.full_like(sizes, np.median(there))
    return np.where(shown, sizes, np.exp(np.mean(np.log(there))))
