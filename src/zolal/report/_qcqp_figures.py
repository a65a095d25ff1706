"""The figures of the dimension ablation: the dense problem with the information limit, the sparse one with the predicted growth."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from zolal.experiments.qcqp import COARSE, FINE, METHODS, Cell, Name, growth
from zolal.report import _style as style
from zolal.report._qcqp_limits import PRINTED, PRINTED_AT, least_queries, least_residual, times_below
from zolal.report._style import LOOKS

DODGE = {"euc-theory": 0.54, "euc-matched": 0.66, "non-euc": 0.80}  # markers at one budget stand side by side, left of the stars
WIDENED: dict[str, Any] = dict(linestyle=(0, (3, 1.6)), linewidth=1.4)


def draw_dense(cells: Sequence[Cell]) -> Figure:
    """(a) queries to the target against d; (b) the best residual against queries at the largest d; the information limit in both."""
    figure, axes = style.panels(1, 2, 12.4, 5.2)
    _dense_queries(axes[0, 0], cells)
    _dense_residuals(axes[0, 1], cells)
    return figure


def draw_sparse(cells: Sequence[Cell]) -> Figure:
    """(a) queries to both targets against d, with fitted exponents and the predicted curves; (b) residuals at the largest d."""
    figure, axes = style.panels(1, 2, 12.4, 5.2)
    _sparse_queries(axes[0, 0], cells)
    _sparse_residuals(axes[0, 1], cells)
    return figure


def of(cells: Sequence[Cell], **wanted: Any) -> list[Cell]:
    """The cells with these problem, target, method, d or protocol, in order of d."""
    found = [
        cell for cell in cells if all(getattr(cell if key == "protocol" else cell.name, key) == value for key, value in wanted.items())
    ]
    return sorted(found, key=lambda cell: cell.name.d)


def median_queries(cell: Cell) -> float:
    """The median of the first counts, infinite when it is a censored run's."""
    return float(np.median([math.inf if count is None else count for count in cell.queries]))


def _dense_queries(axes: Axes, cells: Sequence[Cell]) -> None:
    dimensions = sorted({cell.name.d for cell in cells} | {PRINTED_AT})
    first, last = dimensions[0] / 2.2, dimensions[-1] * 20  # room for words right of the stars
    d = np.geomspace(first, last, 50)
    bottom, top = 0.12 * dimensions[0], 2e4 * dimensions[-1]
    axes.set(xscale="log", yscale="log", xlim=(first, last), ylim=(bottom, top))
    axes.fill_between(d, bottom, least_queries(d, FINE), **style.WITHIN)
    axes.plot(d, least_queries(d, FINE), color=style.LIMIT, linewidth=1.6)
    for method in METHODS:
        for protocol in ("printed", "widened"):
            _draw_queries(axes, of(cells, method=method, protocol=protocol), DODGE[method], protocol == "widened")
        axes.plot(PRINTED_AT, PRINTED[method], color=LOOKS[method].colour, **style.STAR, zorder=6)
    words = "no method can be here:\n" + r"it takes $m \geq (1-10^{-4})\,d$ queries"
    axes.text(last / 1.3, 1.6 * bottom, words, color=style.LIMIT, ha="right", linespacing=1.4)
    _point_out_the_printed(axes)
    style.dimensions_axis(axes.xaxis, dimensions)
    style.log_axis(axes.yaxis)
    axes.set(xlabel="dimension $d$", ylabel=r"queries to $r_2 \leq 10^{-2}$")
    axes.set_title("(a) Dense QCQP: queries to the target")
    axes.legend(handles=_legend(cells[0].name), loc="upper left", handletextpad=0.5, labelspacing=0.45, borderaxespad=0.2)


def _draw_queries(axes: Axes, cells: Sequence[Cell], dodge: float = 1.0, dashed: bool = False) -> None:
    """Medians with bars from the 10th to the 90th percentile; a cell whose median run was censored is an open marker with an arrow."""
    if not cells:
        return
    look = LOOKS[cells[0].name.method]
    reached = [cell for cell in cells if math.isfinite(median_queries(cell))]
    censored = [cell for cell in cells if cell not in reached]
    for cell in reached:
        counts = [cell.name.limit if count is None else count for count in cell.queries]
        axes.plot([cell.name.d * dodge] * 2, np.quantile(counts, [0.1, 0.9]), color=look.colour, linewidth=1.3, alpha=0.7)
    line = WIDENED if dashed else {}
    axes.plot(
        [cell.name.d * dodge for cell in reached], [median_queries(cell) for cell in reached], marker=look.marker, color=look.colour, **line
    )
    for cell in censored:
        _draw_censored(axes, cell.name.d * dodge, cell.name.limit, look)


def _draw_censored(axes: Axes, d: float, limit: int, look: style.Look) -> None:
    axes.annotate(
        "",
        xy=(d, limit * 2.4),
        xytext=(d, limit),
        arrowprops=dict(arrowstyle="-|>", color=look.colour, linewidth=1.2, shrinkA=4, shrinkB=0, mutation_scale=9),
    )
    axes.plot(d, limit, look.marker, markeredgecolor=look.colour, zorder=5, **style.OPEN)


def _point_out_the_printed(axes: Axes) -> None:
    """The printed counts beside their stars, and how far the one of Non-Euc lies below the limit."""
    below = f"{times_below(PRINTED['non-euc'], PRINTED_AT, FINE):.1f} times fewer\nthan possible"
    for method, count in PRINTED.items():
        words = rf"{style.scientific(count)} $= {count / PRINTED_AT:.2g}\,d$"
        beside: dict[str, Any] = dict(xytext=(11, 0), textcoords="offset points", color=LOOKS[method].text, fontsize=9.5)
        axes.annotate(words, (PRINTED_AT, count), va="center", **beside)
        if count < least_queries(PRINTED_AT, FINE):
            beside["xytext"] = (11, -11)
            axes.annotate(below, (PRINTED_AT, count), va="top", fontweight="bold", linespacing=1.3, **beside)
            axes.plot([PRINTED_AT] * 2, [count, least_queries(PRINTED_AT, FINE)], color=style.LIMIT, linewidth=1.4, zorder=4)


def _legend(name: Name) -> list[Line2D]:
    entries = [Line2D([], [], color=LOOKS[m].colour, marker=LOOKS[m].marker, linewidth=1.8, label=LOOKS[m].label) for m in METHODS]
    entries.append(
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markeredgecolor="0.3",
            **style.OPEN,
            label=rf"not reached within the budget, ${name.limit / name.d:g}\,d$ ($\uparrow$)",
        )
    )
    entries.append(Line2D([], [], color="white", **style.STAR, label=rf"printed in the paper, $d=2^{{{round(math.log2(PRINTED_AT))}}}$"))
    return entries


def _dense_residuals(axes: Axes, cells: Sequence[Cell]) -> None:
    d = max(cell.name.d for cell in cells)
    largest = of(cells, d=d)
    start, end = _range(largest)
    start, end = min(start, d / 8), max(end, 1.3 * d)  # the limit is always seen
    axes.set(xscale="log", yscale="log", xlim=(start, end), ylim=(0.005, 1.6))
    m = np.unique(np.concatenate([np.geomspace(start, d, 300), d * (1 - np.geomspace(1e-6, 1, 400))]))
    m = m[(m >= start) & (m < d)]
    axes.fill_between(m, 1e-9, least_residual(m, d), **style.WITHIN)
    axes.plot([*m, d], [*least_residual(m, d), 1e-9], color=style.LIMIT, linewidth=1.6)
    axes.axhline(FINE, color=style.TARGET, linewidth=1, linestyle=(0, (4, 2)))
    ends = []
    for method in METHODS:
        for cell in of(largest, method=method, protocol="widened"):
            if cell.choice != of(largest, method=method, protocol="printed")[0].choice:
                _draw_median(axes, cell, **WIDENED)
        for cell in of(largest, method=method, protocol="printed"):
            ends.append((_draw_median(axes, cell), LOOKS[method].label, LOOKS[method].text))
    axes.text(start * 1.15, FINE * 1.06, r"target $10^{-2}$", color=style.TARGET, va="bottom")
    words = "no method can be left of\nor below this curve:\n" + r"$\mathbb{E}\,\|g\|_2^2 \geq 1-m/d$"
    axes.text(d * 1.15, 0.035, words, color=style.LIMIT, va="center", linespacing=1.4)
    if d == PRINTED_AT:
        _draw_the_printed(axes, d)
    style.label_ends(axes, ends)
    style.log_axis(axes.xaxis)
    style.log_axis(axes.yaxis)
    axes.set(xlabel="queries $m$", ylabel="best residual $r_2$ so far")
    axes.set_title(rf"(b) Dense QCQP: residuals at $d=2^{{{round(math.log2(d))}}}$")


def _draw_the_printed(axes: Axes, d: int) -> None:
    """Stars on the target line, and the residual that is possible at the count of Non-Euc."""
    for method, count in PRINTED.items():
        axes.plot(count, FINE, color=LOOKS[method].colour, **style.STAR, zorder=6)
    count = PRINTED["non-euc"]
    least = float(least_residual(count, d))
    axes.annotate(
        "",
        xy=(count, least),
        xytext=(count, FINE),
        arrowprops=dict(arrowstyle="<->", color=LOOKS["non-euc"].text, linewidth=1.2, shrinkA=8, shrinkB=0),
    )
    axes.text(
        count / 1.2,
        0.035,
        f"Non-Euc\nas printed;\npossible: ≥ {least:.2f}",
        color=LOOKS["non-euc"].text,
        ha="right",
        va="center",
        fontsize=9.5,
        fontweight="bold",
        linespacing=1.3,
    )


def _sparse_queries(axes: Axes, cells: Sequence[Cell]) -> None:
    dimensions = sorted({cell.name.d for cell in cells})
    counts = [median_queries(cell) for cell in cells]
    top = max([count for count in counts if math.isfinite(count)] + [cell.name.limit for cell in cells if None in cell.queries])
    axes.set(xscale="log", yscale="log", xlim=(dimensions[0] / 2, dimensions[-1] * 1.5), ylim=(min(counts) / 2.5, top * 6))
    labels = []
    for target in sorted({cell.name.target for cell in cells}, reverse=True):
        for method in METHODS:
            line = of(cells, method=method, target=target)
            _draw_queries(axes, line, DODGE[method] if _all_censored(line) else 1.0, dashed=target == FINE)
            whole = [cell for cell in line if None not in cell.queries]
            if len(whole) > 1:
                shape, text = (np.log, r"$\ln d$") if method == "non-euc" else (lambda d: d, "$d$")
                _draw_prediction(axes, whole, dimensions, shape)
                labels.append(
                    (
                        min(median_queries(line[-1]), line[-1].name.limit),
                        _described(method, target, growth(line), text),
                        LOOKS[method].text,
                    )
                )
    style.label_ends(axes, labels, 0.12)
    style.dimensions_axis(axes.xaxis, dimensions)
    style.log_axis(axes.yaxis)
    axes.set(xlabel="dimension $d$", ylabel="queries to the target")
    axes.set_title("(a) Sparse QCQP: growth with the dimension")
    axes.legend(handles=_sparse_legend(cells), loc="upper left", handletextpad=0.6, labelspacing=0.4, borderaxespad=0.2, handlelength=2.6)


def _sparse_legend(cells: Sequence[Cell]) -> list[Line2D]:
    entries = [Line2D([], [], color="0.3", label="to $r_2 \\leq 0.3$")]
    if of(cells, target=FINE):
        entries.append(Line2D([], [], color="0.3", **WIDENED, label="to $r_2 \\leq 0.01$"))
    entries.append(Line2D([], [], color="0.55", linewidth=1.1, linestyle=(0, (1, 1.4)), label=r"predicted shape: $d^{2/p}=d$, and $\ln d$"))
    if any(_all_censored([cell]) for cell in cells):
        entries.append(
            Line2D(
                [], [], linestyle="", marker="o", markeredgecolor="0.3", **style.OPEN, label=r"not reached within the budget ($\uparrow$)"
            )
        )
    return entries


def _described(method: str, target: float, exponent: float | None, predicted: str) -> str:
    measured = "" if exponent is None else rf"$\propto d^{{\,{exponent:.2f}}}$, predicted {predicted}"
    return f"{LOOKS[method].label} to {target:g}" + (f"\n{measured}" if measured else "")


def _draw_prediction(axes: Axes, cells: Sequence[Cell], dimensions: Sequence[int], shape: Callable[[np.ndarray], np.ndarray]) -> None:
    """The predicted curve, moved up or down to the data."""
    d, counts = np.array([cell.name.d for cell in cells], float), np.array([median_queries(cell) for cell in cells])
    scale = math.exp(float(np.mean(np.log(counts / shape(d)))))
    grid = np.geomspace(dimensions[0] / 1.2, dimensions[-1] * 1.2, 60)
    axes.plot(grid, scale * shape(grid), color="0.55", linewidth=1.1, linestyle=(0, (1, 1.4)), zorder=1.5)


def _sparse_residuals(axes: Axes, cells: Sequence[Cell]) -> None:
    target = min(cell.name.target for cell in cells)
    d = max(cell.name.d for cell in cells if cell.name.target == target)
    largest = of(cells, d=d, target=target)
    start, end = _range(largest)
    lowest = min(run.residual for cell in largest for run in cell.runs)
    axes.set(xscale="log", yscale="log", xlim=(start, end), ylim=(min(lowest, target) / 1.5, 1.6))
    ends = [(_draw_median(axes, cell), LOOKS[cell.name.method].label, LOOKS[cell.name.method].text) for cell in largest]
    ended = sorted((max(cell.queries), *end) for cell, end in zip(largest, ends, strict=True) if None not in cell.queries)  # type: ignore[type-var]
    for i, (x, y, label, colour) in enumerate(ended):  # right of the axes their heights would be the same
        axes.annotate(label, (x, y), (0, -10 - 13 * (i % 2)), textcoords="offset points", ha="center", va="top", color=colour, fontsize=9.5)
    for value in {target, COARSE}:
        axes.axhline(value, color=style.TARGET, linewidth=1, linestyle=(0, (4, 2)))
        axes.text(start * 1.15, value * 1.03, f"target {value:g}", color=style.TARGET, va="bottom")
    style.label_ends(axes, [end for cell, end in zip(largest, ends, strict=True) if None in cell.queries])
    style.log_axis(axes.xaxis)
    style.log_axis(axes.yaxis)
    axes.set(xlabel="queries $m$", ylabel="best residual $r_2$ so far")
    axes.set_title(rf"(b) Sparse QCQP: residuals at $d=2^{{{round(math.log2(d))}}}$")


def _draw_median(axes: Axes, cell: Cell, **line: Any) -> float:
    curves = cell.curves
    last = max(x[-1] for x, _ in curves)
    if None in cell.queries:
        last = max(last, cell.name.limit)
    grid = np.unique(np.concatenate([np.asarray(x, float) for x, _ in curves] + [np.array([axes.get_xlim()[0], float(last)])]))
    look = LOOKS[cell.name.method]
    end = style.draw_band(axes, grid[grid > 0], curves, look, **line)
    if None not in cell.queries:
        axes.plot(last, end, look.marker, color=look.colour, zorder=4)
    return end


def _range(cells: Sequence[Cell]) -> tuple[float, float]:
    """Queries from the first batch to the end of the longest run, with some room."""
    firsts = [x[1] if len(x) > 1 else 1 for cell in cells for x, _ in cell.curves]
    lasts = [cell.name.limit if run.queries is None else run.queries for cell in cells for run in cell.runs]
    return min(firsts) / 1.2, 1.05 * max(lasts)


def _all_censored(cells: Sequence[Cell]) -> bool:
    return all(count is None for cell in cells for count in cell.queries)
