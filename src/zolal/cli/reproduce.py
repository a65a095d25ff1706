"""`zolal reproduce`: the paper's experiments, run again."""

import functools
import importlib
import inspect
import multiprocessing
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from zolal import __version__
from zolal._checks import positive_int, require
from zolal.cli._progress import Progress
from zolal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from zolal.report import Origin, Report

EXPERIMENTS = ("qcqp", "attack", "fairness")
QUICK_SEEDS = 3
HELP = dict(
    experiment="qcqp, attack, fairness or all.",
    seeds="Paired seeds of the reported runs. By default 10 (attack: 3), and 3 with --quick.",
    quick="Small sizes: a look at everything within minutes.",
    workers="Processes. By default as many as there are cores.",
    out="Folder for runs, figures, tables and pages.",
    again="Do not use stored runs; run everything again and store that too. Use it also after a change of the code.",
)


class Wanted(NamedTuple):
    """What was asked for on the command line."""

    seeds: int | None
    quick: bool
    workers: int
    out: Path
    again: bool


def reproduce(
    experiment: str,
    seeds: int | None = None,
    quick: bool = False,
    workers: int | None = None,
    out: Path = Path("reproduction"),
    again: bool = False,
) -> None:
    """Run an experiment of the paper and write its figures, tables and page.

    Every run is kept in FOLDER/EXPERIMENT/runs.jsonl as soon as it ends; what is there is not run again, so an interrupted command goes on
    where it was.
    """
    require(experiment in (*EXPERIMENTS, "all"), "EXPERIMENT", f"be one of {', '.join(EXPERIMENTS)}, all", experiment)
    seeds = None if seeds is None else positive_int("--seeds", seeds)
    wanted = Wanted(seeds, quick, positive_int("--workers", _cores() if workers is None else workers), out, again)
    names = EXPERIMENTS if experiment == "all" else (experiment,)
    written: list[tuple[Report, Origin]] = []
    for name in names:
        try:
            written.append(_reproduce_one(name, wanted))
        except KeyboardInterrupt:
            print(
                f"\nStopped. The runs that ended are kept in {out / name / 'runs.jsonl'}; the same command goes on from there.",
                file=sys.stderr,
            )
            sys.exit(130)
        if experiment == "all":
            _report().write_overview(out, written)
    if experiment == "all":
        print(f"Everything: {out / 'index.html'}")


def reproduce_with_help(typer: Any) -> Any:
    """`reproduce` with a sentence for every argument."""

    @functools.wraps(reproduce)
    def command(**given: Any) -> None:
        reproduce(**given)

    parameters = []
    for name, parameter in inspect.signature(reproduce).parameters.items():
        names = (f"--{name}",) if parameter.annotation is bool else ()  # without a --no-quick
        shape = typer.Argument(help=HELP[name]) if name == "experiment" else typer.Option(*names, help=HELP[name])
        parameters.append(parameter.replace(annotation=Annotated[parameter.annotation, shape]))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _reproduce_one(name: str, wanted: Wanted) -> "tuple[Report, Origin]":
    report = _report()  # before the runs, which are long: a missing package shall not be found out after them
    from zolal.experiments import Campaign, Store

    module = _experiment(name)
    seeds = wanted.seeds or (QUICK_SEEDS if wanted.quick else module.Grid().seeds)
    grid = module.Grid.quick(seeds) if wanted.quick else module.Grid(seeds=seeds)
    folder = wanted.out / name
    _make(folder)
    with _stopping_at_once(), Progress(name) as progress:
        campaign = Campaign(Store(folder), wanted.workers, __version__, progress)
        if wanted.again:
            campaign.known.clear()
        result = module.reproduce(campaign, grid)
    origin = report.Origin(_command(name, seeds, wanted.quick), __version__, result.seconds)
    found = getattr(report, f"report_{name}")(result)
    _show(found, origin, report.write(found, folder, origin), progress.count)
    return found, origin


@contextmanager
def _stopping_at_once() -> Iterator[None]:
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


def _show(found: "Report", origin: "Origin", paths: list[Path], executed: int) -> None:
    from rich.console import Console
    from rich.table import Table

    main = found.tables[0]
    table = Table(*main.columns, title=main.title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold")
    for row in main.rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200, markup=False).print(table)
    print("", *(textwrap.fill(text, 120) for text in found.lead), sep="\n")
    print(f"\n{executed} runs were made now, the others were in the store; {_report().duration(origin.seconds)} of processor time in all.")
    folder = paths[-1].parent
    print(f"Written to {folder}: {', '.join(path.name for path in paths[:-1])}.\nThe page: {paths[-1]}")


def _experiment(name: str) -> Any:
    return importlib.import_module(f"zolal.experiments.{name}")


def _report() -> Any:
    try:
        return importlib.import_module("zolal.report")
    except ImportError as error:
        raise InvalidArgumentError("The figures need matplotlib: pip install 'zolal[cli]'.") from error


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgumentError(
            f"`--out` must be a folder that can be written, got {str(folder.parent)!r}: {error.strerror}."
        ) from error


def _command(name: str, seeds: int, quick: bool) -> str:
    return f"zolal reproduce {name} --seeds {seeds}" + (" --quick" if quick else "")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
