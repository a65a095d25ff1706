"""What commands that run campaigns share: their options, how they stop, what they show."""

import functools
import inspect
import multiprocessing
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

from zolal import __version__
from zolal._checks import positive_int
from zolal.cli._progress import Progress
from zolal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from zolal.campaigns import Campaign
    from zolal.report import Origin, Report, Table


R = TypeVar("R")


class Wanted(NamedTuple):
    """What was asked for on the command line."""

    seeds: int | None
    quick: bool
    workers: int
    out: Path
    again: bool


SENTENCES = dict(
    workers="Processes. By default as many as there are cores.",
    out="Folder for runs, figures, tables and pages.",
    again="Do not use stored runs; run everything again and store that too. Use it also after a change of the code.",
)


def wanted(seeds: int | None, quick: bool, workers: int | None, out: Path, again: bool) -> Wanted:
    """The options, checked."""
    seeds = None if seeds is None else positive_int("--seeds", seeds)
    return Wanted(seeds, quick, positive_int("--workers", cores() if workers is None else workers), out, again)


def grid_of(module: Any, asked: Wanted, quick_seeds: int) -> tuple[Any, str]:
    """What the module runs, at the size and with the seeds that were asked for, and the options that ask for it."""
    seeds = asked.seeds or (quick_seeds if asked.quick else module.Grid().seeds)
    if asked.quick:
        return module.Grid.quick(seeds), f"--seeds {seeds} --quick"
    return module.Grid(seeds=seeds), f"--seeds {seeds}"


def one_by_one(names: Sequence[str], run_one: Callable[[str], R], out: Path) -> Iterator[R]:
    """What each gives; an interrupt from the keyboard ends the command with a word on what is kept."""
    for name in names:
        try:
            yield run_one(name)
        except KeyboardInterrupt:
            print(
                f"\nStopped. The runs that ended are kept in {out / name / 'runs.jsonl'}; the same command goes on from there.",
                file=sys.stderr,
            )
            sys.exit(130)


def carried_out(name: str, asked: Wanted, run: "Callable[[Campaign], R]") -> tuple[R, int]:
    """What a campaign whose runs are kept in the folder of that name finds, and how many runs it made."""
    from zolal.campaigns import Campaign, Store

    folder = asked.out / name
    make_folder(folder)
    with stopping_at_once(), Progress(name) as progress:
        campaign = Campaign(Store(folder), asked.workers, __version__, progress)
        if asked.again:
            campaign.known.clear()
        return run(campaign), progress.count


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


def report_package() -> ModuleType:
    try:
        import zolal.report as package
    except ImportError as error:
        raise InvalidArgumentError("The figures need matplotlib: pip install 'zolal[cli]'.") from error
    return package


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgumentError(
            f"`--out` must be a folder that can be written, got {str(folder.parent)!r}: {error.strerror}."
        ) from error


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
