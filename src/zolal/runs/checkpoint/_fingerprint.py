"""What a run is, in a few words per part, so that two runs can be told apart by name."""

import dataclasses
import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import is_array_api_obj

from zolal._array import to_numpy
from zolal.problem import Problem
from zolal.runs.checkpoint._dependencies import changing_cells, dependencies, is_empty
from zolal.runs.session import Setup

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
DIGITS = 8  # of a digest


def fingerprint(setup: Setup) -> dict[str, str]:
    """Each part of a run that the values depend on, described."""
    problem, equalities = setup.problem, setup.start.form.equalities
    bounds = [np.asarray(bound, dtype=float) for part in equalities.parts for bound in (part.lower, part.upper)]
    values = np.array([float(f"{value:.6g}") for value in to_numpy(setup.start.c)])
    parts = {
        "dimension": problem.dimension,
        "x0": to_numpy(setup.start.x),
        "objective": problem.objective,
        "sample": problem.sample,
        "gradient": problem.gradient,
        "vectorized": problem.vectorized,
        "region": problem.region,
        "regularizer": problem.regularizer,
        "constraints": (tuple(equalities.row_counts), *bounds, values),
        "seed": setup.seed,
    }
    if problem.simulated:
        parts["outputs"] = (problem.outputs.lower, problem.outputs.upper, problem.outputs.noisy)
    told = {name: described(value) for name, value in parts.items()}
    told["constraints"] = told["constraints"].replace("tuple", f"{equalities.num_rows} rows")
    told |= {f"{name!r} of the {part}": text for part, name, text in _used(problem, equalities)}
    chosen = {name: value for name, value in setup.parameters.items() if name != "options"}
    options = {f"option {name!r}": value for name, value in setup.parameters["options"].items()}
    return told | {name: described(value) for name, value in (chosen | options).items()}


def _used(problem: Problem, equalities: Any) -> Iterator[tuple[str, str, str]]:
    """What the functions of a run name in their code, by the function's part in the run."""
    functions = {name: [getattr(problem, name)] for name in ("objective", "sample", "gradient")}
    functions["constraints"] = [function for part in equalities.parts for function in (part.fun, part.jac, part.vjp)]
    for part, values in functions.items():
        for name, value in dependencies(*values).items():
            yield part, name, described(value)


def differences(old: dict[str, str], new: dict[str, str], same_python: bool) -> list[str]:
    """What differs between two runs, in words; code is compared within one version of Python only."""
    found = []
    for name in dict.fromkeys([*new, *old]):
        before, after = (side.get(name, "not given") for side in (old, new))
        if not same_python:
            before, after = (side.split(" #")[0] for side in (before, after))
        if before != after:
            found.append(f"{name} was {before} and is {after}")
    return found


def described(value: Any) -> str:
    """A short description that differs where the value does: words, and a digest of what words cannot hold."""
    if isinstance(value, (bool, int, float, str, type(None), np.generic)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    content = _content(value, 0)
    name = getattr(value, "__qualname__", type(value).__name__)
    if isinstance(value, np.ndarray):
        name = f"array of shape {value.shape}"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        told = [f"{key}={field!r}" for key, field in fields.items() if isinstance(field, (bool, int, float, str, type(None)))]
        name += f"({', '.join(told)})" if len(told) == len(fields) else ""
    return f"{name} #{hashlib.blake2b(content.encode(), digest_size=DIGITS // 2).hexdigest()}"


def _content(value: Any, depth: int) -> str:
    """All that is lasting about a value. What changes as a program runs, such as the attributes of an object, is left out."""
    if depth > 6:
        return type(value).__qualname__
    if isinstance(value, np.ndarray) or is_array_api_obj(value):
        array = np.ascontiguousarray(to_numpy(value))
        digest = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest() if array.dtype.kind in "biufcSU" else ""
        return f"{array.dtype}{array.shape}{digest}"
    if scipy.sparse.issparse(value):
        parts = value.tocoo()
        return "sparse" + "".join(_content(part, depth + 1) for part in (parts.row, parts.col, parts.data)) + repr(parts.shape)
    if isinstance(value, types.CodeType):
        consts = "".join(_content(part, depth + 1) for part in value.co_consts)
        return f"{value.co_code.hex()}{value.co_names}{value.co_varnames}{consts}"
    if isinstance(value, types.FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        changing = changing_cells(value.__code__)
        kept = [cell.cell_contents for name, cell in cells if not is_empty(cell) and name not in changing]
        kept += [*(value.__defaults__ or ()), *sorted((value.__kwdefaults__ or {}).items())]
        held = "".join(_content(item, depth + 1) for item in kept if not isinstance(item, (list, dict, set)))
        return f"{value.__qualname__}{_content(value.__code__, depth + 1)}{held}"
    if isinstance(value, types.MethodType):
        return _content(value.__func__, depth + 1) + _content(value.__self__, depth + 1)
    if isinstance(value, functools.partial):
        return _content(value.func, depth + 1) + _content(value.args, depth + 1) + _content(value.keywords, depth + 1)
    if isinstance(value, dict):
        return "".join(f"{key!r}{_content(item, depth + 1)}" for key, item in value.items())
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(_content(item, depth + 1) for item in value))}}}"
    if isinstance(value, type):
        members = sorted(vars(value).items())
        return value.__qualname__ + "".join(_content(item, depth + 1) for _, item in members if isinstance(item, types.FunctionType))
    if isinstance(value, (tuple, list)):
        return f"({','.join(_content(item, depth + 1) for item in value)})"
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic)):
        return repr(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and value.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        fields = "".join(f"{field.name}{_content(getattr(value, field.name), depth + 1)}" for field in dataclasses.fields(value))
        return f"{type(value).__qualname__}{fields}"
    call = inspect.getattr_static(type(value), "__call__", None)
    return type(value).__qualname__ + (_content(call, depth + 1) if isinstance(call, types.FunctionType) else "")
