"""The report of fairness-constrained classification, Section 7.3."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from zolal.experiments._readings import INTERVALS, TOLERANCE
from zolal.experiments._tuning import Trial
from zolal.experiments.fairness import CAP, COUNTS, METHODS, Cell, Fairness, passes
from zolal.report import _style as style
from zolal.report._style import LOOKS
from zolal.report.base import Drawing, Report, counted, number
from zolal.tables import Table

PRINTED = {  # Feas., Stat., Cs., data passes
    ("a9a", "mdlal"): ("9.76e-05 ± 3.09e-04", "9.26e-03 ± 6.44e-04", "3.36e-05 ± 5.46e-05", "85.46 ± 13.82"),
    ("a9a", "szo-conex"): ("0.00e+00 ± 0.00e+00", "1.19e-02 ± 6.86e-04", "2.47e-05 ± 3.35e-05", "120.01 ± 0.00"),
    ("a9a", "zo-penalty"): ("0.00e+00 ± 0.00e+00", "1.45e-02 ± 7.43e-04", "2.17e-06 ± 6.51e-06", "120.01 ± 0.00"),
    ("bank", "mdlal"): ("2.82e-03 ± 3.55e-04", "9.46e-03 ± 3.05e-04", "1.03e-03 ± 2.31e-04", "54.54 ± 2.51"),
    ("bank", "szo-conex"): ("3.17e-04 ± 2.46e-04", "2.94e-02 ± 9.12e-04", "1.04e-04 ± 7.22e-05", "120.13 ± 0.00"),
    ("bank", "zo-penalty"): ("1.98e-06 ± 5.95e-06", "3.83e-02 ± 7.24e-04", "1.73e-05 ± 9.73e-06", "120.13 ± 0.00"),
}
NOTHING = ("—",) * 4
FIELDS = dict(feasibility="Feas.", stationarity="Stat.", slackness="Cs.")
PANELS = dict(stationarity="Stat.", feasibility="Feas.")
PASSES = tuple(f"passes, {count}" for count in COUNTS)
FLOOR = 1e-6  # of the drawing: feasible points have Feas. = 0, which a logarithm does not know


def report_fairness(result: Fairness) -> Report:
    """The six panels, the table beside the paper's, the readings of its stopping rule, and the effect of omega."""
    seeds = counted(len(result.table[0].runs), "paired seed")
    caption = (
        f"Medians over {seeds} with bands from the 10th to the 90th percentile, against data passes (two evaluations per direction and "
        "iteration). Markers: where the method's own stopping rule ends the median run, thin lines after it; "
        f"a marker at {CAP:g} passes: the cap. Feas. = 0: feasible. Stars: what the paper prints."
    )
    with style.styled():
        drawing = Drawing(
            "fairness", "Stationarity and feasibility against data passes on each data set", caption, draw_fairness(result.table)
        )
    tables = [
        fairness_table(result.table, result.tuned),
        _readings_table(result.table, result.tuned),
        _weights_table(result.weights),
        _pilots(result),
    ]
    return Report("fairness", "Fairness-constrained classification (Section 7.3)", _lead(result.table), [drawing], tables)


def draw_fairness(cells: Sequence[Cell]) -> Figure:
    """Stat. above, Feas. below; a column per data set."""
    data = list(dict.fromkeys(cell.name.data for cell in cells))
    figure, axes = style.panels(2, len(data), 2.0 + 3.7 * len(data), 6.6, sharey="row", sharex="col")
    for column, name in enumerate(data):
        mine = [cell for cell in cells if cell.name.data == name]
        for row, field in enumerate(PANELS):
            for cell in mine:
                _draw_cell(axes[row, column], cell, field)
            _finish(axes[row, column], field, column)
        axes[0, column].set_title(f"{name}  ($N={mine[0].rows}$)")
        axes[1, column].set_xlabel("data passes")
    style.legend_above(figure, METHODS, stars=True)
    return figure


def _draw_cell(axes: Axes, cell: Cell, field: str) -> None:
    """The median up to the end of the median run, with its band; a thin line after it; a marker at the end, a star at the paper's."""
    look = LOOKS[cell.name.method]
    curves = [(run.curve.iterations, np.maximum(getattr(run.curve, field), FLOOR)) for run in cell.runs]
    last = float(np.median([point.k for point in cell.ends()]))
    end = float(np.median([max(getattr(point, field), FLOOR) for point in cell.ends()]))
    grid = np.unique(np.concatenate([[last], *(x for x, _ in curves)]))
    low, middle, high = style.quantiles(grid, curves)
    x, before, above = grid * passes(1, cell.rows), grid <= last, 0.5 * (cell.name.method == METHODS[0])
    axes.fill_between(x[before], low[before], high[before], color=look.colour, alpha=style.FAINT, linewidth=0, zorder=2 + above)
    axes.plot(x[before], middle[before], color=look.colour, linewidth=1.6, zorder=3 + above)
    axes.plot(x[~before], middle[~before], color=look.colour, linewidth=0.7, alpha=0.6, zorder=2 + above)
    mark: dict[str, Any] = dict(color=look.colour, clip_on=False)
    axes.plot(passes(last, cell.rows), end, look.marker, markersize=9, markeredgecolor="white", zorder=6, **mark)
    if (cell.name.data, cell.name.method) in PRINTED:
        printed = dict(zip((*FIELDS, "passes"), PRINTED[cell.name.data, cell.name.method], strict=True))
        axes.plot(_mean(printed["passes"]), max(_mean(printed[field]), FLOOR), **style.STAR, zorder=7, **mark)


def _finish(axes: Axes, field: str, column: int) -> None:
    axes.set_yscale("log")
    axes.axhline(TOLERANCE, color=style.TARGET, linewidth=1, linestyle=(0, (4, 2)))
    axes.set_xlim(0, 1.03 * CAP)
    axes.xaxis.set_major_locator(FixedLocator(list(range(0, int(CAP) + 1, 30))))
    if field == "feasibility":
        axes.set_ylim(FLOOR / 1.6, 0.3)
        axes.yaxis.set_major_locator(FixedLocator([10.0**power for power in range(-6, 0)]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: "0" if y <= FLOOR else rf"$10^{{{round(np.log10(y))}}}$"))
    else:
        axes.set_ylim(3e-3, 1.0)
        style.log_axis(axes.yaxis)
    if column == 0:
        axes.set_ylabel(PANELS[field], fontsize=11)
        if field == "stationarity":
            axes.text(2, TOLERANCE * 0.9, r"target $10^{-2}$", color=style.TARGET, va="top", fontsize=9.5)


def fairness_table(cells: Sequence[Cell], tuned: Sequence[Cell]) -> Table:
    """The paper's table with its numbers beside ours, data passes also with a shared base value. tuned: ours at the step of the pilots."""
    beside = tuple(text for column in ("data passes", *FIELDS.values()) for text in (column, f"{column}, paper"))
    columns = ("data", "method", "eta", *beside, "data passes, shared base", "at the cap")
    note = (
        "Mean ± standard deviation over the seeds at the method's own end: max(pres, dres) ≤ 0.01 for ours, Feas., Stat. and Cs. ≤ 0.01 "
        f"for the baselines, or the cap of {CAP:g} passes. Ours: at the printed step, where there is one; tuned: at the pilots' step, as "
        "the baselines are. Data passes: two evaluations per direction and iteration, the count in which the paper's 120.01 and 120.13 are "
        "the cap; shared base: n + 1 per iteration. lendingclub is not the paper's loan data."
    )
    rows = []
    for cell in cells:
        rows.append(_line(cell, LOOKS[cell.name.method].label, PRINTED.get((cell.name.data, cell.name.method), NOTHING)))
        rows += [_line(other, f"{LOOKS[other.name.method].label}, tuned", NOTHING) for other in tuned if other.name == cell.name]
    return Table("fairness", "Residuals and data passes at the end", columns, rows, note)


def _line(cell: Cell, label: str, paper: tuple[str, ...]) -> tuple[str, ...]:
    own = [_spread(cell.passes(), ".2f")] + [_spread(cell.measured(field), ".2e") for field in FIELDS]
    pairs = tuple(text for pair in zip(own, (paper[-1], *paper[:-1]), strict=True) for text in pair)
    named = (cell.name.data, label, number(cell.choice.step_size))
    return (*named, *pairs, _spread(cell.passes("shared"), ".2f"), f"{cell.capped()}/{len(cell.runs)}")


def _readings_table(cells: Sequence[Cell], tuned: Sequence[Cell]) -> Table:
    ours = LOOKS["mdlal"].label
    lines = [
        line
        for cell in cells
        if cell.name.method == "mdlal"
        for line in [(cell, ours, _paper(cell)), *((other, f"{ours}, tuned", "—") for other in tuned if other.name == cell.name)]
    ]
    rows = [
        (cell.name.data, label, number(cell.choice.step_size), words, str(interval), *_passes(cell, criterion, interval), paper)
        for cell, label, paper in lines
        for criterion, words in (("residual", "max(pres, dres)"), ("common", "Feas., Stat., Cs."))
        for interval in INTERVALS
    ]
    columns = ("data", "method", "eta", "criterion ≤ 0.01", "checked every", *PASSES, "paper")
    note = (
        "The paper does not say how often the rule is checked, nor whether its count has two evaluations per direction (two-point), "
        "those at both base points (algorithm), or a shared base value (shared)."
    )
    return Table("readings", "Data passes under each reading of the stopping rule", columns, rows, note)


def _weights_table(cells: Sequence[Cell]) -> Table:
    rows = [
        (
            cell.name.data,
            f"{cell.name.multiple:g}",
            f"{cell.weight:g}",
            *(_spread(cell.measured(field), ".2e") for field in FIELDS),
            *_passes(cell),
            f"{cell.capped()}/{len(cell.runs)}",
        )
        for cell in cells
    ]
    columns = ("data", "multiple", "omega", *FIELDS.values(), *PASSES, "at the cap")
    note = "Ours. omega is not printed; multiple: in units of |S_min|/|S|, at which the minority's mean rate must not be below that of all."
    if over := [f"{cell.name.data} at {cell.name.multiple:g}" for cell in cells if _is_over(cell)]:
        note += (
            f" Stat. or Cs. is above 0.01 at the end of {', '.join(over)}: Algorithm 1's own rule, max(pres, dres) ≤ 0.01, sees neither."
        )
    return Table("omega", "The effect of omega", columns, rows, note)


def _is_over(cell: Cell) -> bool:
    """Whether the runs end by their own rule, and yet with Stat. or Cs. above the target in the mean."""
    return not cell.capped() and max(cell.measured(field).mean for field in ("stationarity", "slackness")) > TOLERANCE


def _pilots(result: Fairness) -> Table:
    settings = [name for name in vars(result.table[0].choice) if name != "step_size"]
    rows = [
        (name.data, LOOKS[name.method].label, *(number(getattr(choice, key)) for key in ("step_size", *settings)), *_tried(trial))
        for name, trials in result.trials.items()
        for choice, trial in trials.items()
    ]
    words = (setting.replace("_", " ") for setting in settings)
    columns = ("data", "method", "eta", *words, "missed", "iterations in all", "mean least residual")
    return Table("pilots", "Every trial of the pilots", columns, rows, "Pilots run on seeds of their own, from 1001 on.", folded=True)


def _tried(trial: Trial) -> tuple[str, ...]:
    return (str(trial.missed), number(trial.cost), number(trial.residual, 3))


def _lead(cells: Sequence[Cell]) -> list[str]:
    lines = []
    for data in dict.fromkeys(cell.name.data for cell in cells):
        words = [f"{LOOKS[cell.name.method].label} {_spread(cell.passes(), '.1f')}" for cell in cells if cell.name.data == data]
        paper = [f"{LOOKS[m].label} {PRINTED[data, m][3]}" for m in METHODS if (data, m) in PRINTED]
        beside = f" (the paper: {', '.join(paper)})" if paper else " (not in the paper)"
        lines.append(f"{data}: data passes to the end, {', '.join(words)}{beside}.")
    return lines


def _mean(printed: str) -> float:
    return float(printed.split()[0])


def _passes(cell: Cell, criterion: str | None = None, interval: int = 1) -> tuple[str, ...]:
    return tuple(_spread(cell.passes(count, criterion, interval), ".2f") for count in COUNTS)


def _paper(cell: Cell) -> str:
    return PRINTED.get((cell.name.data, cell.name.method), NOTHING)[3]


def _spread(pair: tuple[float, float], form: str) -> str:
    return f"{pair[0]:{form}} ± {pair[1]:{form}}"
