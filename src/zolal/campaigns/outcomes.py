"""Outcomes and what the store holds of them: a dataclass is the object of its fields, a tuple is a list."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

PLAIN: dict[type, tuple[type, ...]] = {NoneType: (NoneType,), bool: (bool,), int: (int,), float: (float, int), str: (str,)}


class MisfitError(Exception):
    """What is stored is not of the kind that was asked for."""

    def __init__(self, kind: Any, stored: Any) -> None:
        super().__init__(f"A stored outcome must fit {kind}, got {stored!r}.")


def restored(kind: Any, stored: Any) -> Any:
    """What was stored as a value of this kind, made again; `MisfitError` where a field is missing or is of another kind.

    kind: a dataclass, a named tuple, or list, tuple, None, bool, int, float, str; or a union, of which the first that fits is taken. Fields
    that a dataclass does not have are passed over.

    >>> restored(tuple[int, float | None], [3, None])
    (3, None)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _first_that_fits(parts, stored)
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: restored(part, _entry(stored, name)) for name, part in _hints(kind).items()})
    if origin is list:
        return [restored(parts[0], one) for one in _items(stored)]
    if origin is tuple:
        return tuple(_each([parts[0]] * len(_items(stored)) if parts[-1] is ... else parts, stored))
    if isinstance(kind, type) and issubclass(kind, tuple):
        return kind(*_each(_hints(kind).values(), stored))
    return _plain(kind, stored)


def _plain(kind: Any, stored: Any) -> Any:
    if kind not in PLAIN:
        raise TypeError(f"An outcome must be made of dataclasses, lists, tuples and plain values, got {kind}.")
    if not isinstance(stored, PLAIN[kind]) or (isinstance(stored, bool) and kind is not bool):
        raise MisfitError(kind, stored)
    return stored


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)} if is_dataclass(kind) else hints


def _first_that_fits(kinds: Iterable[Any], stored: Any) -> Any:
    for kind in kinds:
        try:
            return restored(kind, stored)
        except MisfitError:
            continue
    raise MisfitError(kinds, stored)


def _entry(stored: Any, name: str) -> Any:
    if not isinstance(stored, dict) or name not in stored:
        raise MisfitError(f"a field {name!r}", stored)
    return stored[name]


def _items(stored: Any) -> list[Any] | tuple[Any, ...]:
    if not isinstance(stored, list | tuple):
        raise MisfitError(list, stored)
    return stored


def _each(kinds: Iterable[Any], stored: Any) -> list[Any]:
    kinds, items = list(kinds), _items(stored)
    if len(kinds) != len(items):
        raise MisfitError(kinds, stored)
    return [restored(kind, one) for kind, one in zip(kinds, items, strict=True)]
