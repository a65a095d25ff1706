"""Derivatives of constraints: numerical ones are accurate, cheap and stay inside; given ones are checked; errors name the constraint."""

import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import Bounds, NonlinearConstraint
from scipy.sparse.linalg import aslinearoperator

import zolal
from zolal.problem import Problem
from zolal.sets import Box, L2Ball, NonNegative, Product, Simplex

X = np.array([0.7, -1.3, 2.1])


class Counted:
    """A function that remembers where it was called with real numbers, and how often at all."""

    def __init__(self, fun, real_only=False):
        self.fun, self.real_only, self.points, self.calls = fun, real_only, [], 0

    def __call__(self, x):
        self.calls += 1
        if np.iscomplexobj(x):
            if self.real_only:
                raise TypeError("real numbers only")
        else:
            self.points.append(np.array(x))
        return self.fun(x)


def smooth(x):
    return np.array([np.sum(x * x), np.sum(np.sin(x)), x[0] * x[-1]])


def smooth_jac(x):
    last = np.zeros_like(x)
    last[0] += x[-1]
    last[-1] += x[0]
    return np.array([2 * x, np.cos(x), last])


@pytest.mark.parametrize("real_only", [False, True], ids=["complex steps", "differences"])
@pytest.mark.parametrize("d", [3, 100, 300])
def test_a_numerical_jacobian_is_accurate_and_takes_a_few_hundred_calls(real_only, d, rng):
    x = rng.normal(size=d)
    fun = Counted(smooth, real_only)
    jacobian = zolal.Constraint(fun).jacobian_at(x)
    assert_allclose(jacobian, smooth_jac(x), atol=2e-14 if not real_only else {3: 1e-9, 100: 1e-6, 300: 1e-5}[d])
    assert fun.calls <= 505


@given(scale=st.floats(-12, 12), offset=st.floats(0.1, 10.0))
def test_steps_are_relative_to_the_variable(scale, offset):
    size = 10.0**scale
    x = np.array([offset * size])
    constraint = zolal.Constraint(Counted(lambda x: (x / size) ** 3, real_only=True), region=Box(0.0, 100.0 * size))
    assert_allclose(constraint.jacobian_at(x)[0, 0] * size, 3 * offset**2, rtol=1e-6)


REGIONS = {
    "box": (Box(np.array([0.0, -1.0, 1.0]), np.array([1.0, 1.0, 1.0 + 1e-9])), [0.0, 1.0, 1.0]),
    "almost at a bound": (Box(0.0, 1.0), [1e-9, 1.0 - 1e-9, 0.5]),
    "fixed": (Box(np.array([0.0, 0.5, 0.0]), np.array([1.0, 0.5, 1.0])), [0.3, 0.5, 1.0]),
    "nonnegative": (NonNegative(), [0.0, 0.0, 3.0]),
    "ball": (L2Ball(1.0), [0.6, 0.8, 0.0]),
    "product of units": (Product([(Box(0.0, 1e-2), 1), (Box(0.0, 1e5), 1), (L2Ball(1.0), 1)]), [1e-3, 1e4, 1.0]),
    "product": (Product([(Box(0.0, 1.0), 1), (L2Ball(1.0), 2)]), [1.0, 0.0, 1.0]),
}


@pytest.mark.parametrize("real_only", [False, True], ids=["complex steps", "differences"])
@pytest.mark.parametrize(("region", "x"), REGIONS.values(), ids=REGIONS)
def test_numerical_derivatives_never_leave_the_region(region, x, real_only):
    fun, x = Counted(smooth, real_only), np.array(x)
    (part,) = Problem(np.sum, 3, zolal.Constraint(fun), region=region).equalities(x).parts
    jacobian, exact = part.jacobian_at(x), smooth_jac(x)
    free = np.array([True, region is not REGIONS["fixed"][0], True])
    change = free * np.maximum(np.abs(x), 1e-3)  # of a row with the variables
    largest = np.max(np.abs(exact) * change, axis=1, keepdims=True)
    assert_allclose(jacobian * change / largest, exact * change / largest, atol=1e-4)
    assert all(region.contains(point, 1e-14) for point in fun.points)


def test_on_a_simplex_no_variable_becomes_negative():
    fun = Counted(lambda x: np.sum(np.sqrt(x)), real_only=True)
    problem = Problem(np.sum, 3, zolal.Constraint(fun), region=Simplex())
    problem.equalities(np.array([0.5, 0.5, 0.0]))
    assert min(point.min() for point in fun.points) >= 0.0


@pytest.mark.parametrize("real_only", [False, True], ids=["complex steps", "differences"])
@pytest.mark.parametrize("x", [2026.0, 1e4])
def test_a_function_may_turn_faster_than_its_variable_is_large(x, real_only):
    constraint = zolal.Constraint(Counted(np.sin, real_only))
    assert_allclose(constraint.jacobian_at(np.array([x]))[0, 0], np.cos(x), atol=1e-7)


NOT_ANALYTIC = {
    "absolute value": (lambda x: np.abs(x).sum(), np.sign),
    "norm": (lambda x: np.linalg.norm(x), lambda x: x / np.linalg.norm(x)),
    "conjugate": (lambda x: (x.conj() * x).sum(), lambda x: 2 * x),
    "real part": (lambda x: np.sum(np.real(x) ** 2), lambda x: 2 * x),
}


@pytest.mark.parametrize(("fun", "gradient"), NOT_ANALYTIC.values(), ids=NOT_ANALYTIC)
def test_a_function_that_complex_steps_would_get_wrong_is_differenced(fun, gradient):
    assert_allclose(zolal.Constraint(fun).jacobian_at(X)[0], gradient(X), atol=1e-9)


def test_a_function_that_fills_an_array_of_floats_is_differenced():
    def filled(x):
        out = np.zeros(2)
        out[0], out[1] = x @ x, x[0]
        return out

    assert_allclose(zolal.Constraint(filled).jacobian_at(X), [2 * X, [1.0, 0.0, 0.0]], atol=1e-9)


def test_one_point_is_linearized_once():
    fun = Counted(smooth)
    constraint = zolal.Constraint(fun)
    constraint.check_at(X)
    before = fun.calls
    for _ in range(3):
        constraint.jacobian_at(X.copy())
        constraint.value_at(X.copy())
    assert fun.calls == before


def test_known_sparsity_moves_many_variables_at_once(rng):
    d = 2000
    x, chain = rng.normal(size=d), lambda x: x[1:] * x[:-1]
    pattern = scipy.sparse.diags_array([np.ones(d - 1), np.ones(d - 1)], offsets=[0, 1], shape=(d - 1, d))
    fun = Counted(chain)
    (part,) = Problem(np.sum, d, NonlinearConstraint(fun, 0, 0, finite_diff_jac_sparsity=pattern)).equalities(x).parts
    exact = scipy.sparse.diags_array([x[1:], x[:-1]], offsets=[0, 1], shape=(d - 1, d)).toarray()
    assert_allclose(part.jacobian_at(x).toarray(), exact, atol=1e-12)
    assert fun.calls < 10


def test_too_many_variables_for_differences_are_refused_in_one_sentence():
    with pytest.raises(zolal.InvalidArgumentError, match="Constraint 'total' needs `jac` or `vjp`: differences in 1,000 variables"):
        zolal.minimize(np.sum, np.ones(1000), constraints={"total": NonlinearConstraint(lambda x: x @ x, 0, 1)}, maxfev=4000, rng=0)


def test_a_run_with_two_hundred_variables_stays_cheap():
    fun = Counted(lambda x: x @ x)
    res = zolal.minimize(
        lambda x: (x - 1) @ (x - 1), np.full(200, 0.3), constraints=NonlinearConstraint(fun, -np.inf, 1.0), maxfev=230, rng=0
    )
    assert fun.calls < 60 * res.nfev


WRONG = {
    "sign": (dict(jac=lambda x: -smooth_jac(x)), "in row 0 the derivative by variable 0 is -1.4 by `jac`, and 1.4 by differences"),
    "entry": (dict(jac=lambda x: smooth_jac(x) * np.array([1.0, 1.01, 1.0])), "in row 0 the derivative by variable 1 is -2.626"),
    "row": (dict(jac=lambda x: smooth_jac(x)[[0, 2, 1]]), "in row 1"),
    "missing entry": (dict(jac=lambda x: smooth_jac(x) * np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0.0]])), "variable 2 is 0 by"),
    "entry too many": (dict(jac=lambda x: smooth_jac(x) + np.array([[0, 0, 0], [0, 0, 0], [0, 1.0, 0]])), "and 0 by differences"),
    "sparse": (dict(jac=lambda x: scipy.sparse.csr_array(-smooth_jac(x))), "by `jac`"),
    "operator": (dict(jac=lambda x: aslinearoperator(-smooth_jac(x))), "by `jac`"),
    "vjp": (dict(vjp=lambda x, y: -y @ smooth_jac(x)), "-1.4 by `vjp`, and 1.4 by differences"),
}


@pytest.mark.parametrize("bounds", [None, Bounds([0.7, -2.0, 0.0], [1.0, -1.3, 2.1])], ids=["free", "at bounds"])
@pytest.mark.parametrize(("derivative", "fragment"), WRONG.values(), ids=WRONG)
def test_a_wrong_derivative_is_told_with_the_constraint_the_row_and_both_values(derivative, fragment, bounds):
    constraint = zolal.Constraint(smooth, -100.0, 100.0, name="strength", **derivative)
    with pytest.raises(zolal.InvalidArgumentError) as caught:
        zolal.minimize(np.sum, X, constraints=constraint, bounds=bounds, maxfev=100, rng=0)
    assert str(caught.value).startswith("In constraint 'strength' `")
    if bounds is None:  # else it is compared a little away from the bounds
        assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("fun", "jac", "x0"),
    [
        (lambda x: abs(x[0]) + x[1], lambda x: [np.sign(x[0]), 1.0], [0.0, 2.0]),
        (lambda x: np.sqrt(x[0]) + x[1], lambda x: [0.5 / np.sqrt(max(x[0], 1e-12)), 1.0], [0.0, 2.0]),
        (lambda x: x[0] / (x[0] + 1e-9) + x[1], lambda x: [1e-9 / (x[0] + 1e-9) ** 2, 1.0], [1e-9, 2.0]),
    ],
    ids=["kink at a bound", "root at a bound", "small units"],
)
def test_a_right_derivative_is_not_refused_where_differences_mislead(fun, jac, x0):
    zolal.minimize(
        lambda x: float(x @ x), x0, bounds=[(0.0, None)] * 2, constraints=zolal.Constraint(fun, -5.0, 5.0, jac=jac), maxfev=30, rng=0
    )


@pytest.mark.parametrize("d", [51, 1000])
def test_one_wrong_entry_among_many_variables_is_found_with_few_calls(d, rng):
    x, weights = rng.normal(size=d), rng.uniform(1.0, 2.0, size=d)
    fun = Counted(lambda x: weights @ x**2)
    flipped = weights.copy()
    flipped[d // 3] *= -1.0
    part = zolal.Constraint(fun, jac=lambda x: 2 * flipped * x, name="energy")
    with pytest.raises(zolal.InvalidArgumentError, match=rf"by variable {d // 3} is"):
        Problem(np.sum, d, part).equalities(x).check_derivatives(x)
    assert fun.calls < 200


def single_precision(x):
    return smooth(np.asarray(x, dtype=np.float32))


RIGHT = {
    "exact": (smooth, smooth_jac, X),
    "at zero": (smooth, smooth_jac, np.zeros(3)),
    "single precision": (single_precision, smooth_jac, X),
    "lost in single precision": (lambda x: np.float32(1e8) + single_precision(x), smooth_jac, X),
    "rounded to four digits": (lambda x: np.round(smooth(x), 4), smooth_jac, X),
    "far from zero": (lambda x: 1e8 + smooth(x), smooth_jac, X),
    "a kink": (lambda x: np.abs(x), lambda x: np.eye(3), np.zeros(3)),
    "a kink nearby": (lambda x: np.abs(x), lambda x: np.diag(np.sign(x)), np.array([1e-4, -1e-6, 1.0])),
    "the user's own differences": (smooth, lambda x: (smooth_jac(x) + smooth_jac(x + 1e-5)) / 2, X),
    "infinite beside the start": (lambda x: np.log(x), lambda x: np.diag(1 / x), np.array([1e-8, 1.0, 1e-300])),
    "steep": (lambda x: np.exp(30 * x), lambda x: np.diag(30 * np.exp(30 * x)), X),
}


@pytest.mark.parametrize(("fun", "jac", "x"), RIGHT.values(), ids=RIGHT)
def test_rounding_and_kinks_are_not_called_wrong_derivatives(fun, jac, x):
    Problem(np.sum, 3, zolal.Constraint(fun, jac=jac)).equalities(x).check_derivatives(x)


def slow(x):
    return 1e3 + math.sin(x[0] / 1e6) + x[1]  # loses imaginary parts


def test_a_given_scale_lengthens_the_steps_of_differences():
    x = np.array([0.0, 1.0])
    short, long = (
        Problem(np.sum, 2, zolal.Constraint(slow, x_scale=scale)).equalities(x).signed_jacobian(x)[0] for scale in (None, [1e6, 1.0])
    )
    assert abs(short[0] - 1e-6) > 1e-8
    assert_allclose(long, [1e-6, 1.0], rtol=1e-6)


def test_the_scale_of_the_variables_reaches_the_constraints():
    moved = []

    def fun(x):
        moved.extend([abs(x[0])] * np.isrealobj(x))
        return slow(x)

    zolal.minimize(
        lambda x: (x[0] / 1e6) ** 2 + x[1] ** 2,
        [0.0, 1.0],
        x_scale=[1e6, 1.0],
        constraints=NonlinearConstraint(fun, 0, 2e3),
        maxfev=2,
        rng=0,
    )
    assert 0.1 < min(way for way in moved if way) < 100.0


@pytest.mark.parametrize("scale", [0.0, [1.0, np.nan], [1.0, 2.0, 3.0], "large"], ids=repr)
def test_a_wrong_scale_of_a_constraint_is_refused(scale):
    with pytest.raises(zolal.InvalidArgumentError, match="In constraint 'slow' `x_scale` must hold 2 positive numbers"):
        Problem(np.sum, 2, zolal.Constraint(slow, x_scale=scale)).equalities(np.ones(2))


def banded(x):
    return x[:-1] * x[1:] + np.sin(x[:-1])


@pytest.mark.parametrize("d", [5, 300])
def test_a_sparsity_that_leaves_an_entry_out_is_told_with_the_constraint_and_the_variable(d, rng):
    x = rng.uniform(0.5, 1.5, size=d)
    pattern = np.eye(d - 1, d) + np.eye(d - 1, d, 1)
    calls = Counted(banded)
    Problem(np.sum, d, zolal.Constraint(calls, sparsity=pattern)).equalities(x).check_derivatives(x)
    assert calls.calls < 100
    pattern[d // 2, d // 2 + 1] = 0.0
    wrong = Problem(np.sum, d, zolal.Constraint(banded, sparsity=pattern, name="heat")).equalities(x)
    with pytest.raises(zolal.InvalidArgumentError) as caught:
        wrong.check_derivatives(x)
    assert str(caught.value).startswith(
        f"In constraint 'heat' `sparsity` does not fit `fun` near x0: in row {d // 2} the derivative by variable"
    )


TURNING = {
    "sine": (np.sin, np.cos),
    "sine and slope": (lambda x: x / 1e3 + np.sin(x), lambda x: 1e-3 + np.cos(x)),
    "sine and a large number": (lambda x: 1e9 + np.sin(x), np.cos),
}


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize(("fun", "derivative"), TURNING.values(), ids=TURNING)
def test_large_variables_of_functions_that_turn_fast_are_compared_by_short_steps(fun, derivative, size, rng):
    missed = 0
    for x in size * rng.uniform(1.0, 10.0, size=(40, 1)):
        right = zolal.Constraint(fun, jac=lambda x: np.diag(derivative(x)))
        Problem(np.sum, 1, right).equalities(x).check_derivatives(x)
        wrong = Problem(np.sum, 1, zolal.Constraint(fun, jac=lambda x: -np.diag(derivative(x)))).equalities(x)
        try:
            wrong.check_derivatives(x)
            missed += 1
        except zolal.InvalidArgumentError:
            pass
    assert missed <= 8  # where the derivative is next to zero


@given(x=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), low=st.floats(0, 1))
def test_right_derivatives_pass_everywhere(x, low):
    x = np.asarray(x)
    region = Box(x - low, x + 1.0)
    Problem(np.sum, x.size, zolal.Constraint(smooth, jac=smooth_jac), region=region).equalities(x).check_derivatives(x, region)


def fails(x):
    raise ZeroDivisionError("no model")


NAMED_ERRORS = {
    "fun raises": (zolal.Constraint(fails, name="heat"), "In constraint 'heat' `fun` raised ZeroDivisionError: no model."),
    "jac raises": (zolal.Constraint(smooth, jac=fails, name="heat"), "In constraint 'heat' `jac` raised ZeroDivisionError"),
    "function's own name": (zolal.Constraint(fails), "In constraint 'fails' `fun` raised"),
    "by number": ([NonlinearConstraint(smooth, 0, 1), zolal.Constraint(lambda x: np.nan, jac=lambda x: x)], "The value of constraint 2"),
    "shape": (zolal.Constraint(smooth, jac=lambda x: np.ones((2, 2)), name="heat"), "Jacobian of constraint 'heat' must have shape"),
    "derivative not finite": (
        zolal.Constraint(smooth, jac=lambda x: np.nan * smooth_jac(x), name="heat"),
        "derivative of constraint 'heat'",
    ),
    "bounds": (zolal.Constraint(smooth, 1.0, 0.0, name="heat"), "bounds of constraint 'heat'"),
    "lower": (zolal.Constraint(smooth, [1.0, 2.0], name="heat"), "In constraint 'heat' `lower` must be a number or 3 numbers"),
    "sparsity": (zolal.Constraint(smooth, sparsity=np.ones((1, 3)), name="heat"), "In constraint 'heat' `sparsity` must have shape (3, 3)"),
}


@pytest.mark.parametrize(("constraint", "sentence"), NAMED_ERRORS.values(), ids=NAMED_ERRORS)
def test_errors_name_the_constraint(constraint, sentence):
    with pytest.raises((zolal.InvalidArgumentError, zolal.ConstraintError)) as caught:
        zolal.minimize(np.sum, X, constraints=constraint, maxfev=100, rng=0)
    assert sentence in str(caught.value)


def test_the_row_that_is_violated_most_is_known_by_name():
    form = Problem(np.sum, 3, {"size": NonlinearConstraint(smooth, -1.0, [1.0, 9.0, 9.0]), "sum": Bounds(-9, 9)}).equalities(X)
    worst = form.worst(X)
    assert (worst.name, worst.row) == ("size[0]", 0)
    assert_allclose(worst.violation, form.violation(X))
    assert str(worst) == "size[0] is 6.59, 5.59 above its upper bound 1"
    assert form.row_names == ("size[0]", "size[1]", "size[2]", "sum[0]", "sum[1]", "sum[2]")
    assert form.worst(np.zeros(3)) is None


@pytest.mark.parametrize("by_vjp", [False, True])
def test_given_derivatives_are_remembered_for_the_last_points_and_nobody_can_change_them(by_vjp):
    calls = []

    def jac(x):
        calls.append(x.copy())
        return np.vstack([2.0 * x, np.ones_like(x)])

    def fun(x):
        return np.array([x @ x, x.sum()])

    given = dict(vjp=lambda x, y: jac(x).T @ y) if by_vjp else dict(jac=jac)
    constraint = zolal.Constraint(fun, lower=np.zeros(2), upper=np.zeros(2), **given)
    points = [np.full(3, float(i)) for i in range(4)]
    each = 2 if by_vjp else 1  # one product for each row
    for x in [*points, points[3], points[2], points[0]]:
        found = constraint.rows_at(x, 2)
        np.testing.assert_array_equal(found, np.vstack([2.0 * x, np.ones(3)]))
        with pytest.raises(ValueError, match="read-only"):
            found[0, 0] = 7.0
    assert len(calls) == 5 * each  # four points, and the first again, which was forgotten
