"""An append-only store of runs: one JSON line each, so that nothing that was measured is lost, and an interrupted grid goes on."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, final

from zolal._safe import APPEND, READ, opened
from zolal.errors import CheckpointError, InvalidArgumentError


@final
@dataclass(frozen=True)
class Store:
    """Records in `folder/runs.jsonl`. A line that a crash left unfinished is ignored, and the next record starts on a line of its own.

    A link in the place of the file is not followed.
    """

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "runs.jsonl"

    def append(self, record: dict[str, Any]) -> None:
        """Add one record; it is on the disk when this returns."""
        line = json.dumps(record, allow_nan=False) + "\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _opened(self.path, APPEND) as file:
                file.write(b"" if _ends_a_line(file) else b"\n")
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InvalidArgumentError(
                f"The result store must be a folder that can be written, got {str(self.folder)!r}: {error}."
            ) from error

    def records(self) -> Iterator[dict[str, Any]]:
        """All whole records, oldest first."""
        if not self.path.exists() and not self.path.is_symlink():
            return
        with _opened(self.path, READ) as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


def _opened(path: Path, how: int) -> BinaryIO:
    try:
        return opened(path, how)
    except CheckpointError as error:
        raise InvalidArgumentError(str(error)) from error


def _ends_a_line(file: Any) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")
