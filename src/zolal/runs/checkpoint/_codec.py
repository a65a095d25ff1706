"""States as arrays and JSON, without pickle: reading one can only build zolal's own immutable records."""

import contextlib
import dataclasses
import hashlib
import importlib
import json
import math
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from array_api_compat import device, is_array_api_obj, is_numpy_array

from zolal._array import Array, namespace, to_numpy
from zolal._safe import read_from
from zolal.errors import CheckpointError, UnsupportedError
from zolal.problem import SlackForm
from zolal.runs.checkpoint._files import damaged

BLOCK = 1 << 20  # bytes that are read at once
DIGEST_SIZE = 16
SEAL_LENGTH = len("zolal \n") + 2 * DIGEST_SIZE
PLAIN = (bool, int, str, type(None))


def write_record(file: BinaryIO, record: Any, about: dict[str, Any]) -> None:
    """A tree of records, arrays and plain values as an .npz file with a digest behind it; an array that appears twice is written once.

    about: what can be read without the problem.
    """
    arrays: list[Array] = []
    tree = _encoded(record, arrays, {})
    content = {f"a{i}": np.asarray(to_numpy(array), order="C") for i, array in enumerate(arrays)}
    np.savez(file, **_texts(tree=tree, about=about), **content)  # type: ignore[arg-type]
    size = file.seek(0, os.SEEK_END)
    seal = _digest(file, size)
    file.seek(size)
    file.write(seal)


def _texts(**contents: Any) -> dict[str, np.ndarray]:
    return {name: np.frombuffer(json.dumps(content).encode(), dtype=np.uint8) for name, content in contents.items()}


def read_record(path: Path, form: SlackForm, reference: Array) -> Any:
    """The tree, with `form` where the problem was; arrays that were not NumPy's come back in the namespace of `reference`."""
    with _whole(path) as content:
        tree = json.loads(content["tree"].tobytes())
        arrays = [content[f"a{i}"] for i in range(len(content.files) - 2)]
        natives = [
            array if is_numpy_array(reference) else namespace(reference).asarray(array, device=device(reference)) for array in arrays
        ]
        return _decoded(tree, {"array": arrays, "native": natives}, form)


def read_about(path: Path) -> dict[str, Any]:
    """What a state says that can be read without the problem."""
    with _whole(path) as content:
        return dict(json.loads(content["about"].tobytes()))


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Any]:
    """The arrays of a state whose digest is right and whose sizes are those of the file; whatever is wrong is one sentence."""
    with read_from(path) as file:
        size = os.fstat(file.fileno()).st_size - SEAL_LENGTH
        if size < 0 or _digest(file, size) != file.read(SEAL_LENGTH):
            raise damaged(path, None, "does not match its checksum")
        try:
            _require_plain(file, size)
            file.seek(0)
            with np.load(file, allow_pickle=False) as content:
                yield content
        except CheckpointError:
            raise
        except Exception as error:  # made by somebody else, who knows how to make a digest
            raise damaged(path, None, f"is no state of this version of zolal ({type(error).__name__}: {error})") from error


def _digest(file: BinaryIO, size: int) -> bytes:
    """The last line of a state: a digest of the bytes before it."""
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    file.seek(0)
    while size > 0 and (block := file.read(min(BLOCK, size))):
        digest.update(block)
        size -= len(block)
    return f"zolal {digest.hexdigest()}\n".encode()


def _require_plain(file: BinaryIO, size: int) -> None:
    """Arrays that take no more memory than the file has bytes."""
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as array:
                version = np.lib.format.read_magic(array)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(array)
                expected = array.tell() + math.prod(shape) * dtype.itemsize
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != expected or expected > size:
                raise ValueError(f"{entry.filename} claims {entry.file_size} bytes")


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
