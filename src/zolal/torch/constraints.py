"""What a tuned model must keep: sets for its weights, kept exactly after every step, and bounds for what it does, kept by multipliers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import torch

from zolal._checks import is_number, nonnegative, positive, require
from zolal.torch._plain import CHUNK, PULL, SHRINK, THRESHOLD
from zolal.torch._weights import Part, Weights

INSIDE = 0.9999  # of a bound, to which weights are brought back: rounding must not carry them out again
Piece = tuple[Part, ...]  # weights that one inequality is about


@final
@dataclass(frozen=True)
class AtMost:
    """What the closure returns under this name is at most `upper`, on average over its batches: a divergence, a rate, a cost.

    name: the key among the values that the closure returns beside the loss. upper: the bound. margin: the share of the bound that is
    kept free, since only estimates of the value are seen; values scatter about (1 - margin) upper.

    >>> AtMost("kl", 0.05).aim
    0.0475
    """

    name: str
    upper: float
    margin: float = 0.05

    def __post_init__(self) -> None:
        require(isinstance(self.name, str) and bool(self.name), "AtMost(name=...)", "be a word", self.name)
        require(is_number(self.upper) and math.isfinite(self.upper), "AtMost(upper=...)", "be a finite number", self.upper)
        require(nonnegative("AtMost(margin=...)", self.margin) < 1.0, "AtMost(margin=...)", "be below 1", self.margin)

    @property
    def scale(self) -> float:
        """What counts as a large violation."""
        return abs(self.upper) or 1.0

    @property
    def aim(self) -> float:
        return self.upper - self.margin * abs(self.upper)

    @property
    def room(self) -> float:
        """From what is aimed at to the bound, in the same units."""
        return (self.upper - self.aim) / self.scale


@dataclass(frozen=True, eq=False)
class WeightSet(ABC):
    """A convex set for the weights, to which they are projected after each step, as X in the paper's step (3.4)."""

    rule = SHRINK

    @property
    @abstractmethod
    def params(self) -> Any: ...

    def pieces(self, weights: Weights) -> tuple[Piece, ...]:
        """The weights that the set is about."""
        return (weights.restricted(self.params),)

    @abstractmethod
    def amounts(self, pieces: Sequence[Piece]) -> list[float | None]:
        """What the rule needs to bring each piece back into the set; None for one that lies there."""


@final
@dataclass(frozen=True, eq=False)
class NormBall(WeightSet):
    """||x||_2 <= radius for all tuned weights, or for `params` alone."""

    radius: float
    params: Any = None

    def __post_init__(self) -> None:
        positive("NormBall(radius=...)", self.radius)

    def amounts(self, pieces: Sequence[Piece]) -> list[float | None]:
        norms = _numbers(_norm(piece) for piece in pieces)
        return [INSIDE * self.radius / norm if norm > self.radius else None for norm in norms]


@final
@dataclass(frozen=True, eq=False)
class L1Budget(WeightSet):
    """||x||_1 <= budget for all tuned weights, or for `params` alone: small weights become 0, so that few are left."""

    budget: float
    params: Any = None
    rule = THRESHOLD

    def __post_init__(self) -> None:
        positive("L1Budget(budget=...)", self.budget)

    def amounts(self, pieces: Sequence[Piece]) -> list[float | None]:
        return [self._threshold([t for part in piece for t in part.tensors]) for piece in pieces]

    def _threshold(self, tensors: Sequence[Any]) -> float | None:
        """The t with sum max(|x| - t, 0) = budget: t = (sum of |x| above t - budget) / their number, until t stays (Michelot)."""
        above, _ = _above(tensors, 0.0)
        if above <= self.budget:
            return None
        threshold, number = 0.0, math.inf
        while True:
            above, count = _above(tensors, threshold)
            if count == number or count == 0:
                return threshold
            threshold, number = max(threshold, (above - INSIDE * self.budget) / count), count


@final
@dataclass(frozen=True, eq=False)
class TrustRegion(WeightSet):
    """Each tensor by itself stays where it began: the root of the mean square change of its weights is at most `radius`.

    It keeps a copy of these weights as they were at the start, one vector more.
    """

    radius: float
    params: Any = None
    rule = PULL

    def __post_init__(self) -> None:
        positive("TrustRegion(radius=...)", self.radius)

    def pieces(self, weights: Weights) -> tuple[Piece, ...]:
        return tuple(
            (replace(part, tensors=(tensor,), firsts=(first,), anchors=(tensor.clone(),)),)
            for part in weights.restricted(self.params)
            for tensor, first in zip(part.tensors, part.firsts, strict=True)
        )

    def amounts(self, pieces: Sequence[Piece]) -> list[float | None]:
        lengths = _numbers(_distance(piece[0]) for piece in pieces)
        limits = [self.radius * math.sqrt(piece[0].tensors[0].numel()) for piece in pieces]
        return [INSIDE * limit / length if length > limit else None for length, limit in zip(lengths, limits, strict=True)]


def average_kl(logits: Any, reference: Any, reduction: str = "mean") -> Any:
    """The mean over rows of KL(p || q) = sum_c p_c (log p_c - log q_c), where p has the logits and q those of the first model.

    logits, reference: shape (..., classes). reduction: "mean", or "none" for those of the rows, from which a run knows their noise.

    >>> import torch
    >>> float(average_kl(torch.zeros(4, 3), torch.zeros(4, 3)))
    0.0
    """
    shapes = tuple(logits.shape), tuple(reference.shape)
    require(shapes[0] == shapes[1], "average_kl(logits, reference)", "have equal shapes", shapes)
    require(reduction in ("mean", "none"), "average_kl(reduction=...)", "be 'mean' or 'none'", reduction)
    p, q = (torch.log_softmax(each.float(), dim=-1) for each in (logits, reference))
    rows = (p.exp() * (p - q)).sum(dim=-1)
    return rows.mean() if reduction == "mean" else rows


def _norm(piece: Piece) -> Any:
    """||x|| of all weights of a piece."""
    return _joined([torch.linalg.vector_norm(tensor, dtype=_sum_type(tensor)) for part in piece for tensor in part.tensors])


def _joined(norms: Sequence[Any]) -> Any:
    """The norm of a vector from those of its parts."""
    return torch.linalg.vector_norm(torch.stack(list(norms)))


def _distance(part: Part) -> Any:
    """||x - anchor|| of a part with one tensor."""
    pairs = zip(part.tensors[0].split(CHUNK), part.anchors[0].split(CHUNK), strict=True)
    return _joined([torch.linalg.vector_norm(x.to(_sum_type(x)) - anchor.to(_sum_type(x))) for x, anchor in pairs])


def _above(tensors: Sequence[Any], threshold: float) -> tuple[float, int]:
    """The sum and the number of the |x| above a threshold."""
    sums = []
    for tensor in tensors:
        for chunk in tensor.split(CHUNK):
            sizes = chunk.abs().to(torch.float64)
            large = sizes > threshold
            sums.append(torch.stack([torch.where(large, sizes, 0.0).sum(), large.sum().to(torch.float64)]))
    total, count = torch.stack(sums).sum(dim=0).tolist()
    return float(total), int(count)


def _sum_type(tensor: Any) -> Any:
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _numbers(tensors: Any) -> list[float]:
    """All in one transfer."""
    return [float(number) for number in torch.stack(list(tensors)).tolist()]
