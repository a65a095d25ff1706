"""Reading a run's folder, also while the run goes on."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from zolal.errors import CheckpointError
from zolal.runs.checkpoint._failures import parted
from zolal.runs.checkpoint._files import UNFINISHED, damaged, number, read_json, read_sealed
from zolal.runs.checkpoint._lines import read_lines, scanned
from zolal.runs.recording import FIELDS

FORMAT = 2  # 1 was that of 0.1.0, whose records had other names
MOST_ABOUT = 1 << 26  # bytes of run.json
STATE, VALUES = re.compile(r"state-(\d+)\.npz"), re.compile(r"values-(\d+)\.jsonl")
KINDS = {"format": int, "created": str, "python": str, "seed": str, "maxfev": int, "fingerprint": dict}  # what run.json says


@final
@dataclass(frozen=True, eq=False)
class RunRecord:
    """What a folder tells of its run. about: run.json. trace: a column per field. result: None before the run has ended.

    failures: the last ones. earlier_failures: how many there were before those, by what they said.
    """

    path: Path
    about: dict[str, Any]
    trace: dict[str, np.ndarray]
    failures: list[dict[str, Any]]
    result: dict[str, Any] | None
    earlier_failures: Counter[str] = field(default_factory=Counter)


def read_run(path: Any) -> RunRecord:
    """The record of the run that a folder keeps."""
    folder = Path(path)
    about = read_described(folder)
    lines = read_lines(folder / "trace.jsonl")
    trace = {name: np.array([number(line.get(name)) for line in lines]) for name in FIELDS}
    ended = (folder / "result.json").exists()
    earlier, failures = parted(read_lines(folder / "failures.jsonl"))
    return RunRecord(folder, about, trace, failures, read_sealed(folder / "result.json") if ended else None, earlier)


def read_described(folder: Path) -> dict[str, Any]:
    """run.json: what the run is."""
    path = folder / "run.json"
    if (found := read_json(path, MOST_ABOUT).get("format")) != FORMAT:
        raise CheckpointError(
            f"The checkpoint folder {str(folder)!r} has format {found!r}; this version of zolal reads format {FORMAT}. "
            "The version that wrote it can go on with it, or name another folder."
        )
    about = read_sealed(path, MOST_ABOUT)
    if not describes_a_run(about):
        raise damaged(path, None, "does not say what the run is")
    return about


def describes_a_run(about: Any) -> bool:
    typed = isinstance(about, dict) and all(isinstance(about.get(name), kind) for name, kind in KINDS.items())
    return typed and about["seed"].isdecimal() and all(isinstance(value, str) for value in about["fingerprint"].values())


def numbered(folder: Path, pattern: re.Pattern[str]) -> dict[int, Path]:
    """The states or the answers in a folder by their numbers, in order."""
    found = {int(match[1]): path for path in folder.iterdir() if (match := pattern.fullmatch(path.name))}
    return dict(sorted(found.items()))


def unfinished(folder: Path) -> list[Path]:
    """Files that a kill has left half-written."""
    return [path for path in folder.iterdir() if UNFINISHED.fullmatch(path.name) and path.is_file() and not path.is_symlink()]


class Recorded(NamedTuple):
    """A line of answers and where it stands. line: None where it is damaged, and why then."""

    path: Path
    number: int
    line: dict[str, Any] | None
    why: str = ""


def recorded(folder: Path, batches: int) -> Iterator[Recorded]:
    """The answers since a state of so many batches, in order. Batches follow each other: a jump is a loss."""
    files = numbered(folder, VALUES)
    last = first_file(files, batches)
    for path in (path for count, path in files.items() if count >= last):
        for place, content, why in scanned(path):
            if content is None:
                yield Recorded(path, place, None, why)
            elif not _is_answer(content):
                yield Recorded(path, place, None, "is no answer of a run")
            elif not last <= content["b"] <= last + 1:
                yield Recorded(path, place, None, f"answers batch {content['b']} after batch {last}")
            else:
                last = content["b"]
                yield Recorded(path, place, content)


def first_file(files: dict[int, Path], batches: int) -> int:
    """The number of the file of answers in which those since a state of so many batches begin."""
    return max((count for count in files if count <= batches), default=batches)


def _is_answer(line: dict[str, Any]) -> bool:
    named = type(line.get("b")) is int and type(line.get("check")) is bool
    if line.get("reopened"):
        return named
    if "more" in line:
        return named and type(line["more"]) is int and line["more"] > 0
    outputs = line.get("o", [])
    known = isinstance(outputs, list) and all(map(_is_number, (line.get("v"), *outputs)))
    return named and type(line.get("i")) is int and known and isinstance(line.get("failure"), (str, type(None)))


def _is_number(value: Any) -> bool:
    """Whether it is how a number is written down: NaN is null."""
    return value is None or type(value) in (int, float) or value in ("inf", "-inf")
