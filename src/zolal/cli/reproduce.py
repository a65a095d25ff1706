"""`zolal reproduce`: the paper's experiments, run again."""

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zolal import __version__
from zolal._checks import positive_int, require
from zolal.cli._campaigns import Wanted, cores, make_folder, report_package, show, stopping_at_once, with_help
from zolal.cli._progress import Progress

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
    wanted = Wanted(seeds, quick, positive_int("--workers", cores() if workers is None else workers), out, again)
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
            report_package().write_overview(out, written)
    if experiment == "all":
        print(f"Everything: {out / 'index.html'}")


def reproduce_with_help(typer: Any) -> Any:
    """`reproduce` with a sentence for every argument."""
    return with_help(typer, reproduce, "experiment", HELP)


def _reproduce_one(name: str, wanted: Wanted) -> "tuple[Report, Origin]":
    report = report_package()  # before the runs, which are long: a missing package shall not be found out after them
    from zolal.experiments import Campaign, Store

    module = _experiment(name)
    seeds = wanted.seeds or (QUICK_SEEDS if wanted.quick else module.Grid().seeds)
    grid = module.Grid.quick(seeds) if wanted.quick else module.Grid(seeds=seeds)
    folder = wanted.out / name
    make_folder(folder)
    with stopping_at_once(), Progress(name) as progress:
        campaign = Campaign(Store(folder), wanted.workers, __version__, progress)
        if wanted.again:
            campaign.known.clear()
        result = module.reproduce(campaign, grid)
    origin = report.Origin(_command(name, seeds, wanted.quick), __version__, result.seconds)
    found = getattr(report, f"report_{name}")(result)
    show(found, origin, report.write(found, folder, origin), progress.count)
    return found, origin


def _experiment(name: str) -> Any:
    return importlib.import_module(f"zolal.experiments.{name}")


def _command(name: str, seeds: int, quick: bool) -> str:
    return f"zolal reproduce {name} --seeds {seeds}" + (" --quick" if quick else "")
