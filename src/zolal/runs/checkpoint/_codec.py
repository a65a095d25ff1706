"""States as arrays and JSON, without pickle: reading one can only build zolal's own immutable records."""

import dataclasses
import importlib
import json
from typing import Any, BinaryIO

import numpy as np
from array_api_compat import device, is_array_api_obj, is_numpy_array

from zolal._array import Array, namespace, to_numpy
from zolal.errors import CheckpointError, UnsupportedError
from zolal.problem import SlackForm

PLAIN = (bool, int, str, type(None))


def write_record(file: BinaryIO, record: Any) -> None:
    """A tree of records, arrays and plain values as an .npz file; an array that appears twice is written once."""
    arrays: list[Array] = []
    tree = _encoded(record, arrays, {})
    content = {f"a{i}": np.asarray(to_numpy(array), order="C") for i, array in enumerate(arrays)}
    np.savez(file, tree=np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8), **content)  # type: ignore[arg-type]


def read_record(path: Any, form: SlackForm, reference: Array) -> Any:
    """The tree, with `form` where the problem was; arrays that were not NumPy's come back in the namespace of `reference`."""
    with np.load(path, allow_pickle=False) as content:
        tree = json.loads(content["tree"].tobytes())
        arrays = [content[f"a{i}"] for i in range(len(content.files) - 1)]
    natives = [array if is_numpy_array(reference) else namespace(reference).asarray(array, device=device(reference)) for array in arrays]
    return _decoded(tree, {"array": arrays, "native": natives}, form)


def _encoded(value: Any, arrays: list[Array], seen: dict[int, int]) -> Any:
    if isinstance(value, SlackForm):
        return {"form": None}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, PLAIN):
        return value
    if is_array_api_obj(value):
        if id(value) not in seen:
            seen[id(value)] = len(arrays)
            arrays.append(value)
        return {"array" if is_numpy_array(value) else "native": seen[id(value)]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return {"record": _path(value), "fields": {name: _encoded(item, arrays, seen) for name, item in fields.items()}}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"record": _path(value), "fields": {name: _encoded(getattr(value, name), arrays, seen) for name in value._fields}}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [_encoded(item, arrays, seen) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_encoded(key, arrays, seen), _encoded(item, arrays, seen)] for key, item in value.items()]}
    raise UnsupportedError(
        f"A state that holds {type(value).__qualname__} cannot be kept in a checkpoint; records, arrays and numbers can."
    )


def _decoded(tree: Any, arrays: dict[str, list[Array]], form: SlackForm) -> Any:
    if not isinstance(tree, dict):
        return tree
    (kind, content), *rest = tree.items()
    if kind == "record":
        fields = {name: _decoded(item, arrays, form) for name, item in rest[0][1].items()}
        return _record_class(content)(**fields)
    if kind == "dict":
        return {_decoded(key, arrays, form): _decoded(item, arrays, form) for key, item in content}
    if kind in ("tuple", "list"):
        items = [_decoded(item, arrays, form) for item in content]
        return tuple(items) if kind == "tuple" else items
    if kind in arrays:
        return arrays[kind][content]
    return form if kind == "form" else float.fromhex(content)


def _path(value: Any) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _record_class(path: str) -> Any:
    """A record of zolal by its name; nothing else can be named."""
    module, _, name = path.partition(":")
    found = getattr(importlib.import_module(module), name, None) if module.split(".")[0] == "zolal" and name.isidentifier() else None
    if not (dataclasses.is_dataclass(found) or (isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields"))):
        raise CheckpointError(f"The checkpoint names {path!r}, which is no record of this version of zolal.")
    return found
