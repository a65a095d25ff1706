"""The right-hand sides of Theorems 5.1 and 5.2."""

from zolal._checks import require
from zolal.theory._explained import Explained, explained
from zolal.theory.base import Constants, Geometry, Parameters, initial_gap, lagrangian_smoothness, penalty_numerator, variance_constant


def stationarity_bound(constants: Constants, geometry: Geometry, parameters: Parameters) -> Explained:
    """The right-hand side of Theorem 5.1, label `stationary`, a bound of E ||G_X(x^R, grad f + grad c^T lambda-tilde, eta)||_q^2.

    Implements Eq. (5.1), label `bound`; for p > 2 ln d it is Eq. (5.12), label `eq:pinf-sta`.

    Raises where the theorem's conditions fail: K >= 2, eta L_mu <= 1/2, n >= 96 (p-1) S_p eta^2 L_f^2 / alpha.
    Differs from the paper: p-bar = min(p, 2 ln d) for p in the estimator's terms, as Theorem 5.4 allows.
    """
    a = parameters
    _check_conditions(constants, geometry, a)
    noise, gap = variance_constant(constants, geometry, a.nu), initial_gap(constants, a.mu, a.rho)
    order = geometry.p_bar - 1.0
    terms = {
        "(4 L_f^2 + 3/eta^2) nu^2 E||u||^6": (4.0 * constants.L_f**2 + 3.0 / a.eta**2) * a.nu**2 * geometry.sixth,
        "30 (p-1) sigma-tilde^2/(n_0 alpha K)": 30.0 * order * noise / (a.n_0 * a.alpha * a.K),
        "60 alpha (p-1) sigma-tilde^2/n": 60.0 * a.alpha * order * noise / a.n,
        "27 Delta_0/(eta K)": 27.0 * gap / (a.eta * a.K),
    }
    return explained(sum(terms.values()), "the sum of", "Theorem 5.1, Eq. (5.1), label `bound`", terms, max(terms, key=terms.__getitem__))


def feasibility_bound(constants: Constants, geometry: Geometry, parameters: Parameters) -> Explained:
    """The right-hand side of Theorem 5.2, label `th:3eKKT`: a bound of E ||c(x^R)||_p^2 (Eq. (5.7), label `bound-fea`).

    Differs from the paper: ||c(x^0)||_2 for ||c(x^0)||_p, which it bounds; p-bar for p in the estimator's terms.
    """
    a, c = parameters, constants
    _check_conditions(constants, geometry, a)
    noise, gap, L_v = variance_constant(c, geometry, a.nu), initial_gap(c, a.mu, a.rho), geometry.L_v(c.D_X)
    scale = (c.beta * a.mu) ** 2
    terms = {
        "||c(x^0)||^2/K": c.c0**2 / a.K,
        "8 (M_f^2 + M_h^2 + m^2 rho^2 Mbar_c^2 M_c^2)/(beta mu)^2": penalty_numerator(c, a.rho) / (5.0 * scale),
        "8 (8 L_v^2 + 3) Delta_0/(beta^2 mu^2 eta K)": 8.0 * (8.0 * L_v**2 + 3.0) * gap / (scale * a.eta * a.K),
        "4 (2 L_v^2 + 1) nu^2 E||u||^6/(beta mu eta)^2": 4.0 * (2.0 * L_v**2 + 1.0) * a.nu**2 * geometry.sixth / (scale * a.eta**2),
        "32 (2 L_v^2 + 1)(p-1)(1/(n_0 alpha K) + 2 alpha/n) sigma-tilde^2/(beta mu)^2": (
            32.0 * (2.0 * L_v**2 + 1.0) * (geometry.p_bar - 1.0) * (1.0 / (a.n_0 * a.alpha * a.K) + 2.0 * a.alpha / a.n) * noise / scale
        ),
    }
    return explained(
        sum(terms.values()), "the sum of", "Theorem 5.2, Eq. (5.7), label `bound-fea`", terms, max(terms, key=terms.__getitem__)
    )


def _check_conditions(constants: Constants, geometry: Geometry, a: Parameters) -> None:
    L_mu = lagrangian_smoothness(constants, a.mu, a.rho)
    enough = 96.0 * (geometry.p_bar - 1.0) * geometry.S_p * (a.eta * constants.L_f) ** 2 / a.alpha
    require(a.K >= 2, "Parameters(K=...)", "be at least 2 for Theorem 5.1", a.K)
    require(a.eta * L_mu <= 0.5 * (1 + 1e-12), "Parameters(eta=...)", f"be at most 1/(2 L_mu) = {0.5 / L_mu:.4g} for Theorem 5.1", a.eta)
    require(
        a.n >= enough * (1 - 1e-12), "Parameters(n=...)", f"be at least 96 (p-1) S_p eta^2 L_f^2/alpha = {enough:.4g} for Theorem 5.1", a.n
    )
