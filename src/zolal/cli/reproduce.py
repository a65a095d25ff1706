"""`zolal reproduce`: the paper's experiments, run again."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from zolal import __version__
from zolal._checks import require
from zolal.cli._campaigns import SENTENCES, Wanted, carried_out, grid_of, one_by_one, report_package, show, wanted, with_help

if TYPE_CHECKING:
    from zolal.campaigns import Campaign
    from zolal.report import Origin, Report

EXPERIMENTS = ("qcqp", "attack", "fairness")
QUICK_SEEDS = 3
HELP = dict(
    experiment="qcqp, attack, fairness or all.",
    seeds="Paired seeds of the reported runs. By default 10 (attack: 3), and 3 with --quick.",
    quick="Small sizes: a look at everything within minutes.",
    **SENTENCES,
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
    asked = wanted(seeds, quick, workers, out, again)
    names = EXPERIMENTS if experiment == "all" else (experiment,)
    written: list[tuple[Report, Origin]] = []
    for found in one_by_one(names, lambda name: _reproduce_one(name, asked), out):
        written.append(found)
        if experiment == "all":
            report_package().write_overview(out, written)
    if experiment == "all":
        print(f"Everything: {out / 'index.html'}")


def reproduce_with_help(typer: Any) -> Any:
    """`reproduce` with a sentence for every argument."""
    return with_help(typer, reproduce, "experiment", HELP)


class Experiment(Protocol):
    """A module that says what it runs and runs it."""

    Grid: Any

    def reproduce(self, campaign: "Campaign", grid: Any, /) -> Any: ...


def experiments() -> "dict[str, tuple[Experiment, Callable[[Any], Report]]]":
    """Every experiment by its name, with what reports it. They are imported here, so that nobody waits for them who only wants help."""
    from zolal.experiments import attack, fairness, qcqp
    from zolal.report import report_attack, report_fairness, report_qcqp

    return {"qcqp": (qcqp, report_qcqp), "attack": (attack, report_attack), "fairness": (fairness, report_fairness)}


def _reproduce_one(name: str, asked: Wanted) -> "tuple[Report, Origin]":
    report = report_package()  # before the runs, which are long: a missing package shall not be found out after them
    module, reported = experiments()[name]
    grid, options = grid_of(module, asked, QUICK_SEEDS)
    result, executed = carried_out(name, asked, lambda campaign: module.reproduce(campaign, grid))
    origin = report.Origin(f"zolal reproduce {name} {options}", __version__, result.seconds)
    found = reported(result)
    show(found, origin, report.write(found, asked.out / name, origin), executed)
    return found, origin
