"""Outputs with many variables: psi against brute force, updates against their formulae, and whole runs against closed forms."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

import zolal
from zolal import Problem, Simulated
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.followed import Followed
from zolal.solvers.auto.priced import HARDER, Priced, Prices
from zolal.solvers.auto.slopes.phases import NoiseLook
from zolal.solvers.auto.solver import Auto

LOWER, UPPER = np.array([-np.inf, 0.5, 1.0]), np.array([1.0, np.inf, 1.0])
PRICES = Prices(np.array([0.7, -0.3, 0.4]), np.array([2.0, 0.5, 3.0]), np.full(3, np.inf))


def followed(values, spreads=0.0):
    start = Followed.start(len(values), np.zeros(2))
    return replace(start, values=np.array(values), spreads=np.broadcast_to(spreads, len(values)), seen=1.0)


def psi(o, y, rho, low, high):
    """min over s in [low, high] of y (o - s) + rho/2 (o - s)^2, by search."""
    ends = (max(low, o - 10.0), min(high, o + 10.0))
    if ends[0] == ends[1]:
        return y * (o - ends[0]) + 0.5 * rho * (o - ends[0]) ** 2
    found = minimize_scalar(lambda s: y * (o - s) + 0.5 * rho * (o - s) ** 2, bounds=ends, method="bounded", options=dict(xatol=1e-10))
    return min(found.fun, *(y * (o - s) + 0.5 * rho * (o - s) ** 2 for s in ends))


def test_psi_is_the_least_over_all_slacks(rng):
    rows = rng.uniform(-3.0, 3.0, size=(30, 3))
    expected = [sum(psi(*entry) for entry in zip(row, PRICES.multipliers, PRICES.penalties, LOWER, UPPER, strict=True)) for row in rows]
    assert_allclose(PRICES.added(rows, LOWER, UPPER), expected, atol=1e-9)


def test_multipliers_become_the_slope_of_psi():
    """y + rho (o - s) is the derivative of psi, positive at an upper bound, and 0 where an output is inside."""
    means = np.array([1.4, 3.0, 0.2])
    new = PRICES.updated(followed(means), LOWER, UPPER)
    step = 1e-6
    for j in range(3):
        ends = np.tile(means, (2, 1)) + step * np.outer([1.0, -1.0], np.eye(3)[j])
        above, below = PRICES.added(ends, LOWER, UPPER)
        assert new.multipliers[j] == pytest.approx((above - below) / (2.0 * step), abs=1e-6)
    assert new.multipliers[0] == pytest.approx(0.7 + 2.0 * 0.4)
    assert new.multipliers[1] == pytest.approx(0.0, abs=1e-15)
    assert new.updates == 1


def test_penalties_grow_where_violations_stay_and_are_more_than_noise():
    prices = Prices(np.zeros(3), np.ones(3), np.array([2.0, 0.1, 0.0]))
    new = prices.updated(followed([3.0, 0.4, 1.0], np.array([0.1, 0.5, 0.1])), LOWER, UPPER)
    assert_array_equal(new.penalties, [HARDER, 1.0, 1.0])


def test_the_automatic_solver_takes_it_where_no_belief_is_affordable():
    def chosen(d, *constraints):
        return Auto().chosen(Problem(lambda x: 0.0, d, constraints=list(constraints)))

    many = CONSTANTS.most_variables + 1
    assert isinstance(chosen(many, Simulated(upper=1.0)), Priced)
    assert not isinstance(chosen(many), Priced)
    assert not isinstance(chosen(3, Simulated(upper=1.0)), Priced)


def test_slopes_of_the_lagrangian_come_to_the_solution_of_the_closed_form():
    """min |x - t|^2 with <a, x> <= 1, |a| = 1: x = t - (<a, t> - 1) a, and the multiplier is 2 (<a, t> - 1).

    A regularizer that weighs nothing makes a small problem one for this solver.
    """
    d, rng = 20, np.random.default_rng(5)
    a = np.full(d, d**-0.5)
    t = 3.0 * a + 0.05 * rng.standard_normal(d)
    res = zolal.minimize(
        lambda x: ((x - t) @ (x - t), [a @ x]),
        np.zeros(d),
        constraints=[Simulated(upper=1.0, name="plane")],
        regularizer=zolal.regularizers.L1(1e-12),
        maxfev=10_000,
        rng=0,
    )
    best = (a @ t - 1.0) ** 2
    assert (res.x - t) @ (res.x - t) <= best + 0.02 * (t @ t - best)
    (row,) = res.constraints
    assert row["value"] == pytest.approx(1.0, abs=1e-3)
    assert row["value"] == pytest.approx(a @ res.x, abs=1e-12)
    assert res.named_multipliers == pytest.approx({"plane": 2.0 * (a @ t - 1.0)}, rel=0.05)


def test_a_regularizer_goes_with_outputs():
    """min |x - t|^2 + |x|_1 with x_0 >= 1 is at (1, 1.5, 0), where it is 3.4."""
    t = np.array([0.2, 2.0, 0.1])
    res = zolal.minimize(
        lambda x: ((x - t) @ (x - t), [x[0]]),
        np.ones(3),
        constraints=[Simulated(lower=1.0)],
        regularizer=zolal.regularizers.L1(1.0),
        maxfev=3_000,
        rng=0,
    )
    assert res.fun == pytest.approx(3.4, rel=1e-2)
    assert res.x[0] == pytest.approx(1.0, abs=2e-3)
    assert res.x[2] == 0.0


def sparse_problem(d, seed, quadratic):
    """min |x - a|^2 + |x|_1/5 with one output <= 0, its optimum by cvxpy, and the sizes that noise is relative to."""
    rng = np.random.default_rng([seed, d])
    a, row = rng.standard_normal((2, d))
    row *= np.sign(row @ a) / np.linalg.norm(row)
    x, limit = cp.Variable(d), 0.4 * a @ a if quadratic else 0.3 * row @ a
    rule = cp.sum_squares(x) <= limit if quadratic else row @ x <= limit
    best = cp.Problem(cp.Minimize(cp.sum_squares(x - a) + 0.2 * cp.norm1(x)), [rule]).solve()
    output = (lambda z: z @ z - limit) if quadratic else (lambda z: row @ z - limit)
    return a, output, best, a @ a - best, output(a) - output(np.zeros(d))


@pytest.mark.parametrize("noisy", [(1e-2, 1e-2), (1e-3, 1e-3), (0.0, 1e-2), (0.0, 0.0)], ids=["much", "little", "outputs", "none"])
@pytest.mark.parametrize(("d", "quadratic"), [(2, True), (3, False), (8, True)])
def test_few_noisy_variables_with_a_regularizer_end_feasible_and_near_the_optimum(d, quadratic, noisy):
    """Of two runs each; before outputs had slopes of their own most such runs ended infeasible or far away."""
    for seed in (31, 32):
        a, output, best, size, reach = sparse_problem(d, seed, quadratic)
        rng, (of_f, of_output) = np.random.default_rng(seed), np.array(noisy) * [size, reach]
        res = zolal.minimize(
            lambda x, a=a, output=output, rng=rng, u=of_f, v=of_output: (
                (x - a) @ (x - a) + u * rng.normal(),
                [output(x) + v * rng.normal()],
            ),
            np.zeros(d),
            constraints=[Simulated(upper=0.0)],
            regularizer=zolal.regularizers.L1(0.2),
            maxfev=200 * d,
            rng=seed,
            tol=1e-3,
        )
        assert output(res.x) <= (1e-3 if noisy == (0.0, 0.0) else 0.0)
        assert (res.x - a) @ (res.x - a) + 0.2 * np.abs(res.x).sum() <= best + 0.03 * size


def test_noise_in_outputs_alone_is_seen_where_f_has_none():
    solver, problem = Priced(), Problem(lambda x: (0.0, [0.0]), 3, constraints=[Simulated(upper=1.0)])
    state = solver.init(problem, np.ones(3), 0)
    rows = np.zeros((len(solver.ask(state)), 2))
    exact = solver.tell(state, rows).inner.phase
    rows[1, 1] = 0.1
    assert isinstance(solver.tell(state, rows).inner.phase, NoiseLook)
    assert not isinstance(exact, NoiseLook)


def distance(x):
    return float(np.sum((x - 2.0) ** 2))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_samples_go_with_outputs_and_a_regularizer(tilt, seed):
    """One sample shifts the output, and with a tilt changes slopes of f. min |x - 2|^2 + |x|_1/100 with x_0 <= 1 is 1.07."""
    res = zolal.minimize(
        lambda x, s: (distance(x) + tilt * s * x[0], [x[0] + s]),
        np.full(4, 0.1),
        constraints=[Simulated(upper=1.0)],
        regularizer=zolal.regularizers.L1(0.01),
        sample=lambda rng: 0.1 * rng.standard_normal(),
        maxfev=2_000,
        rng=seed,
    )
    assert res.x[0] <= 1.0
    assert distance(res.x) + 0.01 * np.abs(res.x).sum() == pytest.approx(1.07, abs=0.2)


@pytest.mark.parametrize("d", [1, 2])
def test_a_row_far_beyond_its_bound_still_counts_where_the_answer_is_made(d):
    res = zolal.minimize(
        lambda x: (distance(x), [x[0]]),
        np.full(d, 0.1),
        constraints=[Simulated(upper=1.0)],
        regularizer=zolal.regularizers.L1(0.01),
        maxfev=100,
        rng=0,
    )
    assert res.x[0] == pytest.approx(1.0, abs=1e-3)


def test_an_output_that_is_flat_at_its_bound_has_a_price():
    res = zolal.minimize(
        lambda x: (distance(x), [max(0.0, x[0] - 1.0)]),
        np.zeros(5),
        constraints=[Simulated(upper=0.0)],
        regularizer=zolal.regularizers.L1(0.01),
        maxfev=300,
        rng=0,
    )
    assert res.x[0] == pytest.approx(1.0, abs=1e-2)
    assert distance(res.x) == pytest.approx(1.0, rel=0.02)


def test_a_constant_objective_asks_for_any_point_where_outputs_hold():
    res = zolal.minimize(
        lambda x: (1.0, [x.sum()]),
        np.zeros(5),
        constraints=[Simulated(lower=1.0)],
        regularizer=zolal.regularizers.L1(1e-4),
        maxfev=300,
        rng=0,
    )
    assert res.x.sum() >= 1.0 - 1e-6


@pytest.mark.filterwarnings("error")
def test_points_without_outputs_make_no_warning():
    rng = np.random.default_rng(0)
    res = zolal.minimize(
        lambda x: (distance(x) + 0.01 * rng.normal(), [np.nan if x[0] > 1.2 else x.sum() + 0.01 * rng.normal()]),
        np.zeros(4),
        constraints=[Simulated(upper=3.0)],
        regularizer=zolal.regularizers.L1(0.01),
        maxfev=600,
        on_error="skip",
        rng=0,
    )
    assert res.x.sum() <= 3.05
