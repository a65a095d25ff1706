"""Constraints that contradict each other: where they are violated least, by which row, at a bounded cost."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import NonlinearConstraint

from zolal.problem import Problem
from zolal.sets import Box, L1Ball, L2Ball, Simplex, WholeSpace

INF = np.inf
D = 10
TWO_PLANES = [("one", lambda x: x.sum(), 1, 1), ("three", lambda x: x.sum(), 3, 3)]
FIRST = [("first", lambda x: x[0], 2, INF)]

IMPOSSIBLE = {
    "no such ball": ([("ball", lambda x: x @ x, -INF, -1.0)], WholeSpace(), 1.0),
    "two planes": (TWO_PLANES, WholeSpace(), 1.0),
    "out of bounds": ([("total", lambda x: x.sum(), 100.0, INF)], Box(0.0, 1.0), 90.0),
    "two balls": ([("here", lambda x: x @ x, -INF, 1), ("there", lambda x: (x - 3) @ (x - 3), -INF, 1)], WholeSpace(), 21.5),
    "simplex": (FIRST, Simplex(), 1.0),
    "no room": ([("sphere", lambda x: x @ x, 1.0, 1.0)], Box(0.0, 0.0), 1.0),
    "hardly any room": ([("sphere", lambda x: x @ x, 1.0, 1.0)], Box(-1e-200, 1e-200), 1.0),
    "l2 ball": (FIRST, L2Ball(1.0), 1.0),
    "l1 ball": ([("sum", lambda x: x[0] + 2 * x[1], 3, INF)], L1Ball(1.0), 1.0),
    "one row in other units": ([("a", lambda x: x[0], 0, 0), ("b", lambda x: 1e6 * (x[0] - 1), 0, 0)], WholeSpace(), 1.0),
}


def form(rows, region, calls=None):
    def counted(fun):
        def called(x):
            if calls is not None:
                calls.append(x)
            return fun(x)

        return called

    constraints = {name: NonlinearConstraint(counted(fun), low, high) for name, fun, low, high in rows}
    problem = Problem(np.sum, D, constraints, region=region)
    x = region.project(np.full(D, 0.3))
    return problem.equalities(x), x


@pytest.mark.parametrize(("rows", "region", "violation"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_the_least_violation_of_contradicting_constraints_is_found_with_few_calls(rows, region, violation):
    calls = []
    equalities, x = form(rows, region, calls)
    found = equalities.least_violation(x, region)
    assert found.is_minimum
    assert_allclose(found.worst.violation, violation, rtol=1e-4)
    assert_allclose(equalities.violation(found.x), violation, rtol=1e-4)
    assert found.worst.name in {name for name, *_ in rows}
    assert region.contains(found.x)
    assert len(calls) < 5000


def test_constraints_that_can_hold_are_not_called_contradicting():
    equalities, x = form([("ball", lambda x: x @ x, -INF, 1.0), ("first", lambda x: x[0], 0.5, INF)], WholeSpace())
    found = equalities.least_violation(x)
    assert (found.worst, found.is_minimum) == (None, False)
    assert equalities.violation(found.x) == 0.0


def test_a_constraint_that_fails_somewhere_is_stepped_around():
    def root(x):
        if x[0] < 0.0:
            raise ValueError("negative")
        return np.sqrt(x[0])

    equalities, x = form([("root", root, -INF, -1.0)], Box(0.0, 1.0))
    found = equalities.least_violation(x, Box(0.0, 1.0))
    assert found.worst.name == "root"
    assert found.worst.violation <= 1.55


def test_a_row_in_small_numbers_is_not_overlooked():
    rows = [("large", lambda x: 1e6 * (x[0] - 1), 0, 0), ("small", lambda x: 1e-6 * x[1], 1, INF)]
    equalities, x = form(rows, WholeSpace())
    assert equalities.least_violation(x, tol=1e-3).violation <= 1e-3


def test_a_point_that_holds_far_away_is_found():
    equalities, x = form([("cubic", lambda x: x[0] ** 3 - 3 * x[0] + 3, -INF, 0)], WholeSpace())
    assert equalities.violation(x) > 1.0
    assert equalities.least_violation(x).violation == 0.0


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_point_of_no_slope_that_is_no_minimum_is_left(sign):
    equalities, _ = form([("cube", lambda x: sign * np.sum(x**3), -INF, -1e5)], WholeSpace())
    assert equalities.least_violation(np.full(D, sign * 0.3), tol=1e-3).violation <= 1e-3


def test_functions_that_overflow_far_away_give_no_warnings():
    equalities, x = form([("steep", lambda x: np.sum(np.exp(30 * x)) - np.sum(np.exp(31 * x)) ** 2, 1.0, INF)], WholeSpace())
    with np.errstate(all="warn"):
        assert equalities.least_violation(x).violation > 0.5


def test_the_search_stays_in_the_region_wherever_it_begins():
    equalities, _ = form(FIRST, Simplex())
    found = equalities.least_violation(np.full(D, 1.8), Simplex())
    assert found.is_minimum
    assert Simplex().contains(found.x)


def test_without_constraints_nothing_is_violated():
    equalities, x = form([], WholeSpace())
    assert equalities.least_violation(x).worst is None
