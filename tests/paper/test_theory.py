"""The parameter settings and bounds of Sections 4 to 6, re-typed, and the chains that turn them into epsilon^2."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zolal import InvalidArgumentError, theory
from zolal.directions import Gaussian, Rademacher, Sphere
from zolal.theory import Constants, Geometry, Parameters

magnitudes = st.floats(-2, 2).map(lambda t: 10.0**t)
constants = st.builds(
    Constants,
    **dict.fromkeys(("L_f", "M_f", "sigma", "M_c", "L_c", "Mbar_c", "beta", "D_X", "Phi_gap", "M_h"), magnitudes),
    c0=st.just(0.0) | magnitudes,
    m=st.integers(1, 5),
)
geometries = st.builds(
    Geometry, d=st.integers(3, 10**6), p=st.floats(2, 60), delta=st.floats(-3, 0).map(lambda t: 10.0**t), directions=st.just(Rademacher)
)
euclidean = st.builds(Geometry, d=st.integers(3, 10**6), p=st.just(2.0), directions=st.sampled_from([Rademacher, Sphere, Gaussian]))
accuracies = st.floats(-3, 0).map(lambda t: 10.0**t)
cases = given(c=constants, geometry=geometries | euclidean, epsilon=accuracies, rho=magnitudes)


@cases
def test_5_9_settings_are_those_of_the_paper(c, geometry, epsilon, rho):
    found = theory.settings(c, geometry, epsilon, rho)
    d, p = geometry.d, min(geometry.p, 2 * math.log(geometry.d))
    kind = geometry.directions
    S = d ** (2 / p) if kind is Rademacher else d + 2 if kind is Gaussian else d
    sixth = d * (d + 2) * (d + 4) if kind is Gaussian else d**3
    q = geometry.p / (geometry.p - 1)
    L_v = 1.0 if q == 2 else (2 - q) / (q - 1) + (c.D_X**q + d * geometry.delta**q) ** ((2 - q) / q) * geometry.delta ** (q - 2) / (q - 1)
    bar = epsilon**2 / 16 + 4 * S * (c.sigma**2 + c.M_f**2) + 2 * c.M_f**2
    slope = c.M_f**2 + c.M_h**2 + c.m**2 * rho**2 * c.Mbar_c**2 * c.M_c**2
    mu2 = max(10 * (8 * L_v**2 + 3) / (27 * c.beta**2), 8 * (2 * L_v**2 + 1) / (3 * c.beta**2), 40 * slope / (c.beta**2 * epsilon**2))
    mu = math.sqrt(mu2)
    L_mu = c.L_f + c.m * (mu * c.M_c**2 + mu * c.Mbar_c * c.L_c + rho * c.Mbar_c * c.L_c)
    eta2 = min(1 / (4 * L_mu**2), 1 / (96 * c.L_f**2), S * epsilon**2 / (23040 * c.L_f**2 * bar))
    nu2 = min(epsilon**2 / (4 * (4 * c.L_f**2 + 3 / eta2) * sixth), c.beta**2 * mu2 * eta2 * epsilon**2 / (20 * (2 * L_v**2 + 1) * sixth))
    gap = c.Phi_gap + mu / 2 * c.c0**2 + 2 * c.m * rho * c.Mbar_c**2
    K = max(108 * gap / (math.sqrt(eta2) * epsilon**2), 5 * c.c0**2 / epsilon**2, 1 / (c.L_f**2 * eta2))
    expected = dict(S_p=S, sixth=sixth, L_v=L_v, sigma_bar2=bar, mu=mu, L_mu=L_mu, eta=math.sqrt(eta2), alpha=96 * c.L_f**2 * eta2)
    expected |= dict(nu=math.sqrt(nu2), Delta_0=gap, n=math.ceil((p - 1) * S * (1 - 1e-14)), K=K)
    expected |= dict(n_0=5 * (p - 1) * bar / (4 * epsilon**2))
    for name, value in expected.items():
        atol = 1.0 + 1e-9 * value if name in ("K", "n_0", "n") else 0.0  # one more where rounding has passed a whole number
        assert float(getattr(found, name)) == pytest.approx(value, rel=1e-9, abs=atol), name
    assert float(found.evaluations) == pytest.approx(2 * found.n_0 + 4 * found.n * found.K)
    assert found.parameters.evaluations == int(found.evaluations) or found.evaluations > 2**53


@cases
def test_5_3_and_5_4_four_quarters_and_five_fifths_make_epsilon_squared(c, geometry, epsilon, rho):
    """Each term of both bounds, with the settings put in, is at most its share of epsilon^2."""
    parameters = theory.settings(c, geometry, epsilon, rho).parameters
    stationarity = theory.stationarity_bound(c, geometry, parameters)
    feasibility = theory.feasibility_bound(c, geometry, parameters)
    for bound, parts in ((stationarity, 4), (feasibility, 5)):
        assert len(bound.terms) == parts
        for name, value in bound.terms.items():
            assert value <= epsilon**2 / parts * (1 + 1e-9), name
        assert bound <= epsilon**2 * (1 + 1e-9)


def test_5_1_and_5_7_bounds_are_those_of_the_paper(rng):
    c = Constants(L_f=2.0, M_f=1.5, sigma=0.5, M_c=1.2, L_c=0.7, Mbar_c=0.4, beta=0.3, D_X=2.0, Phi_gap=3.0, c0=0.2, M_h=0.1, m=2)
    geometry, a = Geometry(50, 4.0, 0.1), Parameters(eta=1e-3, mu=5.0, nu=1e-4, alpha=0.1, n_0=40, n=60, K=1000, rho=0.5)
    p, S, sixth, L_v = 4.0, math.sqrt(50), 50**3, geometry.L_v(2.0)
    noise = a.nu**2 * 4.0 * sixth + 4 * S * (0.25 + 2.25) + 2 * 2.25
    gap = 3.0 + 2.5 * 0.04 + 2 * 2 * 0.5 * 0.16
    stationarity = (4 * 4.0 + 3 / a.eta**2) * a.nu**2 * sixth + 30 * (p - 1) * noise / (40 * 0.1 * 1000)
    stationarity += 60 * 0.1 * (p - 1) * noise / 60 + 27 * gap / (a.eta * 1000)
    assert theory.stationarity_bound(c, geometry, a) == pytest.approx(stationarity)
    b2 = 0.3**2 * 25.0
    feasibility = 0.04 / 1000 + 8 * (2.25 + 0.01 + 4 * 0.25 * 0.16 * 1.44) / b2 + 8 * (8 * L_v**2 + 3) * gap / (b2 * a.eta * 1000)
    feasibility += 4 * (2 * L_v**2 + 1) * a.nu**2 * sixth / (b2 * a.eta**2)
    feasibility += 32 * (2 * L_v**2 + 1) * (p - 1) / b2 * (1 / (40 * 0.1 * 1000) + 2 * 0.1 / 60) * noise
    assert theory.feasibility_bound(c, geometry, a) == pytest.approx(feasibility)


@pytest.mark.parametrize(
    ("change", "words"),
    [(dict(eta=1.0), "1/(2 L_mu)"), (dict(n=1, eta=0.02, alpha=1e-3), "96 (p-1) S_p"), (dict(K=1), "at least 2")],
)
def test_conditions_of_the_theorem_are_asked_for(change, words):
    c = Constants(L_f=1.0, M_f=1.0, sigma=0.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    good = dict(eta=1e-3, mu=5.0, nu=1e-4, alpha=0.5, n_0=10, n=10, K=10, rho=0.5)
    theory.stationarity_bound(c, Geometry(10, 2.0), Parameters(**good))
    with pytest.raises(InvalidArgumentError) as error:
        theory.stationarity_bound(c, Geometry(10, 2.0), Parameters(**(good | change)))
    assert words in str(error.value)


@given(d=st.integers(3, 10**9), p=st.floats(2, 100), epsilon=st.floats(-9, 0).map(lambda t: 10.0**t))
def test_6_1_orders_and_the_high_accuracy_regime(d, p, epsilon):
    terms, log = list(theory.order_terms(d, p, epsilon).terms.values()), math.log(d)
    if p <= 2 * log:
        expected = [p * d ** (2 / p) / epsilon**3, p**2 * d / epsilon**2, p**3 * d ** (2 - 2 / p)]
    else:
        expected = [log / epsilon**3, p * d ** (1 - 2 / p) * log / epsilon**2, p**2 * d ** (2 - 4 / p) * log]
    np.testing.assert_allclose(terms, expected, rtol=1e-12)
    boundary = theory.high_accuracy_boundary(d, p)
    assert boundary == pytest.approx(min(1 / (p * d ** (1 - 2 / p)), 1 / (p ** (2 / 3) * d ** (2 / 3 - 4 / (3 * p)))))
    inside = list(theory.order_terms(d, p, float(boundary) * 0.999).terms.values())
    assert inside[0] == max(inside)


def test_6_1_the_order_follows_the_settings_as_epsilon_falls():
    """In the high-accuracy regime ten times the accuracy costs a thousand times the evaluations."""
    c = Constants(L_f=1.0, M_f=1.0, sigma=1.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    costs = [theory.settings(c, Geometry(100, 4.0, 0.1), 10.0**-k).evaluations for k in (6, 7)]
    assert costs[1] / costs[0] == pytest.approx(1000, rel=0.02)


@pytest.mark.parametrize("epsilon", [1e-1, 1e-3, 1e-6])
def test_best_p_is_no_worse_than_any_on_a_grid(epsilon):
    c = Constants(L_f=1.0, M_f=1.0, sigma=1.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    p, cost = theory.best_p(c, 4096, epsilon)
    grid = [theory.settings(c, Geometry(4096, float(q)), epsilon).evaluations for q in np.linspace(2, 60, 300)]
    assert cost <= min(grid) * 1.001
    assert cost == theory.settings(c, Geometry(4096, p), epsilon).evaluations


def test_a_number_explains_itself_and_survives_pickling():
    c = Constants(L_f=1.0, M_f=1.0, sigma=1.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    eta = theory.settings(c, Geometry(100, 4.0), 0.1).eta
    assert eta.active == min(eta.terms, key=eta.terms.get)
    assert float(eta) == pytest.approx(math.sqrt(eta.terms[eta.active]))
    assert "label `settings`" in eta.explain()
    copy = pickle.loads(pickle.dumps(eta))
    assert (float(copy), copy.terms, copy.active, copy.explain()) == (float(eta), eta.terms, eta.active, eta.explain())
    assert type(eta * 2) is float


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Constants(0.0, 1, 1, 1, 1, 1, 1, 1, 1), "`Constants(L_f=...)` must be a positive number, got 0.0."),
        (lambda: Constants(1, 1, -1, 1, 1, 1, 1, 1, 1), "`Constants(sigma=...)` must be a nonnegative number, got -1."),
        (lambda: Constants(1, 1, 1, 1, 1, 1, 1, 1, 1, m=0), "`Constants(m=...)` must be a positive integer, got 0."),
        (lambda: Geometry(2, 2.0), "`Geometry(d=...)` must be at least 3, as the paper assumes, got 2."),
        (lambda: Geometry(10, 1.5), "`Geometry(p=...)` must be a finite number >= 2, got 1.5."),
        (
            lambda: Constants(1, 1, 1, 1, 1, 1, 1, 1, 5.0, Phi_range=1.0),
            "`Constants(Phi_range=...)` must be at least Phi_gap = 5.0, got 1.0.",
        ),
        (lambda: Geometry(10, 2.0, directions="sphere"), "`Geometry(directions=...)` must be a class of zolal.directions, got 'sphere'."),
        (lambda: theory.high_accuracy_boundary(16, 0), "`high_accuracy_boundary(p=...)` must be a finite number >= 2, got 0."),
        (
            lambda: theory.stage_count_bound(0.3, 2),
            "`stage_count_bound(mu_base=...)` must exceed 1/2, or the penalties would not grow, got 0.3.",
        ),
        (lambda: theory.stage_penalties(1, math.inf), "`stage_penalties(mu_star=...)` must be a positive number, got inf."),
        (lambda: theory.order_terms(10, 2.0, 0.0), "`order_terms(epsilon=...)` must be a positive number, got 0.0."),
    ],
)
def test_bad_constants_get_one_sentence(make, words):
    with pytest.raises(InvalidArgumentError) as error:
        make()
    assert str(error.value) == words


@given(mu=st.floats(0.51, 50), star=st.floats(0.1, 1e12))
def test_6_4_stages_square_their_penalty_and_are_few(mu, star):
    penalties = theory.stage_penalties(mu, star)
    assert penalties[0] == mu
    for before, after in itertools.pairwise(penalties):
        assert after == min(2 * before**2, star)
    assert penalties[-1] >= star
    assert len(penalties) <= theory.stage_count_bound(mu, star)


@cases
def test_6_5_and_6_6_stage_parameters_are_those_of_the_paper(c, geometry, epsilon, rho):
    L_v, p = geometry.L_v(c.D_X), geometry.p
    gamma = math.sqrt(40 * (c.M_f**2 + c.M_h**2 + c.m**2 * rho**2 * c.Mbar_c**2 * c.M_c**2)) / c.beta
    base = max(1, gamma, math.sqrt(10 * (8 * L_v**2 + 3) / (27 * c.beta**2)), math.sqrt(8 * (2 * L_v**2 + 1) / (3 * c.beta**2)))
    stages = theory.stage_constants(c, geometry, epsilon, rho)
    penalties = theory.stage_penalties(base, max(base, gamma / epsilon))
    B_X = c.Phi_gap + 2 * c.m * rho * c.Mbar_c**2
    for s, ((accuracy, constants_s), mu) in enumerate(zip(stages, penalties, strict=True), start=1):
        found = theory.settings(constants_s, geometry, accuracy, rho)
        gap = B_X + mu * c.m * c.Mbar_c**2 / 2 if s == 1 else B_X + c.m ** (1 - 2 / p) * gamma**2
        infeasible = c.m * c.Mbar_c**2 if s == 1 else 2 * c.m ** (1 - 2 / p) * gamma**2 / mu
        eta = float(found.eta)
        K = max(108 * gap / (eta * accuracy**2), 5 * infeasible / accuracy**2, 1 / (c.L_f * eta) ** 2)
        assert accuracy == pytest.approx(gamma / mu)
        assert float(found.mu) == pytest.approx(mu, rel=1e-9)
        assert float(found.K) == pytest.approx(K, rel=1e-9, abs=1.0)
    assert stages[-1][0] <= epsilon * (1 + 1e-9)


@cases
def test_b_4_and_theorem_6_2_stages_together_cost_what_they_cost_one_by_one(c, geometry, epsilon, rho):
    stages = theory.stage_settings(c, geometry, epsilon, rho)
    expected = [theory.settings(known, geometry, accuracy, rho) for accuracy, known in theory.stage_constants(c, geometry, epsilon, rho)]
    assert [float(stage.K) for stage in stages] == [float(one.K) for one in expected]
    total = theory.stage_evaluations(stages)
    assert total == pytest.approx(sum(2 * float(one.n_0) + 4 * float(one.n) * float(one.K) for one in expected))
    assert list(total.terms.values()) == [float(one.evaluations) for one in expected]
    assert theory.range_bound(c, rho) == pytest.approx(c.Phi_gap + 2 * c.m * rho * c.Mbar_c**2)
    later = [float(stage.epsilon) for stage in stages[1:]]
    if later:  # Appendix B: the sum over s >= 2 of eps_s^-3 is at most (8/7 + 1) eps^-3
        assert sum(accuracy**-3 for accuracy in later) <= (15 / 7) * epsilon**-3 * (1 + 1e-9)


@given(d=st.integers(3, 10**9), p=st.floats(2, 100), epsilon=accuracies)
def test_6_7_order_of_the_stages_is_that_of_the_paper(d, p, epsilon):
    found = theory.stage_order_terms(d, p, epsilon)
    if p <= 2 * math.log(d):
        expected = [p * d ** (2 / p) / epsilon**3, p**5 * d ** (4 - 6 / p)]
    else:
        expected = [math.log(d) / epsilon**3, p**4 * d ** (4 - 8 / p) * math.log(d)]
    np.testing.assert_allclose(list(found.terms.values()), expected, rtol=1e-12)
    assert found == pytest.approx(sum(expected))
    assert next(iter(found.terms.items())) == next(iter(theory.order_terms(d, p, epsilon).terms.items()))


@pytest.mark.parametrize("p", [2.0, 3.0, 4.0, 40.0])
def test_6_7_what_stages_cost_stays_below_a_multiple_of_the_order(p):
    """One constant serves for all d and epsilon at a fixed p: the first stage against p^5 d^{4-6/p}, the others against eps^-3."""
    c = Constants(L_f=1.0, M_f=1.0, sigma=1.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    first, later = [], []
    for d, epsilon in itertools.product((10**2, 10**4, 10**6, 10**8), (1e-4, 1e-7, 1e-10)):
        costs = list(theory.stage_evaluations(theory.stage_settings(c, Geometry(d, p, 0.1), epsilon)).terms.values())
        leading, initial = theory.stage_order_terms(d, p, epsilon).terms.values()
        first.append(costs[0] / initial)
        if len(costs) > 1:
            later.append(sum(costs[1:]) / leading)
    assert max(first) <= 2 * first[0]
    assert max(later) <= 20 * min(later)


@given(d=st.integers(3, 10**9), epsilon=accuracies)
def test_corollaries_6_1_and_6_2_the_euclidean_order(d, epsilon):
    """d eps^-3; the terms of both theorems at p = 2 with L_v = 1 in them add nothing of a higher order."""
    order = theory.euclidean_order(d, epsilon)
    assert order == pytest.approx(d / epsilon**3)
    for terms in (theory.order_terms(d, 2.0, epsilon), theory.stage_order_terms(d, 2.0, epsilon)):
        assert order <= terms <= 50 * order
    c = Constants(L_f=1.0, M_f=1.0, sigma=1.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    single = theory.settings(c, Geometry(d, 2.0), epsilon).evaluations
    staged = theory.stage_evaluations(theory.stage_settings(c, Geometry(d, 2.0), epsilon))
    assert 1e4 <= single / order <= 1e7
    assert 1e4 <= staged / order <= 1e10


def test_penalties_that_would_not_grow_are_refused():
    with pytest.raises(InvalidArgumentError, match="exceed 1/2"):
        theory.stage_penalties(0.5, 10.0)
