"""The weights of a model as one vector, moved and brought back in place: which tensors there are, and who passes over them."""

import importlib
import importlib.util
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, final

import torch

from zolal._checks import positive, require
from zolal.directions import Rademacher
from zolal.errors import InvalidArgumentError
from zolal.torch._plain import CHUNK, SHRINK, words

DIGITS = {torch.float64: 53, torch.float32: 24, torch.bfloat16: 8, torch.float16: 11}  # binary digits of a number
SMALLEST = {torch.float16: 2.0**-14}  # smoothing below which numbers of the type lose digits
SEGMENT = 2**32  # coordinates that one family of directions can number
MOST = 32  # directions of one step: the bits of one hashed word


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Tensors of one type, device and smoothing, each flat, with the number of their first coordinate.

    segment: which 2^32 coordinates these are. group: the number of their group. anchors: where each tensor began, if a constraint needs it.
    """

    tensors: tuple[Any, ...]
    firsts: tuple[int, ...]
    segment: int
    smoothing: float
    group: int = 0
    anchors: tuple[Any, ...] = ()

    @property
    def dtype(self) -> Any:
        return self.tensors[0].dtype

    @property
    def device(self) -> Any:
        return self.tensors[0].device

    @property
    def size(self) -> int:
        """How many weights."""
        return sum(tensor.numel() for tensor in self.tensors)

    @property
    def limit(self) -> float:
        """The size from which on a weight is not moved by the smoothing."""
        return math.ldexp(self.smoothing, DIGITS[self.dtype])

    @cached_property
    def passes(self) -> Any:
        """The module whose `shift`, `update` and `project` serve these tensors."""
        if self.device.type == "cuda" and importlib.util.find_spec("triton") is not None:
            name = "_triton"
        elif self.device.type == "cpu" and self.dtype in (torch.float32, torch.float64):
            name = "_compiled"
        else:
            name = "_plain"
        return importlib.import_module(f"zolal.torch.{name}")

    @cached_property
    def table(self) -> Any:
        """Where the blocks of the tensors lie, as the module of the passes wants to know it."""
        return self.passes.table(self)

    def shift(self, seed: int, step: int, before: int | None, after: int | None) -> None:
        """From x + smoothing u_before to x + smoothing u_after, to the bit; None for x itself."""
        self.passes.shift(self, self._keys(seed, step, 0), before, after)

    def update(self, seed: int, step: int, before: int | None, weights: Sequence[float]) -> None:
        """From x + smoothing u_before to x + sum_j weights_j u_j, rounded."""
        self.passes.update(self, self._keys(seed, step, 0), before, weights, self._keys(seed, step, MOST))

    def project(self, seed: int, step: int, rule: int, amount: float, number: int = 0) -> None:
        """Every weight by a rule of `_plain`, rounded. number: which such pass of the step this is."""
        self.passes.project(self, rule, amount, self._keys(seed, step, (2 + number) * MOST))

    def only(self, addresses: set[int]) -> "Part | None":
        """The tensors with these addresses."""
        kept = [n for n, tensor in enumerate(self.tensors) if tensor.data_ptr() in addresses]
        tensors, firsts = (tuple(items[n] for n in kept) for items in (self.tensors, self.firsts))
        return replace(self, tensors=tensors, firsts=firsts) if kept else None

    def _keys(self, seed: int, step: int, j: int) -> Any:
        """Three keys: those of the directions of a step, or of bits for rounding, which come from the next words."""
        return _keys(seed, step, self.segment, j)


@final
class Weights:
    """All weights that are tuned. groups: pairs of parameters and smoothing; what is frozen, or there already, is left out."""

    def __init__(self, groups: Iterable[tuple[Sequence[Any], float]]) -> None:
        taken: list[tuple[Any, float, int]] = []
        seen: set[tuple[int, int]] = set()
        for number, (parameters, smoothing) in enumerate(groups):
            for parameter in parameters:
                if not parameter.requires_grad or parameter.numel() == 0:
                    continue
                tensor = _flat(parameter)
                if (tensor.data_ptr(), tensor.numel()) not in seen:  # tied weights are one weight
                    seen.add((tensor.data_ptr(), tensor.numel()))
                    taken.append((tensor, smoothing, number))
        self.tensors = [tensor for tensor, _, _ in taken]
        _check(self.tensors)
        self.parts = _parts(taken)
        self.dimension = sum(tensor.numel() for tensor in self.tensors)

    @property
    def device(self) -> Any:
        return self.tensors[0].device

    def settle(self, seed: int) -> None:
        """Weights to where they can be moved and brought back without rounding: the nearest such numbers."""
        for part in self.parts:
            part.project(seed, 0, SHRINK, 1.0)

    def restricted(self, parameters: Iterable[Any] | None) -> tuple[Part, ...]:
        """The parts, all or of the given parameters alone."""
        if parameters is None:
            return self.parts
        addresses = {parameter.data_ptr() for parameter in parameters}
        known = {tensor.data_ptr() for tensor in self.tensors}
        require(bool(addresses) and addresses <= known, "params", "be weights that the optimizer tunes", f"{len(addresses - known)} others")
        return tuple(found for part in self.parts if (found := part.only(addresses)) is not None)

    def stuck(self) -> dict[Any, float]:
        """For each type the share of its weights that the smoothing does not move."""
        counts: dict[Any, list[int]] = {}
        for part in self.parts:
            count = counts.setdefault(part.dtype, [0, 0])
            for tensor in part.tensors:
                count[0] += sum(int((chunk.abs() >= part.limit).sum()) for chunk in tensor.split(CHUNK))
                count[1] += tensor.numel()
        return {dtype: stuck / total for dtype, (stuck, total) in counts.items()}

    def digest(self) -> str:
        """A number that tells weights apart by all their bits, the same on every device."""
        total = 0
        for part in self.parts:
            keys = Rademacher(1, 1, stream=part.segment).word_keys(0)
            for tensor, first in zip(part.tensors, part.firsts, strict=True):
                bits = tensor.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])
                for start in range(0, len(bits), CHUNK):
                    chunk = bits[start : start + CHUNK]
                    total += int((chunk.to(torch.int64) * (words(first + start, len(chunk), keys, chunk.device) | 1)).sum())
        return f"{total % 2**64:016x}"


@lru_cache(maxsize=64)
def _keys(seed: int, step: int, segment: int, j: int) -> Any:
    return Rademacher(1, 1, seed=seed, iteration=step, stream=segment).word_keys(j)


def rounded_smoothing(name: str, smoothing: Any) -> float:
    """The power of two next to the smoothing."""
    return float(2.0 ** round(math.log2(positive(name, smoothing))))


def _flat(parameter: Any) -> Any:
    """The parameter's memory as one vector, in the order in which it lies there."""
    data = parameter.detach()
    if data.is_contiguous():
        return data.view(-1)
    reach = 1
    for stride, size in sorted(zip(data.stride(), data.shape, strict=True)):
        require(stride == reach or size == 1, "params", "lie in memory without gaps", f"strides {tuple(data.stride())}")
        reach *= size
    return data.as_strided((data.numel(),), (1,))


def _check(tensors: Sequence[Any]) -> None:
    require(bool(tensors), "params", "hold at least one parameter that is not frozen (requires_grad=True)", "none")
    devices = sorted({str(tensor.device) for tensor in tensors})
    require(len(devices) == 1, "params", "lie on one device", ", ".join(devices))
    for tensor in tensors:
        if tensor.dtype not in DIGITS:
            kinds = ", ".join(str(dtype) for dtype in DIGITS)
            raise InvalidArgumentError(f"`params` must be of one of the types {kinds}, got {tensor.dtype}.")
        finite = all(bool(torch.isfinite(chunk).all()) for chunk in tensor.split(CHUNK))
        require(finite, "params", "be finite", f"a tensor of {tensor.numel()} weights with NaN or infinity")
        require(tensor.numel() <= SEGMENT, "params", "have at most 2**32 weights each", tensor.numel())
    ends = sorted((tensor.data_ptr(), tensor.data_ptr() + tensor.numel() * tensor.element_size()) for tensor in tensors)
    apart = all(end <= start for (_, end), (start, _) in pairwise(ends))
    require(apart, "params", "not overlap in memory unless they are the same", "two that share a part of it")


def _parts(taken: Sequence[tuple[Any, float, int]]) -> tuple[Part, ...]:
    """Tensors of one type, group and segment together, with the numbers of their coordinates."""
    found: dict[tuple[Any, int, int], Part] = {}
    segment, first = 0, 0
    for tensor, smoothing, group in taken:
        if first + tensor.numel() > SEGMENT:
            segment, first = segment + 1, 0
        least = SMALLEST.get(tensor.dtype, 0.0)
        require(smoothing >= least, "smoothing", f"be at least {least:g} for {tensor.dtype}", smoothing)
        before = found.get((tensor.dtype, group, segment))
        tensors, firsts = (before.tensors, before.firsts) if before else ((), ())
        found[tensor.dtype, group, segment] = Part((*tensors, tensor), (*firsts, first), segment, smoothing, group)
        first += tensor.numel()
    return tuple(found.values())
