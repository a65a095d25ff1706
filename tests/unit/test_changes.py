"""What a change of an image may be: projections against cvxpy, restoration to constraints."""

import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("art") is None:
    pytest.skip("needs the extra art: pip install 'zolal[art]'", allow_module_level=True)

import zolal
from zolal.art._changes import Changes
from zolal.constraints import as_constraints

RNG = np.random.default_rng(0)
IMAGE = RNG.random(12)
LOWER, UPPER = -IMAGE, 1.0 - IMAGE


@pytest.mark.parametrize(("norm", "radius"), [(np.inf, 0.3), (2.0, 0.5), (1.0, 0.7), (2.0, 5.0)])
@pytest.mark.parametrize("size", [0.1, 3.0, 100.0])
def test_the_nearest_change_is_the_projection(norm, radius, size):
    cvxpy = pytest.importorskip("cvxpy")
    z = size * np.random.default_rng(int(10 * size)).standard_normal(12)
    x = cvxpy.Variable(12)
    allowed = [cvxpy.norm(x, "inf" if norm == np.inf else int(norm)) <= radius, x >= LOWER, x <= UPPER]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - z)), allowed).solve(solver="CLARABEL")
    found = Changes(norm, radius, LOWER, UPPER).nearest(z)
    np.testing.assert_allclose(found, x.value, atol=2e-4)
    assert np.linalg.norm(found, norm) <= radius * (1 + 1e-12)


def test_rows_are_restored_and_what_cannot_be_is_none():
    level = dict(type="eq", fun=lambda d: np.sum(d))
    curved = zolal.Constraint(lambda d: d @ d, 0.05, 0.2, jac=lambda d: 2 * d)
    changes = Changes(np.inf, 0.3, LOWER, UPPER, as_constraints([level, curved], 12))
    for seed in range(20):
        x = changes.restored(5.0 * np.random.default_rng(seed).standard_normal(12))
        assert abs(x.sum()) <= 1e-6
        assert 0.05 - 1e-6 <= x @ x <= 0.2 + 1e-6
        assert np.all(np.abs(x) <= 0.3)
        assert np.all((x + IMAGE >= 0) & (x + IMAGE <= 1))
    impossible = dict(type="ineq", fun=lambda d: np.sum(d) - 100.0)
    assert Changes(np.inf, 0.3, LOWER, UPPER, as_constraints(impossible, 12)).restored(np.ones(12)) is None
