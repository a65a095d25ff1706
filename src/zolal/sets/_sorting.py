"""The projection that the simplex and the l1 ball share."""

from array_api_compat import device

from zolal._array import Array, maximum, namespace


def project_simplex(x: Array, radius: float) -> Array:
    """The nearest point of {y >= 0, sum(y) = radius}: y = max(x - theta, 0) with theta found by sorting.

    Values are taken relative to the largest one, so that entries of any size lose nothing.
    """
    xp = namespace(x)
    x = x - xp.max(x)
    descending = xp.sort(x, descending=True)
    excess = xp.cumulative_sum(descending) - radius
    ranks = xp.arange(1, x.shape[0] + 1, dtype=x.dtype, device=device(x))
    size = max(int(xp.sum(xp.astype(descending * ranks > excess, xp.int64))), 1)
    theta = (float(xp.sum(descending[:size])) - radius) / size
    projected = maximum(x - theta, 0.0)
    total = float(xp.sum(projected))
    if total == 0.0:  # a radius that is lost in rounding: the largest entries share it
        projected = xp.astype(x == 0.0, x.dtype)
        total = float(xp.sum(projected))
    return projected * (radius / total)
