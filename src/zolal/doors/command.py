"""The door for programs: an objective that is a command, and a problem that a JSON file describes."""

import contextlib
import errno
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from scipy.optimize import LinearConstraint

from zolal._array import to_numpy
from zolal._checks import positive, shown
from zolal.doors.arguments import as_region
from zolal.errors import CommandError, InvalidArgumentError
from zolal.evaluation.crews.base import too_slow
from zolal.naming import Naming
from zolal.problem import Problem

LAST_WORDS = 300  # characters of what a program that failed wrote to stderr
HELD = tuple(int(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name))  # Windows has no alarm
PARTS = ("x0", "bounds", "constraints")
ROW = ("weights", "lower", "upper")


@final
@dataclass(frozen=True)
class Command:
    """A program as an objective: it reads a point as JSON and writes a value.

    line: the command with `{input}` and `{output}` where the names of two files go, and perhaps `{seed}`. The input holds the point, a
    list of numbers, or an object where variables have names; the output is to hold a number, or an object with a "value". Without `{input}`
    the point comes on stdin, without `{output}` the value is read from stdout. `{seed}` is an integer that fixes the randomness of the
    program: give `sample=zolal.Command.draw_seed` beside it. No shell reads the line; write `sh -c '...'` for one.

    An exit code other than 0, a signal, or no value is a `CommandError`, which `on_error` and `retries` of `minimize` deal with. A value of
    null or nan says that there is none at this point. timeout: the seconds that one call may take; after them the program and all that it
    has started are ended; a timeout of `minimize` does that with `workers` alone. Ctrl-C and SIGTERM end them, too, and nothing is left
    of their files; with `workers` SIGTERM must raise, as it does in `zolal solve`.

    >>> zolal.Command("awk -F '[][,]' '{ print $2 * $3 }'")(np.array([3.0, 4.0]))
    12.0
    """

    line: str
    timeout: ClassVar[float | None] = None  # no field: a run that is resumed may have another one

    def __init__(self, line: str, timeout: float | None = None) -> None:
        object.__setattr__(self, "line", line)
        if not isinstance(line, str):
            raise InvalidArgumentError(f"`Command(line=...)` must be a line of text, got {line!r}.")
        if timeout is not None:
            object.__setattr__(self, "timeout", positive("Command(timeout=...)", timeout))
        if not self._words:
            raise InvalidArgumentError(f"`Command(line=...)` must name a program, got {line!r}.")
        if shutil.which(self._words[0]) is None:
            raise InvalidArgumentError(f"The program of a command must exist and be executable, got {self._words[0]!r}.")

    @property
    def takes_seed(self) -> bool:
        """Whether the program can repeat its randomness."""
        return "{seed}" in self.line

    @staticmethod
    def draw_seed(rng: np.random.Generator) -> int:
        """One seed: the `sample` of such a program."""
        return int(rng.integers(2**31))

    def __call__(self, x: Any, seed: int | None = None) -> float:
        """The value at x, from one run of the program."""
        if (seed is not None) != self.takes_seed:
            raise TypeError(f"A command takes a seed where it has {{seed}}, got {seed!r} for {self.line!r}.")
        with _termination_is_exit(), tempfile.TemporaryDirectory(prefix="zolal-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / "input.json").write_text(json.dumps(x if isinstance(x, Mapping) else to_numpy(x).tolist()))
            self._run(folder, self._filled(folder, seed))
            try:
                return _value(folder / "output.json")
            except CommandError as error:
                raise CommandError(f"{error}{_last_words(folder)}") from None

    @property
    def _words(self) -> list[str]:
        try:
            return shlex.split(self.line)
        except ValueError as error:
            raise InvalidArgumentError(f"`Command(line=...)` must be a command, got {self.line!r}: {error}.") from None

    def _filled(self, folder: Path, seed: int | None) -> list[str]:
        values = {"{input}": str(folder / "input.json"), "{output}": str(folder / "output.json"), "{seed}": str(seed)}
        words = self._words
        for name, value in values.items():
            words = [word.replace(name, value) for word in words]
        return words

    def _run(self, folder: Path, words: list[str]) -> None:
        """One process in a group of its own, which is ended whole where its time is over or we are interrupted."""
        printed = os.devnull if "{output}" in self.line else folder / "output.json"
        with open(folder / "input.json") as given, open(printed, "w") as out, open(folder / "stderr", "w") as errors:
            process: subprocess.Popen[Any] | None = None
            try:
                with _held_signals(), _start_explained(words[0]):
                    process = subprocess.Popen(words, stdin=given, stdout=out, stderr=errors, start_new_session=True)
                code = process.wait(self.timeout)
            except BaseException as reason:
                if process is not None:
                    _end_group(process)
                if isinstance(reason, subprocess.TimeoutExpired):
                    raise TimeoutError(too_slow(reason.timeout)) from None
                raise
        if code:
            how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
            raise CommandError(f"{words[0]!r} {how}{_last_words(folder)}")


@contextlib.contextmanager
def _start_explained(program: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        needed = "; a script needs a first line such as #!/bin/sh" if error.errno == errno.ENOEXEC else ""
        raise CommandError(f"{program!r} cannot be started: {error.strerror}{needed}") from None


def _signal_name(number: int) -> str:
    """Signals of real time have numbers alone."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_words(folder: Path) -> str:
    """The end of what a program wrote to stderr, after a colon."""
    said = " ".join((folder / "stderr").read_text(errors="replace").split())[-LAST_WORDS:]
    return f": {said}" if said else ""


@contextlib.contextmanager
def _termination_is_exit() -> Iterator[None]:
    """SIGTERM, which would end us at once, comes as SystemExit, so that the program and its files do not outlive us."""
    here = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if here:
        signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        if here:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, frame: Any) -> None:
    signal.signal(number, signal.SIG_IGN)  # once is enough
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _held_signals() -> Iterator[None]:
    """Interrupts and alarms come at the end and not within, where a program might be started that nobody knows of; threads get none."""
    here = threading.current_thread() is threading.main_thread()
    held = {number: signal.getsignal(number) for number in HELD if here}
    handlers = {number: handler for number, handler in held.items() if callable(handler)}
    pending: list[tuple[int, Any]] = []
    for number in handlers:
        signal.signal(number, lambda *arrived: pending.append(arrived))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for came, frame in pending:
            handlers[came](came, frame)


def _end_group(process: subprocess.Popen[Any]) -> None:
    """End a program and all that it has started; its number is still its own, since nobody has waited for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    process.wait()


def _value(path: Path) -> float:
    """The number that a program wrote: as C prints it, as JSON, or as JSON's {"value": number}."""
    try:
        text = path.read_text(errors="replace").strip()
    except FileNotFoundError:
        raise CommandError("The command wrote no output") from None
    with contextlib.suppress(ValueError):
        return float(text)
    try:
        found = json.loads(text, parse_int=float)  # an integer of any length
    except (ValueError, RecursionError):
        found = text
    value = found.get("value", found) if isinstance(found, dict) else found
    if value is None:
        return math.nan
    if not isinstance(value, float):
        raise CommandError(f'The command must write a number or {{"value": number}}, got {shown(found)}')
    return value


def described_problem(path: Path, command: Command) -> Problem:
    """The problem whose start, bounds and linear constraints a JSON file gives and whose objective is a command."""
    try:
        told = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidArgumentError(f"The problem's file must be one that can be read, got {str(path)!r}: {error.strerror}.") from None
    except ValueError as error:
        raise InvalidArgumentError(f"The problem's file must be JSON, got {str(path)!r}: {error}.") from None
    if not isinstance(told, dict) or "x0" not in told or set(told) - set(PARTS):
        raise InvalidArgumentError(f"{str(path)!r} must be an object with 'x0' and perhaps 'bounds' and 'constraints', got {shown(told)}.")
    x0 = told["x0"]
    if not isinstance(x0, (list, dict)) or not x0:
        raise InvalidArgumentError(f"'x0' of {str(path)!r} must be a list of numbers or an object {{name: number}}, got {shown(x0)}.")
    naming = Naming.of(x0)
    return Problem(
        command,
        len(x0),
        {name: _row(name, row, naming, len(x0)) for name, row in _rows(told.get("constraints", {}))},
        region=as_region(naming.bounds(told.get("bounds")), None, len(x0)),
        sample=Command.draw_seed if command.takes_seed else None,
        x0=x0 if naming.like is not None else np.asarray(x0, dtype=float),
    )


def _rows(constraints: Any) -> Any:
    if not isinstance(constraints, dict):
        raise InvalidArgumentError(f"'constraints' must be an object {{name: constraint}}, got {shown(constraints)}.")
    return constraints.items()


def _row(name: str, row: Any, naming: Naming, dimension: int) -> LinearConstraint:
    """Lower <= sum of weights times variables <= upper."""
    if not isinstance(row, dict) or "weights" not in row or set(row) - set(ROW) or not {"lower", "upper"} & set(row):
        raise InvalidArgumentError(f"constraint {name!r} must have 'weights' and 'lower' or 'upper', got {shown(row)}.")
    weights = row["weights"]
    if isinstance(weights, dict):
        weights = naming.ordered(f"weights of constraint {name!r}", dict.fromkeys(naming.names or (), 0.0) | weights)
    try:
        numbers = np.asarray(weights, dtype=float).reshape(1, dimension)
        lower, upper = (none if row.get(key) is None else float(row[key]) for key, none in (("lower", -math.inf), ("upper", math.inf)))
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"constraint {name!r} must have {dimension} numbers as 'weights' and numbers as limits, got {shown(row)}."
        ) from None
    return LinearConstraint(numbers, lower, upper)
