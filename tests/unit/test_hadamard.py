"""The fast transform against the matrix, on every way through it, and what is built on sign vectors."""

import array_api_strict
import numpy as np
import pytest
from scipy.linalg import hadamard

from zolal._hadamard import fwht
from zolal.directions import Gaussian, Rademacher
from zolal.problems import Quadratic, qcqp, sparse_qcqp

SIZES = [2**power for power in range(11)]


@pytest.mark.parametrize("d", SIZES)
def test_the_transform_is_the_matrix(d, rng):
    x = rng.standard_normal((3, d))
    expected = x @ (hadamard(d) / np.sqrt(d))
    np.testing.assert_allclose(fwht(x), expected, atol=1e-12)
    np.testing.assert_allclose(fwht(x[0]), expected[0], atol=1e-12)
    strict = fwht(array_api_strict.asarray(x))
    np.testing.assert_allclose(np.asarray(strict), expected, atol=1e-12)


def test_the_transform_is_its_own_inverse_and_leaves_its_argument_alone(rng):
    x = rng.standard_normal(2**14)
    kept = x.copy()
    np.testing.assert_allclose(fwht(fwht(x)), x, atol=1e-12)
    np.testing.assert_array_equal(x, kept)


def test_a_length_that_is_no_power_of_two_is_told():
    with pytest.raises(ValueError, match="power of two as its last length, got 12"):
        fwht(np.zeros(12))


@pytest.mark.parametrize("d", [4, 64, 2**9, 2**14, 2**15])  # the last one is beyond 16-bit sums
@pytest.mark.parametrize("count", [1, 16, 33, 70])
def test_forms_of_signs_are_those_of_the_transformed_rows(d, count):
    directions, objective = Rademacher(d, count, seed=3, iteration=2), qcqp(d).objective
    rows = fwht(directions.rows())
    np.testing.assert_allclose(objective.forms(directions), [row @ (objective.eigenvalues * row) for row in rows], atol=1e-10)


@pytest.mark.parametrize("directions", [Rademacher(8, 5), Gaussian(8, 5)], ids=["signs", "normal"])
@pytest.mark.parametrize("hadamard_basis", [True, False])
def test_forms_are_those_of_the_dense_matrix(directions, hadamard_basis, rng):
    eigenvalues, basis = rng.standard_normal(8), hadamard(8) / np.sqrt(8) if hadamard_basis else np.eye(8)
    matrix, u = basis @ np.diag(eigenvalues) @ basis, directions.rows()
    expected = np.einsum("ji,ik,jk->j", u, matrix, u)
    np.testing.assert_allclose(Quadratic(eigenvalues, np.zeros(8), hadamard_basis).forms(directions), expected, atol=1e-12)


@pytest.mark.parametrize(("make", "basis"), [(qcqp, hadamard(16) / 4.0), (sparse_qcqp, np.eye(16))])
def test_the_problem_is_the_printed_one(make, basis, rng):
    problem, again = make(16, seed=3), make(16, seed=4)
    f, x = problem.objective, rng.standard_normal(16)
    A, b = basis @ np.diag(f.eigenvalues) @ basis, basis @ f.coefficients
    assert f(x) == pytest.approx(0.5 * x @ A @ x + b @ x, abs=1e-13)
    np.testing.assert_allclose(problem.gradient(x), A @ x + b, atol=1e-13)
    spectrum = np.concatenate([np.linspace(-0.05, -0.01, 8), np.linspace(0.01, 0.05, 8)])
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(A)), spectrum, atol=1e-14)
    np.testing.assert_array_equal(f.eigenvalues, again.objective.eigenvalues)  # one order for all seeds
    assert np.linalg.norm(b) == pytest.approx(1.0)
    assert np.linalg.norm(b - basis @ again.objective.coefficients) > 0.1
    assert problem.region.radius == 2.5
    assert float(problem.equalities(x).value(x, np.empty(0))[0]) == pytest.approx(0.5 * (x @ x - 1.0))


def test_no_point_of_the_sphere_is_better_than_the_known_minimiser(rng):
    problem = qcqp(16, seed=1)
    points = rng.standard_normal((20_000, 16))
    points = np.concatenate([points, problem.solution + 0.05 * points])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    assert problem.objective(points).min() >= problem.objective(problem.solution) - 1e-14


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: qcqp(48), r"`qcqp\(dimension=...\)` must be a power of two, at least 4, got 48"),
        (lambda: sparse_qcqp(2), r"must be a power of two, at least 4, got 2"),
        (lambda: sparse_qcqp(8, nonzeros=9), r"must be at most the dimension, 8, got 9"),
        (lambda: qcqp(64, -1), r"`qcqp\(seed=...\)` must be a nonnegative integer, got -1\."),
        (lambda: qcqp(64, "a"), r"`qcqp\(seed=...\)` must be a nonnegative integer, got 'a'\."),
        (lambda: sparse_qcqp(64, 1.5), r"`sparse_qcqp\(seed=...\)` must be a nonnegative integer, got 1\.5\."),
        (lambda: Quadratic(np.ones(4), np.ones(3), True), r"`Quadratic` must have .* of one shape \(d,\), got \(4,\) and \(3,\)\."),
        (lambda: Quadratic(np.ones((2, 2)), np.ones((2, 2)), False), r"of one shape \(d,\), got \(2, 2\) and \(2, 2\)\."),
        (lambda: Quadratic(np.ones(6), np.ones(6), True), r"must have a power of two as length with hadamard=True, got 6\."),
    ],
)
def test_bad_arguments_are_told(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
