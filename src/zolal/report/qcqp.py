"""The report of the dimension ablation, Section 7.1."""

from collections.abc import Sequence

from zolal.experiments.qcqp import FINE, METHODS, Ablation, Cell, growth
from zolal.report import _style as style
from zolal.report._qcqp_figures import draw_dense, draw_sparse, of
from zolal.report._qcqp_limits import PRINTED, PRINTED_AT, least_queries, least_residual, power_of_two, times_below
from zolal.report._qcqp_tables import choices_table, dense_table, growth_table, sparse_table
from zolal.report._style import LOOKS
from zolal.report.base import Drawing, Report, counted


def report_qcqp(ablation: Ablation) -> Report:
    """Figures, tables and words on both problems."""
    dense, sparse = of(ablation.cells, problem="dense"), of(ablation.cells, problem="sparse")
    seeds = counted(len(ablation.cells[0].runs), "paired seed")
    with style.styled():
        drawings = [
            Drawing(
                "dense",
                "Queries and residuals on the dense QCQP with the information limit",
                _dense_caption(seeds, _budget(dense)),
                draw_dense(dense),
            ),
            Drawing("sparse", "Growth of queries with the dimension on the sparse QCQP", _sparse_caption(seeds), draw_sparse(sparse)),
        ]
    tables = [dense_table(dense), sparse_table(sparse), growth_table(sparse), choices_table(ablation)]
    return Report(
        "qcqp", "Dimension ablation on a QCQP (Section 7.1)", [_the_limit(), _the_dense(dense), _the_sparse(sparse)], drawings, tables
    )


def _the_limit() -> str:
    count, d = PRINTED["non-euc"], PRINTED_AT
    return (
        "On the problem as printed, a query tells one linear functional of a vector b that is uniform on the sphere. "
        "After m queries no method, in whatever geometry, can bring the mean square of the Lagrangian's gradient below 1 - m/d. "
        f"At d = {power_of_two(d)} the target 0.01 therefore takes at least {least_queries(d, FINE):.0f} queries; "
        f"the paper prints {count:.0f} for Non-Euc, {times_below(count, d, FINE):.1f} times fewer than possible: "
        f"there the root mean square of the residual is at least {float(least_residual(count, d)):.2f}."
    )


def _the_dense(cells: Sequence[Cell]) -> str:
    words = []
    for protocol, steps in (("printed", "the printed steps"), ("widened", "the widened grid of steps")):
        counts = [f"{LOOKS[method].label} {_reached(of(cells, method=method, protocol=protocol))}" for method in METHODS]
        words.append(f"with {steps}, {', '.join(counts)}")
    return f"Dense problem: runs that reach r_2 ≤ 0.01 within {_budget(cells)} queries, over all dimensions: {'; '.join(words)}."


def _the_sparse(cells: Sequence[Cell]) -> str:
    words = []
    for target in sorted({cell.name.target for cell in cells}, reverse=True):
        lines = [(LOOKS[method].label, of(cells, method=method, target=target)) for method in METHODS]
        words.append(f"to {target:g}: " + ", ".join(f"{label} {_grown(line)}" for label, line in lines))
    return (
        "Sparse problem, where the norm of x in which the theory works stays bounded: queries as a power of d "
        f"(predicted: d for the Euclidean methods, ln d for Non-Euc), {'; '.join(words)}."
    )


def _grown(cells: Sequence[Cell]) -> str:
    exponent = growth(list(cells))
    return f"reaches it in {_reached(cells)} runs" if exponent is None else f"d^{exponent:.2f}"


def _budget(cells: Sequence[Cell]) -> str:
    return f"{cells[0].name.limit / cells[0].name.d:g} d"


def _reached(cells: Sequence[Cell]) -> str:
    counts = [count for cell in cells for count in cell.queries]
    return f"{sum(count is not None for count in counts)}/{len(counts)}"


def _dense_caption(seeds: str, budget: str) -> str:
    return (
        f"Dense QCQP, {seeds}. (a) Median queries to r_2 ≤ 0.01, bars from the 10th to the 90th percentile; open markers "
        f"with arrows: the median run was censored at {budget}. (b) Median of the best residual so far, bands from the 10th to the 90th "
        "percentile; dashed: steps of the widened grid, where the pilots chose others than the printed ones. Stars: what the paper prints."
    )


def _sparse_caption(seeds: str) -> str:
    return (
        f"Sparse QCQP, {seeds}. (a) Median queries to the targets with fitted powers of d; dotted: the predicted shapes, "
        "moved to the data. (b) Median of the best residual so far with bands from the 10th to the 90th percentile."
    )
