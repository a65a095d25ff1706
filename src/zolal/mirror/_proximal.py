"""The Euclidean subproblem, which the Euclidean map and SmoothedLq(p=2) share."""

from zolal._array import Array, concatenate, split
from zolal.errors import UnsupportedError
from zolal.regularizers import BlockSum, GroupL2, Regularizer
from zolal.sets import ConvexSet, L2Ball, NonNegative, Product, WholeSpace


def proximal_point(region: ConvexSet, regularizer: Regularizer, y: Array, step: float) -> Array:
    """Argmin over x in the region of ||x - y||^2 / 2 + step h(x)."""
    if isinstance(regularizer, BlockSum):
        return _blockwise(region, regularizer, y, step)
    if regularizer.elastic_weights is not None:
        l1, l2 = regularizer.elastic_weights
        scale = 1.0 / (1.0 + step * l2)
        return region.project_soft(y * scale if l2 else y, step * l1 * scale)
    if isinstance(region, WholeSpace):
        return regularizer.prox(y, step)
    if isinstance(regularizer, GroupL2) and isinstance(region, NonNegative):
        return regularizer.prox(region.project(y), step)
    if isinstance(regularizer, GroupL2) and isinstance(region, L2Ball):
        return region.project(regularizer.prox(y, step))
    raise UnsupportedError(
        f"No exact Euclidean step for {regularizer!r} on {region!r}; supported: Zero, L1 and ElasticNet on every set, "
        "GroupL2 on WholeSpace, NonNegative and L2Ball, any regularizer on WholeSpace, and BlockSum of these on matching Products."
    )


def _blockwise(region: ConvexSet, regularizer: BlockSum, y: Array, step: float) -> Array:
    """Each block by itself; the region is the whole space or a product with the same blocks."""
    if isinstance(region, WholeSpace):
        return regularizer.prox(y, step)
    if not (isinstance(region, Product) and region.sizes == regularizer.sizes):
        raise UnsupportedError(
            f"`BlockSum` of blocks {regularizer.sizes} needs a Product with the same blocks or WholeSpace, got {region!r}."
        )
    triples = zip(region.parts, regularizer.parts, split(y, region.sizes), strict=True)
    return concatenate([proximal_point(part, h, block, step) for (part, _), (h, _), block in triples])
