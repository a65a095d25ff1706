"""The 53 problems of Moré and Wild: their values and gradients at the starts, and solutions that are known."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from zolal.bench import _least_squares
from zolal.errors import InvalidArgumentError
from zolal.problems import MORE_WILD, MoreWild, more_wild, more_wild_residuals, more_wild_start

# f and ||J^T F||_2 at the starts, as the authors' own programme prints them (testout.dat of BenDFO)
PRINTED = [
    *[(7.20000e01, 6.00000e00), (1.12500e03, 3.30000e01), (1.16542e07, 4.93224e06), (1.16859e09, 4.93894e07), (4.98920e06, 2.37189e06)],
    *[(5.00936e08, 2.37668e07), (2.42000e01, 1.16434e02), (1.79577e06, 3.21892e05), (2.50000e03, 9.39818e02), (1.06000e04, 1.03263e03)],
    *[(2.15000e02, 2.29388e02), (1.61540e06, 2.26240e05), (4.00500e02, 6.36177e02), (1.54575e08, 2.24811e07), (4.16817e01, 4.23154e01)],
    *[(1.30623e03, 1.39344e02), (5.31317e-03, 6.71720e-02), (1.69361e09, 4.36383e10), (1.64308e01, 5.78196e01), (2.32337e06, 4.08680e05)],
    *[(2.69042e01, 4.60322e01), (8.15888e06, 1.17010e06), (7.36782e01, 1.05247e02), (2.05938e07, 2.55210e06), (1.03115e03, 7.46382e01)],
    *[(4.17131e03, 4.68544e04), (7.92669e06, 1.07025e06), (3.08106e11, 4.57662e09), (4.64282e-02, 6.41837e-01), (3.37706e-02, 4.36739e-01)],
    *[(3.86177e-02, 7.62295e-01), (2.88830e-02, 6.10372e-01), (3.37633e-02, 6.65036e-01), (2.67406e-02, 6.41685e-01)],
    *[(2.73248e02, 1.72271e02), (1.61741e01, 5.60596e02), (2.09342e00, 2.94582e00), (1.99685e02, 1.73084e01), (9.04000e02, 7.92252e02)],
    *[(1.35600e03, 1.12361e03), (1.58200e03, 1.28352e03), (1.80800e03, 1.44129e03), (5.65000e01, 4.98930e01), (7.05625e01, 5.07662e01)],
    *[(9.86875e01, 5.24689e01), (2.53908e09, 7.01101e07), (6.87380e12, 3.66381e09), (3.36796e09, 8.04373e07), (3.73513e09, 8.45407e07)],
    *[(3.99107e09, 8.72597e07), (1.13001e13, 4.69788e09), (9.38567e00, 1.07454e02), (3.36582e10, 6.25189e09)],
]


@pytest.mark.parametrize("number", range(1, 54))
def test_value_and_gradient_at_the_start_are_those_of_the_authors(number):
    problem, given = more_wild(number), _least_squares.load(f"MW{number:02d}")
    value, slope = PRINTED[number - 1]
    assert problem.objective(problem.x0) == pytest.approx(value, rel=1e-5)
    assert 0.5 * np.linalg.norm(given.gradient(given.x0)) == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("number", [7, 9, 17, 19, 26, 37, 50, 52])
def test_the_gradient_is_that_of_differences_away_from_the_start(number):
    given = _least_squares.load(f"MW{number:02d}")
    x = given.x0 * (1.0 + 0.1 * np.random.default_rng(number).standard_normal(given.n))
    g = given.gradient(x)
    np.testing.assert_allclose(g, approx_fprime(x, given.fun), rtol=1e-3, atol=1e-4 * np.abs(g).max())


@pytest.mark.parametrize(
    ("number", "x"),
    [
        (7, np.ones(2)),  # Rosenbrock
        (9, [1.0, 0.0, 0.0]),  # helical valley
        (11, np.zeros(4)),  # Powell singular
        (13, [5.0, 4.0]),  # Freudenstein and Roth
        (25, [1.0, 10.0, 1.0]),  # Box
        (35, np.ones(10)),  # Brown almost linear
        (43, np.ones(5)),  # cube
        (1, -np.ones(9)),  # linear: m - n remains
    ],
)
def test_known_solutions_have_the_known_value(number, x):
    row = MORE_WILD[number - 1]
    assert more_wild(number).objective(np.asarray(x, dtype=float)) == pytest.approx(row.m - row.n if number == 1 else 0.0, abs=1e-12)


def test_the_53_are_all_different_and_of_22_kinds():
    assert len(set(MORE_WILD)) == 53
    assert {row.kind for row in MORE_WILD} == set(range(1, 23))
    assert all(more_wild_residuals(row, more_wild_start(row)).shape == (row.m,) for row in MORE_WILD)
    assert MORE_WILD[7] == MoreWild(kind=4, n=2, m=2, power=1)


@pytest.mark.parametrize("number", [0, 54, 1.5])
def test_another_number_is_told_in_a_sentence(number):
    with pytest.raises(InvalidArgumentError, match="from 1 to 53"):
        more_wild(number)
