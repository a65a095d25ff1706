"""What a function depends on beside its own code: the globals and helpers that its code names, and those of the helpers.

Seen as far as the code says it by name. Left out: installed packages, lists, dicts, sets and other objects that change as a program
runs, globals that the code itself assigns to, what `getattr` or `eval` finds, and files and services.
"""

import contextlib
import dataclasses
import dis
import functools
import inspect
import sysconfig
import types
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import is_array_api_obj

INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
PACKAGES = ("site-packages", "dist-packages")
LASTING = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None), np.generic)


def dependencies(*values: Any) -> dict[str, Any]:
    """The globals that functions, or what holds them, name: functions and classes of the user's own, numbers, words and arrays."""
    found: dict[str, Any] = {}
    assigned: set[str] = set()
    seen: set[int] = set()
    waiting = list(values)
    while waiting:
        for function in _functions(waiting.pop()):
            if id(function) in seen:
                continue
            seen.add(id(function))
            waiting += _held(function)
            if not is_own(function):
                continue
            assigned |= _assigned(function.__code__)
            named = dict(_named(function))
            found |= named
            waiting += named.values()
    return {name: value for name, value in sorted(found.items()) if name not in assigned}


def is_own(function: types.FunctionType) -> bool:
    """Whether a function is the user's and of no installed package."""
    file, module = function.__code__.co_filename, (function.__module__ or "").split(".")[0]
    return module != "zolal" and not file.startswith((*INSTALLED, "<frozen")) and not set(PACKAGES) & set(PurePath(file).parts)


def _functions(value: Any) -> Iterator[types.FunctionType]:
    """The functions that are called when the value is, as far as it shows."""
    with contextlib.suppress(Exception):  # of an object that poses as something else
        value = inspect.unwrap(value) if callable(value) else value
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, types.MethodType):
        yield from _functions(value.__func__)
        yield from _functions(value.__self__)
    elif isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _functions(part)
    elif isinstance(value, type):
        if value.__module__.split(".")[0] != "zolal":
            yield from (member for member in vars(value).values() if isinstance(member, types.FunctionType))
    elif dataclasses.is_dataclass(value) and getattr(value, "__dataclass_params__").frozen:  # noqa: B009
        for field in dataclasses.fields(value):
            yield from _functions(getattr(value, field.name, None))
    elif callable(value):
        call = inspect.getattr_static(type(value), "__call__", None)
        yield from (call,) if isinstance(call, types.FunctionType) else ()


def _held(function: types.FunctionType) -> list[Any]:
    """What a function holds in its closure and as defaults."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if not is_empty(cell)]
    return [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _named(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    names = _names(function.__code__)
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, types.ModuleType):
            yield from (
                (f"{name}.{inner}", vars(value)[inner]) for inner in names if _is_lasting(vars(value).get(inner), _is_own_module(value))
            )
        elif name in function.__globals__ and _is_lasting(value):
            yield name, value


def _is_lasting(value: Any, own_module: bool = True) -> bool:
    if isinstance(value, (types.FunctionType, type)):
        return own_module and any(is_own(function) for function in _functions(value))
    return own_module and value is not None and (isinstance(value, LASTING) or is_array_api_obj(value) or scipy.sparse.issparse(value))


def _is_own_module(module: types.ModuleType) -> bool:
    file = getattr(module, "__file__", None) or ""
    return (
        bool(file)
        and not file.startswith(INSTALLED)
        and not set(PACKAGES) & set(PurePath(file).parts)
        and module.__name__.split(".")[0] != "zolal"
    )


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _names(code: types.CodeType) -> list[str]:
    return sorted({name for part in _codes(code) for name in part.co_names})


def _assigned(code: types.CodeType) -> set[str]:
    """The globals that the code itself changes, such as a counter."""
    return {step.argval for part in _codes(code) for step in dis.get_instructions(part) if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}


def changing_cells(code: types.CodeType) -> set[str]:
    """The variables of its closure that the code itself changes."""
    free = set(code.co_freevars)
    return free & {step.argval for part in _codes(code) for step in dis.get_instructions(part) if step.opname == "STORE_DEREF"}


def is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False
