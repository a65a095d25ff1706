from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from zolal._array import Array, is_numpy, like, namespace, to_numpy, zeros
from zolal.directions import _device
from zolal.directions._hashing import hashed_words
from zolal.directions.base import Directions

WORD, HALF_WORD = 64, 32  # directions per hashed word and per half of it


@final
@dataclass(frozen=True)
class Rademacher(Directions):
    """u_i = +1 or -1 with equal probability: bit j of a hashed 64-bit word per coordinate, so one word serves 64 directions.

    The word is two independent 32-bit halves. On NumPy arrays and on a GPU compiled kernels do the work; elsewhere the same
    words are made with the array API. All give the same directions to the bit.
    """

    kind: ClassVar[str] = "rademacher"

    def row(self, j: int, reference: Array) -> Array:
        if _device.has_kernels(reference):
            return self.shift(zeros(self.dimension, reference), 1.0, j)
        xp = namespace(reference)
        bits = (self._half(j, reference) >> (j % 32)) & 1
        return xp.astype(2 * bits - 1, reference.dtype)

    def shift(self, x: Array, scale: float, j: int) -> Array:
        """x + scale u_j in one pass over x."""
        if _device.has_kernels(x):
            return _device.shift(x, scale, self.word_keys(j), j % HALF_WORD)
        if not is_numpy(x):
            return x + scale * self.row(j, x)
        from zolal.directions._kernels import shift

        point = np.empty_like(x)
        shift(x, float(scale), j % 32, self.word_keys(j), point)
        return point

    def write_shifts(self, x: np.ndarray, scale: float, start: int, rows: np.ndarray) -> None:
        from zolal.directions._kernels import shift_rows

        stop = start + len(rows)
        for first in range(start - start % HALF_WORD, stop, HALF_WORD):
            low, high = max(first, start), min(first + HALF_WORD, stop)
            shift_rows(x, float(scale), self.words(first), low - first, rows[low - start : high - start])

    def words(self, j: int) -> np.ndarray:
        """The 32-bit words, one per coordinate, of which bit j mod 32 is the sign of u_j."""
        from zolal.directions._kernels import words

        out = np.empty(self.dimension, np.uint32)
        words(self.word_keys(j), out)
        return out

    def combine(self, weights: Array) -> Array:
        """sum_j weights_j u_j by eight tables of 256 partial sums per 64 directions."""
        self._check_weights(weights)
        if is_numpy(weights):
            return self._combine_compiled(weights)
        if _device.has_kernels(weights):
            numbers, firsts = to_numpy(weights), range(0, self.count, WORD)
            keys = [(self.word_keys(first), self.word_keys(first + HALF_WORD)) for first in firsts]
            return _device.combine(weights, [self._tables(numbers, first // WORD) for first in firsts], keys, self.dimension)
        xp = namespace(weights)
        total: Any = 0.0
        for block in range(-(-self.count // WORD)):
            tables = like(self._tables(weights, block), weights)
            for byte in range(8):
                word = self._half(block * WORD + 8 * byte, weights)
                total = total + xp.take(tables[byte, :], (word >> (8 * (byte % 4))) & 255)
        return total

    def dot(self, v: Array) -> Array:
        """<u_j, v> for every j; compiled, by eight tables of 256 partial sums of v per 64 directions."""
        self._check_vector(v)
        if not is_numpy(v):
            return super().dot(v)
        from zolal.directions._kernels import bucket_sums

        blocks = []
        for block in range(-(-self.count // WORD)):
            sums = bucket_sums(np.ascontiguousarray(v), self.word_keys(block * WORD), self.word_keys(block * WORD + 32))
            blocks.append((sums @ BYTE_SIGNS).reshape(-1))
        return np.concatenate(blocks)[: self.count]

    @classmethod
    def moment_constant(cls, dimension: int, p: float) -> float:
        """S_p = d^{2/p}                                                            (5.15)

        Implements Eq. (5.15), label `eq:Sp-rad`. Differs from the paper: nothing.
        """
        return float(dimension) ** (2.0 / p)

    def _combine_compiled(self, weights: np.ndarray) -> np.ndarray:
        from zolal.directions._kernels import add_combination

        total = np.zeros(self.dimension)
        for block in range(-(-self.count // WORD)):
            first = block * WORD
            add_combination(self._tables(weights, block), self.word_keys(first), self.word_keys(first + 32), total)
        return total

    def _tables(self, weights: Array, block: int) -> np.ndarray:
        """tables[byte, value] = sum of +- weights over the eight directions whose bits make up that byte of the word."""
        padded = np.zeros(WORD)
        part = [float(weights[j]) for j in range(block * WORD, min((block + 1) * WORD, self.count))]
        padded[: len(part)] = part
        return padded.reshape(8, 8) @ BYTE_SIGNS.T

    def _half(self, j: int, reference: Array) -> Any:
        return hashed_words(self.dimension, tuple(self.word_keys(j).tolist()), reference)

    def word_keys(self, j: int) -> np.ndarray:
        """The three keys of the 32-bit words that hold direction j, one word per coordinate, as bit j mod 32."""
        first = 3 * (j % WORD // 32)
        return np.asarray(self._keys(j // WORD)[first : first + 3], dtype=np.uint64)


BYTE_SIGNS = 2.0 * ((np.arange(256)[:, None] >> np.arange(8)) & 1) - 1.0  # [value, bit]
