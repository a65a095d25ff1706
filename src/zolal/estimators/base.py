"""What an estimator asks for and how it answers: queries described by a few numbers, gradients from their values."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from zolal._array import Array, copied, is_numpy, namespace, norm, rounding
from zolal._checks import positive, positive_int, require
from zolal.directions import Directions, Gaussian, Orthogonal, Rademacher, Sphere, Squares
from zolal.errors import InvalidArgumentError
from zolal.schedules import Schedule, as_schedule

KINDS: dict[str, type[Directions]] = {kind.kind: kind for kind in (Rademacher, Sphere, Gaussian, Orthogonal, Squares)}


class SampleKey(NamedTuple):
    """The identity of one sample xi; equal keys mean the same sample, whoever draws it."""

    seed: int
    iteration: int
    stream: int
    number: int


class Query(NamedTuple):
    """One evaluation: F(bases[base] + smoothing u_direction; xi), with direction None at the base itself."""

    base: int
    direction: int | None
    sample: SampleKey


class Queries(Protocol):
    """A batch of evaluations, described and not materialised: what evaluators, crews, the loop and the record need of it."""

    @property
    def bases(self) -> tuple[Array, ...]: ...

    @property
    def directions(self) -> Directions: ...

    @property
    def smoothing(self) -> float: ...

    @property
    def resolved(self) -> bool: ...

    @property
    def optional(self) -> bool:
        """Whether the solver can do without any of the values."""

    def __len__(self) -> int: ...

    def query(self, i: int) -> Query: ...

    def point(self, i: int) -> Array: ...

    def points(self, start: int, stop: int) -> Array: ...

    def rows(self, indices: Iterable[int]) -> Array: ...

    def kept(self, values: np.ndarray) -> np.ndarray: ...

    def is_shared(self, i: int) -> bool: ...

    def base_values(self, values: np.ndarray) -> np.ndarray: ...

    def with_bases(self, bases: tuple[Array, ...]) -> "Queries": ...


def points_in_rows(batch: Queries, indices: Iterable[int]) -> Array:
    """The points of the given evaluations as rows, those of a range in one piece."""
    wanted = list(indices)
    if wanted == list(range(wanted[0], wanted[-1] + 1)):
        return batch.points(wanted[0], wanted[-1] + 1)
    return namespace(batch.bases[0]).stack([batch.point(i) for i in wanted])


def moves_every_coordinate(smoothing: float, bases: tuple[Array, ...]) -> bool:
    """Whether nu still moves the largest coordinate; otherwise all slopes would be 0, which says nothing."""
    limits = (8.0 * rounding(base) * norm(base, math.inf) for base in bases)
    return all(smoothing > limit for limit in limits)


@final
@dataclass(frozen=True, eq=False)
class QueryBatch:
    """What to evaluate, described and not materialised: base points, smoothing nu, the identity of directions and samples.

    Queries come base by base. With `share_base` one sample xi serves the whole batch, and each base is evaluated once: F(x; xi), then
    F(x + nu u_j; xi) for every j. Otherwise each direction has a sample of its own: F(x; xi_j), F(x + nu u_j; xi_j) for every j.
    With `central` the second point of a direction is x - nu u_j instead of the base, which is never evaluated.
    """

    bases: tuple[Array, ...]
    smoothing: float
    directions: Directions
    share_base: bool = False
    central: bool = False

    @property
    def optional(self) -> bool:
        return False

    @property
    def per_base(self) -> int:
        n = self.directions.count
        return n + 1 if self._has_one_base_value else 2 * n

    @property
    def _has_one_base_value(self) -> bool:
        return self.share_base and not self.central

    def __len__(self) -> int:
        return self.per_base * len(self.bases)

    @property
    def resolved(self) -> bool:
        return moves_every_coordinate(self.smoothing, self.bases)

    def query(self, i: int) -> Query:
        """The i-th evaluation's identity."""
        base, position = divmod(i, self.per_base)
        if self._has_one_base_value:
            return Query(base, position - 1 if position else None, self._sample(0))
        direction, moved = divmod(position, 2)
        return Query(base, direction if moved or self.central else None, self._sample(0 if self.share_base else direction))

    def point(self, i: int) -> Array:
        """The i-th evaluation's point."""
        query = self.query(i)
        base = self.bases[query.base]
        if query.direction is None:
            return copied(base)
        backward = self.central and i % 2 == 0
        return self.directions.shift(base, -self.smoothing if backward else self.smoothing, query.direction)

    def points(self, start: int, stop: int) -> Array:
        """The points of evaluations start, ..., stop-1 as rows; NumPy's are written once, where they stay."""
        if not is_numpy(self.bases[0]):
            return namespace(self.bases[0]).stack([self.point(i) for i in range(start, stop)])
        rows = np.empty((stop - start, self.bases[0].shape[0]), self.bases[0].dtype)
        for number, base in enumerate(self.bases):
            first = number * self.per_base
            low, high = max(start - first, 0), min(stop - first, self.per_base)
            if low < high:
                self._write_points(base, low, rows[first + low - start : first + high - start])
        return rows

    def _write_points(self, base: np.ndarray, low: int, rows: np.ndarray) -> None:
        """Rows <- the points of one base's evaluations, from its number `low` on."""
        if self._has_one_base_value:
            still, moved, direction = (rows[:1], rows[1:], 0) if low == 0 else (rows[:0], rows, low - 1)
        else:
            still, moved, direction = rows[low % 2 :: 2], rows[1 - low % 2 :: 2], low // 2
        if self.central:
            self.directions.write_shifts(base, -self.smoothing, (low + 1) // 2, still)
        else:
            still[:] = base
        self.directions.write_shifts(base, self.smoothing, direction, moved)

    def arrange(self, still: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """The values of all queries, in order, from one per base, shape (bases,), and one per base and direction, shape (bases, n).

        When central the first are those at x - nu u_j, shape (bases, n).
        """
        if self._has_one_base_value:
            return np.concatenate([still[:, None], moved], axis=1).reshape(-1)
        return np.stack([still if self.central else np.broadcast_to(still[:, None], moved.shape), moved], axis=-1).reshape(-1)

    def rows(self, indices: Iterable[int]) -> Array:
        """The points of the given evaluations as rows."""
        return points_in_rows(self, indices)

    def slopes(self, values: np.ndarray) -> np.ndarray:
        """[F(x + nu u_j; xi_j) - F(x; xi_j)] / nu, shape (bases, n), or [F(x + nu u_j; xi_j) - F(x - nu u_j; xi_j)] / (2 nu) if central.

        NaN where one of the two values is missing.
        """
        by_base = np.asarray(values, dtype=float).reshape(len(self.bases), self.per_base)
        if self.central:
            return (by_base[:, 1::2] - by_base[:, 0::2]) / (2.0 * self.smoothing)
        if self.share_base:
            return (by_base[:, 1:] - by_base[:, :1]) / self.smoothing
        return (by_base[:, 1::2] - by_base[:, 0::2]) / self.smoothing

    def kept(self, values: np.ndarray) -> np.ndarray:
        """Which directions have all their values, shape (n,): a value that is NaN was skipped, and its direction with it."""
        return ~np.isnan(self.slopes(values)).any(axis=0)

    @staticmethod
    def mean_weights(weights: np.ndarray) -> np.ndarray:
        """Weights of the mean over the directions that are there, w_j / n'; 0 where w_j is NaN because a value is missing.

        Values go missing for reasons of their own and not because of u_j, so the mean over the n' <= n that are left estimates the same.
        """
        missing = np.isnan(weights)
        return np.where(missing, 0.0, weights) / max(weights.size - int(missing.sum()), 1)

    def base_values(self, values: np.ndarray) -> np.ndarray:
        """The values at the first base point that are there: one with a shared base, otherwise one per direction.

        When central these are the means of the pairs.
        """
        first = np.asarray(values, dtype=float)[: self.per_base]
        if self.central:
            found = 0.5 * (first[0::2] + first[1::2])
        else:
            found = first[:1] if self.share_base else first[0::2]
        return found[~np.isnan(found)]

    def is_shared(self, i: int) -> bool:
        """Whether every direction needs the i-th value."""
        return self._has_one_base_value and i % self.per_base == 0

    def with_bases(self, bases: tuple[Array, ...]) -> "QueryBatch":
        """The same batch around other base points."""
        return replace(self, bases=bases)

    def _sample(self, index: int) -> SampleKey:
        return SampleKey(self.directions.seed, self.directions.iteration, self.directions.stream, index)


@dataclass(frozen=True, eq=False)
class Memory:
    """What an estimator carries from one iteration to the next: the last point and the last gradient estimate, or more."""

    seed: int
    point: Array | None = None
    gradient: Array | None = None


@dataclass(frozen=True)
class Estimator(ABC):
    """A gradient estimate of f from values of F.

    num_directions: n, a number or a function of k. smoothing: nu, likewise. directions: "rademacher", "sphere" or "gaussian".
    num_initial_directions: n_0, n if not given. share_base: one sample and one base value per iteration and point.
    """

    num_directions: Any
    smoothing: Any
    directions: str = "rademacher"
    num_initial_directions: int | None = None
    share_base: bool = False
    count_schedule: Schedule = field(init=False, repr=False, compare=False)
    smoothing_schedule: Schedule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.directions, str) or self.directions not in KINDS:
            raise InvalidArgumentError(f"`{name}(directions=...)` must be one of {', '.join(map(repr, KINDS))}, got {self.directions!r}.")
        require(isinstance(self.share_base, bool), f"{name}(share_base=...)", "be True or False", self.share_base)
        if self.num_initial_directions is not None:
            positive_int(f"{name}(num_initial_directions=...)", self.num_initial_directions)
        object.__setattr__(self, "count_schedule", as_schedule(f"{name}(num_directions=...)", self.num_directions, positive_int))
        object.__setattr__(self, "smoothing_schedule", as_schedule(f"{name}(smoothing=...)", self.smoothing, positive))

    def start(self, seed: int) -> Memory:
        """The memory before the first iteration."""
        return Memory(seed)

    @abstractmethod
    def plan(self, memory: Memory, x: Array, k: int) -> QueryBatch:
        """What to evaluate at iteration k, where the iterate is x."""

    @abstractmethod
    def absorb(self, memory: Memory, batch: QueryBatch, values: np.ndarray) -> tuple[Array, Memory]:
        """The gradient estimate from the batch's values, and the memory for the next iteration."""

    def count(self, k: int) -> int:
        """The number of directions of iteration k."""
        return self.num_initial_directions if k == 0 and self.num_initial_directions else int(self.count_schedule(k))

    def batch(self, seed: int, bases: tuple[Array, ...], k: int) -> QueryBatch:
        """The queries of iteration k around the given points: the same directions and samples at each."""
        directions = KINDS[self.directions](bases[0].shape[0], self.count(k), seed=seed, iteration=k)
        return QueryBatch(bases, self.smoothing_schedule(k), directions, self.share_base)
