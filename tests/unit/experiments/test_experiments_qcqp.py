"""The ablation's parts: fast batches, pilots that choose well, runs that are counted right, a grid that resumes."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from zolal.campaigns import Campaign, Store
from zolal.directions import Gaussian, Rademacher
from zolal.estimators import Momentum, QueryBatch
from zolal.evaluation.evaluate import VectorizedEvaluator
from zolal.experiments import qcqp
from zolal.experiments._quadratic import QuadraticEvaluator
from zolal.experiments._tuning import Search, Trial, search_all
from zolal.problems import qcqp as dense_qcqp
from zolal.problems import sparse_qcqp


@pytest.mark.parametrize("problem", [dense_qcqp(64, 1), sparse_qcqp(64, 1)], ids=["dense", "sparse"])
@pytest.mark.parametrize("directions", [Rademacher(64, 20, seed=1), Gaussian(64, 20, seed=1)], ids=["signs", "normal"])
@pytest.mark.parametrize("share_base", [True, False])
def test_fast_batches_have_the_values_of_their_points(problem, directions, share_base, rng):
    batch = QueryBatch(tuple(rng.standard_normal((2, 64))), 0.3, directions, share_base)
    fast, plain = QuadraticEvaluator(problem.objective)(batch), VectorizedEvaluator(problem)(batch)
    assert fast.count == plain.count == len(batch)
    np.testing.assert_allclose(fast.values, plain.values, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("d", [64, 2**14])
def test_directions_are_as_many_as_printed(d):
    p = 2 * math.log(d)
    assert qcqp.num_directions("euc-theory", d) == d
    assert qcqp.num_directions("euc-matched", d) == qcqp.num_directions("non-euc", d) == math.ceil((p - 1) * d ** (2 / p))


def test_the_solver_has_the_printed_settings():
    solver = qcqp.solver("non-euc", 64, qcqp.Choice(0.08))
    assert solver.mirror.p == pytest.approx(2 * math.log(64))
    assert solver.mirror.delta == 1e-2
    assert isinstance(solver.estimator, Momentum)
    assert solver.estimator.momentum == 0.5
    assert solver.step_size_schedule(75) == pytest.approx(0.04)  # eta_0 / sqrt(1 + k/25)
    assert solver.penalty == 20.0


def test_the_residual_is_the_printed_diagnostic():
    """The last entry of the curve, recomputed by hand from the run's own iterates."""
    outcome = qcqp.measure("dense", 1e-2, "euc-theory", 64, 0, vars(qcqp.Choice(0.08)), 64 * 42)
    problem, solver = dense_qcqp(64, 0), qcqp.solver("euc-theory", 64, qcqp.Choice(0.08))
    state, residuals = solver.init(problem, problem.x0, 0), []
    for k in range(12):
        x, c = state.x, 0.5 * (state.x @ state.x - 1)
        g = problem.gradient(x) + (float(state.multipliers[0]) + 20.0 * c) * x
        target = x - g
        projected = target * min(1.0, 2.5 / np.linalg.norm(target))
        residuals.append(max(np.linalg.norm(x - projected), abs(c)))
        if k < 11:
            state = solver.tell(state, VectorizedEvaluator(problem)(solver.ask(state)).values)
    assert outcome.iterations == 11  # 2d + 10 * 4d evaluations
    assert outcome.residual == pytest.approx(min(residuals), rel=1e-6)
    assert outcome.queries is None


def test_the_first_count_below_the_target_is_reported():
    outcome = qcqp.measure("sparse", 0.3, "euc-matched", 64, 0, vars(qcqp.Choice(0.08)), 10**5)
    n = qcqp.num_directions("euc-matched", 64)
    assert outcome.queries == 2 * n + (outcome.iterations - 1) * 4 * n
    assert outcome.residual <= 0.3
    assert outcome.curve.queries[-1] == outcome.queries
    assert (np.diff(outcome.curve.residuals) <= 0).all()


@pytest.mark.parametrize("d", [64, 1024])
@pytest.mark.parametrize("rho", [0.1, 1.0, 10.0])
def test_the_largest_printed_step_takes_over_a_hundred_iterations_even_with_exact_gradients(d, rho):
    """The paper's Euc-theory count, 46 d, is 12 iterations of Algorithm 1 (2d + 11 * 4d), or 23 at 2d each."""
    problem = dense_qcqp(d, 0)
    x, lam = problem.x0, 0.0
    for k in range(100):
        c = 0.5 * (x @ x - 1.0)
        g = problem.gradient(x) + (lam + 20.0 * c) * x
        assert max(np.linalg.norm(x - problem.region.project(x - g)), abs(c)) > 1e-2
        x, lam = problem.region.project(x - 0.08 / math.sqrt(1.0 + k / 25.0) * g), lam + rho * c


@dataclass(frozen=True)
class Setting:
    step: float
    other: float = 1.0


def bowl(setting):
    """Reaches the target after few queries near step 8, other 3, and not at all far from there."""
    distance = abs(math.log2(setting.step / 8.0)) + abs(setting.other - 3.0)
    return Trial(0, 100.0 * (1 + distance), 0.01) if distance < 3.5 else Trial(2, 1000.0, distance)


@pytest.mark.parametrize("start", [0.25, 8.0, 512.0])
def test_searches_find_the_best_setting_beyond_the_ends_of_their_grid(start):
    search, asked = Search(), []

    def plan():
        best = yield from search.scan(Setting(start), "other", (1.0, 2.0, 3.0, 4.0))
        return (yield from search.climb(best, "step", 2.0))

    def trials(pairs):
        asked.extend(pairs)
        return [bowl(setting) for _, setting in pairs]

    assert search_all({"one": (search, plan())}, trials) == {"one": Setting(8.0, 3.0)}
    assert len(asked) == len(set(asked)) == len(search.tried)  # nothing is tried twice
    assert search.least_cost == 100.0


def test_a_gain_of_less_than_one_percent_does_not_move_a_step():
    search = Search()

    def trials(pairs):
        return [Trial(0, 100.0 - 0.5 * math.log2(setting.step), 0.01) for _, setting in pairs]

    assert search_all({"one": (search, search.climb(Setting(1.0), "step", 2.0))}, trials) == {"one": Setting(1.0)}


def test_plans_go_on_side_by_side():
    searches, rounds = {name: Search() for name in "ab"}, []

    def plan(search):
        return (yield from search.scan(Setting(1.0), "step", (4.0, 8.0)))

    def trials(pairs):
        rounds.append(len(pairs))
        return [bowl(setting) for _, setting in pairs]

    found = search_all({name: (search, plan(search)) for name, search in searches.items()}, trials)
    assert found == {"a": Setting(8.0), "b": Setting(8.0)}
    assert rounds == [4]


def test_queries_decide_only_between_choices_that_always_reach_the_target():
    assert Trial(0, 500.0, 0.01).rank < Trial(1, 100.0, 0.001).rank < Trial(2, 100.0, 0.001).rank
    assert Trial(0, 99.0, 0.5).rank < Trial(0, 100.0, 0.1).rank
    assert Trial(1, 900.0, 0.1).rank < Trial(1, 100.0, 0.2).rank


def cell(d, queries):
    name = qcqp.Name("sparse", 0.3, "euc-matched", d)
    return qcqp.Cell(name, "widened", qcqp.Choice(0.1), [qcqp.Measured(count, 9, 0.1, "", qcqp.Curve([], [])) for count in queries])


def test_growth_is_the_exponent_over_dimensions_that_always_reach_the_target():
    cells = [cell(d, [2 * d**1.5, 4 * d**1.5, 3 * d**1.5]) for d in (16, 64, 256)]
    assert qcqp.growth([*cells, cell(1024, [1, None, 2])]) == pytest.approx(1.5)
    assert qcqp.growth([*cells[:2], cell(1024, [1, None, 2])]) is None


def test_a_curve_ends_at_the_last_iterate():
    outcome = qcqp.measure("dense", 1e-2, "euc-theory", 64, 0, vars(qcqp.Choice(0.08)), 64 * 42)
    name = qcqp.Name("dense", 1e-2, "euc-theory", 64)
    queries, residuals = qcqp.Cell(name, "printed", qcqp.Choice(0.08), [outcome]).curves[0]
    assert queries[-1] == 64 * 42
    assert residuals[-1] == pytest.approx(outcome.residual, rel=1e-3)
    assert (np.diff(queries) > 0).all()


def test_the_mean_counts_censored_runs_at_the_budget():
    assert cell(1024, [1000, None]).mean_queries == (1000 + 128 * 1024) / 2  # the sparse problem, to 0.3


def test_a_grid_is_run_once_and_then_read(tmp_path):
    grid = qcqp.Grid((64,), (64,), 2, 1, dict(dense=(1e-2,), sparse=(0.3,)))
    told = []
    first = qcqp.reproduce(Campaign(Store(tmp_path), 1, "1", lambda *progress: told.append(progress)), grid)
    assert told[-1][0] == told[-1][1]
    again = qcqp.reproduce(Campaign(Store(tmp_path), 1, "1", lambda *_: pytest.fail("a stored run was run again")), grid)
    assert again == first
    assert {c.name.method for c in first.cells} == set(qcqp.METHODS)
    assert all(len(c.runs) == 2 for c in first.cells)
    dense = [c for c in first.cells if c.name.problem == "dense"]
    assert {c.protocol for c in dense} == {"printed", "widened"}
    assert all(c.choice.step_size in qcqp.PRINTED_STEPS for c in dense if c.protocol == "printed")
    for widened in (c for c in first.cells if c.protocol == "widened"):  # neighbours of the choice were tried and were not better
        steps = {choice.step_size for choice in first.trials[widened.name]}
        assert {2 * widened.choice.step_size, widened.choice.step_size / 2} <= steps
