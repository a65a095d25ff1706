"""The displays inside the paper's proofs: each step of the chains that lead to Theorems 5.1 to 5.4, 6.1 and 6.2, over random constants."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zolal import theory
from zolal.theory import Constants, Geometry

ROUNDING = 1 + 1e-9
ONES = Constants(L_f=1.0, M_f=1.0, sigma=1.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)

magnitudes = st.floats(-2, 2).map(lambda t: 10.0**t)
constants = st.builds(
    Constants,
    **dict.fromkeys(("L_f", "M_f", "sigma", "M_c", "L_c", "Mbar_c", "beta", "D_X", "Phi_gap", "M_h"), magnitudes),
    c0=st.just(0.0) | magnitudes,
    m=st.integers(1, 5),
)
geometries = st.builds(Geometry, d=st.integers(3, 10**6), p=st.floats(2, 60), delta=st.floats(-3, 0).map(lambda t: 10.0**t))
accuracies = st.floats(-3, 0).map(lambda t: 10.0**t)
cases = given(c=constants, geometry=geometries, epsilon=accuracies, rho=magnitudes)


class Chain:
    """What the proof of Theorem 5.1 calls Delta_0, sigma-tilde^2 and E||u||^6, at the settings of (5.9)."""

    def __init__(self, c, geometry, epsilon, rho):
        self.c, self.geometry, self.a = c, geometry, theory.settings(c, geometry, epsilon, rho).parameters
        self.gap, self.sixth = float(theory.initial_gap(c, self.a.mu, rho)), float(geometry.sixth)
        self.noise = float(theory.variance_constant(c, geometry, self.a.nu))
        self.order, self.S = geometry.p_bar - 1, float(geometry.S_p)

    def mean_error(self):
        """The right-hand side of (5.5), and of (5.11) with p-bar."""
        a = self.a
        noisy = 2 * self.order * self.noise / (a.n_0 * a.alpha * a.K) + 4 * a.alpha * self.order * self.noise / a.n
        return noisy + 3 * a.nu**2 * self.sixth / (16 * a.eta**2) + self.gap / (a.eta * a.K)

    def mean_step(self, mean_error):
        """The right-hand side of (5.3)."""
        a = self.a
        return 4 * a.eta * self.gap / a.K + (a.eta * a.nu * self.c.L_f) ** 2 * self.sixth + 4 * a.eta**2 * mean_error


@pytest.mark.parametrize("p", [2.0, 3.0, 8.0])
def test_4_3_independent_errors_of_a_batch_add_up_in_squares(rng, p):
    """E||a + (1/n) sum_j Z_j||_p^2 <= ||a||_p^2 + (p-1)/n^2 sum_j E||Z_j||_p^2 for independent Z_j of mean 0, by enumerating +-z_j."""
    for _ in range(50):
        a, z = rng.standard_normal(5), rng.standard_normal((8, 5)) * np.exp(rng.standard_normal((8, 1)))
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=8)))
        left = np.mean(np.sum(np.abs(a + signs @ z / 8) ** p, axis=1) ** (2 / p))
        squares = np.sum(np.abs(z) ** p, axis=1) ** (2 / p)
        assert left <= (np.sum(np.abs(a) ** p) ** (2 / p) + (p - 1) / 64 * squares.sum()) * ROUNDING


def test_5_2_the_gap_covers_every_later_value(rng):
    for _ in range(200):
        m, K, mu, rho, bound = int(rng.integers(1, 5)), 20, *np.exp(rng.standard_normal(3))
        gap, c0, t = abs(rng.standard_normal()), float(bound * rng.random()), int(rng.integers(1, K + 1))
        known = Constants(1, 1, 0, 1, 1, bound, 1, 1, gap, c0=c0, m=m)
        multipliers = bound * t * rho / K * rng.uniform(-1, 1, m)  # Lemma 4.2
        c = bound * rng.uniform(-1, 1, m)
        later = abs(rng.standard_normal()) + multipliers @ c + mu / 2 * c @ c  # Phi - Phi_inf >= 0
        start = gap + mu / 2 * c0**2
        assert theory.initial_gap(known, mu, rho) * ROUNDING >= start - later + m * t * rho / K * bound**2


def test_5_3_5_4_and_5_5_the_recursion_of_the_error_stays_below_its_mean_bound(rng):
    """The first line of (5.4) with steps and descents D_k that Lemma 4.4 allows, whatever the order in which the gap is spent."""
    geometry = Geometry(50, 4.0, 0.1)
    for trial in range(200):
        chain = Chain(ONES, geometry, float(rng.choice([0.3, 1.0])), 0.5)
        a, K = chain.a, 400
        chain.a = a = theory.Parameters(a.eta, a.mu, a.nu, a.alpha if trial % 2 else 0.5, a.n_0, max(a.n, 40), K, a.rho)
        bias = a.nu**2 * chain.sixth
        error, errors, steps, spent = 2 * chain.order * chain.noise / a.n_0, [], [], 0.0
        for _ in range(K):
            least = -(a.eta * bias / 4 + a.eta * error)  # the step that Lemma 4.4 leaves is then 0
            descent = min(rng.choice([least, chain.gap * rng.random()]), chain.gap - spent)
            spent += descent
            step = max(4 * a.eta * descent + a.eta**2 * bias + 4 * a.eta**2 * error, 0.0)
            errors.append(error)
            steps.append(step)
            fresh = 4 * chain.order / a.n * (a.alpha**2 * chain.noise + 3 * bias)
            error = (1 - a.alpha) ** 2 * (error + 24 * chain.order * chain.S / a.n * step) + fresh
        assert np.mean(errors) <= chain.mean_error() * ROUNDING
        assert np.mean(steps) <= chain.mean_step(np.mean(errors)) * ROUNDING


@cases
def test_5_6_5_11_and_5_12_the_three_parts_make_the_bound_of_theorem_5_1(c, geometry, epsilon, rho):
    chain = Chain(c, geometry, epsilon, rho)
    a, error = chain.a, chain.mean_error()
    parts = 0.75 * (a.nu * c.L_f) ** 2 * chain.sixth + 3 * error + 3 / a.eta**2 * chain.mean_step(error)
    assert parts <= theory.stationarity_bound(c, geometry, a) * ROUNDING


@cases
def test_5_8_leads_to_the_bound_of_theorem_5_2(c, geometry, epsilon, rho):
    chain = Chain(c, geometry, epsilon, rho)
    a, error, L_v = chain.a, chain.mean_error(), float(geometry.L_v(c.D_X))
    bias, scale = (a.nu * c.L_f) ** 2 * chain.sixth, (c.beta * a.mu) ** 2
    slopes = c.M_f**2 + c.M_h**2 + bias / 4 + (c.m * rho * c.Mbar_c * c.M_c) ** 2
    moved = 2 * (4 * L_v**2 + 1) * (4 * chain.gap / (a.eta * a.K) + bias)
    assert a.eta**2 * c.m**2 * (c.M_c**4 + (c.L_c * c.Mbar_c) ** 2) <= 1 / (4 * a.mu**2) * ROUNDING
    total = c.c0**2 / a.K + (8 * slopes + moved + 16 * (2 * L_v**2 + 1) * error) / scale
    assert total <= theory.feasibility_bound(c, geometry, a) * ROUNDING


def second_line(c, found, S, p):
    """The second line of (5.10) without its ceilings, and the term that it leaves out: 108 Delta_0/(eta eps^2) at eta^2 = 1/(96 L_f^2)."""
    bar, gap, eps = float(found.sigma_bar2), float(found.Delta_0), found.epsilon
    of_steps = (216 * float(found.L_mu) * gap / eps**2, 16394 * c.L_f * gap * math.sqrt(bar / S) / eps**3, 5 * c.c0**2 / eps**2)
    of_rate = (4 * (float(found.L_mu) / c.L_f) ** 2, 96, 23040 * bar / (S * eps**2))
    return (
        5 * (p - 1) * bar / (2 * eps**2),
        4 * (p - 1) * S * max(*of_steps, *of_rate),
        432 * (p - 1) * S * math.sqrt(96) * c.L_f * gap / eps**2,
    )


@cases
def test_5_10_the_count_is_of_the_printed_order(c, geometry, epsilon, rho):
    found = theory.settings(c, geometry, epsilon, rho)
    batch, steps, missing = second_line(c, found, float(found.S_p), geometry.p_bar)
    assert float(found.evaluations) <= 4 * (batch + max(steps, missing)) + 2


@pytest.mark.parametrize("p", [2.0, 3.0, 4.0, 40.0])
def test_6_2_and_6_3_the_number_of_steps_is_of_the_printed_order(p):
    """One constant bounds K / (eps^-3 + L_v eps^-2 + L_v^2) for all p, d and eps; L_v / (p d^{1-2/p}) does not grow with d."""
    ratios, smoothness = [], []
    for d, epsilon in itertools.product((10**2, 10**4, 10**6, 10**8), (1e-1, 1e-3, 1e-5)):
        found = theory.settings(ONES, Geometry(d, p, 0.1), epsilon)
        L_v = float(found.L_v)
        ratios.append(float(found.K) / (epsilon**-3 + L_v * epsilon**-2 + L_v**2))
        smoothness.append(L_v / (p * d ** (1 - 2 / p)))
    assert max(ratios) <= 1.5e5
    assert max(smoothness) <= 1.01 * smoothness[0]


@cases
def test_b_1_b_2_and_b_3_each_stage_prepares_the_next(c, geometry, epsilon, rho):
    stages, share = theory.stage_settings(c, geometry, epsilon, rho), c.m ** (1 - 2 / geometry.p)
    known = [one for _, one in theory.stage_constants(c, geometry, epsilon, rho)]
    for stage, constants_s in zip(stages, known, strict=True):
        assert theory.stationarity_bound(constants_s, geometry, stage.parameters) <= stage.epsilon**2 * ROUNDING  # (B.2)
        assert theory.feasibility_bound(constants_s, geometry, stage.parameters) <= stage.epsilon**2 * ROUNDING  # (B.3)
    for (before, after), constants_s in zip(itertools.pairwise(stages), known[1:], strict=True):  # (B.1)
        infeasible = share * before.epsilon**2
        assert infeasible <= constants_s.c0**2 * ROUNDING
        assert theory.range_bound(c, rho) + float(after.mu) / 2 * infeasible <= after.Delta_0 * ROUNDING
    assert stages[-1].epsilon <= epsilon * ROUNDING
