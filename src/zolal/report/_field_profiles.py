"""Data and performance profiles of `zolal bench cutest`, `more-wild` and `simulated`: one panel per accuracy and noise level."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from zolal.bench._entrants import LABELS
from zolal.bench._field import ACCURACIES, PER_VARIABLE, Run
from zolal.report import _style as style
from zolal.report._profiles import COLOURS, shares
from zolal.report._style import Look
from zolal.report.base import Drawing

MORE = {
    "slsqp": ("#CC79A7", "D"),
    "nelder-mead": ("#E69F00", "v"),
    "powell": ("#56B4E9", "s"),
    "py-bobyqa": ("#333333", ">"),
    "nomad": ("#8B5A2B", "<"),
}
LOOKS = {name: Look(label, *(COLOURS | MORE)[name]) for name, label in LABELS.items()}
LEAST, MOST = 0.3, float(PER_VARIABLE)  # of the axis of data profiles
TICKS = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
LARGEST = 32.0  # of the axis of performance profiles
RATIOS = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]

Curve = Callable[[Sequence[Run], str, float, float], tuple[np.ndarray, np.ndarray]]


def data_profiles(name: str, runs: Sequence[Run]) -> Drawing:
    """The share that is solved against evaluations per n + 1."""
    caption = (
        "Share of the problems of which a feasible point of the stated accuracy has been evaluated or returned, against evaluations "
        "divided by n + 1."
    )
    figure = _draw(runs, _shares, "evaluations / (n + 1)", (LEAST, MOST, TICKS))
    return Drawing(f"{name}-data", "Data profiles of every method", caption, figure)


def performance_profiles(name: str, runs: Sequence[Run]) -> Drawing:
    """The share that is solved within so many times the fewest evaluations of anybody."""
    caption = (
        "Share of the problems that a method solves to the stated accuracy with at most so many times the evaluations of the method that "
        "needs fewest."
    )
    figure = _draw(runs, ratios, "evaluations / fewest evaluations", (1.0, LARGEST, RATIOS))
    return Drawing(f"{name}-performance", "Performance profiles of every method", caption, figure)


def ratios(runs: Sequence[Run], method: str, level: float, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
    """Ratios at which another problem counts as solved, and the share then; both start at nothing."""
    fewest: dict[tuple[str, int], int] = {}
    for run in runs:
        if run.level == level and (count := run.solved(accuracy)) is not None:
            key = (run.problem, run.seed)
            fewest[key] = min(count, fewest.get(key, count))
    mine = _of(runs, method, level)
    found = sorted(count / fewest[run.problem, run.seed] for run in mine if (count := run.solved(accuracy)) is not None)
    return np.array([0.0, *found]), np.arange(len(found) + 1) / len(mine)


def _shares(runs: Sequence[Run], method: str, level: float, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
    return shares(_of(runs, method, level), accuracy)


def _of(runs: Sequence[Run], method: str, level: float) -> list[Run]:
    return [run for run in runs if (run.method, run.level) == (method, level)]


def _draw(runs: Sequence[Run], curve: Curve, label: str, axis: tuple[float, float, list[float]]) -> Figure:
    levels, methods = sorted({run.level for run in runs}), list(dict.fromkeys(run.method for run in runs))
    with style.styled():
        figure, axes = style.panels(len(ACCURACIES), len(levels), 2.0 + 3.4 * len(levels), 9.6, sharex=True, sharey=True)
        for row, accuracy in enumerate(ACCURACIES):
            for column, level in enumerate(levels):
                for number, method in enumerate(methods):
                    _line(axes[row, column], curve(runs, method, level, accuracy), method, number, axis)
                axes[0, column].set_title(f"noise {level:g}")
                axes[-1, column].set_xlabel(label)
            axes[row, 0].set_ylabel(f"solved to {accuracy:g}")
        for panel in axes.flat:
            _finish(panel, axis)
        handles = [Line2D([], [], color=LOOKS[name].colour, marker=LOOKS[name].marker, label=LOOKS[name].label) for name in methods]
        figure.legend(handles=handles, loc="outside upper left", ncols=min(5, len(handles)), fontsize=9)
    return figure


def _line(panel: Axes, curve: tuple[np.ndarray, np.ndarray], method: str, number: int, axis: tuple[float, float, list[float]]) -> None:
    low, high, _ = axis
    x, y = np.append(np.clip(curve[0], low, high), high), np.append(curve[1], curve[1][curve[0] <= high][-1])
    look, first = LOOKS[method], method == "auto"
    inside = np.append(curve[0] <= high, True)
    line: dict[str, Any] = dict(color=look.colour, linewidth=2.6 if first else 1.4, zorder=4 if first else 3)
    panel.plot(x[inside], y[inside], drawstyle="steps-post", marker=look.marker, markevery=(0.03 * number, 0.3), markersize=5.0, **line)


def _finish(panel: Axes, axis: tuple[float, float, list[float]]) -> None:
    low, high, ticks = axis
    panel.set_xscale("log")
    panel.set_xlim(low, high)
    panel.set_ylim(-0.02, 1.02)
    panel.xaxis.set_major_locator(FixedLocator(ticks))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
