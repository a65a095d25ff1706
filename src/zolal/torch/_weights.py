"""The weights of a model as one vector, moved and brought back in place: which tensors there are, and who passes over them."""

import importlib.util
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import torch

from zolal.directions import Rademacher

DIGITS = {torch.float64: 53, torch.float32: 24, torch.bfloat16: 8, torch.float16: 11}  # binary digits of a number
SEGMENT = 2**32  # coordinates that one family of directions can number
MOST = 32  # directions of one step: the bits of one hashed word


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Tensors of one type, device and smoothing, each flat, with the number of their first coordinate.

    segment: which 2^32 coordinates these are. anchors: where each tensor began, if a constraint needs it.
    """

    tensors: tuple[Any, ...]
    firsts: tuple[int, ...]
    segment: int
    smoothing: float
    anchors: tuple[Any, ...] = ()

    @property
    def dtype(self) -> Any:
        return self.tensors[0].dtype

    @property
    def device(self) -> Any:
        return self.tensors[0].device

    @property
    def limit(self) -> float:
        """The size from which on a weight is not moved by the smoothing."""
        return math.ldexp(self.smoothing, DIGITS[self.dtype])

    @cached_property
    def passes(self) -> Any:
        """The module whose `shift`, `update` and `project` serve these tensors."""
        if self.device.type == "cuda" and importlib.util.find_spec("triton") is not None:
            from zolal.torch import _triton as module
        elif self.device.type == "cpu" and self.dtype in (torch.float32, torch.float64):
            from zolal.torch import _compiled as module
        else:
            from zolal.torch import _plain as module
        return module

    @cached_property
    def table(self) -> Any:
        """Where the blocks of the tensors lie, for kernels that pass over all of them in one launch."""
        from zolal.torch._triton import table

        return table(self)

    def shift(self, seed: int, step: int, before: int | None, after: int | None) -> None:
        self.passes.shift(self, self._keys(seed, step, 0), before, after)

    def update(self, seed: int, step: int, before: int | None, weights: list[float]) -> None:
        self.passes.update(self, self._keys(seed, step, 0), before, weights, self._keys(seed, step, MOST))

    def project(self, seed: int, step: int, rule: int, amount: float) -> None:
        self.passes.project(self, rule, amount, self._keys(seed, step, 2 * MOST))

    def _keys(self, seed: int, step: int, j: int) -> Any:
        """Three keys: those of the directions of a step, or of bits for rounding, which come from the next words."""
        return Rademacher(1, 3 * MOST, seed=seed, iteration=step, stream=self.segment).word_keys(j)
