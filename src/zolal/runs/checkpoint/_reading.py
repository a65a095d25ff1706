"""Reading a run's folder, also while the run goes on."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from zolal.errors import CheckpointError
from zolal.runs.checkpoint._files import number, read_lines
from zolal.runs.recording import FIELDS


@final
@dataclass(frozen=True, eq=False)
class RunRecord:
    """What a folder tells of its run. about: run.json. trace: a column per field. result: None before the run has ended."""

    path: Path
    about: dict[str, Any]
    trace: dict[str, np.ndarray]
    failures: list[dict[str, Any]]
    result: dict[str, Any] | None


def read_run(path: Any) -> RunRecord:
    """The record of the run that a folder keeps."""
    folder = Path(path)
    about = read_json(folder / "run.json")
    lines = read_lines(folder / "trace.jsonl")
    trace = {name: np.array([number(line.get(name)) for line in lines]) for name in FIELDS}
    ended = (folder / "result.json").exists()
    return RunRecord(folder, about, trace, read_lines(folder / "failures.jsonl"), read_json(folder / "result.json") if ended else None)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that must be there and hold an object."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CheckpointError(f"{str(path)!r} is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{str(path)!r} must hold an object, got {type(found).__name__}.")
    return found
