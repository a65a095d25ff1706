"""The baselines step by step: each recursion against a naive one, typed from its formula for one small problem."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import LinearConstraint, NonlinearConstraint
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import zolal
from zolal.estimators import TwoPoint
from zolal.evaluation.evaluate import MapEvaluator
from zolal.problems import sphere_quadratic
from zolal.regularizers import GroupL2
from zolal.sets import Box, Simplex
from zolal.solvers import MDLAL, ZOSGD, SZOConEx, ZOPenalty

TARGET = np.array([0.9, -0.5, 0.3, 0.8])
STEP, SMOOTHING = 0.1, 1e-3


def objective(x):
    return 0.5 * (x - TARGET) @ (x - TARGET) + 0.1 * np.sin(x[0] * x[1])


# x.x <= 0.6, sum x = 0.5 and -0.2 <= x_0 - x_1 <= 0.3 on [-1, 1]^4
PROBLEM = zolal.Problem(
    objective,
    4,
    [
        NonlinearConstraint(lambda x: x @ x, -np.inf, 0.6, jac=lambda x: 2 * x),
        LinearConstraint(np.ones((1, 4)), 0.5, 0.5),
        LinearConstraint([[1.0, -1.0, 0.0, 0.0]], -0.2, 0.3),
    ],
    Box(-1.0, 1.0),
    x0=np.array([0.5, -0.4, 0.6, 0.2]),
)
RANGE = 0.5


def rows(x):
    return np.array([x @ x - 0.6, x.sum() - 0.5, x[0] - x[1] - 0.3])


def jacobian(x):
    return np.array([2 * x, np.ones(4), [1.0, -1.0, 0.0, 0.0]])


def estimate(batch, values):
    """The mean of [F(x + nu u) - F(x)] / nu u, with u from the points themselves."""
    moves = [(batch.point(i + 1) - batch.point(i)) / SMOOTHING for i in range(0, len(values), 2)]
    return np.mean([(values[2 * j + 1] - values[2 * j]) / SMOOTHING * u for j, u in enumerate(moves)], axis=0)


def run(solver, steps, problem=PROBLEM):
    """States, and the gradient estimate of each step."""
    evaluate = MapEvaluator(problem)
    state = solver.init(problem, problem.x0, seed=5)
    for _ in range(steps):
        batch = solver.ask(state)
        values = evaluate(batch).values
        yield state, estimate(batch, values)
        state = solver.tell(state, values)
    yield state, None


def dual_step(w, r):
    """An inequality, an equality, and a row in [-RANGE, 0]."""
    two_sided = w[2] if w[2] > 0 else w[2] + r * RANGE if w[2] < -r * RANGE else 0.0
    return np.array([max(w[0], 0.0), w[1], two_sided])


def test_szo_conex_is_its_recursion():
    r, mu, kappa, inner, theta = 0.7, 0.4, 0.3, 4, lambda t: (t + 1) / (t + 2)
    solver = SZOConEx(TwoPoint(5, SMOOTHING), STEP, r, theta, proximal=mu, constraint_proximal=kappa, inner_steps=inner)
    history = list(run(solver, 11))
    x_hat = x = x_before = PROBLEM.x0
    y, t, inner_points = np.zeros(3), 0, []
    model = model_before = rows(x)
    for k, (state, gradient) in enumerate(history[:-1]):
        np.testing.assert_allclose(state.x, x, atol=1e-12)
        np.testing.assert_allclose(state.multipliers, y, atol=1e-12)
        assert (state.stage, state.t) == (k // inner + 1, t)
        y = dual_step(y + r * ((1 + theta(t)) * model - theta(t) * model_before), r)
        g, weight = gradient + jacobian(x).T @ y, mu + kappa * y[0]
        x_before, x = x, np.clip((x / STEP + 2 * weight * x_hat - g) / (1 / STEP + 2 * weight), -1, 1)
        squares = np.array([kappa * (x - x_hat) @ (x - x_hat), 0, 0])
        model_before, model = model, rows(x_before) + jacobian(x_before) @ (x - x_before) + squares
        t, inner_points = t + 1, [*inner_points, x]
        if t == inner:
            gamma = np.cumprod([1.0, *(1 / theta(i) for i in range(1, inner))])  # gamma_t theta_t = gamma_{t-1}
            x = x_hat = gamma @ np.array(inner_points) / gamma.sum()
            t, inner_points = 0, []
            model = model_before = rows(x)
    np.testing.assert_allclose(history[-1][0].x, x, atol=1e-12)


def test_zo_penalty_is_the_minimiser_of_its_subproblem_at_every_step():
    solver = ZOPenalty(TwoPoint(5, SMOOTHING), STEP, penalty=0.3, penalty_growth=3.0, stage_steps=2)
    history = list(run(solver, 8))
    for (state, gradient), (following, _) in itertools.pairwise(history):
        x, allowed, point = cp.Variable(4), cp.Variable(3), state.x
        v = rows(point) + jacobian(point) @ (x - point)
        value = gradient @ x + state.rho * cp.norm2(v - allowed) + cp.sum_squares(x - point) / (2 * STEP)
        limits = [allowed <= 0, allowed[1] == 0, allowed[2] >= -RANGE]
        cp.Problem(cp.Minimize(value), [x >= -1, x <= 1, *limits]).solve(
            solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
        )
        np.testing.assert_allclose(following.x, x.value, atol=1e-6)
        assert np.linalg.norm(following.multipliers) <= state.rho * (1 + 1e-9)
        assert following.multipliers[0] >= 0


def test_the_penalty_grows_after_a_stage_whose_multipliers_were_at_its_bound():
    solver = ZOPenalty(TwoPoint(5, SMOOTHING), STEP, penalty=0.05, penalty_growth=3.0, stage_steps=4)
    states = [state for state, _ in run(solver, 40)]
    for stage in range(0, 40, 4):
        lengths = [np.linalg.norm(states[stage + i + 1].multipliers) for i in range(4)]
        grew = sum(length >= 0.99999 * states[stage].rho for length in lengths) > 2
        assert states[stage + 4].rho == pytest.approx(states[stage].rho * (3.0 if grew else 1.0))
        assert states[stage + 3].rho == states[stage].rho
    assert 0.05 < states[-1].rho < 100.0  # it has grown, and stopped growing
    assert states[-1].rho == states[-9].rho


def test_zo_sgd_is_algorithm_1_with_its_multipliers_held_at_zero():
    estimator = TwoPoint(5, SMOOTHING)
    plain, held = (list(run(solver, 6)) for solver in (ZOSGD(estimator, STEP, 2.0), MDLAL(estimator, STEP, 2.0, 0.0)))
    for (one, _), (other, _) in zip(plain, held, strict=True):
        np.testing.assert_array_equal(one.z, other.z)
        np.testing.assert_array_equal([one.stationarity, one.feasibility], [other.stationarity, other.feasibility])
    np.testing.assert_array_equal(plain[-1][0].multipliers, 2.0 * plain[-1][0].c)


@pytest.mark.parametrize(
    "solver", [SZOConEx(TwoPoint(5, SMOOTHING), STEP), ZOPenalty(TwoPoint(5, SMOOTHING), STEP)], ids=["conex", "penalty"]
)
def test_slacks_fit_the_iterate_and_c_is_its_violation(solver):
    for state, _ in run(solver, 5):
        slacks = state.z[4:]
        g = rows(state.x)
        np.testing.assert_allclose(slacks, [max(-g[0], 0.0), min(max(-g[2], 0.0), RANGE)], atol=1e-12)
        expected = [max(g[0], 0.0), g[1], max(g[2], 0.0) + min(g[2] + RANGE, 0.0)]
        np.testing.assert_allclose(state.c, expected, atol=1e-12)
        np.testing.assert_allclose(state.c, state.form.value(state.z), atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse", "operator", "vjp", "numerical"])
@pytest.mark.parametrize(
    "solver", [SZOConEx(TwoPoint(5, SMOOTHING), STEP), ZOPenalty(TwoPoint(5, SMOOTHING), STEP)], ids=["conex", "penalty"]
)
def test_every_kind_of_derivative_gives_the_same_run(solver, kind):
    given = {
        "dense": dict(jac=jacobian),
        "sparse": dict(jac=lambda x: scipy.sparse.csr_array(jacobian(x))),
        "operator": dict(jac=lambda x: aslinearoperator(jacobian(x))),
        "vjp": dict(vjp=lambda x, y: jacobian(x).T @ y),
        "numerical": {},
    }[kind]
    constraint = zolal.Constraint(rows, [-np.inf, 0.0, -RANGE], 0.0, **given)
    problem = zolal.Problem(objective, 4, constraint, Box(-1.0, 1.0), x0=PROBLEM.x0)
    (*_, (found, _)), (*_, (expected, _)) = run(solver, 4, problem), run(solver, 4)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-7)


def test_jacobians_are_asked_for_once_a_step():
    calls = []
    constraint = zolal.Constraint(rows, [-np.inf, 0.0, -RANGE], 0.0, jac=lambda x: (calls.append(1), jacobian(x))[1])
    problem = zolal.Problem(objective, 4, constraint, Box(-1.0, 1.0), x0=PROBLEM.x0)
    for solver in (SZOConEx(TwoPoint(5, SMOOTHING), STEP), ZOPenalty(TwoPoint(5, SMOOTHING), STEP)):
        states = run(solver, 3, problem)
        next(states)
        calls.clear()
        list(states)
        assert len(calls) == 3


@pytest.mark.parametrize("method", ["szo-conex", "zo-penalty"])
def test_a_jacobian_that_fails_ends_the_run_with_its_reason(method):
    """Products with the Jacobian itself are the baselines' own: Algorithm 1 needs those with its transpose alone."""

    def fails(v):
        raise ArithmeticError("no product")

    operator = LinearOperator((1, 4), matvec=fails, rmatvec=lambda y: np.ones(4) * y, dtype=float)
    constraint = zolal.Constraint(lambda x: np.sum(x), 1.0, 1.0, jac=lambda x: operator)
    result = zolal.minimize(objective, PROBLEM.x0, constraints=constraint, method=method, maxfev=500, rng=0, options=dict(step_size=0.1))
    assert result.status is zolal.Status.CONSTRAINT_FAILED
    assert "`jac` raised ArithmeticError: no product" in result.message


@pytest.mark.parametrize(
    ("solver", "arguments", "words"),
    [
        (SZOConEx, dict(dual_step=0.0), "`SZOConEx(dual_step=...)` must be a positive number, got 0.0."),
        (SZOConEx, dict(extrapolation=1.5), "`SZOConEx(extrapolation=...)` must lie in (0, 1], got 1.5."),
        (SZOConEx, dict(proximal=-1.0), "`SZOConEx(proximal=...)` must be a nonnegative number, got -1.0."),
        (SZOConEx, dict(inner_steps=0), "`SZOConEx(inner_steps=...)` must be a positive integer, got 0."),
        (ZOPenalty, dict(penalty=0), "`ZOPenalty(penalty=...)` must be a positive number, got 0."),
        (ZOPenalty, dict(penalty_growth=1.0), "`ZOPenalty(penalty_growth=...)` must exceed 1, got 1.0."),
        (ZOPenalty, dict(stage_steps=2.5), "`ZOPenalty(stage_steps=...)` must be a positive integer, got 2.5."),
        (ZOSGD, dict(penalty="much"), "`ZOSGD(penalty=...)` must be a number or a function of the iteration, got 'much'."),
        (ZOSGD, dict(output_rule="random"), "`ZOSGD(output_rule=...)` must be one of ('last', 'best'), got 'random'."),
    ],
)
def test_a_bad_argument_gets_one_sentence(solver, arguments, words):
    with pytest.raises(zolal.InvalidArgumentError) as error:
        solver(TwoPoint(4, 1e-3), 0.1, **arguments)
    assert str(error.value) == words


@pytest.mark.parametrize("solver", [SZOConEx, ZOPenalty, ZOSGD])
def test_an_unsupported_step_is_told_before_anything_is_evaluated(solver):
    problem = zolal.Problem(lambda x: 1 / 0, 4, region=Simplex(), regularizer=GroupL2(0.1, [2, 2]), x0=np.full(4, 0.25))
    with pytest.raises(zolal.UnsupportedError, match="supported"):
        solver(TwoPoint(4, 1e-3), 0.1).init(problem, problem.x0, 0)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("szo-conex", dict(proximal=-1.0), "options['proximal']` must be a nonnegative number, got -1.0"),
        ("szo-conex", dict(penalty=1.0), "Unknown option 'penalty' for method 'szo-conex'"),
        ("zo-penalty", dict(penalty=0.0), "options['penalty']` must be a positive number, got 0.0"),
        ("zo-penalty", dict(penalty_growth=1.0), "`options['penalty_growth']` must exceed 1, got 1.0."),
        ("zo-sgd", dict(output="average"), "options['output']` must be one of ('last', 'best'), got 'average'"),
    ],
)
def test_bad_options_get_one_sentence(method, options, words):
    with pytest.raises(zolal.InvalidArgumentError) as error:
        zolal.minimize(sphere_quadratic(4), method=method, options=dict(step_size=0.1) | options)
    assert words in str(error.value)


@pytest.mark.parametrize("method", ["szo-conex", "zo-penalty", "zo-sgd"])
def test_baselines_are_euclidean_and_need_a_step_size(method):
    for geometry in (3, np.array([2, 2]), "smoothed"):
        with pytest.raises(zolal.UnsupportedError, match=f"Method '{method}' is Euclidean: `geometry` must be 2"):
            zolal.minimize(sphere_quadratic(4), method=method, geometry=geometry, options=dict(step_size=0.1))
    with pytest.raises(zolal.InvalidArgumentError, match="needs options\\['step_size'\\]"):
        zolal.minimize(sphere_quadratic(4), method=method)
