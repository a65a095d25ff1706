"""The passes over weights on the CPU, compiled by numba; the arithmetic is that of `_plain`, operation by operation."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numba
import numpy as np
import torch

from zolal.directions._kernels import _word

PIECE = 1 << 18  # coordinates of one task: a megabyte of float32
TILE = 512  # coordinates whose words and sums stay in the nearest cache
ONE, LOW = np.uint64(1), np.uint64(0xFFFFFFFF)


def shift(part, keys, before, after):
    """See `_plain.shift`."""
    eps, limit = (part.tensors[0].numpy().dtype.type(number) for number in (part.smoothing, part.limit))
    old, new = (np.uint64(j or 0) for j in (before, after))
    was, will = (eps if j is not None else eps - eps for j in (before, after))
    _spread(part, lambda x, first, _: _shift(x, np.uint64(first), keys, old, was, new, will, limit))


def update(part, keys, before, weights, rounding):
    """See `_plain.update`."""
    kind = part.tensors[0].numpy().dtype.type
    eps, limit, numbers = kind(part.smoothing), kind(part.limit), np.asarray(weights, dtype=kind)
    back = eps if before is not None else eps - eps
    _spread(part, lambda x, first, _: _update(x, np.uint64(first), keys, np.uint64(before or 0), back, numbers, eps, limit))


def project(part, rule, amount, rounding):
    """See `_plain.project`."""
    kind = part.tensors[0].numpy().dtype.type
    eps, limit, number = (kind(n) for n in (part.smoothing, part.limit, amount))
    _spread(part, lambda x, first, anchor: _project(x, x if anchor is None else anchor, rule, number, eps, limit))


def table(part):
    """The pieces of all tensors as arrays that share their memory, each with its first coordinate and its anchor."""
    pieces = []
    for number, (tensor, first) in enumerate(zip(part.tensors, part.firsts, strict=True)):
        x, anchor = tensor.numpy(), part.anchors[number].numpy() if part.anchors else None
        for start in range(0, len(x), PIECE):
            stop = start + PIECE
            pieces.append((x[start:stop], first + start, None if anchor is None else anchor[start:stop]))
    return pieces


def _spread(part, pass_over):
    """The pass over all pieces, by as many threads as PyTorch has."""
    pieces, threads = part.table, torch.get_num_threads()
    if threads == 1 or len(pieces) == 1:
        for piece in pieces:
            pass_over(*piece)
    else:
        list(_pool(threads).map(lambda piece: pass_over(*piece), pieces))


@cache
def _pool(threads):
    return ThreadPoolExecutor(threads, thread_name_prefix="zolal-weights")


@numba.njit(inline="always")
def _signed(bits, j, size):
    return size if (bits >> j) & ONE else -size


@numba.njit(inline="always")
def _settled(v, eps, limit):
    total = abs(v) + eps
    size = limit - eps - eps if total >= limit else total - eps
    return v if abs(v) >= limit else (-size if v < 0 else size)


@numba.njit(cache=True, nogil=True)
def _shift(x, first, keys, old, was, new, will, limit):
    k1, k2, k3 = keys[0], keys[1], keys[2]
    for i in range(x.size):
        bits = _word(first + np.uint64(i), k1, k2, k3)
        step = _signed(bits, new, will) - _signed(bits, old, was)
        x[i] += step if abs(x[i]) < limit else x.dtype.type(0)


@numba.njit(cache=True, nogil=True)
def _update(x, first, keys, before, back, weights, eps, limit):
    k1, k2, k3 = keys[0], keys[1], keys[2]
    edge = limit - eps - eps
    bits, total = np.empty(TILE, np.uint32), np.empty(TILE, x.dtype)
    for start in range(0, x.size, TILE):
        tile = x[start : start + TILE]
        for i in range(tile.size):
            bits[i] = np.uint32(_word(first + np.uint64(start + i), k1, k2, k3) & LOW)
            total[i] = 0
        for j in range(weights.size):
            plus, minus, move = weights[j], -weights[j], np.uint32(j)
            for i in range(tile.size):
                total[i] += plus if (bits[i] >> move) & np.uint32(1) else minus
        for i in range(tile.size):
            v = tile[i] - _signed(np.uint64(bits[i]), before, back) + total[i]
            v = v if abs(v) < limit else (-edge if v < 0 else edge)
            tile[i] = _settled(v, eps, limit) if abs(tile[i]) < limit else tile[i]


@numba.njit(cache=True, nogil=True)
def _project(x, anchor, rule, amount, eps, limit):
    for i in range(x.size):
        v = x[i]
        if rule == 0:
            v = amount * v
        elif rule == 1:
            v = (v + amount if v < 0 else v - amount) if abs(v) > amount else eps - eps
        else:
            v = anchor[i] + amount * (v - anchor[i])
        x[i] = _settled(v, eps, limit)
