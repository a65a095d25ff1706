"""The report of the dimension ablation, from hand-made cells."""

import math
import statistics

import numpy as np
import pytest

from zolal.experiments._tuning import Trial
from zolal.experiments.qcqp import COARSE, FINE, METHODS, Ablation, Cell, Choice, Curve, Measured, Name
from zolal.kkt import euclidean_residual
from zolal.problems import qcqp
from zolal.report import report_qcqp
from zolal.report._qcqp_figures import draw_dense, draw_sparse, median_queries, of
from zolal.report._qcqp_limits import PRINTED, PRINTED_AT, least_queries, least_residual, times_below
from zolal.report._qcqp_tables import dense_table, growth_table, outcome, sparse_table
from zolal.report._style import LOOKS, styled


def made_run(count, limit, residual):
    last = limit if count is None else count
    return Measured(count, 9, residual, "", Curve([0, last // 4, last], [1.0, 0.5, residual]))


def made_cell(name, counts, protocol="widened", residual=0.009):
    return Cell(name, protocol, Choice(0.08, 10.0), [made_run(count, name.limit, residual * (1 + i)) for i, count in enumerate(counts)])


def made_ablation(dimensions=(64, 256, 1024)):
    """Dense: nothing is reached. Sparse: 100 d queries for Euclidean methods, 1000 ln d for the other, the fine target by it alone."""
    cells = []
    for d in dimensions:
        for method in METHODS:
            cells += [made_cell(Name("dense", FINE, method, d), [None] * 3, protocol, 0.2) for protocol in ("printed", "widened")]
            count = round(1000 * math.log(d)) if method == "non-euc" else 100 * d
            cells.append(made_cell(Name("sparse", COARSE, method, d), [count - 5, count, count + 7], residual=0.28))
            fine = [20 * count, 20 * count, 21 * count] if method == "non-euc" else [None] * 3
            cells.append(made_cell(Name("sparse", FINE, method, d), fine))
    return Ablation(cells, {cells[0].name: {Choice(0.08): Trial(1, 4096.0, 0.5)}}, 12.0)


def rows(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_the_least_residual_is_that_of_the_untouched_part_of_b():
    for d, m in ((64, 32), (16384, 6220), (64, 64), (64, 1000)):
        assert least_residual(m, d) == pytest.approx(math.sqrt(1 - m / d) if m < d else 0.0)
    rng = np.random.default_rng(0)
    b = rng.standard_normal((4000, 32))
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    assert np.mean(np.sum(b[:, 12:] ** 2, axis=1)) == pytest.approx(float(least_residual(12, 32)) ** 2, rel=0.02)


def test_a_point_that_needs_no_query_has_the_residual_at_which_the_ball_hides_the_gradient():
    """||x|| = sqrt(7) - 1 and a very negative multiplier: x - g leaves the ball, whatever b is."""
    problem = qcqp(1024)
    x = np.zeros(1024)
    x[0] = math.sqrt(7.0) - 1.0
    g, c = problem.gradient(x) - 1e6 * x, np.array([0.5 * (x @ x - 1.0)])
    assert euclidean_residual(problem.region, problem.regularizer, x, g, c) == pytest.approx(float(least_residual(0, 1024)), abs=1e-3)
    assert least_residual(0, 1024) == pytest.approx(0.8542, abs=1e-4)


def test_the_least_queries_are_where_the_least_residual_meets_the_target():
    for d in (64, 16384):
        assert float(least_residual(least_queries(d, FINE), d)) == pytest.approx(FINE)
    assert least_queries(2**14, 1e-2) == pytest.approx((1 - 1e-4) * 2**14)


def test_the_printed_count_of_non_euc_is_below_the_limit_and_the_others_are_not():
    assert times_below(PRINTED["non-euc"], PRINTED_AT, FINE) == pytest.approx(2.634, abs=1e-3)
    assert all(times_below(PRINTED[method], PRINTED_AT, FINE) < 1 for method in ("euc-theory", "euc-matched"))


@pytest.mark.parametrize(
    ("counts", "reached", "median", "mean"),
    [
        ([100, 300, 200], "3/3", "200", "200"),
        ([100, 301, 200, 250], "4/4", "225", "212.8"),
        ([100, None, 200], "2/3", "200", "≥ 2169"),
        ([100, None, None], "1/3", "≥ 6208", "≥ 4172"),
        ([100, None], "1/2", "≥ 6208", "≥ 3154"),
        ([None], "0/1", "≥ 6208", "≥ 6208"),
    ],
)
def test_censored_runs_are_shown_as_lower_bounds(counts, reached, median, mean):
    """Their budget is 97 * 64 = 6208 queries."""
    found = outcome(made_cell(Name("dense", FINE, "non-euc", 64), counts))
    assert found[:3] == (reached, median, mean)
    assert found[3] == ("≥ 97" if "≥" in median else f"{float(median) / 64:.3g}")


def test_the_tables_hold_what_a_naive_reading_of_the_cells_gives():
    cells = made_ablation().cells
    dense, sparse = rows(dense_table(of(cells, problem="dense"))), rows(sparse_table(of(cells, problem="sparse")))
    assert len(dense) == 18
    assert all(
        row["reached"] == "0/3" and row["median queries"].startswith("≥ ") and row["best residual (median)"] == "0.4" for row in dense
    )
    assert [row["least possible"] for row in dense if row["method"] == "Non-Euc"] == ["64", "64", "256", "256", "1024", "1024"]
    for row in sparse:
        d = 2 ** int(row["d"][2:])
        if row["target"] == "0.3":
            counts = [round(1000 * math.log(d)) if row["method"] == "Non-Euc" else 100 * d] * 3
            counts = [counts[0] - 5, counts[0], counts[0] + 7]
            assert float(row["median queries"]) == statistics.median(counts)
            assert float(row["mean queries"]) == pytest.approx(statistics.mean(counts), abs=0.5)
            assert float(row["median / d"]) == pytest.approx(statistics.median(counts) / d, rel=0.005)
        assert (row["delta"] == "—") == (row["method"] != "Non-Euc")


def test_what_the_paper_prints_stands_beside_the_dimension_it_is_of():
    table = dense_table([made_cell(Name("dense", FINE, method, d), [None], "printed") for d in (64, PRINTED_AT) for method in METHODS])
    assert [row["paper"] for row in rows(table)] == ["—", "—", "—", "754000", "1580000", "6220"]


def test_growth_is_measured_and_predicted_over_the_same_dimensions():
    found = {(row["target"], row["method"]): row for row in rows(growth_table(of(made_ablation().cells, problem="sparse")))}
    assert found["0.3", "Euc-theory"]["exponent"] == "1"
    assert float(found["0.3", "Non-Euc"]["exponent"]) == pytest.approx(float(found["0.3", "Non-Euc"]["as a power"]), abs=0.005)
    assert found["0.01", "Euc-theory"]["exponent"] == "—"
    assert found["0.01", "Euc-theory"]["d"] == "never reached"


def test_the_median_of_censored_runs_is_infinite():
    name = Name("dense", FINE, "non-euc", 64)
    assert median_queries(made_cell(name, [1, None, None])) == math.inf
    assert median_queries(made_cell(name, [1, 3, None])) == 3


def drawn_colours(axes):
    lines = [line.get_color() for line in axes.get_lines()] + [line.get_markeredgecolor() for line in axes.get_lines()]
    return {colour for colour in lines if isinstance(colour, str)}


def test_every_method_is_drawn_in_its_own_colour_in_every_panel():
    cells = made_ablation((64, 256, 2**14)).cells
    with styled():
        figures = [draw_dense(of(cells, problem="dense")), draw_sparse(of(cells, problem="sparse"))]
    for axes in [panel for figure in figures for panel in figure.axes]:
        assert {LOOKS[method].colour for method in METHODS} <= drawn_colours(axes)


def test_the_limit_and_the_target_are_in_both_dense_panels():
    with styled():
        left, right = draw_dense(of(made_ablation((64, 2**14)).cells, problem="dense")).axes
    line = next(
        line
        for line in left.get_lines()
        if np.allclose(line.get_ydata(), 0.9999 * np.asarray(line.get_xdata())) and len(line.get_xdata()) > 9
    )
    assert line.get_color() == next(curve.get_color() for curve in right.get_lines() if len(curve.get_xdata()) > 100)
    assert any(np.allclose(line.get_ydata(), FINE) for line in right.get_lines())
    assert "2.6 times fewer" in " ".join(text.get_text() for text in left.texts)
    assert "≥ 0.79" in " ".join(text.get_text() for text in right.texts)


def test_the_words_say_how_far_the_printed_count_is_from_what_is_possible():
    lead = " ".join(report_qcqp(made_ablation()).lead)
    for words in ("at least 16382 queries", "6220", "2.6 times fewer", "at least 0.79", "Non-Euc 0/9", "Euc-theory d^1.00"):
        assert words in lead
