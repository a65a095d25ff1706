"""Known constraints: every form means the same, slacks are equivalent to the user's bounds, multipliers have SciPy's signs."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import zolal
from zolal.constraints import Equalities, as_constraints
from zolal.problem import Problem, SlackForm

X = np.array([0.7, -1.3, 2.1])
INF = np.inf


def curved(x):
    return np.array([x @ x, x[0] * x[1] - np.sin(x[2])])


def curved_jac(x):
    return np.array([2 * x, [x[1], x[0], -np.cos(x[2])]])


def central_jacobian(fun, x, h=1e-5):
    columns = [(np.atleast_1d(fun(x + h * e)) - np.atleast_1d(fun(x - h * e))) / (2 * h) for e in np.eye(x.size)]
    return np.stack(columns, axis=1)


def equalities(constraints, x=X):
    return Problem(np.sum, x.size, constraints).equalities(x)


def rows_of(lower, upper):
    """Constraints lower <= x <= upper on the variables themselves."""
    return equalities(zolal.Constraint(lambda x: x, lower, upper, vjp=lambda x, y: y), np.zeros(len(lower)))


DERIVATIVES = {
    "dense": dict(jac=curved_jac),
    "nested list": dict(jac=lambda x: curved_jac(x).tolist()),
    "sparse array": dict(jac=lambda x: scipy.sparse.csr_array(curved_jac(x))),
    "sparse matrix": dict(jac=lambda x: scipy.sparse.csc_matrix(curved_jac(x))),
    "operator": dict(jac=lambda x: aslinearoperator(curved_jac(x))),
    "vjp": dict(vjp=lambda x, y: curved_jac(x).T @ y),
    "none": dict(),
}


@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_every_kind_of_derivative_gives_the_vjp_of_finite_differences(derivative, rng):
    constraint = zolal.Constraint(curved, -1.0, [2.0, INF], **derivative)
    assert constraint.check_at(X) == 2
    for y in (*np.eye(2), rng.normal(size=2)):
        assert_allclose(constraint.vjp_at(X, y), y @ central_jacobian(curved, X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("jac", [lambda x: 2 * x, None], ids=["1-d", "none"])
def test_a_scalar_constraint_may_have_a_vector_as_jacobian(jac):
    constraint = zolal.Constraint(lambda x: x @ x, 1.0, 1.0, jac=jac)
    assert constraint.check_at(X) == 1
    assert_allclose(constraint.vjp_at(X, np.array([3.0])), 6 * X, rtol=1e-8)


@given(x=st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
def test_the_numerical_jacobian_is_accurate_at_every_scale_of_x(x):
    x = np.asarray(x)
    constraint = zolal.Constraint(lambda x: np.array([x @ x, x[0] - x[1] * x[2]]))
    exact = np.array([2 * x, [1.0, -x[2], -x[1]]])
    assert_allclose(constraint.jacobian_at(x), exact, rtol=1e-6, atol=1e-6 * (1 + np.abs(x).max()))


MATRIX = np.array([[1.0, 0.0, -2.0], [0.5, 3.0, 0.0]])
LINEAR_FORMS = {
    "dense": LinearConstraint(MATRIX, [0.0, -INF], [0.0, 1.0]),
    "sparse": LinearConstraint(scipy.sparse.csr_array(MATRIX), [0.0, -INF], [0.0, 1.0]),
    "nonlinear": NonlinearConstraint(lambda x: MATRIX @ x, [0.0, -INF], [0.0, 1.0], jac=lambda x: MATRIX),
    "numerical": NonlinearConstraint(lambda x: MATRIX @ x, [0.0, -INF], [0.0, 1.0]),
    "zolal": zolal.Constraint(lambda x: MATRIX @ x, [0.0, -INF], [0.0, 1.0], vjp=lambda x, y: y @ MATRIX),
    "two constraints": [LinearConstraint(MATRIX[:1], 0, 0), LinearConstraint(MATRIX[1:], -INF, 1.0)],
    "dicts": [
        {"type": "eq", "fun": lambda x: MATRIX[0] @ x, "jac": lambda x: MATRIX[0]},
        NonlinearConstraint(lambda x: MATRIX[1] @ x, -INF, 1.0),
    ],
}


@pytest.mark.parametrize("constraints", LINEAR_FORMS.values(), ids=LINEAR_FORMS)
def test_every_form_of_one_constraint_gives_the_same_equalities(constraints, rng):
    form, y, s = equalities(constraints), rng.normal(size=2), np.array([0.4])
    along_x, along_s = form.vjp(X, y)
    assert_allclose(form.value(X, s), MATRIX @ X + [0.0, 0.4 - 1.0], rtol=1e-12)
    assert_allclose(along_x, y @ MATRIX, rtol=1e-8)
    assert_array_equal(along_s, y[1:])


def test_bounds_in_the_constraints_are_rows_of_the_identity():
    form = equalities(Bounds([-INF, 0.0, 1.0], [2.0, INF, 1.0]))
    assert_allclose(form.value(X, np.zeros(2)), [X[0] - 2.0, 0.0 - X[1], X[2] - 1.0])
    assert_allclose(form.violation(X), max(0.0 - X[1], X[2] - 1.0))
    assert equalities(Bounds(-1, 1)).num_slacks == 3


def test_an_slsqp_dict_passes_its_args_to_fun_jac_and_vjp():
    fun, jac = lambda x, a, b: a * x @ x - b, lambda x, a, b: 2 * a * x
    with_jac = equalities({"type": "ineq", "fun": fun, "jac": jac, "args": (3.0, 1.0)})
    with_vjp = equalities({"type": "eq", "fun": fun, "vjp": lambda x, y, a, b: 2 * a * x * y[0], "args": (3.0, 1.0)})
    assert_allclose(with_jac.value(X, np.zeros(1)), [1.0 - 3 * X @ X])
    assert_allclose(with_vjp.value(X, np.zeros(0)), [3 * X @ X - 1.0])
    assert_allclose(with_vjp.vjp(X, np.array([2.0]))[0], 12 * X)
    assert_allclose(with_jac.vjp(X, np.array([2.0]))[0], -12 * X)


def test_no_constraints_give_no_rows():
    form = equalities(())
    assert (form.num_rows, form.num_slacks, form.violation(X)) == (0, 0, 0.0)
    assert form.value(X, np.zeros(0)).shape == (0,)
    assert_array_equal(form.vjp(X, np.zeros(0))[0], np.zeros(3))


KINDS = ("equality", "lower", "upper", "two-sided", "free")


@st.composite
def bounded_rows(draw):
    """Values with bounds of every kind, the values often on a bound."""
    rows = []
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6)):
        low, width, value = draw(st.integers(-5, 5)), draw(st.integers(1, 4)), draw(st.integers(-40, 40)) / 4
        lower = -INF if kind in ("upper", "free") else low
        upper = {"equality": low, "lower": INF, "free": INF}.get(kind, low + width)
        rows.append((lower, upper, value))
    return np.array(rows, dtype=float).T


@given(rows=bounded_rows())
def test_zero_rows_with_slacks_in_the_box_are_the_users_bounds(rows):
    lower, upper, value = rows
    form = rows_of(lower, upper)
    c = form.value(value, form.initial_slacks(value))
    assert_array_equal(c == 0.0, (lower <= value) & (value <= upper))
    assert_allclose(np.abs(c), np.abs(value - np.clip(value, lower, upper)), atol=1e-14)


@given(rows=bounded_rows(), seed=st.integers(0, 2**32))
def test_a_point_that_breaks_its_bounds_has_no_slacks_that_help(rows, seed):
    lower, upper, value = rows
    form = rows_of(lower, upper)
    start = form.initial_slacks(value)
    other = form.slack_region.project(start + np.random.default_rng(seed).normal(scale=3.0, size=start.size))
    assert (np.abs(form.value(value, start)) <= np.abs(form.value(value, other)) + 1e-12).all()
    assert (start >= 0).all()
    assert (start <= form.slack_limit).all()


@given(rows=bounded_rows())
def test_violation_is_the_largest_distance_to_the_users_bounds(rows):
    lower, upper, value = rows
    assert_allclose(rows_of(lower, upper).violation(value), np.abs(value - np.clip(value, lower, upper)).max())


def test_equalities_get_no_slack_and_rows_without_bounds_are_zero():
    form = rows_of([1.0, 0.0, -INF, -1.0, -INF], [1.0, INF, 2.0, 1.0, INF])
    assert_array_equal(form.slack_rows, [1, 2, 3])
    assert_array_equal(form.slack_limit, [INF, INF, 2.0])
    assert form.value(np.full(5, 7.0), np.zeros(3))[4] == 0.0


def test_the_slack_form_keeps_variables_and_slacks_apart(rng):
    problem = Problem(np.sum, 3, zolal.Constraint(curved, [0.0, 0.0], [0.0, INF], jac=curved_jac))
    form = SlackForm(problem, problem.equalities(X))
    z, y, g = form.start(X), rng.normal(size=2), rng.normal(size=3)
    assert_array_equal(form.variables(z), X)
    exact = np.concatenate([g, [0.0]]) + y @ central_jacobian(form.value, z)
    assert_allclose(form.gradient(z, g, y), exact, atol=1e-7)


TARGET = np.array([2.0, -2.0, 0.5])  # of 0.5 ||x - TARGET||^2; with -1 <= x <= 1 the multipliers are (1, -1, 0)


def objective(x):
    return 0.5 * (x - TARGET) @ (x - TARGET)


def solve(constraints, **options):
    base = dict(step_size=0.06, penalty=10.0, dual_step=5.0, num_directions=8, share_base=True, momentum=lambda k: 1 / (k + 1))
    return zolal.minimize(objective, np.zeros(3), constraints=constraints, maxfev=15_000, rng=1, options=base | options)


def test_multipliers_have_the_signs_of_trust_constr():
    box = NonlinearConstraint(lambda x: x, -1.0, 1.0, jac=lambda x: np.eye(3), hess=lambda x, v: np.zeros((3, 3)))
    reference = scipy.optimize.minimize(
        objective, np.zeros(3), jac=lambda x: x - TARGET, hess=lambda x: np.eye(3), method="trust-constr", constraints=box
    )
    found = solve(box)
    assert_allclose(reference.v[0], [1.0, -1.0, 0.0], atol=1e-3)
    assert_allclose(found.multipliers, reference.v[0], atol=0.06)
    assert_allclose(found.x, [1.0, -1.0, 0.5], atol=0.06)


def test_multipliers_of_dicts_are_minus_those_of_slsqp():
    dicts = [
        {"type": "ineq", "fun": lambda x: x + 1.0, "jac": lambda x: np.eye(3)},
        {"type": "eq", "fun": lambda x: x[0] - x[2] - 2.0, "jac": lambda x: np.array([1.0, 0.0, -1.0])},
    ]
    reference = scipy.optimize.minimize(objective, np.zeros(3), method="SLSQP", constraints=dicts)
    found = solve(dicts)
    # SLSQP lists equalities first and subtracts <multipliers, c> from f
    assert_allclose(found.multipliers, -np.roll(reference.multipliers, -1), atol=0.06)
    assert_allclose(found.x, reference.x, atol=0.06)


def test_multipliers_follow_the_order_and_rows_of_the_constraints():
    constraints = [
        Bounds([-INF, -1.0, -INF], INF),
        LinearConstraint([[0.0, 0.0, 1.0]], 0.0, 0.0),
        NonlinearConstraint(lambda x: x[0], -INF, 1),
    ]
    found = solve(constraints)
    assert found.multipliers.shape == (5,)
    assert_allclose(found.multipliers, [0.0, -1.0, 0.0, 0.5, 1.0], atol=0.06)


def square(x):
    return x @ x


def fails(x):
    raise ZeroDivisionError("no model")


BAD = {
    "value is a matrix": (NonlinearConstraint(lambda x: np.ones((2, 2)), 0, 0), "got shape (2, 2)"),
    "value is complex": (NonlinearConstraint(lambda x: x * 1j, 0, 0), "of dtype complex128"),
    "value is a string": (zolal.Constraint(lambda x: "abc"), "real numbers, got"),
    "value is None": (zolal.Constraint(lambda x: None), "real numbers, got"),
    "value is nan": (NonlinearConstraint(lambda x: np.nan, 0, 0, jac=lambda x: x), "not finite: nan"),
    "value is inf": (NonlinearConstraint(lambda x: [0.0, INF], 0, 0, jac=lambda x: np.ones((2, 3))), "not finite: inf"),
    "fun raises": (NonlinearConstraint(fails, 0, 0), "`fun` raised ZeroDivisionError: no model"),
    "jac raises": (NonlinearConstraint(square, 0, 0, jac=fails), "`jac` raised ZeroDivisionError: no model"),
    "bounds crossed": (zolal.Constraint(square, 1.0, -1.0), "got [1.0, -1.0] in row 0"),
    "second row crossed": (zolal.Constraint(curved, [0, 2], [0, 1]), "in row 1"),
    "scipy bounds crossed": (Bounds([0.0, 3.0, 0.0], [1.0, 2.0, 1.0]), "got [3.0, 2.0] in row 1"),
    "lower too long": (zolal.Constraint(curved, [0, 0, 0], 1), "`lower` must be a number or 2 numbers"),
    "upper a matrix": (zolal.Constraint(curved, 0, np.ones((1, 2))), "`upper` must be a number or 2 numbers"),
    "lower nan": (zolal.Constraint(square, np.nan, 1.0), "`lower` must be a number"),
    "lower a word": (zolal.Constraint(square, "low", 1.0), "`lower` must be a number"),
    "lower is +inf": (zolal.Constraint(square, INF, INF), "inf"),
    "upper is -inf": (zolal.Constraint(square, -INF, -INF), "inf"),
    "too few bounds": (Bounds([0, 0], [1, 1]), "3 numbers"),
    "jac of wrong shape": (NonlinearConstraint(square, 0, 0, jac=lambda x: np.ones((3, 1))), "shape (1, 3), got (3, 1)"),
    "jac a vector for two rows": (NonlinearConstraint(curved, 0, 0, jac=lambda x: x), "shape (2, 3), got (1, 3)"),
    "jac transposed": (NonlinearConstraint(curved, 0, 0, jac=lambda x: curved_jac(x).T), "shape (2, 3), got (3, 2)"),
    "sparse jac transposed": (zolal.Constraint(curved, jac=lambda x: scipy.sparse.csr_array(curved_jac(x).T)), "got (3, 2)"),
    "operator transposed": (zolal.Constraint(curved, jac=lambda x: aslinearoperator(curved_jac(x).T)), "got (3, 2)"),
    "jac is complex": (zolal.Constraint(square, jac=lambda x: x * 1j), "real"),
    "vjp of wrong shape": (zolal.Constraint(square, vjp=lambda x, y: y), "`vjp` must return shape (3,), got (1,)"),
    "matrix too narrow": (LinearConstraint(np.ones((2, 2)), 0, 1), "one column per variable (3), got a matrix of shape (2, 2)"),
    "dict without type": ({"fun": square}, "'type' ('eq' or 'ineq')"),
    "dict of unknown type": ({"type": "le", "fun": square}, "'le'"),
    "dict with unknown key": ({"type": "eq", "fun": square, "hess": 1}, "'hess'"),
    "dict without fun": ({"type": "eq"}, "a callable 'fun'"),
    "a function": (square, "NonlinearConstraint, LinearConstraint, Bounds"),
    "a list with a number": ([3.0], "got 3.0"),
    "none": (None, "got None"),
}


@pytest.mark.parametrize(("constraints", "fragment"), BAD.values(), ids=BAD)
def test_a_bad_constraint_is_refused_in_one_sentence(constraints, fragment):
    with pytest.raises((zolal.InvalidArgumentError, zolal.ConstraintError)) as caught:
        zolal.minimize(lambda x: x @ x, X, constraints=constraints, maxfev=200, rng=0, options=dict(step_size=0.1, num_directions=2))
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_equal_bounds_of_one_entry_serve_every_row():
    parts = as_constraints(NonlinearConstraint(curved, [0.0], [0.0]), 3)
    form = Equalities(tuple(parts), (2,))
    assert_array_equal(form.slack_rows, [])
    assert_allclose(form.value(X, np.zeros(0)), curved(X))


def test_a_constraint_that_writes_into_its_argument_does_not_move_the_run():
    def shifted(x):
        x -= 1.0
        return x @ x

    polite = solve(zolal.Constraint(lambda x: (x - 1) @ (x - 1), 1.0, 1.0, jac=lambda x: 2 * (x - 1)), max_iterations=5)
    rude = solve(zolal.Constraint(shifted, 1.0, 1.0, jac=lambda x: 2 * (x - 1)), max_iterations=5)
    assert_array_equal(rude.x, polite.x)


@pytest.mark.parametrize(
    "bad", [dict(fun=3.0), dict(fun=square, jac=np.ones((1, 3))), dict(fun=square, vjp="none")], ids=["fun", "jac", "vjp"]
)
def test_what_must_be_callable_is_refused_at_once(bad):
    with pytest.raises(zolal.InvalidArgumentError, match="of a constraint must be callable, got"):
        zolal.Constraint(**bad)


@pytest.mark.parametrize(
    "form", [NonlinearConstraint(square, 0, 0, jac=np.ones((1, 3))), dict(type="eq", fun=square, jac=np.ones(3))], ids=["scipy", "slsqp"]
)
def test_a_jacobian_that_is_an_array_is_not_ignored(form):
    with pytest.raises(zolal.InvalidArgumentError, match="`jac` of a constraint must be callable"):
        as_constraints(form, 3)


@pytest.mark.parametrize("name", ["2-point", "3-point", "cs"])
def test_scipys_names_for_differences_mean_numerical_derivatives(name):
    (constraint,) = as_constraints(NonlinearConstraint(square, 0, 0, jac=name), 3)
    assert constraint.jac is None


def test_an_operator_without_a_transpose_is_one_sentence_at_the_start():
    operator = LinearOperator((1, 3), matvec=lambda v: np.ones((1, 3)) @ v, dtype=float)
    with pytest.raises(zolal.ConstraintError, match="`jac` raised NotImplementedError"):
        Problem(np.sum, 3, zolal.Constraint(square, jac=lambda x: operator)).equalities(np.ones(3))
