"""As many values as a quadratic has coefficients, and the first ones beyond them."""

import numpy as np
import pytest

from zolal.solvers.auto.coefficients import are_just_enough
from zolal.solvers.auto.quadratic import Quadratic


def in_a_plane(d, span, n, seed=0):
    """Points of R^d that differ along so many directions."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(d) + rng.standard_normal((n, span)) @ rng.standard_normal((span, d))


@pytest.mark.parametrize(("d", "span"), [(1, 1), (2, 2), (5, 5), (3, 2), (5, 1), (12, 4), (12, 11), (40, 3)])
def test_scales_are_looked_for_with_the_first_values_that_a_quadratic_does_not_need(d, span):
    """How many it needs is the rank of all monomials of first and second order at many points."""
    many = in_a_plane(d, span, 500)
    columns = [np.ones(500), *many.T, *(many[:, i] * many[:, j] for i in range(d) for j in range(i + 1))]
    needed = np.linalg.matrix_rank(np.stack(columns, axis=1), tol=1e-6)
    found = []
    for n in range(2, needed + 20):
        if are_just_enough(many[:n], 1):
            found.append(n - needed)
    assert found == [1, 2]
    assert [count for count in range(9) if are_just_enough(many[: needed + 8], count)] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("seed", range(5))
def test_one_value_more_than_its_coefficients_makes_an_ill_conditioned_quadratic_known(seed):
    """Eigenvalues from 1 to 1e4 along five directions of R^6: 21 coefficients."""
    rng = np.random.default_rng(seed)
    points = in_a_plane(6, 5, 24, seed)
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    hessian, t = (basis * np.geomspace(1.0, 1e4, 6)) @ basis.T, rng.standard_normal(6)
    values = np.array([0.5 * (x - t) @ hessian @ (x - t) for x in points])
    belief = Quadratic.start(points[0], values[0], 1.0)
    for point, value in zip(points[1:22], values[1:22], strict=True):
        belief = belief.told(point, np.array([value])).fitted()
    for point, value in zip(points[22:], values[22:], strict=True):
        assert belief.foretold(point).change == pytest.approx(value - belief.value, rel=1e-5)
        assert belief.foretold(point).deviation <= 1e-3 * np.ptp(values)
