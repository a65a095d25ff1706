"""Data profiles: the share of problems that a method has solved, against evaluations per d + 1."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from zolal.bench._contest import TOLERANCES
from zolal.bench.peers import LABELS, PER_VARIABLE, Run
from zolal.report import _style as style
from zolal.report._style import Look
from zolal.report.base import Drawing

COLOURS = {
    "auto": ("#0072B2", "o"),
    "mdlal": ("#56B4E9", "s"),
    "szo-conex": ("#CC79A7", "D"),
    "zo-penalty": ("#E69F00", "v"),
    "cobyqa": ("#D55E00", "^"),
    "cobyla": ("#8A8A8A", "P"),
    "trust-constr": ("#009E73", "X"),
    "cma": ("#7A1F2B", "<"),
    "nevergrad": ("#333333", ">"),
}
LOOKS = {name: Look(LABELS[name], *look) for name, look in COLOURS.items()}
SMALL = 100  # the largest dimension of the left panels
LEAST, MOST = 0.3, float(PER_VARIABLE)  # of the axis
TICKS = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]


def profiles(runs: Sequence[Run]) -> Drawing:
    """One panel per tolerance and half of the dimensions."""
    halves = [[run for run in runs if run.dimension <= SMALL], [run for run in runs if run.dimension > SMALL]]
    halves = [half for half in halves if half]
    with style.styled():
        figure, axes = style.panels(len(TOLERANCES), len(halves), 2.0 + 4.6 * len(halves), 7.4, sharex=True, sharey=True)
        for row, tolerance in enumerate(TOLERANCES):
            for column, half in enumerate(halves):
                _draw(axes[row, column], half, tolerance)
        _finish(figure, axes, halves)
    caption = (
        "Share of the problems (families, dimensions, noise levels, seeds) of which a feasible point within 1 % (above) or 5 % (below) of "
        "the range above the optimum has been evaluated or returned, against evaluations divided by d + 1."
    )
    return Drawing("peers-profiles", "Data profiles of every method", caption, figure)


class Solved(Protocol):
    """A run that knows when it was solved, whatever its benchmark."""

    @property
    def dimension(self) -> int: ...

    def solved(self, tolerance: float, /) -> int | None: ...


def shares(runs: Sequence[Solved], tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Budgets per d + 1 at which another problem is solved, and the share that is solved then; both start at nothing."""
    found = sorted(count / (run.dimension + 1) for run in runs if (count := run.solved(tolerance)) is not None)
    return np.array([0.0, *found]), np.arange(len(found) + 1) / len(runs)


def _draw(axes: Axes, runs: Sequence[Run], tolerance: float) -> None:
    for number, method in enumerate(dict.fromkeys(run.method for run in runs)):
        budgets, solved = shares([run for run in runs if run.method == method], tolerance)
        look, first = LOOKS[method], method == "auto"
        x, y = np.append(np.maximum(budgets, LEAST), MOST), np.append(solved, solved[-1])
        line: dict[str, Any] = dict(color=look.colour, linewidth=2.6 if first else 1.4, zorder=4 if first else 3)
        axes.plot(x, y, drawstyle="steps-post", marker=look.marker, markevery=(0.03 * number, 0.3), markersize=5.5, **line)


def _finish(figure: Figure, axes: np.ndarray, halves: Sequence[Sequence[Run]]) -> None:
    for column, half in enumerate(halves):
        sizes = sorted({run.dimension for run in half})
        axes[0, column].set_title(f"d = {sizes[0]:,}" if len(sizes) == 1 else f"d = {sizes[0]:,} … {sizes[-1]:,}")
        axes[-1, column].set_xlabel("evaluations / (d + 1)")
    for row, tolerance in enumerate(TOLERANCES):
        axes[row, 0].set_ylabel(f"solved to {100 * tolerance:g} %")
    for panel in axes.flat:
        panel.set_xscale("log")
        panel.set_xlim(LEAST, MOST)
        panel.set_ylim(-0.02, 1.02)
        panel.xaxis.set_major_locator(FixedLocator(TICKS))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    methods = dict.fromkeys(run.method for half in halves for run in half)
    handles = [Line2D([], [], color=LOOKS[name].colour, marker=LOOKS[name].marker, label=LOOKS[name].label) for name in methods]
    figure.legend(handles=handles, loc="outside upper left", ncols=5, fontsize=9)
