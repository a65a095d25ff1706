"""One look for every figure: a method has the same colour and marker wherever it is drawn."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator


@final
@dataclass(frozen=True)
class Look:
    """How a method is called and drawn. ink: its colour as text, dark enough to be read on white."""

    label: str
    colour: str
    marker: str
    ink: str = ""

    @property
    def text(self) -> str:
        return self.ink or self.colour


# Okabe and Ito's colours: told apart by colour-blind readers, and by their markers in print without colour
LOOKS = {
    "non-euc": Look("Non-Euc", "#0072B2", "o"),
    "euc-matched": Look("Euc-matched", "#D55E00", "^", "#B84F00"),
    "euc-theory": Look("Euc-theory", "#009E73", "s", "#007A59"),
    "mdlal": Look("Ours", "#0072B2", "o"),
    "szo-conex": Look("SZO-ConEx", "#CC79A7", "D", "#A34A7E"),
    "zo-penalty": Look("ZO-Penalty", "#E69F00", "v", "#A06E00"),
    "square": Look("Square Attack", "#333333", "P"),
}
LIMIT, TARGET, MUTED = "#7A1F2B", "#333333", "#6B6B6B"
OPEN: dict[str, Any] = dict(markerfacecolor="white", markeredgewidth=1.5)  # the marker of what was not reached
WITHIN: dict[str, Any] = dict(color=LIMIT, alpha=0.10, linewidth=0)  # the region that no method can enter
STAR: dict[str, Any] = dict(marker="*", markersize=14, linestyle="", markeredgecolor="black", markeredgewidth=0.9)  # the paper's numbers
FAINT = 0.18  # opacity of a band from the 10th to the 90th percentile

SETTINGS: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that figures look the same on every machine
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 9,
    "axes.labelsize": 10.5,
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#EAEAEA",
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 6.5,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.wspace": 0.06,
    "savefig.dpi": 200,
    "svg.hashsalt": "zolal",  # the same data give the same file
    "svg.fonttype": "path",  # text looks the same wherever the file is opened
}


@contextmanager
def styled() -> Iterator[None]:
    """Inside, figures are made and saved with the settings above."""
    with matplotlib.rc_context(SETTINGS):
        yield


def panels(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Figure, np.ndarray]:
    """A figure with its axes, shape (rows, columns)."""
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def legend_above(figure: Figure, methods: Sequence[str], stars: bool) -> None:
    """One line over all panels: the methods, and the star of what the paper prints."""
    handles = [Line2D([], [], color=LOOKS[m].colour, marker=LOOKS[m].marker, label=LOOKS[m].label) for m in methods]
    handles += [Line2D([], [], color="white", label="printed in the paper", **STAR)] if stars else []
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), fontsize=10.5)


def log_axis(axis: Any, most: int = 8) -> None:
    """Ticks at powers of ten without minor labels; at 1, 2, 5 of every decade when the axis spans little more than one."""
    low, high = axis.get_view_interval()
    short = high < 30 * low
    axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if short else (1.0,), numticks=most))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if short else rf"$10^{{{round(np.log10(value))}}}$"))


def dimensions_axis(axis: Any, dimensions: Sequence[int]) -> None:
    """Ticks at every second power of two between the dimensions."""
    first, last = (round(np.log2(d)) for d in (min(dimensions), max(dimensions)))
    axis.set_major_locator(FixedLocator([2.0**power for power in range(first, last + 1, 2)]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: rf"$2^{{{round(np.log2(value))}}}$"))


def scientific(value: float, digits: int = 2) -> str:
    """1580000 as 1.58 x 10^6, for text in a figure."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return rf"${mantissa}\times10^{{{int(exponent)}}}$"


def quantiles(grid: np.ndarray, curves: Sequence[tuple[Sequence[float], Sequence[float]]]) -> np.ndarray:
    """The 10th, 50th and 90th percentiles over runs at every x of the grid, shape (3, grid); a run keeps its last value after its end."""
    values = [np.asarray(y, float)[np.maximum(np.searchsorted(x, grid, side="right") - 1, 0)] for x, y in curves]
    return np.quantile(np.stack(values), [0.1, 0.5, 0.9], axis=0)


def draw_band(axes: Axes, grid: np.ndarray, curves: Sequence[Any], look: Look, **line: Any) -> float:
    """The median of the curves with a band from the 10th to the 90th percentile; returns where the median ends."""
    low, middle, high = quantiles(grid, curves)
    axes.fill_between(grid, low, high, color=look.colour, alpha=FAINT, linewidth=0, zorder=2)
    axes.plot(grid, middle, color=look.colour, zorder=3, **line)
    return float(middle[-1])


def label_ends(axes: Axes, entries: Sequence[tuple[float, str, str]], gap: float = 0.06) -> None:
    """Text right of the axes at the heights of (y, text, colour), moved apart where it would overlap, with a thin line to its height.

    gap: the least distance of two texts, as a part of the axes' height. Call it after the limits of y are set.
    """
    wanted = [float(axes.transAxes.inverted().transform(axes.transData.transform((1.0, y)))[1]) for y, _, _ in entries]
    for (_, text, colour), from_, to in zip(entries, wanted, spread(wanted, gap), strict=True):
        axes.annotate(
            text,
            xy=(1.0, from_),
            xytext=(1.035, to),
            xycoords="axes fraction",
            color=colour,
            va="center",
            fontsize=9.5,
            arrowprops=dict(arrowstyle="-", color=colour, linewidth=0.7, shrinkA=1, shrinkB=1),
            annotation_clip=False,
        )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Heights in the same order as those wanted, at least a gap apart, and as near to them as neighbours allow."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        while len(groups) > 1 and _bottom(groups[-1], wanted, gap) < _bottom(groups[-2], wanted, gap) + gap * len(groups[-2]):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [height for _, height in sorted((index, _bottom(g, wanted, gap) + gap * i) for g in groups for i, index in enumerate(g))]


def _bottom(group: list[int], wanted: Sequence[float], gap: float) -> float:
    """Where the lowest of a group stands, when its members stand a gap apart and are centred on what they want."""
    return float(np.mean([wanted[index] for index in group])) - gap * (len(group) - 1) / 2
