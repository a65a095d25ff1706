"""The one sentence for every bad argument, with the value that was got."""

import math
import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from zolal.errors import InvalidArgumentError

LARGEST = sys.float_info.max
LONGEST = 60  # characters of a value in a sentence


def require(condition: bool, name: str, demand: str, got: Any) -> None:
    """Raise "`name` must demand, got value." unless `condition` holds."""
    if not condition:
        raise InvalidArgumentError(f"`{name}` must {demand}, got {_words(got)}.")


def _words(value: Any) -> str:
    """`value` as it shows itself; what cannot, such as an integer of too many digits, is told by its type."""
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"


def shown(value: Any) -> str:
    """What a sentence says of a value that may be long."""
    text = " ".join(_words(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def is_number(value: Any) -> bool:
    """Whether `value` is a real number and not a bool or NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and (_is_integer(value) or not math.isnan(value))


def positive(name: str, value: Any) -> float:
    """`value` as a float, if it is a finite number > 0."""
    require(is_number(value) and 0 < value <= LARGEST, name, "be a positive number", value)
    return float(value)


def nonnegative(name: str, value: Any) -> float:
    """`value` as a float, if it is a finite number >= 0."""
    require(is_number(value) and 0 <= value <= LARGEST, name, "be a nonnegative number", value)
    return float(value)


def _is_integer(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def pairs(name: str, parts: Any, kind: type) -> tuple[tuple[Any, int], ...]:
    """`parts` as a tuple of (member of the family `kind`, its positive size), at least one."""
    demand = f"hold at least one pair of a {kind.__name__} and its size"
    require(isinstance(parts, Sequence) and len(parts) > 0, name, demand, parts)
    for part in parts:
        require(isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], kind), name, demand, part)
    return tuple((member, positive_int(f"{name} size", size)) for member, size in parts)


def positive_int(name: str, value: Any) -> int:
    """`value` as an int, if it is an integer >= 1."""
    require(_is_integer(value) and value >= 1, name, "be a positive integer", value)
    return int(value)


def nonnegative_int(name: str, value: Any) -> int:
    """`value` as an int, if it is an integer >= 0."""
    require(_is_integer(value) and value >= 0, name, "be a nonnegative integer", value)
    return int(value)
