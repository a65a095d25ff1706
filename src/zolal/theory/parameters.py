"""The parameters of Theorems 5.3 and 5.4, and the p that needs the fewest evaluations."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import minimize_scalar

from zolal._checks import positive
from zolal.theory._explained import Explained, explained, largest, smallest
from zolal.theory.base import Constants, Geometry, Parameters, initial_gap, lagrangian_smoothness, penalty_floor, penalty_numerator

SETTINGS = "Eq. (5.9), label `settings`"


@final
@dataclass(frozen=True)
class Settings:
    """Every quantity of Eq. (5.9), each able to `explain()` itself; `parameters` are what Algorithm 1 takes."""

    geometry: Geometry
    epsilon: float
    rho: float
    S_p: Explained
    sixth: Explained
    L_v: Explained
    sigma_bar2: Explained
    mu: Explained
    L_mu: Explained
    eta: Explained
    alpha: Explained
    nu: Explained
    n_0: Explained
    n: Explained
    Delta_0: Explained
    K: Explained
    evaluations: Explained

    @property
    def parameters(self) -> Parameters:
        """As Algorithm 1 takes them."""
        return Parameters(
            float(self.eta), float(self.mu), float(self.nu), float(self.alpha), int(self.n_0), int(self.n), int(self.K), self.rho
        )

    def explain(self) -> str:
        """All quantities in the order in which they are computed."""
        names = ("S_p", "sixth", "L_v", "sigma_bar2", "mu", "L_mu", "eta", "alpha", "nu", "n_0", "n", "Delta_0", "K", "evaluations")
        return "\n".join(f"{name}: {getattr(self, name).explain()}" for name in names)


def settings(constants: Constants, geometry: Geometry, epsilon: float, rho: float = 1.0) -> Settings:
    """The parameters with which Algorithm 1 returns an epsilon-KKT point (Theorem 5.3, `thm:p`; Theorem 5.4, `thm:pinf`, for p > 2 ln d).

    Implements Eq. (5.9), label `settings`, in the order in which it can be computed. Differs from the paper: p-bar = min(p, 2 ln d) stands
    for p in n_0, n and S_p, which is both theorems in one. rho: the sum of the dual steps, rho_k = rho / K.
    """
    epsilon, rho = positive("settings(epsilon=...)", epsilon), positive("settings(rho=...)", rho)
    c, S_p, sixth, L_v = constants, geometry.S_p, geometry.sixth, geometry.L_v(constants.D_X)
    sigma_bar2 = explained(
        epsilon**2 / 16.0 + 4.0 * S_p * (c.sigma**2 + c.M_f**2) + 2.0 * c.M_f**2,
        "epsilon^2/16 + 4 S_p (sigma^2 + M_f^2) + 2 M_f^2",
        SETTINGS,
    )
    needed = {"40(M_f^2 + M_h^2 + m^2 rho^2 Mbar_c^2 M_c^2)/(beta epsilon)^2": penalty_numerator(c, rho) / (c.beta * epsilon) ** 2}
    mu = _root(largest("sqrt of the largest", SETTINGS, penalty_floor(c, L_v) | needed))
    L_mu = lagrangian_smoothness(c, mu, rho)
    eta = _root(
        smallest(
            "sqrt of the smallest",
            SETTINGS,
            {
                "1/(4 L_mu^2)": 0.25 / L_mu**2,
                "1/(96 L_f^2)": 1.0 / (96.0 * c.L_f**2),
                "S_p epsilon^2/(23040 L_f^2 sigma-bar^2)": S_p * epsilon**2 / (23040.0 * c.L_f**2 * sigma_bar2),
            },
        )
    )
    nu = _root(
        smallest(
            "sqrt of the smallest",
            SETTINGS,
            {
                "epsilon^2/(4 (4 L_f^2 + 3/eta^2) E||u||^6)": epsilon**2 / (4.0 * (4.0 * c.L_f**2 + 3.0 / eta**2) * sixth),
                "beta^2 mu^2 eta^2 epsilon^2/(20 (2 L_v^2 + 1) E||u||^6)": (c.beta * mu * eta * epsilon) ** 2
                / (20.0 * (2.0 * L_v**2 + 1.0) * sixth),
            },
        )
    )
    n_0 = explained(
        math.ceil(5.0 * (geometry.p_bar - 1.0) * sigma_bar2 / (4.0 * epsilon**2)), "ceil(5 (p-1) sigma-bar^2/(4 epsilon^2))", SETTINGS
    )
    n = explained(math.ceil((geometry.p_bar - 1.0) * S_p), "ceil((p-1) S_p)", SETTINGS)
    gap = initial_gap(c, mu, rho)
    K = _ceiling(
        largest(
            "ceil of the largest",
            SETTINGS,
            {
                "108 Delta_0/(eta epsilon^2)": 108.0 * gap / (eta * epsilon**2),
                "5 ||c(x^0)||_2^2/epsilon^2": 5.0 * c.c0**2 / epsilon**2,
                "1/(L_f eta)^2": 1.0 / (c.L_f * eta) ** 2,
            },
        )
    )
    total = explained(2.0 * n_0 + 4.0 * n * K, "2 n_0 + 4 n K", "Theorem 5.3, label `thm:p`")
    alpha = explained(min(1.0, 96.0 * c.L_f**2 * eta**2), "min(1, 96 L_f^2 eta^2), the 1 against rounding", SETTINGS)
    return Settings(geometry, epsilon, rho, S_p, sixth, L_v, sigma_bar2, mu, L_mu, eta, alpha, nu, n_0, n, gap, K, total)


def best_p(constants: Constants, d: int, epsilon: float, rho: float = 1.0, delta: float = 1e-2) -> tuple[Explained, Explained]:
    """The p >= 2 with the fewest evaluations 2 n_0 + 4 n K by `settings`, Rademacher directions, and that number.

    A grid of 200 values up to 8 ln d, then a bounded search around the best; p = 2, where L_v = 1, is always among them.
    """

    def cost(p: float) -> Explained:
        return settings(constants, Geometry(d, p, delta), epsilon, rho).evaluations

    grid = np.geomspace(2.0, max(8.0 * math.log(d), 4.0), 200)
    values = [cost(float(p)) for p in grid]
    best = int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    refined = minimize_scalar(lambda p: float(cost(float(p))), bounds=(low, high), method="bounded")
    p = float(refined.x) if refined.fun < values[best] else float(grid[best])
    return explained(p, "the p of fewest evaluations 2 n_0 + 4 n K", "Theorems 5.3 and 5.4"), cost(p)


def _root(value: Explained) -> Explained:
    return explained(math.sqrt(value), value.formula, value.source, value.terms, value.active)


def _ceiling(value: Explained) -> Explained:
    return explained(math.ceil(value), value.formula, value.source, value.terms, value.active)
