"""What commands that run campaigns share: their options, how they stop, what they show."""

import functools
import importlib
import inspect
import multiprocessing
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from zolal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from zolal.report import Origin, Report, Table


class Wanted(NamedTuple):
    """What was asked for on the command line."""

    seeds: int | None
    quick: bool
    workers: int
    out: Path
    again: bool


def with_help(typer: Any, function: Callable[..., None], argument: str, sentences: dict[str, str]) -> Any:
    """The command with a sentence for every parameter, the first of which is an argument."""

    @functools.wraps(function)
    def command(**given: Any) -> None:
        function(**given)

    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        names = (f"--{name}",) if parameter.annotation is bool else ()  # without a --no-quick
        shape = typer.Argument(help=sentences[name]) if name == argument else typer.Option(*names, help=sentences[name])
        parameters.append(parameter.replace(annotation=Annotated[parameter.annotation, shape]))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Ctrl-C ends the processes that run, instead of waiting for runs that nobody wants any more."""

    def stop(*_: Any) -> None:
        for child in multiprocessing.active_children():
            child.terminate()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's alone
        yield
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def show(found: "Report", origin: "Origin", paths: list[Path], executed: int, tables: int = 1) -> None:
    """The first tables of a report, its words, and where its files are."""
    for table in found.tables[:tables]:
        show_table(table)
    print("", *(textwrap.fill(text, 120) for text in found.lead), sep="\n")
    time = report_package().duration(origin.seconds)
    print(f"\n{executed} runs were made now, the others were in the store; {time} of processor time in all.")
    folder = paths[-1].parent
    print(f"Written to {folder}: {', '.join(path.name for path in paths[:-1])}.\nThe page: {paths[-1]}")


def show_table(given: "Table") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        *given.columns, title=given.title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold"
    )
    for row in given.rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200, markup=False).print(table)


def report_package() -> Any:
    try:
        return importlib.import_module("zolal.report")
    except ImportError as error:
        raise InvalidArgumentError("The figures need matplotlib: pip install 'zolal[cli]'.") from error


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgumentError(
            f"`--out` must be a folder that can be written, got {str(folder.parent)!r}: {error.strerror}."
        ) from error


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
