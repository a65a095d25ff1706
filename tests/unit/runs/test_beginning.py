"""Where a run begins: a feasible point behind a hill is found, a contradiction is known before the first evaluation."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

from zolal.methods import as_method
from zolal.problem import Problem
from zolal.runs.beginning import begun

PLAIN = as_method("mdlal", "auto", dict(step_size=0.1)).solver  # whose start is x0 itself
RESTORING = SimpleNamespace(restores=True, init=PLAIN.init)
NEEDING = as_method("auto", "auto", None).solver  # which must begin where the constraints hold
TOL = 1e-3


def hill(x):
    return x[0] ** 3 - 300 * x[0] + 2600  # has a minimum above 0 at 10, and is below 0 from -20.6 downwards


def beginning(constraint, x0, solver=RESTORING):
    return begun(solver, Problem(np.sum, 1, constraint), np.array([x0]), 0, TOL)


def test_a_start_that_satisfies_the_constraints_is_left_alone():
    state, least = beginning(NonlinearConstraint(hill, -np.inf, 0), -30.0)
    assert (state.x[0], least) == (-30.0, None)


def test_a_feasible_point_behind_a_hill_is_begun_at():
    state, least = beginning(NonlinearConstraint(hill, -np.inf, 0), 20.0, NEEDING)
    assert least is None
    assert hill(state.x) <= TOL
    assert state.x[0] == pytest.approx(-20.64, rel=0.2)


def test_a_solver_whose_steps_lead_to_the_constraints_begins_at_its_own_start():
    state, least = beginning(NonlinearConstraint(hill, -np.inf, 0), 20.0)
    assert (state.x[0], least) == (20.0, None)


def test_a_contradiction_is_told_with_where_it_is_least():
    _, least = beginning(NonlinearConstraint(lambda x: x @ x, -np.inf, -1.0), 20.0)
    assert least.is_minimum
    assert least.violation == pytest.approx(1.0, abs=1e-6)


def test_a_method_that_comes_to_the_constraints_by_itself_begins_where_it_is_told():
    state, least = beginning(NonlinearConstraint(hill, -np.inf, 0), 20.0, PLAIN)
    assert (state.x[0], least) == (20.0, None)


def test_multipliers_of_an_earlier_run_are_carried_to_solvers_that_begin_with_such():
    problem = Problem(np.sum, 1, NonlinearConstraint(hill, -np.inf, 0))
    given = dict(x=np.array([-30.0]), seed=0, tol=TOL, multipliers=np.array([3.0]))
    assert begun(PLAIN, problem, **given).state.multipliers.tolist() == [3.0]
    assert begun(PLAIN, problem, **given | dict(multipliers=np.array([1.0, 2.0]))).state.multipliers.tolist() == [0.0]
    assert begun(as_method("auto", "auto", None).solver, problem, **given).state.multipliers.tolist() == [0.0]
