"""The reports of the attack and of fairness, from hand-made runs."""

import statistics
from dataclasses import replace

import numpy as np
import pytest
from test_report_qcqp import made_ablation

from zolal.cli.reproduce import EXPERIMENTS
from zolal.experiments import attack, fairness
from zolal.experiments._readings import INTERVALS, Curve, First, Point
from zolal.experiments._tuning import Trial
from zolal.experiments.attack import METHODS as ATTACKS
from zolal.experiments.attack import Attacks, Pilot, Row
from zolal.experiments.fairness import METHODS as FAIR
from zolal.experiments.fairness import Cell, Choice, Fairness, Name
from zolal.report import report_attack, report_fairness, report_qcqp
from zolal.report._style import LOOKS

COUNTS = {"euc-theory": [7840, None, None], "euc-matched": [138, 276, 690], "non-euc": [138, 138, 414]}
MARGINS = [-1.0, 0.5, -0.25]


def attack_row(method):
    checks = [None if count is None else 3 for count in COUNTS[method]]
    run = attack.Measured(COUNTS[method], checks, MARGINS, attack.Margins([0, 138, 6000], [2.0, 0.5, -0.25]))
    return Row(method, 2, 69, 0.1, [run])


def made_attacks(square=True):
    rows = [attack_row(method) for method in ATTACKS]
    beside = Row("square", None, None, None, [attack.Squared([3, 9, 12], [2, 5, 7], MARGINS)]) if square else None
    missing = None if square else "Square Attack was left out."
    return Attacks(0.9076, [1.0, 2.0, 3.0], rows, rows, beside, missing, [Pilot("non-euc", 0.1, 138.0, 3, 230.0)], 5.0)


def fair_run(k, stationarity, met=True):
    point = Point(k, 1e-3 * k, stationarity, slackness=0.0, residual=None)
    first = [First(criterion, interval, point if met else None) for criterion in ("residual", "common") for interval in INTERVALS]
    curve = Curve([0, 6, k + 60], [0.5, 0.05, stationarity], [0.0, 1e-3, 0.0])
    return fairness.Measured(4096, 0.1, "", first, replace(point, k=k + 60), stationarity, curve)


def made_fairness(data=("a9a", "lendingclub")):
    def cell(name, factor):
        return Cell(name, Choice(0.6), [fair_run(20 * factor, 0.008), fair_run(30 * factor, 0.009), fair_run(60, 0.02, met=False)])

    table = [cell(Name(name, method, 1.0), 1 + i) for name in data for i, method in enumerate(FAIR)]
    trials = {table[1].name: {Choice(0.6): Trial(0, 90.0, 0.009)}}
    weights = [replace(one, name=Name(one.name.data, FAIR[0], 0.5)) for one in table[::3]]
    tuned = [replace(table[0], choice=replace(table[0].choice, step_size=1.2))]
    return Fairness(table=table, tuned=tuned, weights=weights, trials=trials, seconds=7.0)


def rows(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_the_attack_table_is_a_naive_count_beside_the_papers():
    found = {row["method"]: row for row in rows(report_attack(made_attacks()).tables[0])}
    assert [found["Euc-theory"][key] for key in ("succ.", "median queries (succ.)", "median queries (all images)")] == [
        "1/3",
        "7840",
        "12000",
    ]
    assert [found["Non-Euc"][key] for key in ("succ.", "median queries (all images)", "median (all, checks counted)")] == [
        "3/3",
        "138",
        "141",
    ]
    assert found["Square Attack"]["median queries (all images)"] == "9"
    assert found["Square Attack"]["succ., paper"] == "—"
    assert found["Euc-matched"]["median queries (all images), paper"] == "5382"
    mean, deviation = statistics.mean(MARGINS), statistics.stdev(MARGINS)
    assert found["Non-Euc"]["final margin"] == f"{mean:.3f} ± {deviation:.3f}"


def test_the_rates_are_those_of_the_last_iterate_before_each_count():
    table = next(table for table in report_attack(made_attacks()).tables if table.name == "rates")
    found = {row["method"]: row for row in rows(table)}["Non-Euc"]
    reached = [
        sum(count is not None and count <= limit for count in COUNTS["non-euc"]) / len(COUNTS["non-euc"]) for limit in (138, 138, 6000)
    ]
    for share, (limit, paper) in zip(reached, ((2000, " (50 %)"), (4000, " (92.5 %)"), (12000, "")), strict=True):
        assert found[f"success at {limit}"] == f"{100 * share:.1f} %{paper}"
    assert found["mean margin at 4000"] == "0.50 (-2.2)"
    assert found["mean margin below 0 from"] == "6000"


def test_the_attack_figures_hold_every_method_the_zero_line_and_the_papers_points():
    first, second = (drawing.figure for drawing in report_attack(made_attacks()).drawings)
    for figure in (first, second):
        success, margin = figure.axes
        assert {LOOKS[method].colour for method in (*ATTACKS, "square")} <= {line.get_color() for line in success.get_lines()}
        assert {LOOKS[method].colour for method in ATTACKS} <= {line.get_color() for line in margin.get_lines()}
        assert any(np.allclose(line.get_ydata(), 0.0) for line in margin.get_lines())
    assert sum(line.get_marker() == "*" for line in first.axes[0].get_lines()) == 5
    assert not [line for panel in second.axes for line in panel.get_lines() if line.get_marker() == "*"]


def test_the_attack_tells_the_clean_margins_and_the_spread_of_square_attack():
    found = made_attacks()
    runs = [attack.Squared([q, 9 * q, 12 * q], [2, 5 * q, 700], MARGINS) for q in (1, 2, 4)]
    report = report_attack(replace(found, square=replace(found.square, runs=runs)))
    assert "a margin above 0.2 (2.000 ± 1.000, mean ± standard deviation)" in report.lead[0]
    assert "its median is 18 (9 to 36 over the seeds), and when points" in report.tables[0].note
    assert "are free 10 (5 to 20 over the seeds)." in report.tables[1].note
    assert "its median is 9, and" in report_attack(found).tables[0].note


def test_bands_of_the_attack_reach_from_the_least_to_the_largest_seed():
    found = made_attacks()
    other = attack.Measured([138, 138, 138], [1, 1, 1], MARGINS, attack.Margins([0, 138, 6000], [2.0, -1.5, -3.0]))
    both = [replace(row, runs=[*row.runs, other]) for row in found.printed]
    report = report_attack(replace(found, printed=both, best=both))
    assert "bands from the least to the largest seed" in report.drawings[0].caption
    for drawing in report.drawings:
        bands = [band.get_paths()[0].get_extents() for band in drawing.figure.axes[1].collections]
        assert [(band.y0, band.y1) for band in bands] == [(-3.0, 2.0)] * len(ATTACKS)
        assert all(len(panel.collections) >= len(ATTACKS) for panel in drawing.figure.axes)


def test_a_missing_square_attack_is_said():
    found = report_attack(made_attacks(square=False))
    assert "Square Attack was left out." in found.lead
    assert len(found.tables[0].rows) == 3


def test_the_fairness_table_is_a_naive_count_beside_the_papers():
    found = {(row["data"], row["method"]): row for row in rows(report_fairness(made_fairness()).tables[0])}
    passes = [k * 16 * 256 / 4096 for k in (20, 30, 120)]  # the third run was not met, and ends at its last iterate
    assert found["a9a", "Ours"]["data passes"] == f"{statistics.mean(passes):.2f} ± {statistics.stdev(passes):.2f}"
    shared = [value * 9 / 16 for value in passes]
    assert found["a9a", "Ours"]["data passes, shared base"] == f"{statistics.mean(shared):.2f} ± {statistics.stdev(shared):.2f}"
    values = [0.008, 0.009, 0.02]
    assert found["a9a", "SZO-ConEx"]["Stat."] == f"{statistics.mean(values):.2e} ± {statistics.stdev(values):.2e}"
    assert found["a9a", "Ours"]["at the cap"] == "1/3"
    assert found["a9a", "Ours"]["data passes, paper"] == "85.46 ± 13.82"
    assert found["lendingclub", "Ours"]["data passes, paper"] == "—"
    assert (found["a9a", "Ours, tuned"]["eta"], found["a9a", "Ours, tuned"]["data passes, paper"]) == ("1.2", "—")


def test_the_fairness_figure_has_two_rows_and_a_column_per_data_set():
    figure = report_fairness(made_fairness()).drawings[0].figure
    assert len(figure.axes) == 4
    for axes in figure.axes:
        assert {LOOKS[method].colour for method in FAIR} <= {line.get_color() for line in axes.get_lines()}
        assert any(np.allclose(line.get_ydata(), 0.01) for line in axes.get_lines())
    stars = [sum(line.get_marker() == "*" for line in axes.get_lines()) for axes in figure.axes]
    assert stars == [3, 0, 3, 0]  # lendingclub is not the paper's


def test_the_end_of_a_method_is_marked_at_its_median_run():
    axes = report_fairness(made_fairness(("a9a",))).drawings[0].figure.axes[0]
    ends = [line for line in axes.get_lines() if line.get_marker() == "o" and line.get_color() == LOOKS["mdlal"].colour]
    assert [float(end.get_xdata()[0]) for end in ends] == [pytest.approx(30.0)]


def test_every_reading_of_the_stopping_rule_has_a_line():
    table = report_fairness(made_fairness(("a9a",))).tables[1]
    found = rows(table)
    assert len(found) == 2 * 2 * len(INTERVALS)
    assert {(row["method"], row["eta"], row["paper"]) for row in found} == {("Ours", "0.6", "85.46 ± 13.82"), ("Ours, tuned", "1.2", "—")}


def test_omega_is_told_in_units_and_as_it_is():
    (row,) = rows(report_fairness(made_fairness(("a9a",))).tables[2])
    assert (row["multiple"], row["omega"]) == ("0.5", "0.1")
    for count, iterations in (("two-point", (20, 30, 120)), ("algorithm", (39, 59, 239)), ("shared", (11.25, 16.875, 67.5))):
        assert row[f"passes, {count}"] == f"{statistics.mean(iterations):.2f} ± {statistics.stdev(iterations):.2f}"


def test_ends_above_the_target_that_the_own_rule_does_not_see_are_told():
    found = made_fairness(("a9a",))
    high = replace(found.weights[0], name=Name("a9a", FAIR[0], 1.5), runs=[fair_run(20, 0.008), fair_run(30, 0.02)])
    assert "at the end of a9a at 1.5: Algorithm 1" in report_fairness(replace(found, weights=[*found.weights, high])).tables[2].note
    assert "at the end" not in report_fairness(found).tables[2].note


def test_pages_of_all_three_have_a_name_that_the_command_knows():
    made = [report_attack(made_attacks()), report_fairness(made_fairness()), report_qcqp(made_ablation())]
    assert {report.name for report in made} == set(EXPERIMENTS)
