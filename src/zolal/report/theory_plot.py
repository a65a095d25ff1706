"""Predicted evaluations against p."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from zolal._checks import require
from zolal._safe import replace_file
from zolal.errors import InvalidArgumentError
from zolal.theory import Constants, Geometry, best_p, settings

COLOURS = {64: "#E69F00", 1024: "#009E73", 16384: "#0072B2", 2**20: "#882255"}  # of Okabe-Ito and Tol: told apart by colour-blind readers
LINES: dict[float, Any] = {1e-1: "-", 1e-3: (0, (5, 1.6)), 1e-5: (0, (1.2, 1.4))}
NAMES = {64: "$64$", 1024: "$1024$", 16384: "$16384$", 2**20: "$2^{20}$"}
POINTS = 300


def draw_evaluations(path: Path, constants: Constants, rho: float = 1.0, delta: float = 1e-2) -> None:
    """Draw 2 n_0 + 4 n K of `settings` against p for four dimensions d and three accuracies epsilon, into a png or svg file.

    A bar across a curve marks p = 2 ln d, where Theorem 5.4 takes over from Theorem 5.3; a dot marks the p with the fewest evaluations.
    """
    require(path.suffix.lower() in (".png", ".svg"), "--plot", "be a .png or .svg file", str(path))
    figure = Figure(figsize=(8.4, 5.4), layout="constrained")
    axes = figure.add_subplot()
    for epsilon in LINES:
        for d in COLOURS:
            _draw_curve(axes, constants, d, epsilon, rho, delta)
    _label(axes)
    try:
        replace_file(path, lambda file: figure.savefig(file, format=path.suffix.lower()[1:], dpi=200))
    except OSError as error:
        raise InvalidArgumentError(f"`--plot` must be a file that can be written, got {str(path)!r}: {error.strerror}.") from error


def _draw_curve(axes: Axes, constants: Constants, d: int, epsilon: float, rho: float, delta: float) -> None:
    def cost(p: float) -> float:
        return float(settings(constants, Geometry(d, p, delta), epsilon, rho).evaluations)

    boundary = 2.0 * math.log(d)
    p = np.geomspace(2.0, 8.0 * math.log(max(COLOURS)), POINTS)
    axes.plot(p, [cost(float(value)) for value in p], color=COLOURS[d], linestyle=LINES[epsilon], linewidth=1.7)
    axes.plot(boundary, cost(boundary), marker="|", markersize=11, markeredgewidth=1.8, color=COLOURS[d], zorder=4)
    best, fewest = best_p(constants, d, epsilon, rho, delta)
    axes.plot(best, float(fewest), marker="o", markersize=6, color=COLOURS[d], markeredgecolor="white", markeredgewidth=0.9, zorder=3)


def _label(axes: Axes) -> None:
    axes.set(xscale="log", yscale="log", xlim=(2.0, 8.0 * math.log(max(COLOURS))))
    axes.set_xlabel("$p$  (exponent of the norm)", fontsize=12)
    axes.set_ylabel("evaluations of $F$", fontsize=12)
    axes.set_title("Evaluations that Theorems 5.3 and 5.4 prescribe", fontsize=13, loc="left")
    axes.xaxis.set_major_locator(FixedLocator([2, 3, 5, 10, 20, 50, 100]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=11)
    axes.grid(color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    entries = [Line2D([], [], color=COLOURS[d], linewidth=3, label=f"$d=$ {NAMES[d]}") for d in sorted(COLOURS, reverse=True)]
    entries += [Line2D([], [], color="0.25", linestyle=LINES[e], label=rf"$\epsilon=10^{{{round(math.log10(e))}}}$") for e in sorted(LINES)]
    entries.append(Line2D([], [], color="0.25", linestyle="", marker="|", markersize=11, markeredgewidth=1.8, label=r"$p=2\,\ln\,d$"))
    entries.append(Line2D([], [], color="0.25", linestyle="", marker="o", markersize=6, label="fewest evaluations"))
    axes.legend(handles=entries, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=11, handlelength=2.4)
