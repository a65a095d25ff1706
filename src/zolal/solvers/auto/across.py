"""What a few evaluations off the equalities say of f across them: the part of the gradient that prices are made of."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from zolal.solvers.auto.dense import spanned, taken_out
from zolal.solvers.auto.terrain import Terrain


@final
@dataclass(frozen=True, eq=False)
class Across:
    """Pairs of points about a centre, along orthonormal normals of the equalities there.

    points: shape (2 n, d), within the bounds. slopes, variances: what their values say, NaN where one of a pair is missing.
    is_whole: whether there is a pair for every normal.
    """

    normals: np.ndarray
    points: np.ndarray
    is_whole: bool
    slopes: np.ndarray | None = None
    variances: np.ndarray | None = None

    @classmethod
    def of(cls, terrain: Terrain, centre: np.ndarray, count: int, reach: float) -> "Across":
        rows = terrain.rows(centre)
        equal = rows.are_equalities
        normals = spanned(rows.jacobian[equal] / rows.lengths[equal][:, None])
        chosen = normals[:count]
        pairs = [terrain.clipped(centre + side * reach * normal) for normal in chosen for side in (1.0, -1.0)]
        return cls(chosen, np.reshape(pairs, (-1, len(centre))), len(chosen) == len(normals))

    def seen(self, values: np.ndarray, noise: float) -> "Across":
        """With the values at the points; noise: the standard deviation of one."""
        number = len(self.normals)
        if not number:
            return replace(self, slopes=np.empty(0), variances=np.empty(0))
        ends, found = self.points.reshape(number, 2, -1), np.asarray(values, dtype=float)[: 2 * number].reshape(number, 2)
        ways = np.maximum(np.einsum("ij,ij->i", ends[:, 0] - ends[:, 1], self.normals), 1e-300)
        return replace(self, slopes=(found[:, 0] - found[:, 1]) / ways, variances=2.0 * (noise / ways) ** 2)

    @property
    def is_known(self) -> bool:
        """Whether every normal has its slope."""
        return self.is_whole and self.slopes is not None and bool(np.isfinite(self.slopes).all())

    def completed(self, gradient: np.ndarray) -> np.ndarray:
        """The gradient with these slopes in place of what a belief made up for them."""
        if not self.is_known or self.slopes is None:
            return gradient
        return gradient + self.normals.T @ (self.slopes - self.normals @ gradient)

    def doubted(self, covariance: np.ndarray) -> np.ndarray:
        """The covariance of the completed gradient."""
        if self.variances is None:
            return covariance
        return taken_out(covariance, self.normals) + self.normals.T @ (self.variances[:, None] * self.normals)
