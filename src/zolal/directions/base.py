"""Random directions as pure functions of (seed, iteration, j): regenerated wherever they are needed, never stored."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from zolal._array import Array, dot, like, namespace, zeros
from zolal._checks import nonnegative_int, positive_int, require


@dataclass(frozen=True)
class Directions(ABC):
    """u_1, ..., u_count in R^dimension, independent, with E[u u^T] = I (Assumption 2.4, label `ass:exs`).

    dimension: d. count: how many. seed: names the run. iteration: k. stream: separates uses within one iteration.
    Direction j depends on (seed, iteration, stream, j) alone: not on `count`, the backend, or who asks.

    >>> Rademacher(3, 2, seed=0, iteration=5).rows().shape
    (2, 3)
    """

    dimension: int
    count: int
    seed: int = 0
    iteration: int = 0
    stream: int = 0

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        numbers = (self.dimension, self.count, self.seed, self.iteration, self.stream)
        if all(type(number) is int for number in numbers) and 0 < self.dimension < 2**32 and self.count > 0 and min(numbers) >= 0:
            return  # the usual case: to word what might be wrong takes longer than to see that nothing is
        name = type(self).__name__
        positive_int(f"{name}(dimension=...)", self.dimension)
        require(self.dimension < 2**32, f"{name}(dimension=...)", "be below 2**32", self.dimension)
        positive_int(f"{name}(count=...)", self.count)
        for field in ("seed", "iteration", "stream"):
            nonnegative_int(f"{name}({field}=...)", getattr(self, field))

    @abstractmethod
    def row(self, j: int, reference: Array) -> Array:
        """u_j, shape (d,), with the namespace, dtype and device of `reference`."""

    def rows(self, start: int = 0, stop: int | None = None, reference: Array | None = None) -> Array:
        """u_start, ..., u_{stop-1} as the rows of a matrix; in NumPy unless a reference array is given."""
        stop = self.count if stop is None else stop
        require(0 <= start < stop <= self.count, "rows(start, stop)", f"satisfy 0 <= start < stop <= {self.count}", (start, stop))
        reference = np.empty(0) if reference is None else reference
        return namespace(reference).stack([self.row(j, reference) for j in range(start, stop)])

    def shift(self, x: Array, scale: float, j: int) -> Array:
        """x + scale u_j: one query point."""
        return x + scale * self.row(j, x)

    def write_shifts(self, x: np.ndarray, scale: float, start: int, rows: np.ndarray) -> None:
        """Rows <- x + scale u_j for j = start, start + 1, ..., on NumPy arrays."""
        for r in range(len(rows)):
            rows[r] = self.shift(x, scale, start + r)

    def combine(self, weights: Array) -> Array:
        """sum_j weights_j u_j, shape (d,)."""
        self._check_weights(weights)
        total = zeros(self.dimension, weights)
        for j in range(self.count):
            total = total + float(weights[j]) * self.row(j, weights)
        return total

    def dot(self, v: Array) -> Array:
        """<u_j, v> for every j, shape (count,)."""
        self._check_vector(v)
        return like(np.asarray([dot(self.row(j, v), v) for j in range(self.count)]), v)

    @classmethod
    @abstractmethod
    def moment_constant(cls, dimension: int, p: float) -> float:
        """S_p with E ||<g, u> u||_p^2 <= S_p ||g||_2^2 (Assumption 2.4, label `ass:exs`; Section 5.3)."""

    @classmethod
    def sixth_moment(cls, dimension: int) -> float:
        """E ||u||_2^6."""
        return float(dimension) ** 3

    @classmethod
    def third_moment(cls, dimension: int) -> float:
        """E ||u||_2^3."""
        return float(dimension) ** 1.5

    def _check_weights(self, weights: Any) -> None:
        require(tuple(weights.shape) == (self.count,), "combine(weights)", f"have shape ({self.count},)", tuple(weights.shape))

    def _check_vector(self, v: Any) -> None:
        require(tuple(v.shape) == (self.dimension,), "dot(v)", f"have shape ({self.dimension},)", tuple(v.shape))

    def _keys(self, block: int) -> tuple[int, ...]:
        """Six 32-bit keys of one block of hashed words: two halves of three rounds."""
        identity = f"zolal/{self.kind}/{self.seed}/{self.iteration}/{self.stream}/{block}".encode()
        return tuple(np.frombuffer(hashlib.blake2b(identity, digest_size=24).digest(), dtype="<u4").tolist())
