"""Files in folders that others may write to: no link is followed, nothing but plain files is opened, and files are replaced in one step."""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from zolal.errors import CheckpointError

CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
READ, UPDATE = os.O_RDONLY, os.O_RDWR
CREATE, NEW = os.O_RDWR | os.O_CREAT, os.O_RDWR | os.O_CREAT | os.O_EXCL
APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND
MODES = {READ: "rb", UPDATE: "r+b", CREATE: "r+b", NEW: "w+b", APPEND: "a+b"}


def opened(path: Path, how: int = READ, buffering: int = -1) -> BinaryIO:
    """The file of this very name, opened to READ, to UPDATE, to CREATE or APPEND to where it may be missing, or as a NEW one."""
    if path.is_symlink():
        raise CheckpointError(f"{str(path)!r} is a symbolic link, which is not followed; remove it, or name the file itself.")
    descriptor = os.open(path, how | CAREFUL, 0o666)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            what = "has another name, too" if stat.S_ISREG(found.st_mode) else "is no plain file"
            raise CheckpointError(f"{str(path)!r} {what}, and is not opened; remove it, or name another folder.")
        return os.fdopen(descriptor, MODES[how], buffering)  # type: ignore[return-value]
    except BaseException:
        os.close(descriptor)
        raise


@contextlib.contextmanager
def read_from(path: Path) -> Iterator[BinaryIO]:
    """The file, to be read; trouble of the system is told in one sentence."""
    try:
        with opened(path) as file:
            yield file
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside the old one, have it reach the disk, and put it in the old one's place, which may be a link."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    file = opened(new, NEW)
    try:
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
        sync_folder(path.parent)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Have the folder's own entries reach the disk, where the system lets us."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
