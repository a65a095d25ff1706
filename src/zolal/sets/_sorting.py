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
    size = int(xp.sum(xp.astype(descending * ranks > excess, xp.int64)))
    theta = (float(xp.sum(descending[:size])) - radius) / size
    projected = maximum(x - theta, 0.0)
    return projected * (radius / float(xp.sum(projected)))
