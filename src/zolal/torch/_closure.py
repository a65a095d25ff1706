"""The user's closure: called with the same random numbers each time, its values read in one transfer."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

import torch

from zolal._checks import is_number, require, shown
from zolal.errors import ObjectiveError
from zolal.torch.constraints import AtMost


class Seen(NamedTuple):
    """The values of one forward pass, or of half of its batch: the loss, and what is bounded."""

    loss: float
    bounded: tuple[float, ...]
    halves: "tuple[Seen, ...]" = ()

    @property
    def is_finite(self) -> bool:
        return all(map(math.isfinite, (self.loss, *self.bounded)))


@final
class Repeatable:
    """The user's closure, called with the same random numbers each time; values stay on their device until they are read."""

    def __init__(self, closure: Callable[[], Any], bounds: Sequence[AtMost], device: Any) -> None:
        require(callable(closure), "closure", "be a function without arguments", closure)
        self.closure, self.bounds, self.device = closure, bounds, device
        self.cpu = torch.get_rng_state()
        self.gpu = torch.cuda.get_rng_state(device) if device.type == "cuda" else None

    def __call__(self) -> Any:
        torch.set_rng_state(self.cpu)
        if self.gpu is not None:
            torch.cuda.set_rng_state(self.gpu, self.device)
        found = self.closure()
        loss, values = found if isinstance(found, tuple) and len(found) == 2 else (found, {})
        missing = [bound.name for bound in self.bounds if not isinstance(values, Mapping) or bound.name not in values]
        if missing:
            raise ObjectiveError(f"The closure must return the loss and a dict with {', '.join(map(repr, missing))}, got {shown(found)}.")
        return torch.stack([self._number(each) for each in (loss, *(values[bound.name] for bound in self.bounds))])

    def _number(self, value: Any) -> Any:
        """The mean, and those of two halves: every other example."""
        if isinstance(value, torch.Tensor) and value.numel() > 0 and not value.is_complex():
            flat = value.detach().reshape(-1).to(self.device, torch.float64)
            return torch.stack([flat.mean(), flat[::2].mean(), flat[1::2].mean() if len(flat) > 1 else flat.mean()])
        if is_number(value) or (isinstance(value, float) and math.isnan(value)):
            return torch.full((3,), float(value), dtype=torch.float64, device=self.device)
        raise ObjectiveError(f"The closure must return real numbers, the loss or those of the examples, got {shown(value)}.")

    @staticmethod
    def read(raw: Sequence[Any]) -> list[Seen]:
        """All values in one transfer."""
        found = []
        for rows in torch.stack(list(raw)).tolist():
            whole, *halves = (Seen(column[0], tuple(column[1:])) for column in zip(*rows, strict=True))
            found.append(whole._replace(halves=tuple(halves)))
        return found
