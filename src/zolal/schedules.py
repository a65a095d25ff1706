"""Parameters that may change with the iteration: a number, or a function of k."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from zolal._checks import is_number, positive, require
from zolal.errors import InvalidArgumentError

Schedule = Callable[[int], float]


@final
@dataclass(frozen=True)
class Constant:
    """The same value at every iteration."""

    value: float

    def __call__(self, k: int) -> float:
        return self.value


@final
@dataclass(frozen=True)
class InverseSqrt:
    """base / sqrt(1 + k / horizon), the step sizes of the paper's experiments (Section 7.1, horizon 25)."""

    base: float
    horizon: float = 25.0

    def __post_init__(self) -> None:
        positive("InverseSqrt(base=...)", self.base)
        positive("InverseSqrt(horizon=...)", self.horizon)

    def __call__(self, k: int) -> float:
        return self.base / math.sqrt(1.0 + k / self.horizon)


@final
@dataclass(frozen=True)
class Checked:
    """A user's schedule whose every value is checked against a domain."""

    name: str
    schedule: Schedule
    check: Callable[[str, Any], float]

    def __call__(self, k: int) -> float:
        try:
            value = self.schedule(k)
        except Exception as error:
            raise InvalidArgumentError(f"`{self.name}` raised {type(error).__name__} at iteration {k}: {error}.") from error
        return self.check(f"{self.name} at iteration {k}", value)


def as_schedule(name: str, value: Any, check: Callable[[str, Any], Any]) -> Schedule:
    """`value` (a number or a callable of k) as a schedule whose values satisfy `check`."""
    if isinstance(value, (Constant, InverseSqrt)):
        check(name, value(0))
        return value
    if isinstance(value, Checked):
        return value
    if callable(value):
        return Checked(name, value, check)
    if not is_number(value):
        raise InvalidArgumentError(f"`{name}` must be a number or a function of the iteration, got {value!r}.")
    return Constant(check(name, value))


def momentum_weight(name: str, value: Any) -> float:
    """`value` as a float, if it lies in (0, 1]."""
    require(is_number(value) and 0 < value <= 1, name, "lie in (0, 1]", value)
    return float(value)
