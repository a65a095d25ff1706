import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from array_api_compat import device

from zolal._array import Array, concatenate, is_numpy, like, namespace, to_numpy, zeros
from zolal._checks import nonnegative_int
from zolal._hadamard import fwht
from zolal.directions._hashing import hashed_words
from zolal.directions._permutation import permuted
from zolal.directions.base import Directions


class Sweep(NamedTuple):
    """The part of the directions that belongs to one sweep: where it begins among them, and its rows of the basis."""

    first: int
    number: int
    rows: np.ndarray


@final
@dataclass(frozen=True)
class Orthogonal(Directions):
    """Rows of a randomised Hadamard basis of R^d, each once before any comes again: d directions measure a gradient exactly.

    u_t = sqrt(d) e_r^T B S_w,   w = t div d the sweep,   r = pi_w(t mod d) the row,   t = start + j

    B is block diagonal with one orthonormal Hadamard matrix for each power of two in the binary digits of d, the largest first, and S_w
    a diagonal of hashed signs, fresh in every sweep. So the d directions of a sweep are exactly orthogonal for every d, all of length
    sqrt(d), and sum to d I; a uniformly random one has E[u u^T] = I. Where d is a power of two all entries are +1 or -1; otherwise those
    of a row in a block of size n are 0 outside it and +-sqrt(d/n) inside. Nothing is padded, so no direction is spent on what is not there.
    The order of a sweep is a hashed permutation pi_w (`_permutation`): rows in a regular order would be alike on many coordinates.

    start: t of the first direction; iteration * d unless given, so that an iteration begins a sweep of its own. Whoever goes on where
    the last iteration ended passes the number of directions used so far.

    >>> (Orthogonal(6, 6).rows() @ Orthogonal(6, 6).rows().T).round(12).tolist() == (6.0 * np.eye(6)).tolist()
    True
    """

    start: int | None = None

    kind: ClassVar[str] = "orthogonal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start is not None:
            nonnegative_int("Orthogonal(start=...)", self.start)

    def row(self, j: int, reference: Array) -> Array:
        xp = namespace(reference)
        sweep, row = self._place(j)
        first, size = _block_of(self.dimension, row)
        index = xp.arange(size, dtype=xp.int64, device=device(reference)) & (row - first)
        for shift in (16, 8, 4, 2, 1):  # the parity of the common bits
            index = index ^ (index >> shift)
        signs = 1 - 2 * ((self._bits(sweep, reference)[first : first + size] ^ index) & 1)
        entries = xp.astype(signs, reference.dtype) * math.sqrt(self.dimension / size)
        return concatenate([zeros(first, entries), entries, zeros(self.dimension - first - size, entries)])

    def shift(self, x: Array, scale: float, j: int) -> Array:
        """x + scale u_j in one pass over the row's block."""
        if not is_numpy(x):
            return x + scale * self.row(j, x)
        from zolal.directions._kernels import shift_row

        sweep, row = self._place(j)
        first, size = _block_of(self.dimension, row)
        point = x.copy()
        shift_row(point, scale * math.sqrt(self.dimension / size), first, size, row - first, self._sign_keys(sweep))
        return point

    def combine(self, weights: Array) -> Array:
        """sum_j weights_j u_j: the weights in their rows, then one fast transform per sweep."""
        self._check_weights(weights)
        total = zeros(self.dimension, weights)
        for first, sweep, rows in self._sweeps():
            part = np.zeros(self.dimension)
            part[rows] = to_numpy(weights)[first : first + len(rows)]
            total = total + self._signs(sweep, weights) * self._transform(like(part, weights))
        return total * math.sqrt(self.dimension)

    def dot(self, v: Array) -> Array:
        """<u_j, v> for every j: one fast transform of v per sweep."""
        self._check_vector(v)
        xp, parts = namespace(v), []
        for _, sweep, rows in self._sweeps():
            transformed = self._transform(self._signs(sweep, v) * v)
            parts.append(xp.take(transformed, xp.asarray(rows, dtype=xp.int64, device=device(v))))
        return concatenate(parts) * math.sqrt(self.dimension)

    def by_sweep(self) -> list["Orthogonal"]:
        """The same directions, those of each sweep by themselves, since directions of two sweeps are not orthogonal to each other."""
        return [replace(self, start=self._first + first, count=len(rows)) for first, _, rows in self._sweeps()]

    @classmethod
    def moment_constant(cls, dimension: int, p: float) -> float:
        """S_p: the largest ||u||_p^2, which is d^{2/p} for powers of two and d n^{2/p - 1} with the smallest block n otherwise (p >= 2)."""
        smallest = dimension & -dimension
        return float(dimension) * float(smallest) ** (2.0 / p - 1.0)

    @property
    def _first(self) -> int:
        return self.iteration * self.dimension if self.start is None else self.start

    def _place(self, j: int) -> tuple[int, int]:
        """The sweep and the row of direction j."""
        sweep, position = divmod(self._first + j, self.dimension)
        return sweep, int(self._rows(sweep, position, 1)[0])

    def _sweeps(self) -> Iterator[Sweep]:
        t, first = self._first, 0
        while first < self.count:
            sweep, position = divmod(t + first, self.dimension)
            length = min(self.dimension - position, self.count - first)
            yield Sweep(first, sweep, self._rows(sweep, position, length))
            first += length

    def _rows(self, sweep: int, position: int, length: int) -> np.ndarray:
        keys = tuple(np.frombuffer(self._digest(sweep), dtype="<u4")[3:].tolist())
        return permuted(np.arange(position, position + length, dtype=np.uint64), self.dimension, keys)

    def _digest(self, sweep: int) -> bytes:
        return hashlib.blake2b(f"zolal/{self.kind}/{self.seed}/{self.stream}/{sweep}".encode(), digest_size=28).digest()

    def _sign_keys(self, sweep: int) -> np.ndarray:
        return np.frombuffer(self._digest(sweep), dtype="<u4")[:3].astype(np.uint64)

    def _bits(self, sweep: int, reference: Array) -> Any:
        return hashed_words(self.dimension, tuple(self._sign_keys(sweep).tolist()), reference) & 1

    def _signs(self, sweep: int, reference: Array) -> Array:
        """S_w as a vector."""
        if is_numpy(reference):
            from zolal.directions._kernels import signs

            return signs(self.dimension, self._sign_keys(sweep))
        return namespace(reference).astype(1 - 2 * self._bits(sweep, reference), reference.dtype)

    def _transform(self, v: Array) -> Array:
        """B v, block by block."""
        return concatenate([fwht(v[first : first + size]) for first, size in blocks(self.dimension)])


def blocks(dimension: int) -> list[tuple[int, int]]:
    """Where each block begins and its size: the powers of two in the binary digits of d, the largest first."""
    found, first = [], 0
    for exponent in reversed(range(dimension.bit_length())):
        if dimension >> exponent & 1:
            found.append((first, 1 << exponent))
            first += 1 << exponent
    return found


def _block_of(dimension: int, row: int) -> tuple[int, int]:
    return next((first, size) for first, size in blocks(dimension) if row < first + size)
