"""Opening files of a folder that others may have written to: no link is followed, and nothing but a plain file is opened."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from zolal.errors import CheckpointError

CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
READ, UPDATE = os.O_RDONLY, os.O_RDWR
CREATE, NEW = os.O_RDWR | os.O_CREAT, os.O_RDWR | os.O_CREAT | os.O_EXCL
MODES = {READ: "rb", UPDATE: "r+b", CREATE: "r+b", NEW: "w+b"}


def opened(path: Path, how: int = READ, buffering: int = -1) -> BinaryIO:
    """The file of this very name, opened to READ, to UPDATE, to CREATE where it is missing, or as a NEW one that was not there."""
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
