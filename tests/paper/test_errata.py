"""The examples of docs/errata.md: where a printed line fails, and what holds instead."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from zolal import theory
from zolal.theory import Constants, Geometry


def test_erratum_11_dropping_a_factor_makes_the_second_line_of_5_4_the_smaller_one(rng):
    """f = (L/2)||x||^2 without constraints, x^k = 0, p = 2, nu -> 0, eta L = alpha = 1/2, n = 48 d: 9/32 against 1/4 of ||eps||^2."""
    d, L = 7, 3.0
    eta, alpha, n, S = 0.5 / L, 0.5, 48 * d, d
    error = rng.standard_normal(d)
    step = -eta * error  # s^k = g_nu(0) + eps^k = eps^k, for symmetric directions
    descent = 0.0 - L / 2 * step @ step
    A = error @ error
    assert n == pytest.approx(96 * S * eta**2 * L**2 / alpha)
    first = (1 - alpha) ** 2 * (A + 24 * S * L**2 / n * (step @ step))
    printed = (1 - alpha) ** 2 * (1 + 96 * eta**2 * S * L**2 / n) * A + 96 * eta * S * L**2 / n * descent
    kept = (1 - alpha) ** 2 * ((1 + 96 * eta**2 * S * L**2 / n) * A + 96 * eta * S * L**2 / n * descent)
    assert (first / A, printed / A) == pytest.approx((9 / 32, 1 / 4))
    assert kept >= first


def test_erratum_11_the_step_of_length_zero_cannot_have_a_negative_descent(rng):
    """With x^{k+1} = x^k the Lagrangian rises by rho ||c||_2^2 <= m rho Mbar_c^2 alone, so D_k >= 0."""
    c = rng.uniform(-1, 1, 4)
    assert -0.3 * c @ c + 4 * 0.3 * 1.0 >= 0


def test_erratum_12_ceilings_do_not_pass_through_products():
    assert 2 * math.ceil(1.2) > math.ceil(2 * 1.2)
    assert 4 * math.ceil(1.5) * math.ceil(1.5) > math.ceil(4 * 1.5 * 1.5)


def test_erratum_12_the_second_line_leaves_out_one_of_three_step_sizes():
    c = Constants(L_f=1.0, M_f=1e-3, sigma=0.0, M_c=1e-3, L_c=1e-3, Mbar_c=1e-3, beta=10.0, D_X=1.0, Phi_gap=1.0)
    found = theory.settings(c, Geometry(100, 2.0), 1.0, 1.0)
    assert found.eta.active == "1/(96 L_f^2)"
    printed = max(216 * found.L_mu * found.Delta_0, 16394 * math.sqrt(found.sigma_bar2 / 100) * found.Delta_0, 4 * found.L_mu**2, 96)
    printed = max(printed, 23040 * found.sigma_bar2 / 100)
    assert 108 * found.Delta_0 / found.eta == pytest.approx(108 * math.sqrt(96) * found.Delta_0)
    assert 108 * found.Delta_0 / found.eta > 2 * printed


@pytest.mark.parametrize("chances", [(0.5, 0.25, 0.25), (0.4, 0.3, 0.2, 0.1)])
def test_erratum_14_some_gradients_are_estimated_better_than_d_but_not_all(chances):
    """u = +-e_i/sqrt(p_i) with probability p_i: E uu^T = I and E||<g,u>u||^2 = sum_i g_i^2/p_i, below d ||g||^2 for g = e_1."""
    d, chances = len(chances), np.array(chances)
    directions = np.diag(chances**-0.5)
    np.testing.assert_allclose(sum(p * np.outer(u, u) for p, u in zip(chances, directions, strict=True)), np.eye(d), atol=1e-12)
    moments = [sum(p * (g @ u) ** 2 * (u @ u) for p, u in zip(chances, directions, strict=True)) for g in np.eye(d)]
    assert moments[0] < d <= max(moments)
    assert sum(moments) >= d**2  # E||u||^4 >= (E||u||^2)^2, hence the supremum over g is at least d for every distribution


def test_erratum_15_theorem_5_4_asks_for_34_directions_where_69_are_printed():
    d, p = 784, 15
    assert math.ceil(2 * math.log(d)) + 1 == p > 2 * math.log(d)
    assert math.ceil(2 * (p - 1) * d ** (2 / p)) == 69
    c = Constants(L_f=1.0, M_f=1.0, sigma=0.0, M_c=0.0, L_c=0.0, Mbar_c=0.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    assert theory.settings(c, Geometry(d, p), 0.1).n == math.ceil(math.e * (2 * math.log(d) - 1)) == 34
    assert math.ceil((p - 1) * d ** (2 / p)) == 35  # (5.9) with p itself


def test_erratum_17_the_constant_is_no_matter_of_the_minimiser(rng):
    """<g, x> and <g, x - x^k> differ by a number: only the value of the model is wrong."""
    g, centre, points = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal((50, 3))
    models = (points @ g + np.sum((points - centre) ** 2, axis=1), (points - centre) @ g + np.sum((points - centre) ** 2, axis=1))
    assert np.argmin(models[0]) == np.argmin(models[1])
    assert np.ptp(models[0] - models[1]) <= 1e-12


def test_erratum_19_passes_on_loan_do_not_differ_however_the_seeds_are_paired():
    """4.78 +- 1.95 and 5.06 +- 0.45 over ten seeds: with a correlation of 1 the difference would have the least deviation, 1.5."""
    least = 1.95 - 0.45
    t = (5.06 - 4.78) / (least / math.sqrt(10))
    assert t < 0.6 < stats.t.ppf(0.975, 9)
    assert (11.41 - 4.78) / ((1.95 + 0.75) / math.sqrt(10)) > stats.t.ppf(0.975, 9)  # against ZO-Penalty, with a correlation of -1


def test_erratum_2_with_two_symbols_the_stages_need_not_end():
    """With an input mu_* above mu_star of line 1 the penalty stays at mu_star and line 5 never holds."""
    star, asked, mu = 10.0, 20.0, 1.0
    penalties = [mu := min(2 * mu**2, star) for _ in range(50)]
    assert max(penalties) == star < asked
    assert all(before <= after for before, after in itertools.pairwise(penalties))
