"""The same problem in other units: every part against the original, and the noisy probe."""

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import LinearConstraint

from registry import REGULARIZERS, SETS
from zolal import Constraint, Problem
from zolal.constraints import as_constraints
from zolal.errors import InvalidArgumentError, UnsupportedError
from zolal.problems import inventory, l1_box, probe, scaled, sphere_quadratic
from zolal.problems.scaled import scaled_regularizer, scaled_set
from zolal.regularizers import L1, Regularizer
from zolal.sets import Box, ConvexSet, L2Ball

F, X, C = 3e4, 2e-2, 7e-3


def test_values_and_gradients_are_those_of_the_original_in_its_own_units(rng):
    problem = sphere_quadratic(5)
    other = scaled(problem, F, X, C)
    x, xi = rng.standard_normal(5), rng.standard_normal(5)
    assert other.objective(X * x, xi) == pytest.approx(F * problem.objective(x, xi), rel=1e-13)
    np.testing.assert_allclose(other.gradient(X * x), F / X * problem.gradient(x), rtol=1e-13)
    np.testing.assert_array_equal(other.x0, X * problem.x0)


@pytest.mark.parametrize(
    "problem", [sphere_quadratic(5), l1_box(5), inventory(5), probe(5)], ids=["sphere", "l1 box", "inventory", "probe"]
)
def test_constraints_and_their_jacobians_are_scaled(problem, rng):
    x = problem.x0 + 0.1 * rng.uniform(size=problem.dimension)
    before = as_constraints(problem.constraints, problem.dimension)
    for part, other in zip(before, scaled(problem, F, X, C).constraints, strict=True):
        rows = part.check_at(x)
        np.testing.assert_allclose(other.value_at(X * x), C * part.value_at(x), rtol=1e-12)
        np.testing.assert_allclose(other.rows_at(X * x, rows), C / X * part.rows_at(x, rows), rtol=1e-12)
        np.testing.assert_allclose(np.asarray([other.lower, other.upper], float), C * np.asarray([part.lower, part.upper], float))


def test_the_violation_and_the_multipliers_follow():
    problem = sphere_quadratic(5)
    other = scaled(problem, F, X, C)
    twice = problem.equalities(problem.x0).violation(2.0 * problem.x0)
    assert other.equalities(other.x0).violation(2.0 * other.x0) == pytest.approx(C * twice, rel=1e-12)
    pulled, _ = other.equalities(other.x0).vjp(other.solution, other.multipliers)
    np.testing.assert_allclose(other.gradient(other.solution) + pulled, 0.0, atol=1e-9 * F / X)


@pytest.mark.parametrize("region", SETS, ids=repr)
def test_a_scaled_set_holds_the_scaled_points(region, rng):
    for x in rng.standard_normal((5, 6)):
        np.testing.assert_allclose(scaled_set(region, X).project(X * x), X * region.project(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("h", REGULARIZERS, ids=repr)
def test_a_scaled_regularizer_has_the_scaled_values(h, rng):
    x = rng.standard_normal(6)
    assert scaled_regularizer(h, F, X).value(X * x) == pytest.approx(F * h.value(x), rel=1e-12)


def test_sparse_jacobians_and_products_alone_are_scaled(rng):
    matrix = scipy.sparse.csr_array(rng.standard_normal((2, 4)))
    product = Constraint(lambda x: x @ x, 1.0, 1.0, vjp=lambda x, y: 2.0 * y[0] * x)
    problem = Problem(lambda x: x.sum(), 4, [LinearConstraint(matrix, 0.0, 1.0), product])
    first, second = scaled(problem, F, X, C).constraints
    x = rng.standard_normal(4)
    np.testing.assert_allclose(first.rows_at(X * x, 2), C / X * matrix.toarray())
    np.testing.assert_allclose(second.vjp_at(X * x, np.array([3.0])), C / X * 6.0 * x)


def test_every_variable_may_have_its_own_factor(rng):
    units = 10.0 ** rng.uniform(-3.0, 3.0, 4)
    rows = LinearConstraint(rng.standard_normal((2, 4)), 1.0, 2.0)
    problem = Problem(lambda x: float(x @ x), 4, rows, Box(-1.0, np.arange(1.0, 5.0)), x0=np.full(4, 0.5), solution=np.zeros(4))
    other, x = scaled(problem, F, units, C), rng.uniform(-1.0, 1.0, 4)
    assert other.objective(units * x) == pytest.approx(F * problem.objective(x), rel=1e-13)
    np.testing.assert_allclose(other.region.project(units * 9.0), units * np.arange(1.0, 5.0), rtol=1e-13)
    np.testing.assert_array_equal(other.x0, units * 0.5)
    before, after = as_constraints(rows, 4)[0], other.constraints[0]
    np.testing.assert_allclose(after.value_at(units * x), C * before.value_at(x), rtol=1e-12)
    count = before.check_at(x)
    np.testing.assert_allclose(after.rows_at(units * x, count) * units, C * before.rows_at(x, count), rtol=1e-12)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array, np.asarray])
def test_columns_of_sparse_jacobians_have_their_factors(kind, rng):
    rows, units = rng.standard_normal((2, 3)), np.array([1e-3, 1.0, 1e3])
    problem = Problem(lambda x: 0.0, 3, Constraint(lambda x: rows @ x, 0.0, 0.0, jac=lambda x: kind(rows)))
    part = scaled(problem, F, units, C).constraints[0]
    x = rng.standard_normal(3)
    np.testing.assert_allclose(part.rows_at(units * x, part.check_at(units * x)), C * rows / units, rtol=1e-12)


@pytest.mark.parametrize("units", [np.array([1.0, 2.0]), np.array([1.0, 2.0, 0.0]), np.array([1.0, np.nan, 2.0]), [1.0, "a", 2.0]], ids=str)
def test_factors_that_are_not_positive_or_too_few_are_refused(units):
    with pytest.raises(InvalidArgumentError, match=r"`scaled\(variables=...\)` must be positive, one number or 3, got "):
        scaled(l1_box(3), variables=units)


def test_what_cannot_have_a_factor_for_each_variable_is_named():
    with pytest.raises(UnsupportedError, match="one factor for each variable; supported: WholeSpace, NonNegative, Box"):
        scaled_set(L2Ball(1.0), np.ones(3))
    with pytest.raises(UnsupportedError, match="one factor for each variable; supported: Zero"):
        scaled_regularizer(L1(1.0), 1.0, np.ones(3))


def test_what_cannot_be_scaled_is_named():
    class Odd(ConvexSet):
        def project(self, x):
            return x

        def contains(self, x, tolerance=0.0):
            return True

    class Strange(Regularizer):
        def value(self, x):
            return 0.0

        def prox(self, x, step):
            return x

    with pytest.raises(UnsupportedError, match="cannot be scaled; supported: WholeSpace"):
        scaled_set(Odd(), 2.0)
    with pytest.raises(UnsupportedError, match="cannot be scaled; supported: Zero"):
        scaled_regularizer(Strange(), 2.0, 2.0)
    with pytest.raises(InvalidArgumentError, match=r"`scaled\(variables=...\)` must be a positive number"):
        scaled(l1_box(3), variables=0.0)


def test_the_noise_of_the_probe_is_new_at_every_call_and_the_same_for_the_same_problem():
    first, again = probe(10, noise=0.1, seed=3), probe(10, noise=0.1, seed=3)
    values = [float(first.objective(first.x0)) for _ in range(200)]
    assert values == [float(again.objective(again.x0)) for _ in range(200)]
    errors = np.array(values) - first.objective.value(first.x0)
    assert len(set(values)) == 200
    assert abs(errors.std() - 0.1) < 0.03  # 6 standard errors of a standard deviation over 200
    rows = first.objective(np.stack([first.x0, first.x0]))
    assert rows.shape == (2,)
    assert rows[0] != rows[1]


def test_the_probe_needs_three_variables():
    with pytest.raises(InvalidArgumentError, match="at least 3"):
        probe(2)
