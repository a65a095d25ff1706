"""What the report of an experiment is made of: tables, drawings, words; and how it is written."""

import io
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import final

from matplotlib.figure import Figure

from zolal._safe import replace_file
from zolal.errors import InvalidArgumentError
from zolal.report._style import styled
from zolal.tables import Table


@final
@dataclass(frozen=True)
class Drawing:
    """A figure with its caption. title: what a reader who cannot see it is told."""

    name: str
    title: str
    caption: str
    figure: Figure

    @cached_property
    def png(self) -> bytes:
        """The file, with 200 dots per inch."""
        return self._render("png", None)

    @cached_property
    def svg(self) -> bytes:
        return self._render("svg", {"Date": None})

    def _render(self, kind: str, metadata: dict[str, None] | None) -> bytes:
        out = io.BytesIO()
        with styled():
            self.figure.savefig(out, format=kind, metadata=metadata)
        self.figure.set_layout_engine("none")  # places are found once
        return out.getvalue()


@final
@dataclass(frozen=True)
class Origin:
    """Where a report comes from: the command, the version of zolal, and the processor seconds of all its runs."""

    command: str
    version: str
    seconds: float


@final
@dataclass(frozen=True)
class Report:
    """The whole report; the first table is the main one. lead: paragraphs that say what was found."""

    name: str
    title: str
    lead: list[str]
    drawings: list[Drawing]
    tables: list[Table] = field(default_factory=list)


def save(path: Path, content: str | bytes) -> Path:
    """Write a file, with its folder, in the place of one that is there, which may be a link; returns its path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, lambda file: file.write(content.encode() if isinstance(content, str) else content))
    except OSError as error:
        raise InvalidArgumentError(f"`--out` must be a folder that can be written, got {str(path.parent)!r}: {error.strerror}.") from error
    return path


def number(value: float | None, digits: int = 4) -> str:
    """A number as text with so many significant digits, without trailing zeros; whole numbers below 10^9 in full."""
    if value is None:
        return "—"
    if abs(value) < 1e9 and abs(value) >= 10 ** (digits - 1):
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def counted(count: int, noun: str) -> str:
    """1 seed, 3 seeds."""
    return f"{count} {noun}" + ("" if count == 1 else "s")
