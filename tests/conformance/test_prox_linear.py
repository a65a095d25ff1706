"""The prox-linear step through its dual: the point is cvxpy's, on every set and for every kind of row."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import membership, penalty

from registry import DIMENSION, SETS
from zolal.mirror import Euclidean, bregman_step
from zolal.regularizers import L1, Zero
from zolal.sets import LqBall, Simplex, WholeSpace
from zolal.solvers.baselines.prox_linear import DualBall, Sides

LIMITS = [[0.0], [np.inf], [0.4], [0.0, 0.0, 0.0], [np.inf, np.inf], [0.0, np.inf, 0.4], [0.3, np.inf, 0.2, np.inf]]
EXACT_SETS = [region for region in SETS if not isinstance(region, LqBall)]  # cvxpy is not exact enough on power cones


def subproblem(region, limits, seed, spread=1.0):
    """x^k, G, g, J, limits, eta and rho at random."""
    rng = np.random.default_rng(seed)
    m = len(limits)
    scale = 10.0 ** rng.uniform(-spread, spread, 5)
    x = region.project(rng.normal(size=DIMENSION))
    G, J = scale[0] * rng.normal(size=DIMENSION), scale[1] * rng.normal(size=(m, DIMENSION))
    return x, G, scale[2] * rng.normal(size=m), J, np.asarray(limits), 0.3 * scale[3], scale[4]


def solved(region, h, x, G, g, J, limits, eta, rho):
    """The step, its multipliers and the dual that gave them."""
    sides = Sides(limits)

    def point(y):
        return bregman_step(Euclidean(), region, h, x, G + J.T @ sides.join(y), eta)

    dual = DualBall(sides.split(g), lambda y: sides.split(g + J @ (point(y) - x)), eta * sides.spread(J @ J.T), sides.one_sided, rho)
    y = dual.solve(np.zeros(sides.one_sided.size))
    return point(y), y, dual


def reference(region, h, x, G, g, J, limits, eta, rho):
    """The same subproblem, typed from its definition: rho times the distance of the linear model to [-limit, 0]."""
    y, allowed = cp.Variable(DIMENSION), cp.Variable(len(limits))
    lower = [allowed[i] >= -limit for i, limit in enumerate(limits) if np.isfinite(limit)]
    value = G @ y + penalty(h, y) + rho * cp.norm2(g + J @ (y - x) - allowed) + cp.sum_squares(y - x) / (2 * eta)
    cp.Problem(cp.Minimize(value), [allowed <= 0, *lower, *membership(region, y)]).solve(solver="CLARABEL")
    return y.value


@pytest.mark.parametrize("h", [Zero(), L1(0.3)], ids=repr)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("region", EXACT_SETS, ids=repr)
def test_the_step_is_the_minimiser(region, limits, h):
    for seed in range(2):
        given_parts = subproblem(region, limits, seed, spread=0.5)
        found, _, _ = solved(region, h, *given_parts)
        np.testing.assert_allclose(found, reference(region, h, *given_parts), atol=2e-5)


@pytest.mark.parametrize("region", SETS, ids=repr)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), limits=st.sampled_from(LIMITS))
def test_the_gap_closes_whatever_the_sizes(region, seed, limits):
    """The gap bounds the distance to the minimiser, whatever the region: no reference is needed."""
    parts = subproblem(region, limits, seed)
    found, y, dual = solved(region, Zero(), *parts)
    v, eta = dual.slope(y), parts[5]
    assert np.linalg.norm(y) <= dual.rho * (1 + 1e-9)
    assert np.all(y[dual.one_sided] >= 0)
    size = dual.rho * (np.linalg.norm(dual.g) + np.linalg.norm(v - dual.g))
    assert dual.gap(y, v) <= 1e-8 * size
    assert np.sqrt(2 * eta * dual.gap(y, v)) <= 1e-3 * (1 + np.linalg.norm(found))


def test_one_row_on_the_whole_space_has_its_closed_form():
    """Y = clip((g - eta <a, G>) / (eta ||a||^2), -rho, rho), and x = x^k - eta (G + a y)."""
    x, G, g, J, limits, eta, _ = subproblem(WholeSpace(), [0.0], 3)
    a = J[0]
    for rho in (1e-3, 0.1, 1e3):
        found, y, _ = solved(WholeSpace(), Zero(), x, G, g, J, limits, eta, rho)
        expected = np.clip((g[0] - eta * a @ G) / (eta * a @ a), -rho, rho)
        assert y[0] == pytest.approx(expected, rel=1e-10)
        np.testing.assert_allclose(found, x - eta * (G + a * expected), atol=1e-9)


def test_rows_without_derivatives_and_no_rows_are_no_obstacle():
    x, G, g, J, limits, eta, rho = subproblem(Simplex(), [0.0, np.inf, 0.4], 1)
    found, y, _ = solved(Simplex(), Zero(), x, G, g, 0.0 * J, limits, eta, rho)
    np.testing.assert_allclose(found, Simplex().project(x - eta * G))
    assert np.linalg.norm(y) <= rho * (1 + 1e-9)
    found, y, _ = solved(Simplex(), Zero(), x, G, g[:0], J[:0], limits[:0], eta, rho)
    np.testing.assert_allclose(found, Simplex().project(x - eta * G))
    assert y.shape == (0,)


def test_repeated_rows_share_their_multiplier():
    x, G, g, J, _, eta, rho = subproblem(WholeSpace(), [0.0, 0.0], 2)
    g[1], J[1] = g[0], J[0]
    found, _, _ = solved(WholeSpace(), Zero(), x, G, g, J, np.zeros(2), eta, rho)
    single, _, _ = solved(WholeSpace(), Zero(), x, G, g[:1], J[:1], np.zeros(1), eta, rho * np.sqrt(2.0))
    np.testing.assert_allclose(found, single, atol=1e-8)
