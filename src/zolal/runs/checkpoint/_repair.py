"""A damaged folder brought back to what is whole: the last whole state, the answers since, and what can be said of the rest."""

import contextlib
import math
import os
from pathlib import Path
from typing import Any

from zolal._safe import replace_file
from zolal.errors import CheckpointError, DamagedError
from zolal.runs.checkpoint._codec import read_about
from zolal.runs.checkpoint._files import read_sealed, replace_sealed, require_lock
from zolal.runs.checkpoint._lines import encoded, scanned
from zolal.runs.checkpoint._reading import STATE, VALUES, describes_a_run, numbered, read_described, recorded
from zolal.runs.checkpoint._trace import line_distance
from zolal.runs.recording import FIELDS, distance


def repair(path: Any) -> list[str]:
    """Bring the folder of a run back to its last whole state; what was done, in sentences, none where nothing is damaged.

    Values since that state stay, up to the batch of the first one that is damaged; a run that goes on asks for the rest again. Every file
    that is changed or left out is kept beside it, with the ending .damaged.
    """
    folder = Path(path)
    if not folder.is_dir() or not ((folder / "run.json").exists() or numbered(folder, STATE)):
        raise CheckpointError(f"{str(folder)!r} is no folder of a run.")
    with contextlib.ExitStack() as stack:
        try:
            require_lock(stack, folder)
            return _repaired(folder)
        except OSError as error:
            raise CheckpointError(f"The checkpoint folder {str(folder)!r} cannot be repaired: {error.strerror or error}.") from error


def _repaired(folder: Path) -> list[str]:
    whole, broken = _states(folder)
    values = numbered(folder, VALUES)
    if not whole and values and 0 not in values:
        raise CheckpointError(f"The checkpoint folder {str(folder)!r} cannot be repaired: none of its states is whole.")
    told = _described(folder, [about for _, about in sorted(whole.items())])
    batches = max(whole, default=0)
    for path in broken:
        _set_aside(path)
        told.append(f"{path.name!r} was damaged.")
    if broken:
        told.append(f"The run goes back to its state after {batches} batches." if whole else "The run goes back to its start.")
    told += _answers(folder, batches)
    told += _trace(folder, whole[batches]["steps"] if whole else 0, bool(told))
    told += _failures(folder)
    return told + _result(folder, bool(told))


def _states(folder: Path) -> tuple[dict[int, dict[str, Any]], list[Path]]:
    """What the states that are whole say of themselves, by their batches, and those that are not."""
    whole, broken = {}, []
    for batches, path in numbered(folder, STATE).items():
        try:
            about = read_about(path)
        except DamagedError:
            about = {}
        if describes_a_run(about) and about.get("batches") == batches and type(about.get("steps")) is int:
            whole[batches] = about
        else:
            broken.append(path)
    return whole, broken


def _described(folder: Path, states: list[dict[str, Any]]) -> list[str]:
    """run.json, made from the last state where it is damaged."""
    path = folder / "run.json"
    try:
        if path.exists():
            read_described(folder)
            return []
    except DamagedError:
        pass
    if not states:
        raise CheckpointError(f"The checkpoint folder {str(folder)!r} cannot be repaired: neither 'run.json' nor a state is whole.")
    _set_aside(path)
    replace_sealed(path, {name: value for name, value in states[-1].items() if name not in ("steps", "batches")})
    return ["'run.json' was damaged or missing, and is made again from the state."]


def _answers(folder: Path, batches: int) -> list[str]:
    """Answers up to the first that is damaged, and those of the same batch after it; what lies before the state is not needed."""
    found = list(recorded(folder, batches))
    needed = max((i + 1 for i, answer in enumerate(found) if answer.line and answer.line["b"] < batches), default=0)
    bad = next((i for i in range(needed, len(found)) if found[i].line is None), len(found))
    batch = max([batches] + [answer.line["b"] for answer in found[:bad] if answer.line])
    good = [answer for i, answer in enumerate(found) if answer.line and (i < bad or answer.line["b"] == batch)]
    if len(good) == len(found):
        return []
    for path in dict.fromkeys(answer.path for answer in found):
        _rewrite(path, [answer.line for answer in good if answer.path == path and answer.line], keep=path == found[0].path)
    if bad == len(found):
        return ["Values from before the state were damaged; they are no longer needed."]
    lost = sum(answer.line is None for answer in found[bad:])
    where = f"Line {found[bad].number} of {found[bad].path.name!r}"
    return [f"{where} was damaged: {lost} values are lost, and {len(found) - len(good) - lost} that came after them are asked for again."]


def _trace(folder: Path, steps: int, cut: bool) -> list[str]:
    """The lines of the steps up to the state; later ones are made again as the run hears its values."""
    path = folder / "trace.jsonl"
    seen = list(scanned(path))
    apart = line_distance(seen) or distance(steps)
    apart = apart if steps > apart else distance(steps)  # a single line would not tell how far the next one is
    wanted = -(-steps // apart)  # lines
    found = {line.number: line.content for line in seen if line.content is not None}
    lost, whole = [number for number in range(1, wanted + 1) if number not in found], len(found) == len(seen)
    if not lost and not cut and whole:
        return []
    lines: list[dict[str, Any]] = []
    for number in range(1, wanted + 1):
        before = lines[-1] if lines else dict(nfev=0, stage=1)
        unknown = dict.fromkeys(FIELDS, math.nan) | dict(iteration=(number - 1) * apart, nfev=before["nfev"], stage=before["stage"])
        lines.append(found.get(number) or unknown)
    _rewrite(path, lines)
    if lost:
        return [f"The trace of {len(lost)} steps was damaged: their objective and residuals are unknown."]
    return [] if whole else ["The trace was damaged, and what is lost of it is made again by the run."]


def _failures(folder: Path) -> list[str]:
    path = folder / "failures.jsonl"
    found = [line.content for line in scanned(path)]
    if None not in found:
        return []
    _rewrite(path, [content for content in found if content is not None])
    return [f"{found.count(None)} lines of 'failures.jsonl' were damaged and are left out."]


def _result(folder: Path, changed: bool) -> list[str]:
    """A result that is damaged, or that the rest no longer leads to, is made again by a run that goes on."""
    path = folder / "result.json"
    if not path.exists():
        return []
    try:
        read_sealed(path)
        if not changed:
            return []
    except DamagedError:
        pass
    _set_aside(path)
    return ["'result.json' is left out; `resume=True` makes it again."]


def _rewrite(path: Path, lines: list[dict[str, Any]], keep: bool = True) -> None:
    """The file with these lines. keep: even where there are none."""
    _set_aside(path)
    if lines or keep:
        replace_file(path, lambda file: file.write(b"".join(encoded(i, line) for i, line in enumerate(lines, 1))))


def _set_aside(path: Path) -> None:
    if path.exists() or path.is_symlink():
        os.replace(path, path.with_name(f"{path.name}.damaged"))
