"""`zolal bench`: what the automatic method has to show, and the same problems given to others."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zolal import __version__
from zolal._checks import nonnegative_int, positive_int, require
from zolal.cli._campaigns import SENTENCES, Wanted, carried_out, grid_of, one_by_one, report_package, show, wanted, with_help

if TYPE_CHECKING:
    from zolal.report import Origin, Report

SIZED = ("qcqp", "sparse", "peers")  # which have dimensions to choose from
BENCHMARKS = ("qcqp", "sparse", "attack", "fairness", "probe", "scaling", "peers")
HELP = dict(
    name=f"{', '.join(BENCHMARKS)} or all.",
    seeds="Seeds of every measurement. By default 10 (peers: 1), and 1 or 2 with --quick.",
    quick="Small versions: a look at everything within minutes.",
    **SENTENCES,
    largest="The largest dimension of `qcqp`, `sparse` or `peers`, where not all are wanted.",
    case="Run one case of `scaling` by its number, print it, and store nothing.",
)


def bench(
    name: str,
    seeds: int | None = None,
    quick: bool = False,
    workers: int | None = None,
    out: Path = Path("bench"),
    again: bool = False,
    largest: int | None = None,
    case: int | None = None,
) -> None:
    """Measure the automatic method against its targets: only a seed and a budget are given, and every evaluation is counted.

    Every run is kept in FOLDER/NAME/runs.jsonl as soon as it ends; what is there is not run again, so an interrupted command goes on
    where it was.
    """
    require(name in (*BENCHMARKS, "all"), "NAME", f"be one of {', '.join(BENCHMARKS)}, all", name)
    if case is not None:
        require(name == "scaling", "--case", "go with `zolal bench scaling`", name)
        _show_case(nonnegative_int("--case", case), quick)
        return
    if largest is not None:
        require(name in SIZED, "--largest", f"go with one of {', '.join(SIZED)}", name)
        positive_int("--largest", largest)
    asked = wanted(seeds, quick, workers, out, again)
    names = BENCHMARKS if name == "all" else (name,)
    written = list(one_by_one(names, lambda which: _bench_one(which, asked, largest), out))
    if name == "all":
        report_package().write_overview(out, written, "What the automatic method shows")
        print(f"Everything: {out / 'index.html'}")


def bench_with_help(typer: Any) -> Any:
    """`bench` with a sentence for every argument."""
    return with_help(typer, bench, "name", HELP)


def _bench_one(name: str, asked: Wanted, largest: int | None) -> "tuple[Report, Origin]":
    report = report_package()  # before the runs, which are long: a missing package shall not be found out after them
    module = importlib.import_module(f"zolal.bench.{name}")
    grid, options = grid_of(module, asked, module.Grid.quick_seeds)
    if largest is not None:
        grid = replace(grid, dimensions=tuple(d for d in grid.dimensions if d <= largest) or grid.dimensions[:1])
    finding, executed = carried_out(name, asked, lambda campaign: module.run(campaign, grid))
    command = f"zolal bench {name} {options}" + (f" --largest {largest}" if largest else "")
    origin, found = report.Origin(command, __version__, finding.seconds), report.report_bench(finding)
    shown = sum(not table.folded for table in found.tables)
    show(found, origin, report.write(found, asked.out / name, origin), executed, shown)
    return found, origin


def _show_case(number: int, quick: bool) -> None:
    from zolal.bench.scaling import measure

    for key, value in measure(number, quick).items():
        print(f"{key:16}{value:.6g}" if isinstance(value, float) else f"{key:16}{value}")
