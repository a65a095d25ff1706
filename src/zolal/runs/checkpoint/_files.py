"""Files that are whole or not there: replaced in one step, or grown line by line and cut back where a line could not be finished."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside the old one, have it reach the disk, and put it in the old one's place."""
    new = path.with_name(f".{path.name}.new")
    try:
        with open(new, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
        sync_folder(path.parent)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def replace_json(path: Path, content: Any) -> None:
    replace_file(path, lambda file: file.write(json.dumps(plain(content), indent=1, allow_nan=False).encode()))


def sync_folder(folder: Path) -> None:
    """Have the folder's own entries reach the disk, where the system lets us."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a JSON Lines file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    *lines, _ = path.read_bytes().split(b"\n")
    return [json.loads(line) for line in lines]


class Lines:
    """A JSON Lines file that only grows. What cannot be written waits; a line that could only be begun is cut off again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = open(path, "r+b" if path.exists() else "x+b", buffering=0)  # noqa: SIM115
        content = self.file.read()
        self.length = content.rfind(b"\n") + 1
        self.file.truncate(self.length)
        self.waiting = bytearray()
        self.unsynced = False

    def append(self, line: dict[str, Any]) -> None:
        self.waiting += json.dumps(plain(line), allow_nan=False, separators=(",", ":")).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        """Hand what waits to the system, which keeps it even if this process is killed."""
        if not self.waiting:
            return
        try:
            self.file.seek(self.length)
            written = self.file.write(bytes(self.waiting)) or 0
            if written < len(self.waiting):  # the disk is full: say why
                self.file.write(bytes(self.waiting[written:]))
                raise OSError(28, os.strerror(28))
        except OSError:
            self.file.truncate(self.length)
            raise
        self.length += written
        self.waiting.clear()
        self.unsynced = True

    def sync(self) -> None:
        """Have everything reach the disk."""
        self.flush()
        if self.unsynced:
            os.fsync(self.file.fileno())
            self.unsynced = False

    def close(self) -> None:
        self.file.close()


_locked: set[str] = set()  # by this process, whose own locks do not keep it out


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether this context alone has the lock. It ends with the process, and processes that it has forked do not hold it after that."""
    name = str(path.resolve())
    with contextlib.ExitStack() as stack:
        free = name not in _locked
        if free:
            file = stack.enter_context(open(path, "ab"))
            try:
                if fcntl is not None:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _locked.add(name)
                stack.callback(_locked.discard, name)
            except (BlockingIOError, PermissionError):
                free = False
        yield free
