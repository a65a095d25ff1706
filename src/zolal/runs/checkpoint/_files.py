"""JSON files that are whole or not there, with a checksum where they are read again; and the lock of a folder."""

import contextlib
import json
import os
import re
import shlex
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from zolal._safe import CREATE, opened, read_from, replace_file
from zolal.errors import CheckpointError, DamagedError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

OURS = r"run\.json|result\.json|state-\d+\.npz|(trace|failures|values-\d+)\.jsonl"
UNFINISHED = re.compile(rf"\.({OURS})\.[0-9a-f]{{16}}\.new")  # what a kill leaves of `replace_file`
SEAL = "checksum"
LARGEST = 1 << 32  # bytes of a JSON file; a result of 10^8 variables has half of that


def replace_json(path: Path, content: Any) -> None:
    replace_file(path, lambda file: file.write(json.dumps(plain(content), indent=1, allow_nan=False).encode()))


def replace_sealed(path: Path, content: dict[str, Any]) -> None:
    """A JSON file that says by a checksum whether it is whole."""
    content = plain(content)
    replace_json(path, content | {SEAL: _checksum(content)})


def read_sealed(path: Path, most: int = LARGEST) -> dict[str, Any]:
    """What `replace_sealed` has written; most: the bytes that it may have."""
    found = read_json(path, most)
    if found.pop(SEAL, None) != _checksum(found):
        raise damaged(path, None, "does not match its checksum")
    return found


def read_json(path: Path, most: int = LARGEST) -> dict[str, Any]:
    """A JSON file that must be there and hold an object."""
    with read_from(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > most:
            raise damaged(path, None, f"has {size} bytes, more than it can have")
        content = file.read()
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, None, f"is no JSON ({error})") from error
    if not isinstance(found, dict):
        raise damaged(path, None, f"must hold an object and holds a {type(found).__name__}")
    return found


def _checksum(content: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(content, sort_keys=True, separators=(',', ':')).encode()):08x}"


def damaged(path: Path, line: int | None, what: str) -> DamagedError:
    """The one sentence for a file that is not as it was written."""
    where = repr(path.name) if line is None else f"line {line} of {path.name!r}"
    return DamagedError(
        f"The checkpoint folder {str(path.parent)!r} is damaged: {where} {what}; "
        f"`zolal repair {shlex.quote(str(path.parent))}` goes back to what is whole."
    )


def plain(value: Any) -> Any:
    """The value in strict JSON: NaN becomes null, an infinity the word "inf" or "-inf"; `number` reads them back."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def number(value: Any) -> float:
    """A float back from JSON."""
    return float("nan") if value is None else float(value)


_locked: set[tuple[int, str]] = set()  # by this process, whose own locks do not keep it out
_locking = threading.Lock()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether this context alone has the lock. It ends with the process, and processes that it has forked do not hold it after that."""
    name = os.getpid(), str(path.resolve())
    with contextlib.ExitStack() as stack:
        with _locking:
            free = name not in _locked and _is_had(stack.enter_context(opened(path, CREATE)))
            if free:
                _locked.add(name)
                stack.callback(_locked.discard, name)
        yield free


def _is_had(file: BinaryIO) -> bool:
    try:
        if fcntl is not None:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def require_lock(stack: contextlib.ExitStack, folder: Path) -> None:
    """Have the folder for ourselves until the stack is closed."""
    if not stack.enter_context(locked(folder / "lock")):
        raise CheckpointError(f"The checkpoint folder {str(folder)!r} is in use by another run.")
