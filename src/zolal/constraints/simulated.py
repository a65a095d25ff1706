"""Constraints on what the simulator itself reports: outputs that come with the value of the objective and cost its evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, final

import numpy as np

from zolal._array import to_numpy
from zolal._checks import shown
from zolal.errors import InvalidArgumentError, ObjectiveError


@final
@dataclass(frozen=True, eq=False)
class Simulated:
    """lower <= E[output] <= upper for the next output that `fun` returns beside its value: `return value, outputs`.

    The first `Simulated` in `constraints` speaks of the first output, and so on; bounds that are vectors speak of as many outputs. Nothing
    is known of an output but its values, which may have noise. noisy: whether they have, None where the run is to find out; False takes one
    value at its word.

    >>> wait = zolal.Simulated(upper=2.0, name="wait")
    >>> res = zolal.minimize(lambda x: (x @ x, [3.0 - x[0]]), [2.0, 1.0], constraints=[wait], rng=0)
    >>> (res.x.round(3) + 0.0).tolist()
    [1.0, 0.0]
    """

    lower: Any = -np.inf
    upper: Any = np.inf
    name: str | None = None
    noisy: bool | None = None

    def __post_init__(self) -> None:
        if self.name is not None and not (isinstance(self.name, str) and self.name):
            raise InvalidArgumentError(f"`Simulated(name=...)` must be a word or None, got {self.name!r}.")
        if self.noisy not in (None, True, False):
            raise InvalidArgumentError(f"`Simulated(noisy=...)` must be True, False or None, got {self.noisy!r}.")
        lower, upper = self._bound("lower"), self._bound("upper")
        try:
            lower, upper = np.broadcast_arrays(lower, upper)
        except ValueError:
            raise InvalidArgumentError(
                f"The bounds of {self.label} must have equally many entries, got {lower.size} and {upper.size}."
            ) from None
        crossed = np.flatnonzero((lower > upper) | (lower == np.inf) | (upper == -np.inf))
        if crossed.size:
            pair = f"[{lower[crossed[0]]:g}, {upper[crossed[0]]:g}]"
            raise InvalidArgumentError(f"The bounds of {self.label} must satisfy lower <= upper, lower < inf and upper > -inf, got {pair}.")

    def _bound(self, side: str) -> np.ndarray:
        given = getattr(self, side)
        try:
            bound = np.atleast_1d(np.asarray(to_numpy(given), dtype=float))
        except (TypeError, ValueError):
            bound = np.full((1, 1), np.nan)
        if bound.ndim != 1 or not bound.size or np.isnan(bound).any():
            raise InvalidArgumentError(f"`Simulated({side}=...)` must be a number or a vector of numbers, got {shown(given)}.")
        return bound

    @property
    def label(self) -> str:
        """What a sentence calls it."""
        return "a simulated constraint" if self.name is None else f"the simulated constraint {self.name!r}"

    @property
    def size(self) -> int:
        """How many outputs it speaks of."""
        return max(self._bound("lower").size, self._bound("upper").size)


@final
@dataclass(frozen=True, eq=False)
class Outputs:
    """What all outputs of a problem must satisfy, one entry per output."""

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    noisy: tuple[bool | None, ...]

    @classmethod
    def of(cls, parts: Sequence[Simulated]) -> "Outputs":
        names: list[str] = []
        for number, part in enumerate(parts, 1):
            name = part.name or f"output {number}"
            names += [name] if part.size == 1 else [f"{name}[{i}]" for i in range(part.size)]
        bounds = [np.broadcast_arrays(part._bound("lower"), part._bound("upper")) for part in parts]
        lower, upper = (np.concatenate([np.empty(0), *(pair[side] for pair in bounds)]) for side in (0, 1))
        return cls(tuple(names), lower, upper, tuple(part.noisy for part in parts for _ in range(part.size)))

    def __len__(self) -> int:
        return len(self.names)

    def errors_within(self, confidence: float) -> float:
        """The standard errors within which the mean of each has to keep its bounds, so that all of them hold with a confidence."""
        return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / len(self))

    def narrowed(self, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bounds, drawn in by some room as far as they leave any."""
        kept = np.minimum(room, 0.5 * (self.upper - self.lower))
        return self.lower + kept, self.upper - kept

    def excess(self, values: np.ndarray) -> np.ndarray:
        """The values less their nearest points between the bounds."""
        return values - np.clip(values, self.lower, self.upper)

    @property
    def described(self) -> str:
        """How many there are and what they are called, in a sentence."""
        listed = ", ".join(map(repr, self.names[:4])) + (", ..." if len(self) > 4 else "")
        return f"{len(self)} output{'s' if len(self) > 1 else ''} ({listed})"

    def parted(self, given: Any) -> tuple[Any, Any]:
        """What the objective returned as its value and its outputs, which are still to be read."""
        pair = isinstance(given, (tuple, list)) and len(given) == 2
        if not pair:
            raise ObjectiveError(f"The objective must return (value, outputs) with {self.described}, got {shown(given)}.")
        return given[0], given[1]

    def read(self, given: Any) -> tuple[float, ...]:
        """The outputs of one evaluation: numbers in the order of the constraints, or a dict by their names."""
        if isinstance(given, Mapping):
            if set(given) != set(self.names):
                raise ObjectiveError(f"The objective must return {self.described}, got outputs named {shown(list(given))}.")
            given = [given[name] for name in self.names]
        try:
            found = np.atleast_1d(to_numpy(given))
        except ValueError:  # a ragged list
            found = np.asarray(None)
        if found.shape != (len(self),) or found.dtype.kind not in "biuf":
            plain = found.tolist() if found.dtype.kind in "biuf" else given
            raise ObjectiveError(f"The objective must return {self.described}, got the outputs {shown(plain)}.")
        return tuple(float(value) for value in found)

    def rows(self, given: Any, count: int) -> np.ndarray:
        """The outputs of several evaluations, one row each."""
        found = to_numpy(given)
        if found.shape != (count, len(self)) or found.dtype.kind not in "biuf":
            raise ObjectiveError(
                f"The vectorized objective must return outputs of shape ({count}, {len(self)}), got {found.shape} of dtype {found.dtype}."
            )
        return np.asarray(found, dtype=float)

    def not_finite(self, values: Sequence[float]) -> str | None:
        """What is wrong with the first output that is no finite number."""
        if not self.names:
            return None
        return next((f"The output {n!r} is {v}." for n, v in zip(self.names, values, strict=True) if not np.isfinite(v)), None)


def parted(constraints: Any) -> tuple[Any, tuple[Simulated, ...]]:
    """The constraints that are known exactly, in their own form, and those on outputs; in a dict their names are given."""
    if isinstance(constraints, Simulated):
        return (), (constraints,)
    if isinstance(constraints, Mapping) and any(isinstance(item, Simulated) for item in constraints.values()):
        exact = {name: item for name, item in constraints.items() if not isinstance(item, Simulated)}
        return exact or (), tuple(_named(name, item) for name, item in constraints.items() if isinstance(item, Simulated))
    if isinstance(constraints, (list, tuple)):
        simulated = tuple(item for item in constraints if isinstance(item, Simulated))
        return [item for item in constraints if not isinstance(item, Simulated)] if simulated else constraints, simulated
    return constraints, ()


def _named(name: Any, item: Simulated) -> Simulated:
    if not isinstance(name, str) or not name:
        raise InvalidArgumentError(f"A name in `constraints` must be a word, got {name!r}.")
    if item.name not in (None, name):
        raise InvalidArgumentError(f"`constraints[{name!r}]` must have no other name, got {item.name!r}.")
    return Simulated(item.lower, item.upper, name, item.noisy)
