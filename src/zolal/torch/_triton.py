"""The passes over weights on a GPU, written in Triton: one launch for all tensors of a part, whose addresses lie in a table.

The arithmetic is that of `_plain`, operation by operation; nothing is fused or reordered, so the bits are the same.
"""

import torch
import triton
import triton.language as tl

from zolal.directions._triton import word

BLOCK, WARPS = 4096, 4  # coordinates and warps of one program
COLUMNS = 5  # of the table: address, count, first coordinate, whether whole and aligned, address of the anchor
TYPES = {torch.float64: tl.float64, torch.float32: tl.float32, torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}
DROPPED = {torch.float64: 0, torch.float32: 0, torch.bfloat16: 16, torch.float16: 13}  # bits of a float32 that the type has not
SHRINK, THRESHOLD, PULL = 0, 1, 2


def table(part):
    """One row per block of every tensor of the part, on its device."""
    rows = []
    for number, (tensor, first) in enumerate(zip(part.tensors, part.firsts, strict=True)):
        anchor = part.anchors[number].data_ptr() if part.anchors else 0
        aligned = tensor.data_ptr() % 16 == 0 and anchor % 16 == 0
        width, size = tensor.element_size(), tensor.numel()
        for start in range(0, size, BLOCK):
            count = min(BLOCK, size - start)
            moved = anchor + start * width if anchor else 0
            rows.append((tensor.data_ptr() + start * width, count, first + start, int(aligned and count == BLOCK), moved))
    return torch.tensor(rows, dtype=torch.int64, device=part.device)


def _signed(keys):
    """32-bit keys as Triton's int32."""
    return [int(key) - 2**32 if int(key) >= 2**31 else int(key) for key in keys]


def _wide(part):
    """The type in which weights are computed."""
    return tl.float64 if part.dtype == torch.float64 else tl.float32


def shift(part, keys, before, after):
    """Every weight from where direction `before` has moved it to where direction `after` does; None for no direction."""
    _shift[(len(part.table),)](
        part.table, *_signed(keys), before or 0, after or 0, part.smoothing, part.limit,
        BEFORE=before is not None, AFTER=after is not None, TYPE=TYPES[part.dtype], WIDE=_wide(part), BLOCK=BLOCK, COLUMNS=COLUMNS,
        num_warps=WARPS, enable_fp_fusion=False,
    )  # fmt: skip


def update(part, keys, before, weights, rounding):
    """Every weight back from direction `before`, then x + sum_j weights_j u_j, rounded."""
    kind = torch.float64 if _wide(part) is tl.float64 else torch.float32
    _update[(len(part.table),)](
        part.table, *_signed(keys), before or 0, part.smoothing, part.limit,
        torch.tensor(weights, dtype=kind, device=part.device), len(weights), *_signed(rounding),
        BEFORE=before is not None, TYPE=TYPES[part.dtype], WIDE=_wide(part), DROPPED=DROPPED[part.dtype], BLOCK=BLOCK, COLUMNS=COLUMNS,
        num_warps=WARPS, enable_fp_fusion=False,
    )  # fmt: skip


def project(part, rule, amount, rounding):
    """Every weight by one of the rules SHRINK, THRESHOLD and PULL, rounded."""
    kind = torch.float64 if _wide(part) is tl.float64 else torch.float32
    _project[(len(part.table),)](
        part.table, torch.tensor([amount], dtype=kind, device=part.device), part.smoothing, part.limit, *_signed(rounding),
        RULE=rule, TYPE=TYPES[part.dtype], WIDE=_wide(part), DROPPED=DROPPED[part.dtype], BLOCK=BLOCK, COLUMNS=COLUMNS,
        num_warps=WARPS, enable_fp_fusion=False,
    )  # fmt: skip


@triton.jit
def _sign(bits, j, size, WIDE: tl.constexpr):
    """+size where bit j is set, else -size; of a float32 the bit itself is made the sign."""
    if WIDE == tl.float64:  # noqa: SIM300 (Triton knows WIDE when it compiles)
        signed = tl.where(((bits >> j) & 1) != 0, size, -size)
    else:
        minus = ((bits << (31 - j)) & 0x80000000) ^ 0x80000000
        signed = (tl.full([1], size, tl.float32).to(tl.uint32, bitcast=True) ^ minus).to(tl.float32, bitcast=True)
    return signed


@triton.jit
def _settled(v, smoothing, limit, i, r1, r2, r3, DROPPED: tl.constexpr):
    """See `_plain.settled`."""
    size = tl.abs(v)
    moves = size < limit
    added = tl.where(moves, smoothing, 0.0).to(v.dtype)
    total = size + added
    if DROPPED > 0:
        LOW: tl.constexpr = (1 << DROPPED) - 1
        bits = total.to(tl.uint32, bitcast=True) + (word(i, r1, r2, r3) & LOW)
        total = (bits & (0xFFFFFFFF ^ LOW)).to(tl.float32, bitcast=True)
    size = tl.where(moves & (total >= limit), tl.zeros_like(v) + limit - 2.0 * smoothing, total - added)
    return tl.where(v < 0.0, -size, size)


@triton.jit
def _shifted(x, i, k1, k2, k3, before, after, smoothing, limit, BEFORE: tl.constexpr, AFTER: tl.constexpr, WIDE: tl.constexpr):
    bits = word(i, k1, k2, k3)
    z = x.to(WIDE)
    step = tl.zeros_like(z)
    if BEFORE:
        step -= _sign(bits, before, smoothing, WIDE)
    if AFTER:
        step += _sign(bits, after, smoothing, WIDE)
    return tl.where(tl.abs(z) < limit, z + step, z).to(x.dtype)


@triton.jit(do_not_specialize=["k1", "k2", "k3", "before", "after"])
def _shift(
    table, k1, k2, k3, before, after, smoothing, limit,
    BEFORE: tl.constexpr, AFTER: tl.constexpr, TYPE: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row = table + COLUMNS * tl.program_id(0)
    pointer = tl.load(row).to(tl.pointer_type(TYPE))
    lanes = tl.arange(0, BLOCK)
    i = tl.load(row + 2).to(tl.uint32) + lanes.to(tl.uint32)
    if tl.load(row + 3) == 1:
        pointer = tl.multiple_of(pointer, 16)
        x = tl.load(pointer + lanes)
        tl.store(pointer + lanes, _shifted(x, i, k1, k2, k3, before, after, smoothing, limit, BEFORE, AFTER, WIDE))
    else:
        inside = lanes < tl.load(row + 1)
        x = tl.load(pointer + lanes, mask=inside, other=0.0)
        tl.store(pointer + lanes, _shifted(x, i, k1, k2, k3, before, after, smoothing, limit, BEFORE, AFTER, WIDE), mask=inside)


@triton.jit
def _updated(
    x, i, k1, k2, k3, before, smoothing, limit, weights, count, r1, r2, r3, BEFORE: tl.constexpr, DROPPED: tl.constexpr, WIDE: tl.constexpr
):
    bits = word(i, k1, k2, k3)
    z = x.to(WIDE)
    moves = tl.abs(z) < limit
    if BEFORE:
        z = tl.where(moves, z - _sign(bits, before, smoothing, WIDE), z)
    total = tl.zeros_like(z)
    for j in range(count):
        total += _sign(bits, j, tl.load(weights + j), WIDE)
    v = z + total
    edge = tl.zeros_like(v) + limit - 2.0 * smoothing
    v = tl.where(tl.abs(v) < limit, v, tl.where(v < 0.0, -edge, edge))
    return tl.where(moves, _settled(v, smoothing, limit, i, r1, r2, r3, DROPPED), z).to(x.dtype)


@triton.jit(do_not_specialize=["k1", "k2", "k3", "before", "count", "r1", "r2", "r3"])
def _update(
    table, k1, k2, k3, before, smoothing, limit, weights, count, r1, r2, r3,
    BEFORE: tl.constexpr, TYPE: tl.constexpr, WIDE: tl.constexpr, DROPPED: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row = table + COLUMNS * tl.program_id(0)
    pointer = tl.load(row).to(tl.pointer_type(TYPE))
    lanes = tl.arange(0, BLOCK)
    i = tl.load(row + 2).to(tl.uint32) + lanes.to(tl.uint32)
    inside = lanes < tl.load(row + 1)
    x = tl.load(pointer + lanes, mask=inside, other=0.0)
    found = _updated(x, i, k1, k2, k3, before, smoothing, limit, weights, count, r1, r2, r3, BEFORE, DROPPED, WIDE)
    tl.store(pointer + lanes, found, mask=inside)


@triton.jit(do_not_specialize=["r1", "r2", "r3"])
def _project(
    table, amount, smoothing, limit, r1, r2, r3,
    RULE: tl.constexpr, TYPE: tl.constexpr, WIDE: tl.constexpr, DROPPED: tl.constexpr, BLOCK: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row = table + COLUMNS * tl.program_id(0)
    pointer = tl.load(row).to(tl.pointer_type(TYPE))
    lanes = tl.arange(0, BLOCK)
    i = tl.load(row + 2).to(tl.uint32) + lanes.to(tl.uint32)
    inside = lanes < tl.load(row + 1)
    x = tl.load(pointer + lanes, mask=inside, other=0.0)
    v, amount = x.to(WIDE), tl.load(amount)
    if RULE == 0:
        v = amount * v
    elif RULE == 1:
        v = tl.where(tl.abs(v) > amount, tl.where(v < 0.0, v + amount, v - amount), 0.0)
    else:
        anchor = tl.load(tl.load(row + 4).to(tl.pointer_type(TYPE)) + lanes, mask=inside, other=0.0).to(WIDE)
        v = anchor + amount * (v - anchor)
    tl.store(pointer + lanes, _settled(v, smoothing, limit, i, r1, r2, r3, DROPPED).to(x.dtype), mask=inside)
