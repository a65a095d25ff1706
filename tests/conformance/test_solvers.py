"""Every solver is a pure state machine: it asks, is told, mutates nothing and never evaluates."""

from dataclasses import replace

import numpy as np
import pytest

from registry import PROBLEMS, SOLVERS
from zolal.evaluation.evaluate import MapEvaluator

STEPS = 4


def forbidden(*args):
    raise AssertionError("a solver evaluated the objective")


def states(solver, problem, seed=3):
    """The states of a short run; the solver's own problem has an objective that must not be called."""
    evaluate = MapEvaluator(problem)
    state = solver.init(replace(problem, objective=forbidden), problem.x0, seed)
    yield state
    for _ in range(STEPS):
        state = solver.tell(state, evaluate(solver.ask(state)).values)
        yield state


def last_point(batch):
    return batch.point(len(batch) - 1)


cases = pytest.mark.parametrize("solver", SOLVERS, ids=[f"solver {i}" for i in range(len(SOLVERS))])
problems = pytest.mark.parametrize("name", PROBLEMS)


@cases
@problems
def test_iterates_stay_in_the_region_and_count_their_steps(solver, name):
    problem = PROBLEMS[name]
    for k, state in enumerate(states(solver, problem)):
        assert state.k == k
        assert problem.region.contains(state.x)
        assert state.form.region.contains(state.z)
        np.testing.assert_allclose(state.c, state.form.value(state.z), rtol=1e-12, atol=1e-12)


@cases
@problems
def test_asking_twice_gives_the_same_points_and_telling_twice_the_same_state(solver, name):
    problem = PROBLEMS[name]
    state = list(states(solver, problem))[2]
    first, second = solver.ask(state), solver.ask(state)
    assert len(first) == len(second) > 0
    for i in range(len(first)):
        assert first.query(i) == second.query(i)
        np.testing.assert_array_equal(first.point(i), second.point(i))
    values, before = np.arange(len(first), dtype=float) * 1e-6, state.z.copy()
    one, other = solver.tell(state, values), solver.tell(state, values)
    np.testing.assert_array_equal(one.z, other.z)
    np.testing.assert_array_equal(one.multipliers, other.multipliers)
    np.testing.assert_array_equal(state.z, before)


@cases
@problems
def test_the_run_is_a_function_of_the_seed(solver, name):
    problem = PROBLEMS[name]
    one, same, other = ([last_point(solver.ask(state)) for state in states(solver, problem, seed)] for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@cases
@problems
def test_outputs_are_points_of_the_region_with_one_multiplier_per_row(solver, name):
    problem = PROBLEMS[name]
    for state in states(solver, problem):
        for candidate in (solver.output(state), solver.best(state)):
            assert state.form.region.contains(candidate.z)
            assert candidate.multipliers.shape == state.c.shape
        mirror, step_size = solver.measures_at(state)
        assert step_size > 0
        assert mirror.dimension in (None, state.z.shape[0])
