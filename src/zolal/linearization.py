"""Constraints linearized at a point: rows that ought to lie in intervals."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from zolal._array import EPS, Array, concatenate, like, namespace, to_numpy
from zolal._cached import cached_property

VANISHING = 1e-100  # the length of a gradient that counts as none


@final
@dataclass(frozen=True, eq=False)
class Linearization:
    """c + J p, which ought to lie in [lower, upper], row by row, for a step p.

    value: c, shape (m,). jacobian: J, shape (m, d), in the namespace of x. lower, upper: shape (m,); equal for equalities.
    """

    value: np.ndarray
    jacobian: Array
    lower: np.ndarray
    upper: np.ndarray

    @cached_property
    def lengths(self) -> np.ndarray:
        """Of the gradients; 1 where there is none."""
        return np.where(self._are_there, self._lengths, 1.0)

    @cached_property
    def _are_there(self) -> np.ndarray:
        """Which rows have a gradient. One that is next to nothing leads nowhere, and its multiplier would be beyond numbers."""
        return self._lengths > VANISHING

    @cached_property
    def _lengths(self) -> np.ndarray:
        xp = namespace(self.jacobian)
        with np.errstate(over="ignore"):
            lengths = to_numpy(xp.sqrt(xp.sum(self.jacobian * self.jacobian, axis=1)))
        if np.isfinite(lengths).all():
            return lengths
        return np.hypot.reduce(to_numpy(self.jacobian), axis=1)  # some squares are beyond numbers

    @cached_property
    def unit_rows(self) -> np.ndarray:
        """The gradients divided by their lengths, in NumPy; 0 where there is none."""
        return self.jacobian * (self._are_there / self.lengths)[:, None]

    @cached_property
    def are_equalities(self) -> np.ndarray:
        return self.lower == self.upper

    @property
    def violation(self) -> float:
        """The largest violation of a row in its own terms."""
        return float(np.abs(self.excess(self.value)).max()) if len(self.value) else 0.0

    def excess(self, value: np.ndarray) -> np.ndarray:
        """The values less their nearest points in [lower, upper]."""
        return value - np.minimum(np.maximum(value, self.lower), self.upper)

    def distance(self, value: np.ndarray) -> float:
        """How far a point with these values is from where the rows hold, as far as each row's gradient tells."""
        if not len(value):
            return 0.0
        if len(value) == 1:
            return self._distance_of_one(float(value[0]))
        if np.count_nonzero(np.isfinite(value)) < len(value):
            return np.inf
        excess = np.abs(self.excess(value))
        rounding = 4.0 * EPS * np.abs(value - excess)
        with np.errstate(over="ignore"):  # a row that hardly reacts may be farther than numbers go
            far = np.where(excess > rounding, excess, 0.0) / self.lengths
            return math.sqrt(far.dot(far))

    def _distance_of_one(self, value: float) -> float:
        """The same for a single row, which is so common that it is worth the tenfold speed."""
        if not math.isfinite(value):
            return math.inf
        excess = abs(value - min(max(value, float(self.lower[0])), float(self.upper[0])))
        far = excess / float(self.lengths[0]) if excess > 4.0 * EPS * abs(value - excess) else 0.0
        return math.sqrt(far * far)

    @cached_property
    def own_distance(self) -> float:
        """That of the point itself."""
        return self.distance(self.value)

    def only(self, chosen: np.ndarray) -> "Linearization":
        """Some of the rows."""
        if np.count_nonzero(chosen) == len(chosen):
            return self
        return Linearization(self.value[chosen], self.jacobian[chosen], self.lower[chosen], self.upper[chosen])

    def with_rows(self, other: "Linearization") -> "Linearization":
        """These rows and others at the same point."""
        if not len(self.value):
            return other
        value, lower, upper = (
            np.concatenate(pair) for pair in ((self.value, other.value), (self.lower, other.lower), (self.upper, other.upper))
        )
        return Linearization(value, concatenate([self.jacobian, other.jacobian]), lower, upper)

    def at(self, value: np.ndarray) -> "Linearization":
        """The same derivatives with other values."""
        new = object.__new__(Linearization)
        new.__dict__.update(self.__dict__, value=value)  # with all that has been made of the derivatives
        new.__dict__.pop("own_distance", None)
        return new

    def scaled(self, reach: float = math.inf) -> tuple["Linearization", np.ndarray]:
        """The rows divided by the lengths of their gradients, and those lengths.

        A row whose gradient is so short that its linear model leads farther than `reach` counts as empty, with the length 1.
        """
        there = self._are_there & (np.abs(self.excess(self.value)) / reach <= self._lengths)
        lengths = np.where(there, self._lengths, 1.0)
        jacobian = self.jacobian * like(there / lengths, self.jacobian)[:, None]
        return Linearization(self.value / lengths, jacobian, self.lower / lengths, self.upper / lengths), lengths
