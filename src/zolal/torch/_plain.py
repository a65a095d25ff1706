"""The passes over weights in plain PyTorch: the definition that the compiled ones follow to the bit, and what other devices use.

Weights lie where x + smoothing and x - smoothing are numbers of their type, so that they are moved and brought back without rounding:

    |x| < limit = 2^p smoothing  and  x is a multiple of the spacing at |x| + smoothing        p: binary digits of the type

The smoothing is a power of two. A weight of at least the limit does not move: its spacing is larger than the smoothing.
"""

import torch

from zolal.directions._hashing import LOW, MULTIPLIERS

CHUNK = 1 << 20  # coordinates at a time, so that what is made in between is small
DROPPED = {torch.float64: 0, torch.float32: 0, torch.bfloat16: 16, torch.float16: 13}  # bits of a float32 that the type has not
SHRINK, THRESHOLD, PULL = range(3)


def words(first, count, keys, device):
    """The hashed 32-bit words of the coordinates first, first + 1, ... as int64, as those of `zolal.directions`."""
    z = torch.arange(first, first + count, dtype=torch.int64, device=device)
    for key, multiplier in zip(keys, MULTIPLIERS, strict=True):
        z = ((z ^ int(key)) & LOW) * multiplier
        z = (z ^ (z >> 32)) & LOW
    return z


def settled(v, part, low):
    """The values v, rounded to where weights may lie; a value below the limit stays below it.

    low: random bits for those that the type has not, by which float32 is rounded up or down with the right mean.
    """
    size = v.abs()
    moves = size < part.limit
    added = torch.where(moves, part.smoothing, 0.0).to(v.dtype)
    total = size + added
    if low is not None:
        bits = total.view(torch.int32) + low
        total = (bits & ~((1 << DROPPED[part.dtype]) - 1)).view(torch.float32)
    size = torch.where(moves & (total >= part.limit), part.limit - 2.0 * part.smoothing, total - added)
    return torch.where(v < 0.0, -size, size)


def shift(part, keys, before, after):
    """Every weight from where direction `before` has moved it to where direction `after` does; None for no direction."""
    for x, first, _ in _chunks(part):
        bits, z = words(first, len(x), keys, x.device), _wide(x)
        step = torch.zeros_like(z)
        if before is not None:
            step -= _sign(bits, before, part.smoothing, z)
        if after is not None:
            step += _sign(bits, after, part.smoothing, z)
        x.copy_(torch.where(z.abs() < part.limit, z + step, z))


def update(part, keys, before, weights, rounding):
    """Every weight back from direction `before`, then x + sum_j weights_j u_j, rounded; weights of at least the limit stay."""
    for x, first, _ in _chunks(part):
        bits, z = words(first, len(x), keys, x.device), _wide(x)
        moves = z.abs() < part.limit
        if before is not None:
            z = torch.where(moves, z - _sign(bits, before, part.smoothing, z), z)
        total = torch.zeros_like(z)
        for j, weight in enumerate(weights):
            total += _sign(bits, j, weight, z)
        v, edge = z + total, part.limit - 2.0 * part.smoothing
        v = torch.where(v.abs() < part.limit, v, torch.where(v < 0.0, -edge, edge).to(v.dtype))
        x.copy_(torch.where(moves, settled(v, part, _low(part, first, x, rounding)), z))


def project(part, rule, amount, rounding):
    """Every weight by one of three rules, rounded: amount times x; x pulled towards 0 by the amount; anchor + amount (x - anchor)."""
    for x, first, anchor in _chunks(part):
        v = _wide(x)
        number = torch.tensor(amount, dtype=v.dtype, device=v.device)
        if rule == SHRINK:
            v = number * v
        elif rule == THRESHOLD:
            v = torch.where(v.abs() > number, torch.where(v < 0.0, v + number, v - number), 0.0)
        else:
            v = _wide(anchor) + number * (v - _wide(anchor))
        x.copy_(settled(v, part, _low(part, first, x, rounding)))


def _chunks(part):
    for number, (tensor, first) in enumerate(zip(part.tensors, part.firsts, strict=True)):
        for start in range(0, tensor.numel(), CHUNK):
            anchor = part.anchors[number][start : start + CHUNK] if part.anchors else None
            yield tensor[start : start + CHUNK], first + start, anchor


def _wide(x):
    """In the type in which weights are computed: float64 for float64, float32 for the others."""
    return x if x.dtype == torch.float64 else x.float()


def _sign(bits, j, size, z):
    """+size where bit j is set, else -size."""
    number = torch.tensor(size, dtype=z.dtype, device=z.device)
    return torch.where(((bits >> j) & 1) != 0, number, -number)


def _low(part, first, x, rounding):
    """Random bits, as many as the type lacks of float32; None where it lacks none."""
    dropped = DROPPED[part.dtype]
    return (words(first, len(x), rounding, x.device) & ((1 << dropped) - 1)).to(torch.int32) if dropped else None
