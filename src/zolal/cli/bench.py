"""`zolal bench`: what the automatic method has to show, and the same problems given to others."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from zolal import __version__
from zolal._checks import nonnegative_int, positive, positive_int, require
from zolal.cli._campaigns import SENTENCES, Wanted, carried_out, grid_of, one_by_one, report_package, show, wanted, with_help

if TYPE_CHECKING:
    from zolal.bench import Finding
    from zolal.campaigns import Campaign
    from zolal.report import Origin, Report

SIZED = ("qcqp", "sparse", "peers")  # which have dimensions to choose from
LISTED = ("cutest", "more-wild", "simulated")  # which have problems with names to choose from
CONTESTS = ("peers", *LISTED)  # which others are measured by, too
BENCHMARKS = ("qcqp", "sparse", "attack", "fairness", "probe", "scaling", "conditioning", *CONTESTS)
HELP = dict(
    name=f"{', '.join(BENCHMARKS)} or all.",
    seeds="Seeds of every measurement. By default 10 (peers, cutest, more-wild, simulated: 1), and 1 or 2 with --quick.",
    quick="Small versions: a look at everything within minutes.",
    **SENTENCES,
    largest="The largest dimension of `qcqp`, `sparse` or `peers`, where not all are wanted.",
    problems="Names of problems of `cutest`, `more-wild` or `simulated`, with commas between: only these.",
    every="Only every so-manieth problem of `cutest`, `more-wild` or `simulated`.",
    methods="Names of methods of `peers`, `cutest`, `more-wild` or `simulated`, with commas between: only these.",
    noise="Noise levels of `peers`, `cutest`, `more-wild` or `simulated`, with commas between: only these of 0,0.001,0.01.",
    rough="In `cutest` and `more-wild` the noise is a function of x: the same whenever x is the same.",
    seconds="The time limit of one run of `peers`, `cutest`, `more-wild` or `simulated`; 60 unless given.",
    letters="The first letters of the names of `cutest` and `simulated`; H-Z unless given. A-G are kept for acceptance.",
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
    problems: str | None = None,
    every: int | None = None,
    methods: str | None = None,
    noise: str | None = None,
    rough: bool = False,
    seconds: float | None = None,
    letters: str | None = None,
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
    chosen = dict(largest=largest, problems=problems, every=every, methods=methods, noise=noise, seconds=seconds, letters=letters)
    chosen |= dict(rough=rough or None)
    choices = {option: value for option, value in chosen.items() if value is not None}
    for option, value in choices.items():
        _check(name, option, value)
    asked = wanted(seeds, quick, workers, out, again)
    names = BENCHMARKS if name == "all" else (name,)
    written = list(one_by_one(names, lambda which: _bench_one(which, asked, choices), out))
    if name == "all":
        report_package().write_overview(out, written, "What the automatic method shows")
        print(f"Everything: {out / 'index.html'}")


class Benchmark(Protocol):
    """A module that says what it runs and what it finds."""

    Grid: Any

    def run(self, campaign: "Campaign", grid: Any, /) -> "Finding": ...


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name. They are imported here, so that nobody waits for them who only wants help."""
    from zolal.bench import attack, conditioning, cutest, fairness, more_wild, peers, probe, qcqp, scaling, simulated, sparse

    return {
        "qcqp": qcqp,
        "sparse": sparse,
        "attack": attack,
        "fairness": fairness,
        "probe": probe,
        "scaling": scaling,
        "conditioning": conditioning,
        "peers": peers,
        "cutest": cutest,
        "more-wild": more_wild,
        "simulated": simulated,
    }


def _check(name: str, option: str, value: Any) -> None:
    some = {"largest": SIZED, "letters": ("cutest", "simulated"), "rough": ("cutest", "more-wild")}
    some |= dict.fromkeys(("methods", "noise", "seconds"), CONTESTS)
    where = some.get(option, LISTED)
    require(name in where, f"--{option}", f"go with {'one of ' if len(where) > 1 else ''}{', '.join(where)}", name)
    if option in ("largest", "every"):
        positive_int(f"--{option}", value)
    if option == "seconds":
        positive("--seconds", value)


def bench_with_help(typer: Any) -> Any:
    """`bench` with a sentence for every argument."""
    return with_help(typer, bench, "name", HELP)


def _bench_one(name: str, asked: Wanted, choices: dict[str, Any]) -> "tuple[Report, Origin]":
    report = report_package()  # before the runs, which are long: a missing package shall not be found out after them
    module = benchmarks()[name]
    grid, options = grid_of(module, asked, module.Grid.quick_seeds)
    grid = _narrowed(grid, choices)
    finding, executed = carried_out(name, asked, lambda campaign: module.run(campaign, grid))
    command = " ".join(
        [f"zolal bench {name} {options}", *(f"--{option}" if value is True else f"--{option} {value}" for option, value in choices.items())]
    )
    origin, found = report.Origin(command, __version__, finding.seconds), report.report_bench(finding)
    shown = sum(not table.folded for table in found.tables)
    show(found, origin, report.write(found, asked.out / name, origin), executed, shown)
    return found, origin


def _narrowed(grid: Any, choices: dict[str, Any]) -> Any:
    """The grid with what was chosen on the command line."""
    for option, value in choices.items():
        if option == "largest":
            grid = replace(grid, dimensions=tuple(d for d in grid.dimensions if d <= value) or grid.dimensions[:1])
        elif option in ("problems", "methods"):
            field = "names" if option == "problems" else option
            grid = replace(grid, **{field: _listed(option, value, grid.methods if option == "methods" else None)})
        elif option == "noise":
            grid = replace(grid, levels=_levels(value, grid.levels))
        else:
            grid = replace(grid, **{option: value})
    return grid


def _listed(option: str, text: str, known: tuple[str, ...] | None) -> tuple[str, ...]:
    """The names in a list with commas; in the order of those that are known, where these are."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    require(
        bool(names) and (known is None or set(names) <= set(known)), f"--{option}", f"be some of {', '.join(known or ('names',))}", text
    )
    return names if known is None else tuple(name for name in known if name in names)


def _levels(text: str, known: tuple[float, ...]) -> tuple[float, ...]:
    """The numbers in a list with commas, however they are written, in the order of those that are known."""
    wanted = {_number(part) for part in text.split(",") if part.strip()}
    require(bool(wanted) and wanted <= set(known), "--noise", f"be some of {', '.join(f'{level:g}' for level in known)}", text)
    return tuple(level for level in known if level in wanted)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan  # which is none of those that are known


def _show_case(number: int, quick: bool) -> None:
    from zolal.bench.scaling import measure

    for key, value in vars(measure(number, quick)).items():
        print(f"{key:16}{value:.6g}" if isinstance(value, float) else f"{key:16}{value}")
