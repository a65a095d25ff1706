"""Kernels of the directions on CUDA tensors, written in Triton; the words are those of `_hashing`."""

import triton
import triton.language as tl

from zolal.directions import _wave
from zolal.directions._hashing import MULTIPLIERS

M1, M2, M3 = (tl.constexpr(m) for m in MULTIPLIERS)
TERMS = tl.constexpr(_wave.TERMS)


@triton.jit
def fold(z, MULTIPLIER: tl.constexpr):
    """The halves of a 32 x 32 -> 64 bit product, one XOR the other."""
    product = z.to(tl.uint32).to(tl.uint64) * tl.full(z.shape, MULTIPLIER, tl.uint64)
    return (product >> 32).to(tl.uint32) ^ product.to(tl.uint32)


@triton.jit
def word(i, k1, k2, k3):
    """The hashed 32-bit words of the coordinates i (uint32). k1, k2, k3: keys, as int32 that hold the 32 bits."""
    z = fold(i ^ k1, M1)
    z = fold(z ^ k2, M2)
    return fold(z ^ k3, M3)


@triton.jit
def _inside(size, BLOCK: tl.constexpr):
    """The coordinates of this program, and which of them there are."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    return i, i < size


@triton.jit(do_not_specialize=["k1", "k2", "k3", "bit"])
def shift(x, out, size, scale, k1, k2, k3, bit, BLOCK: tl.constexpr):
    """Out = x + scale u, the sign of u being the given bit of the hashed word. scale: an array of one number, here and below."""
    i, inside = _inside(size, BLOCK)
    length = tl.load(scale)
    up = ((word(i.to(tl.uint32), k1, k2, k3) >> bit) & 1) != 0
    tl.store(out + i, tl.load(x + i, mask=inside, other=0.0) + tl.where(up, length, -length), mask=inside)


@triton.jit(do_not_specialize=["k1", "k2", "k3", "row"])
def shift_row(x, out, size, scale, k1, k2, k3, row, BLOCK: tl.constexpr):
    """Out = x + scale times one row of a Hadamard matrix with hashed signs; a sign is the parity of bits."""
    i, inside = _inside(size, BLOCK)
    length = tl.load(scale)
    common = i.to(tl.uint32) & row.to(tl.uint32)
    common ^= common >> 16
    common ^= common >> 8
    common ^= common >> 4
    common ^= common >> 2
    common ^= common >> 1
    down = ((common ^ word(i.to(tl.uint32), k1, k2, k3)) & 1) != 0
    tl.store(out + i, tl.load(x + i, mask=inside, other=0.0) + tl.where(down, -length, length), mask=inside)


@triton.jit
def _wave_entry(k, size, series, TERMS: tl.constexpr):
    """The entries of `_wave`, by the same additions and multiplications."""
    eighths = tl.abs(8 * k - size)
    eighths = tl.where(eighths > 4 * size, 8 * size - eighths, eighths)
    beyond = eighths > 2 * size
    angle = tl.where(beyond, 4 * size - eighths, eighths).to(tl.float64) * tl.load(series)
    square = angle * angle
    found = tl.load(series + 1) + 0.0 * square
    for term in tl.static_range(2, TERMS + 1):
        found = found * square + tl.load(series + term)
    return tl.where(beyond, -found, found)


@triton.jit(do_not_specialize=["k1", "k2", "k3", "row"])
def shift_wave(x, out, size, scale, k1, k2, k3, row, series, BLOCK: tl.constexpr):
    """Out = x + scale times one row of the Hartley transform with hashed signs."""
    i, inside = _inside(size, BLOCK)
    length = tl.load(scale)
    entry = _wave_entry((i * row) % size, size, series, TERMS).to(length.dtype)
    down = (word(i.to(tl.uint32), k1, k2, k3) & 1) != 0
    step = length * tl.where(down, -entry, entry)
    tl.store(out + i, tl.load(x + i, mask=inside, other=0.0) + step, mask=inside)


@triton.jit
def _looked_up(tables, bits, FIRST: tl.constexpr):
    """Four table entries by the four bytes of a word, summed as the kernels of the CPU sum them."""
    one = tl.load(tables + FIRST * 256 + (bits & 255))
    two = tl.load(tables + (FIRST + 1) * 256 + ((bits >> 8) & 255))
    three = tl.load(tables + (FIRST + 2) * 256 + ((bits >> 16) & 255))
    four = tl.load(tables + (FIRST + 3) * 256 + ((bits >> 24) & 255))
    return (one + two) + (three + four)


@triton.jit(do_not_specialize=["a1", "a2", "a3", "b1", "b2", "b3"])
def add_combination(out, size, tables, a1, a2, a3, b1, b2, b3, BLOCK: tl.constexpr):
    """Out += sum_j w_j u_j over 64 directions, from one table of 256 partial sums per byte of the word."""
    i, inside = _inside(size, BLOCK)
    low = _looked_up(tables, word(i.to(tl.uint32), a1, a2, a3), 0)
    high = _looked_up(tables, word(i.to(tl.uint32), b1, b2, b3), 4)
    tl.store(out + i, tl.load(out + i, mask=inside, other=0.0) + (low + high), mask=inside)


@triton.jit(do_not_specialize=["k1", "k2", "k3"])
def signs(out, size, k1, k2, k3, BLOCK: tl.constexpr):
    """+1 or -1 per coordinate: -1 where the last bit of the hashed word is set."""
    i, inside = _inside(size, BLOCK)
    down = (word(i.to(tl.uint32), k1, k2, k3) & 1) != 0
    tl.store(out + i, tl.where(down, -1.0, 1.0), mask=inside)


@triton.jit
def _sums_and_differences(x, HALF: tl.constexpr, SIZE: tl.constexpr):
    """Entries HALF apart, of each 2 HALF of them: their sum in the first, their difference in the second."""
    pairs = tl.permute(tl.reshape(x, (SIZE // (2 * HALF), 2, HALF)), (0, 2, 1))
    first, second = tl.split(pairs)
    return tl.reshape(tl.permute(tl.join(first + second, first - second), (0, 2, 1)), (SIZE,))


@triton.jit
def butterflies(x, stride, factor, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STAGES: tl.constexpr):
    """STAGES steps of the Walsh-Hadamard transform in place, on entries stride, 2 stride, 4 stride, ... apart; then times a factor.

    A program has ROWS = 2^STAGES rows, stride apart, of COLUMNS entries next to each other; with stride 1 it has one row of all.
    """
    SIZE: tl.constexpr = ROWS * COLUMNS
    lanes = tl.arange(0, SIZE)
    per_block = stride // COLUMNS
    block, column = tl.program_id(0) // per_block, tl.program_id(0) % per_block
    start = block.to(tl.int64) * stride * ROWS + column * COLUMNS
    place = x + start + (lanes // COLUMNS).to(tl.int64) * stride + lanes % COLUMNS
    values = tl.load(place)
    for stage in tl.static_range(STAGES):
        values = _sums_and_differences(values, COLUMNS << stage, SIZE)
    tl.store(place, values * tl.load(factor))
