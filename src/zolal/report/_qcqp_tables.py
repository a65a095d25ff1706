"""The tables of the dimension ablation."""

import math
from collections.abc import Sequence

import numpy as np

from zolal.experiments.qcqp import FINE, METHODS, Ablation, Cell, Choice, growth
from zolal.report._qcqp_figures import median_queries, of
from zolal.report._qcqp_limits import PRINTED, PRINTED_AT, least_queries, power_of_two
from zolal.report._style import LOOKS
from zolal.report.base import number
from zolal.tables import Table

CENSORED = "≥ b: the run, or one of the runs behind a mean, ended at its budget b before the target."
CHOSEN = ("eta_0", "rho", "alpha", "delta")
OUTCOME = ("reached", "median queries", "mean queries", "median / d", "best residual (median)")


def dense_table(cells: Sequence[Cell]) -> Table:
    """The dense problem: one line per dimension, method and protocol, beside the limit and what the paper prints."""
    rows = [
        (power_of_two(d), LOOKS[method].label, cell.protocol, *chosen(cell.choice)[:2], *outcome(cell), *_beside(method, d))
        for d in _dimensions(cells)
        for method in METHODS
        for cell in of(cells, method=method, d=d)
    ]
    columns = ("d", "method", "steps", *CHOSEN[:2], *OUTCOME, "least possible", "paper")
    note = (
        "steps: eta_0 of the printed grid, or of the grid widened until no end is chosen. least possible: (1 - 10^-4) d queries. "
        "alpha = 0.5 and, for Non-Euc, delta = 10^-2, as printed. " + CENSORED
    )
    return Table("dense", "Dense QCQP: queries to r_2 ≤ 0.01", columns, rows, note)


def sparse_table(cells: Sequence[Cell]) -> Table:
    """The sparse problem: one line per target, dimension and method."""
    rows = [
        (f"{target:g}", power_of_two(cell.name.d), LOOKS[cell.name.method].label, *_used(cell), *outcome(cell))
        for target in sorted({cell.name.target for cell in cells}, reverse=True)
        for d in _dimensions(cells)
        for method in METHODS
        for cell in of(cells, method=method, d=d, target=target)
    ]
    return Table("sparse", "Sparse QCQP: queries to both targets", ("target", "d", "method", *CHOSEN, *OUTCOME), rows, CENSORED)


def growth_table(cells: Sequence[Cell]) -> Table:
    """Measured exponents of queries ~ d^a on the sparse problem beside the predicted ones."""
    rows = list[tuple[str, ...]]()
    for target in sorted({cell.name.target for cell in cells}, reverse=True):
        for method in METHODS:
            line = of(cells, method=method, target=target)
            whole = [cell.name.d for cell in line if None not in cell.queries]
            span = f"{power_of_two(whole[0])} … {power_of_two(whole[-1])}" if whole else "never reached"
            rows.append((f"{target:g}", LOOKS[method].label, number(growth(line), 3), *_predicted(method, whole), span))
    note = (
        "The exponent a of queries ~ d^a, by least squares through the medians of the dimensions where every run reached the target, "
        "three at least. The theory predicts p d^(2/p): d at p = 2, ln d at p = 2 ln d. As a power: ln d fitted over the same dimensions."
    )
    return Table(
        "growth", "Sparse QCQP: growth with the dimension", ("target", "method", "exponent", "predicted", "as a power", "d"), rows, note
    )


def choices_table(ablation: Ablation) -> Table:
    """Every trial of the pilots."""
    rows = [
        (
            name.problem,
            f"{name.target:g}",
            power_of_two(name.d),
            LOOKS[name.method].label,
            *chosen(choice),
            str(trial.missed),
            number(trial.cost),
            number(trial.residual),
        )
        for name, trials in ablation.trials.items()
        for choice, trial in trials.items()
    ]
    columns = ("problem", "target", "d", "method", *CHOSEN, "missed", "queries in all", "mean best residual")
    note = (
        "Pilots run on seeds of their own, from 1001 on. missed: pilot seeds that did not reach the target; these count with their limit."
    )
    return Table("pilots", "Every trial of the pilots", columns, rows, note, folded=True)


def chosen(choice: Choice) -> tuple[str, ...]:
    return tuple(number(value) for value in (choice.step_size, choice.dual_step, choice.momentum, choice.delta))


def _used(cell: Cell) -> tuple[str, ...]:
    """The choice, without the delta of a mirror map that a Euclidean method does not have."""
    return chosen(cell.choice) if cell.name.method == "non-euc" else (*chosen(cell.choice)[:-1], "—")


def outcome(cell: Cell) -> tuple[str, ...]:
    """Runs that reached the target, median and mean of queries, the median in units of d, and the median of the best residuals."""
    reached = sum(count is not None for count in cell.queries)
    middle, residual = median_queries(cell), float(np.median([run.residual for run in cell.runs]))
    sign, shown = ("", middle) if math.isfinite(middle) else ("≥ ", float(cell.name.limit))
    mean = ("≥ " if None in cell.queries else "") + number(cell.mean_queries)
    return (f"{reached}/{len(cell.runs)}", sign + number(shown), mean, sign + number(shown / cell.name.d, 3), number(residual, 3))


def _dimensions(cells: Sequence[Cell]) -> list[int]:
    return sorted({cell.name.d for cell in cells})


def _beside(method: str, d: int) -> tuple[str, str]:
    return number(math.ceil(least_queries(d, FINE))), number(PRINTED[method]) if d == PRINTED_AT else "—"


def _predicted(method: str, dimensions: Sequence[int]) -> tuple[str, str]:
    if method != "non-euc":
        return "d", "1"
    if len(dimensions) < 3:
        return "ln d", "—"
    logs = np.log(np.asarray(dimensions, float))
    return "ln d", number(float(np.polyfit(logs, np.log(logs), 1)[0]), 2)
