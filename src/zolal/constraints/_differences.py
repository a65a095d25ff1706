"""Derivatives of a known function from its values: relative steps, within bounds, and few calls."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from zolal._array import rounding
from zolal.errors import UnsupportedError
from zolal.sets import Box, ConvexSet, NonNegative, Product, Simplex, WholeSpace

Function = Callable[[np.ndarray], np.ndarray]

MOST_CALLS = 500  # of a function for one Jacobian
FINE_CALLS = 256  # up to which differences have fourth order
FLOOR = {4: 0.1, 2: 0.1, 1: 1.0}  # of min(1, the width of the bounds), by order: the least size of a variable
STEP = {4: 0.35, 2: 0.385, 1: 0.5}  # the power of the rounding unit that is a relative step; short, for x may be 2000 and turn by 1
PROBE = 0.42  # the same for the difference that complex steps have to agree with
IMAGINARY = 1e-20  # of a variable's size: a step that no rounding sees
AGREEMENT = 1e-3  # relative, of complex steps with differences


class Stencil(NamedTuple):
    """f'(0) h is about the sum of weights * f(nodes * h), plus base * f(0). order: of the error in h."""

    order: int
    nodes: tuple[float, ...]
    weights: tuple[float, ...]
    base: float = 0.0


CENTRAL = {
    4: Stencil(4, (-2.0, -1.0, 1.0, 2.0), (1 / 12, -8 / 12, 8 / 12, -1 / 12)),
    2: Stencil(2, (-1.0, 1.0), (-0.5, 0.5)),
    1: Stencil(1, (1.0,), (1.0,), -1.0),
}
ONE_SIDED = {
    4: Stencil(4, (1.0, 2.0, 3.0, 4.0), (4.0, -3.0, 4 / 3, -1 / 4), -25 / 12),
    2: Stencil(2, (1.0, 2.0), (2.0, -0.5), -1.5),
    1: CENTRAL[1],
}


class Reach(NamedTuple):
    """Where a function may be called: about `center`, which is x unless a curved boundary is too near, and within bounds.

    scale: the sizes that the user gives to the variables, None where there are none.
    """

    center: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    scale: np.ndarray | None = None

    def sizes(self, order: int = 4) -> np.ndarray:
        """What steps are relative to; differences of low order take short steps, and rounding forbids them to be shorter."""
        if self.scale is not None:
            return np.maximum(np.abs(self.center), self.scale)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.maximum(np.abs(self.center), FLOOR[order] * np.minimum(1.0, self.upper - self.lower))


class Group(NamedTuple):
    """Variables that are moved together; owners: the variable that is seen in each of the rows."""

    columns: np.ndarray
    rows: np.ndarray
    owners: np.ndarray


def numerical_jacobian(
    fun: Function,
    x: np.ndarray,
    region: ConvexSet | None = None,
    together: list[Group] | None = None,
    scale: np.ndarray | None = None,
) -> Any:
    """The Jacobian of fun at x, shape (m, d), from at most `MOST_CALLS` calls; scipy.sparse where the sparsity is known.

    Complex steps where fun takes complex numbers and a difference agrees, which are exact and do not move x; otherwise differences of order
    4, 2 or 1, as the number of variables allows. together: the groups of a known sparsity. Bounds are kept; of other regions the inside is
    kept, and a simplex is left by the length of a step. scale: the variables' sizes, where they are given.
    """
    count = x.size if together is None else len(together)
    if count > MOST_CALLS:
        raise UnsupportedError(
            f"needs `jac` or `vjp`: differences in {x.size:,} variables would take {count:,} calls of `fun` for one Jacobian, and at "
            f"most {MOST_CALLS} are made; where each row depends on few variables, `sparsity` says which"
        )
    eps = rounding(x)
    order = 4 if 4 * count <= FINE_CALLS else 2 if 2 * count <= MOST_CALLS else 1
    step = eps ** STEP[order]
    reach = _reach(region, x, step, order, scale)
    value = fun(reach.center)
    every = np.arange(value.size)
    groups = [Group(np.array([j]), every, np.full(value.size, j)) for j in range(x.size)] if together is None else together
    slopes = _complex_step(fun, x.astype(float), reach, value, groups, eps) if eps < 1e-10 else None
    if slopes is None:
        slopes = _differences(fun, reach, value, groups, order, step)
    if together is None:
        return np.stack(slopes, axis=1)
    rows, owners = (np.concatenate([group[i] for group in groups]) for i in (1, 2))
    return scipy.sparse.csr_array((np.concatenate(slopes), (rows, owners)), shape=(value.size, x.size))


def column_groups(sparsity: Any) -> list[Group]:
    """Variables that may be moved together, since no row depends on two of them; those that no row depends on are left out."""
    columns = scipy.sparse.csc_array(sparsity if scipy.sparse.issparse(sparsity) else np.atleast_2d(np.asarray(sparsity)) != 0)
    columns.eliminate_zeros()
    owners: list[np.ndarray] = []
    for j in range(columns.shape[1]):
        rows = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        owner = next((known for known in owners if np.all(known[rows] < 0)), None)
        if owner is None:
            owners.append(owner := np.full(columns.shape[0], -1))
        owner[rows] = j
    return [Group(np.unique(owner[owner >= 0]), np.flatnonzero(owner >= 0), owner[owner >= 0]) for owner in owners]


def _reach(region: ConvexSet | None, x: np.ndarray, step: float, order: int, scale: np.ndarray | None) -> Reach:
    lower, upper = bounds_of(region, x.size)
    point = Reach(x.astype(float), lower, upper, scale)
    return point._replace(center=_center(region, point.center, 4.0 * step * point.sizes(order)))


def _center(region: ConvexSet | None, x: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """X itself where only bounds are near; otherwise a point as deep inside a region with a curved boundary as the steps are long."""
    if isinstance(region, Product):
        starts = np.cumsum([0, *(size for _, size in region.parts)])
        blocks = [slice(start, stop) for start, stop in itertools.pairwise(starts)]
        return np.concatenate([_center(part, x[block], margins[block]) for (part, _), block in zip(region.parts, blocks, strict=True)])
    if region is None or isinstance(region, (Box, NonNegative, WholeSpace, Simplex)):
        return x
    return np.asarray(region.inner(x, float(np.max(margins))), dtype=float)


def bounds_of(region: ConvexSet | None, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The bounds that a region sets to single variables."""
    if isinstance(region, Product):
        blocks = [bounds_of(part, size) for part, size in region.parts]
        return np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])
    if isinstance(region, Box):
        return np.broadcast_to(region.lower, (d,)).astype(float), np.broadcast_to(region.upper, (d,)).astype(float)
    return np.full(d, 0.0 if isinstance(region, (NonNegative, Simplex)) else -np.inf), np.full(d, np.inf)


def _differences(fun: Function, reach: Reach, value: np.ndarray, groups: list[Group], order: int, step: float) -> list[np.ndarray]:
    """Central differences, one-sided where a bound is in the way, with shorter steps where both are."""
    x, lower, upper = reach[:3]
    central, sided = CENTRAL[order], ONE_SIDED[order]
    h = (x + step * reach.sizes(order)) - x
    below, above = x - lower, upper - x
    near = np.minimum(below, above) < max(abs(node) for node in central.nodes) * h
    room = np.maximum(np.maximum(below, above), 0.0)
    h = np.where(near, np.minimum(h, room / max(sided.nodes)), h)
    side = np.where(below > above, -1.0, 1.0)
    nodes, weights = (
        np.where(near, side * np.array(a)[:, None], np.array(b)[:, None])
        for a, b in ((sided.nodes, central.nodes), (sided.weights, central.weights))
    )
    base = np.where(near, side * sided.base, central.base)
    found = []
    for columns, rows, owners in groups:
        total = base[owners] * value[rows]
        for node, weight in zip(nodes, weights, strict=True):
            point = x.copy()
            point[columns] += node[columns] * h[columns]
            total += weight[owners] * fun(np.clip(point, lower, upper))[rows]
        found.append(np.divide(total, h[owners], out=np.zeros_like(total), where=h[owners] > 0.0))
    return found


def _complex_step(
    fun: Function, x: np.ndarray, reach: Reach, value: np.ndarray, groups: list[Group], eps: float
) -> list[np.ndarray] | None:
    """Im fun(x + i h e_j) / h, None where fun does not take complex numbers or is not analytic in them.

    One direction tells: a function such as |x| or a conjugate loses the imaginary part, and a difference along that direction does not.
    """
    center, lower, upper = reach[:3]
    h = IMAGINARY * reach.sizes()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            below, above = center - lower, upper - center
            room = np.maximum(np.maximum(below, above), 0.0)
            along = np.minimum(eps**PROBE * reach.sizes(2), room / 2.0) * np.random.default_rng(0).uniform(0.5, 1.0, x.size)
            along = np.where(below > above, -along, along)
            claimed = fun(center + 1j * 1e-15 * along).imag / 1e-15
            if claimed.shape != value.shape:
                return None
            ahead, farther = (fun(np.clip(center + times * along, lower, upper)) for times in (1.0, 2.0))
            seen = 2.0 * ahead - 0.5 * farther - 1.5 * value
            rounding = 64.0 * eps * np.max(np.abs([value, ahead, farther]), axis=0)
            if not np.all(np.abs(seen - claimed) <= AGREEMENT * np.maximum(np.abs(seen), np.abs(claimed)) + rounding):
                return None
            found = []
            for columns, rows, owners in groups:
                point = x.astype(complex)
                point[columns] += 1j * h[columns]
                found.append(fun(point).imag[rows] / h[owners])
    except Exception:  # not made for complex numbers; differences will tell what is wrong otherwise
        return None
    return found if all(np.isfinite(slope).all() for slope in found) else None
