"""trace.jsonl: a line for each step that the recorder keeps, at equal distances from the first on."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zolal.runs.checkpoint._files import damaged, number
from zolal.runs.checkpoint._lines import Line, read_lines
from zolal.runs.recording import COUNTS, FIELDS, Recorder, distance


def as_line(record: Iterable[float]) -> dict[str, Any]:
    return dict(zip(FIELDS, record, strict=True))


def as_record(line: dict[str, Any]) -> tuple[float, ...]:
    return tuple(number(line.get(name)) for name in FIELDS)


def line_distance(lines: Iterable[Line]) -> int | None:
    """The steps between two lines, which any whole one but the first tells; None where there is no such line."""
    for line in lines:
        step = (line.content or {}).get("iteration")
        if line.number > 1 and type(step) is int and step > 0 and step % (line.number - 1) == 0:
            return step // (line.number - 1)
    return None


def resumed_recorder(path: Path, steps: int, last: tuple[float, ...]) -> tuple[Recorder, int, int]:
    """The recorder of a run that stands after so many steps, the steps between two lines of its trace, and those that the trace covers."""
    lines = read_lines(path)
    apart = line_distance(Line(i, line) for i, line in enumerate(lines, 1)) or 1
    for i, line in enumerate(lines):
        if line.get("iteration") != i * apart or any(type(line.get(name)) is not int for name in COUNTS):
            raise damaged(path, i + 1, f"is not that of step {i * apart}")
    if len(lines) < -(-steps // apart):
        raise damaged(path, None, f"has {len(lines)} lines, fewer than the {steps} steps of the state")
    records = [as_record(line) for line in lines if line["iteration"] < steps and line["iteration"] % distance(steps) == 0]
    covered = lines[-1]["iteration"] + 1 if lines else 0
    return Recorder(records, last or (records[-1] if records else ()), steps), apart, covered
