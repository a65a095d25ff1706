"""The report of the black-box attack, Section 7.2."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from zolal.experiments.attack import BUDGET, Attacks, Band, Pilot, Row
from zolal.report import _style as style
from zolal.report._style import LOOKS
from zolal.report.base import Drawing, Report, counted, number
from zolal.tables import Table

Points = dict[str, list[tuple[int, float]]]  # (queries, value) by method

PRINTED = {  # Succ., median queries (Succ.), median queries (all images), final margin
    "euc-theory": ("2/40", "7840", "12000", "2.484 ± 1.736"),
    "euc-matched": ("38/40", "5382", "5382", "-2.770 ± 1.520"),
    "non-euc": ("38/40", "1794", "1932", "-2.924 ± 1.667"),
}
PRINTED_SUCCESS: Points = {
    "euc-matched": [(2000, 5), (4000, 25), (12000, 95)],
    "non-euc": [(2000, 50), (4000, 92.5)],
}  # percent, from the text
PRINTED_MARGIN: Points = {"euc-theory": [(12000, 2.484)], "euc-matched": [(12000, -2.770)], "non-euc": [(4000, -2.2), (12000, -2.924)]}
PRINTED_WORDS = "the mean margin of Non-Euc is negative shortly after 2000 queries, that of Euc-matched near 6000"
ALONG = (2000, 4000, BUDGET)  # queries at which the paper's text speaks of the curves
PRINTED_ACCURACY = 0.9076
WIDTHS = {"euc-matched": 3.2, "square": 1.5}  # lines that lie on each other are both seen
FIRST = 2  # where logarithmic axes start
COLUMNS = ("succ.", "median queries (succ.)", "median queries (all images)", "final margin")


def report_attack(attacks: Attacks) -> Report:
    """Figures for both choices of steps, the table beside the paper's, and that of the best steps."""
    images, seeds = attacks.printed[0].num_images, len(attacks.printed[0].runs)
    with style.styled():
        first, second = draw_attack(attacks.printed, attacks.square, True), draw_attack(attacks.best, attacks.square, False)
    runs = f"{images} images, {counted(seeds, 'seed')}"
    means = "Mean over images and seeds, with bands from the least to the largest seed" if seeds > 1 else "Mean over images"
    under = f"{runs}. {means}; the margin is not smoothed. Dotted: {BUDGET} queries, the budget."
    near = f"Steps whose median queries come closest to the paper's: {under} Stars: what the paper prints."
    drawings = [
        Drawing("attack", "Success rate and margin at steps closest to the paper's queries", near, first),
        Drawing("attack-best", "Success rate and margin at each method's best step", f"Steps of fewest median queries: {under}", second),
    ]
    tables = [
        attack_table("attack", "Steps closest to the paper's queries", attacks.printed, attacks.square),
        attack_table("attack-best", "Each method at its best step", attacks.best, attacks.square),
        rates_table(attacks.printed),
        _pilots(attacks.pilots),
    ]
    return Report("attack", "Black-box attack on MNIST (Section 7.2)", _lead(attacks, images), drawings, tables)


def draw_attack(rows: Sequence[Row], square: Row | None, printed: bool) -> Figure:
    """Success rate and mean margin against queries. printed: with the paper's numbers, on a linear axis; otherwise on a logarithmic one."""
    figure, axes = style.panels(1, 2, 12.4, 4.9)
    left, right = axes[0]
    shown = [*rows, *([square] if square else [])]
    for row in shown:
        look, curve = LOOKS[row.method], row.curve
        line: dict[str, Any] = dict(color=look.colour, marker=look.marker, markevery=[-1], clip_on=False)
        line |= dict(linewidth=1.8 if printed else WIDTHS.get(row.method, 1.8))
        queries = np.maximum(curve.queries, 0 if printed else FIRST)  # a logarithmic axis has no zero
        _draw_band(left, queries, Band(*(100 * values for values in curve.success)), True, **line)
        if curve.margin is not None:
            _draw_band(right, queries, curve.margin, not printed, **line)
    if printed:
        _draw_printed(left, PRINTED_SUCCESS)
        _draw_printed(right, PRINTED_MARGIN)
    _finish(left, "(a) Success rate", "images with a negative margin", (-3, 104))
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    _finish(right, "(b) Mean margin", "true-class logit minus the largest other")
    right.axhline(0.0, color=style.TARGET, linewidth=1, linestyle=(0, (4, 2)))
    for panel in (left, right):
        _queries_axis(panel, printed)
    x, side, height, offset = (0.97, "right", "bottom", 3) if printed else (0.015, "left", "top", -4)
    where: dict[str, Any] = dict(xy=(x, 0.0), xycoords=right.get_yaxis_transform(), xytext=(0, offset), textcoords="offset points")
    right.annotate("misclassified below 0", ha=side, va=height, color=style.TARGET, fontsize=9.5, **where)
    style.legend_above(figure, [row.method for row in shown], printed)
    return figure


def _draw_band(axes: Axes, queries: np.ndarray, band: Band, steps: bool, **line: Any) -> None:
    """The mean with the band of the seeds, which is nothing where there is one. steps: whether values stay until the next ones."""
    axes.fill_between(
        queries, band.low, band.high, step="post" if steps else None, color=line["color"], alpha=style.FAINT, linewidth=0, zorder=1.5
    )
    axes.plot(queries, band.mean, drawstyle="steps-post" if steps else "default", **line)


def attack_table(name: str, title: str, rows: Sequence[Row], square: Row | None) -> Table:
    """The paper's table with its numbers beside ours, and the median when margin checks are counted as queries."""
    beside = tuple(text for column in COLUMNS[:3] for text in (column, f"{column}, paper"))
    columns = ("method", "p", "dirs./it.", "eta_0", *beside, "median (all, checks counted)", COLUMNS[3], f"{COLUMNS[3]}, paper")
    return Table(name, title, columns, [_line(row) for row in [*rows, *([square] if square else [])]], _note(square))


def rates_table(rows: Sequence[Row]) -> Table:
    """Success and margin along the queries at the steps of the first table, where the paper's text has numbers."""
    columns = ("method", *(f"success at {count}" for count in ALONG), f"mean margin at {ALONG[1]}", "mean margin below 0 from")
    note = f"In brackets: the paper's text. It also says: {PRINTED_WORDS}."
    return Table("rates", "Along the queries, steps closest to the paper's", columns, [_rates(row) for row in rows], note)


def _rates(row: Row) -> tuple[str, ...]:
    curve = row.curve
    margin = np.empty(0) if curve.margin is None else curve.margin.mean
    paper = {count: f" ({value:g} %)" for count, value in PRINTED_SUCCESS.get(row.method, [])}
    success = (f"{100 * curve.success.mean[curve.queries <= count][-1]:.1f} %{paper.get(count, '')}" for count in ALONG)
    printed = {count: f" ({value:g})" for count, value in PRINTED_MARGIN.get(row.method, [])}
    below = curve.queries[margin < 0.0]
    at = float(margin[curve.queries <= ALONG[1]][-1])
    return (LOOKS[row.method].label, *success, f"{at:.2f}{printed.get(ALONG[1], '')}", _count(below[0]) if below.size else "never")


def _line(row: Row) -> tuple[str, ...]:
    mean, deviation = row.final_margin
    own = (f"{row.successes:g}/{row.num_images}", _count(row.median_successful), _count(row.median_all))
    paper = PRINTED.get(row.method, ("—",) * 4)
    pairs = tuple(text for pair in zip(own, paper[:3], strict=True) for text in pair)
    settings = (number(row.p), number(row.num_directions), number(row.step_size))
    return (LOOKS[row.method].label, *settings, *pairs, _count(row.median_checked), f"{mean:.3f} ± {deviation:.3f}", paper[3])


def _note(square: Row | None) -> str:
    text = (
        "Medians over the seeds. Medians over all images count failures with the budget. One margin check per iteration is not among the "
        "paper's queries; checks counted: with them. Final margin: mean ± standard deviation over the images."
    )
    if square is None:
        return text
    return (
        f"{text} Square Attack ends at its success; its median is {_over_seeds(square.medians())}, and when points that it evaluates again "
        f"are free {_over_seeds(square.distinct_medians())}."
    )


def _over_seeds(medians: Sequence[float]) -> str:
    middle = _count(float(np.median(medians)))
    return f"{middle} ({_count(min(medians))} to {_count(max(medians))} over the seeds)" if len(medians) > 1 else middle


def _pilots(trials: Sequence[Pilot]) -> Table:
    rows: list[tuple[str, ...]] = [
        (LOOKS[trial.method].label, number(trial.step_size), str(trial.successes), _count(trial.median), _count(trial.mean))
        for trial in trials
    ]
    columns = ("method", "eta_0", "successes", "median queries", "mean queries")
    return Table(
        "pilots", "Every trial of the pilots", columns, rows, "On images of their own, which follow those under attack.", folded=True
    )


def _lead(attacks: Attacks, images: int) -> list[str]:
    mean, deviation = np.mean(attacks.clean_margins), np.std(attacks.clean_margins, ddof=1)
    return [
        f"A softmax classifier on 20000 training images has a clean accuracy of {100 * attacks.accuracy:.2f} % (the paper: "
        f"{100 * PRINTED_ACCURACY:.2f} %). {images} correctly classified test images with a margin above 0.2 "
        f"({mean:.3f} ± {deviation:.3f}, mean ± standard deviation) are attacked within {BUDGET} queries each.",
        f"The paper prints no step sizes. At the steps whose medians come closest to its own, median queries over all images are "
        f"{_medians(attacks.printed)} (the paper: {', '.join(f'{LOOKS[m].label} {PRINTED[m][2]}' for m in PRINTED)}). "
        f"At each method's best step they are {_medians(attacks.best)}.",
        attacks.missing or f"On the same images and model: {_medians([attacks.square] if attacks.square else [])}.",
    ]


def _medians(rows: Sequence[Row]) -> str:
    return ", ".join(f"{LOOKS[row.method].label} {_count(row.median_all)}" for row in rows)


def _count(value: float | None) -> str:
    return "—" if value is None else f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def _finish(axes: Axes, title: str, label: str, limits: tuple[float, float] | None = None) -> None:
    axes.set_title(title)
    axes.set(xlabel="model queries per image", ylabel=label, ylim=limits)


def _queries_axis(axes: Axes, linear: bool) -> None:
    if linear:
        axes.set_xlim(0, 1.02 * BUDGET)
        axes.xaxis.set_major_locator(FixedLocator(list(range(0, BUDGET + 1, 2000))))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", "\u2009")))
    else:
        axes.set_xscale("log")
        axes.set_xlim(FIRST, 1.25 * BUDGET)
        style.log_axis(axes.xaxis)
    axes.axvline(BUDGET, color=style.MUTED, linewidth=1, linestyle=(0, (1, 1.5)))
    axes.text(BUDGET, 1.01, "budget", transform=axes.get_xaxis_transform(), ha="center", va="bottom", color=style.MUTED, fontsize=9.5)


def _draw_printed(axes: Axes, points: Points) -> None:
    for method, pairs in points.items():
        for x, y in pairs:
            axes.plot(x, y, color=LOOKS[method].colour, **style.STAR, zorder=6, clip_on=False)
