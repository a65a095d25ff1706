"""JSON Lines, each with its number and a checksum: a line is whole, or it is told which one is not."""

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from zolal._safe import NEW, UPDATE, opened, read_from, replace_file
from zolal.runs.checkpoint._files import damaged, plain

LONGEST = 1 << 20  # bytes of a line
BLOCK = 1 << 20  # bytes that are read at once
TAIL = re.compile(rb',"crc":"([0-9a-f]{8})"\}')
TAIL_LENGTH = len(b',"crc":"00000000"}')


class Line(NamedTuple):
    """A line of a file. number: from 1 on. content: None where it is damaged, and why then."""

    number: int
    content: dict[str, Any] | None
    why: str = ""


def encoded(number: int, line: dict[str, Any]) -> bytes:
    """The line as bytes, with its number first and its checksum last."""
    body = json.dumps({"n": number} | plain(line), allow_nan=False, separators=(",", ":")).encode()[:-1]
    return body + b',"crc":"%08x"}\n' % zlib.crc32(body)


def scanned(path: Path) -> Iterator[Line]:
    """Every line of a file, damaged ones too; a last line that was cut off is left out, and a file that is not there has none."""
    if not path.exists() and not path.is_symlink():
        return
    with read_from(path) as file:
        expected = 1
        while raw := file.readline(LONGEST):
            if not raw.endswith(b"\n"):
                if len(raw) == LONGEST:
                    yield Line(expected, None, f"has more than {LONGEST} bytes")
                return
            line = _decoded(raw[:-1], expected)
            yield line
            expected = line.number + 1


def _decoded(raw: bytes, expected: int) -> Line:
    tail = TAIL.fullmatch(raw[-TAIL_LENGTH:])
    if tail is None or int(tail[1], 16) != zlib.crc32(raw[:-TAIL_LENGTH]):
        return Line(expected, None, "does not match its checksum")
    try:
        content = json.loads(raw)
        number = content.pop("n")
        del content["crc"]
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return Line(expected, None, "is no line of a run")
    if number != expected:
        return Line(number if isinstance(number, int) else expected, None, f"stands where line {expected} should be")
    return Line(expected, content)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; one that is damaged is an error."""
    found = []
    for line in scanned(path):
        if line.content is None:
            raise damaged(path, line.number, line.why)
        found.append(line.content)
    return found


class Lines:
    """A file of lines that grows, or is replaced. What cannot be written waits; a line that could only be begun is cut off again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: Any = opened(path, UPDATE if path.exists() else NEW, buffering=0)
        self.count, self.length = self._whole()
        self.file.truncate(self.length)
        self.waiting = bytearray()
        self.anew = False  # whether what waits is to take the place of all lines that are there
        self.unsynced = False

    def _whole(self) -> tuple[int, int]:
        """How many lines there are, and where the last of them ends."""
        count = end = start = 0
        while block := self.file.read(BLOCK):
            count += block.count(b"\n")
            end = start + block.rfind(b"\n") + 1 if b"\n" in block else end
            start += len(block)
        return count, end

    def append(self, line: dict[str, Any]) -> None:
        self.count += 1
        self.waiting += encoded(self.count, line)
        self.flush()

    def replace(self, lines: Iterable[dict[str, Any]]) -> None:
        """Have these lines in the place of all that there are, in one step."""
        self.anew, self.count = True, 0
        self.waiting.clear()
        for self.count, line in enumerate(lines, 1):
            self.waiting += encoded(self.count, line)
        self.flush()

    def flush(self) -> None:
        """Hand what waits to the system, which keeps it even if this process is killed."""
        if self.anew:
            self._write_anew()
        elif self.waiting:
            self._write_on()
        self.waiting.clear()

    def _write_anew(self) -> None:
        replace_file(self.path, lambda file: file.write(self.waiting))
        file = opened(self.path, UPDATE, buffering=0)
        self.file.close()
        self.file, self.length, self.anew, self.unsynced = file, len(self.waiting), False, False

    def _write_on(self) -> None:
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
        self.unsynced = True

    def sync(self) -> None:
        """Have everything reach the disk."""
        self.flush()
        if self.unsynced:
            os.fsync(self.file.fileno())
            self.unsynced = False

    def close(self) -> None:
        self.file.close()
