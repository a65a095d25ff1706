import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from array_api_compat import device

from zolal._array import Array, concatenate, is_numpy, like, namespace, to_numpy, zeros
from zolal._checks import nonnegative_int
from zolal._hadamard import fwht
from zolal.directions import _device, _wave
from zolal.directions._hashing import hashed_words
from zolal.directions._permutation import part
from zolal.directions.base import Directions


class Sweep(NamedTuple):
    """The part of the directions that belongs to one sweep: where it begins among them, and its rows of the basis."""

    first: int
    number: int
    rows: np.ndarray


@final
@dataclass(frozen=True)
class Orthogonal(Directions):
    """Rows of a randomised orthonormal basis of R^d, each once before any comes again: d directions measure a gradient exactly.

    u_t = sqrt(d) e_r^T B S_w,   w = t div d the sweep,   r = pi_w(t mod d) the row,   t = start + j

    B is the orthonormal Hadamard matrix where d is a power of two, and otherwise that of the discrete Hartley transform,
    B_{ri} = (cos a + sin a)/sqrt(d) with a = 2 pi r i / d. Both are symmetric, their own inverses, fast, and flat: entries of u_t
    are +1 or -1, or between -sqrt(2) and sqrt(2). S_w is a diagonal of hashed signs, fresh in every sweep. So the d directions of a
    sweep are exactly orthogonal for every d, all of length sqrt(d), and sum to d I; a uniformly random one has E[u u^T] = I. Nothing
    is padded, so no direction is spent on what is not there. The order of a sweep is a hashed permutation pi_w (`_permutation`): rows
    in a regular order would be alike on many coordinates.

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

    @property
    def largest_entry(self) -> float:
        """What no |u_i| exceeds."""
        return 1.0 if self._is_binary else math.sqrt(2.0)

    def row(self, j: int, reference: Array) -> Array:
        if not self._is_binary:
            return like(self._hartley_row(j), reference)
        xp = namespace(reference)
        sweep, row = self._place(j)
        index = xp.arange(self.dimension, dtype=xp.int64, device=device(reference)) & row
        for shift in (16, 8, 4, 2, 1):  # the parity of the common bits
            index = index ^ (index >> shift)
        return xp.astype(1 - 2 * ((self._bits(sweep, reference) ^ index) & 1), reference.dtype)

    def shift(self, x: Array, scale: float, j: int) -> Array:
        """x + scale u_j in one pass."""
        if _device.has_kernels(x):
            sweep, row = self._place(j)
            keys = self._sign_keys(sweep)
            return _device.shift_row(x, scale, keys, row) if self._is_binary else _device.shift_wave(x, scale, keys, row)
        if not is_numpy(x) or not self._is_binary:
            return x + scale * self.row(j, x)
        from zolal.directions._kernels import shift_row

        sweep, row = self._place(j)
        point = x.copy()
        shift_row(point, scale, row, self._sign_keys(sweep))
        return point

    def _hartley_row(self, j: int) -> np.ndarray:
        sweep, row = self._place(j)
        angles = (row * np.arange(self.dimension, dtype=np.int64)) % self.dimension
        return self._signs(sweep, np.zeros(0)) * _cas(self.dimension)[angles]

    def combine(self, weights: Array) -> Array:
        """sum_j weights_j u_j: the weights in their rows, then one fast transform per sweep."""
        self._check_weights(weights)
        total = zeros(self.dimension, weights)
        for first, sweep, rows in self._sweeps():
            part = self._placed(weights, first, rows)
            total = total + self._signs(sweep, weights) * self._transform(part)
        return total * math.sqrt(self.dimension)

    def _placed(self, weights: Array, first: int, rows: np.ndarray) -> Array:
        """The weights of one sweep in their rows of a vector of zeros, on the device where there is one."""
        if _device.has_kernels(weights):
            part = zeros(self.dimension, weights)
            part[namespace(weights).asarray(rows, device=device(weights))] = weights[first : first + len(rows)]
            return part
        placed = np.zeros(self.dimension)
        placed[rows] = to_numpy(weights)[first : first + len(rows)]
        return like(placed, weights)

    def dot(self, v: Array) -> Array:
        """<u_j, v> for every j: one fast transform of v per sweep."""
        self._check_vector(v)
        xp, parts = namespace(v), []
        for _, sweep, rows in self._sweeps():
            parts.append(self._entries(self._signs(sweep, v) * v, xp.asarray(rows, dtype=xp.int64, device=device(v))))
        return concatenate(parts) * math.sqrt(self.dimension)

    def by_sweep(self) -> list["Orthogonal"]:
        """The same directions, those of each sweep by themselves, since directions of two sweeps are not orthogonal to each other."""
        return [replace(self, start=self._first + first, count=len(rows)) for first, _, rows in self._sweeps()]

    @classmethod
    def moment_constant(cls, dimension: int, p: float) -> float:
        """S_p: d^{2/p} for powers of two, where all entries are 1 or -1; else 2^{1 - 2/p} d^{2/p}, which no ||u||_p^2 exceeds (p >= 2)."""
        flat = float(dimension) ** (2.0 / p)
        return flat if _is_power_of_two(dimension) else 2.0 ** (1.0 - 2.0 / p) * flat

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
        return part(position, length, self.dimension, keys)

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
        if _device.has_kernels(reference):
            return _device.signs(self.dimension, self._sign_keys(sweep), reference)
        return namespace(reference).astype(1 - 2 * self._bits(sweep, reference), reference.dtype)

    def _entries(self, v: Array, rows: Array) -> Array:
        """Some rows of B v."""
        return namespace(v).take(self._transform(v), rows) if self._is_binary else _hartley_at(v, rows)

    def _transform(self, v: Array) -> Array:
        """B v."""
        if not self._is_binary:
            return _hartley(v)
        return _device.transform(v) if _device.has_kernels(v) else fwht(v)

    @property
    def _is_binary(self) -> bool:
        return _is_power_of_two(self.dimension)


def _is_power_of_two(dimension: int) -> bool:
    return dimension & (dimension - 1) == 0


@lru_cache(maxsize=4)
def _cas(dimension: int) -> np.ndarray:
    """Cos a + sin a at the d multiples a of 2 pi / d."""
    table = _wave.entries(np.arange(dimension), dimension)
    table.flags.writeable = False
    return table


def _hartley(v: Array) -> Array:
    """The orthonormal discrete Hartley transform by one real Fourier transform, whose second half mirrors the first."""
    xp, d = namespace(v), v.shape[0]
    spectrum = xp.fft.rfft(v)
    first, second = xp.real(spectrum), xp.imag(spectrum)
    return concatenate([first - second, xp.flip((first + second)[1 : (d + 1) // 2])]) / math.sqrt(d)


def _hartley_at(v: Array, rows: Array) -> Array:
    """Some entries of it."""
    xp, d = namespace(v), v.shape[0]
    is_mirrored = rows > d // 2
    there = xp.take(xp.fft.rfft(v), xp.where(is_mirrored, d - rows, rows))
    first, second = xp.real(there), xp.imag(there)
    return xp.where(is_mirrored, first + second, first - second) / math.sqrt(d)
