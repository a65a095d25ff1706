"""What the theory's formulae share: the constants of the assumptions, the geometry, the parameters, and small formulae of Section 4."""

import math
from dataclasses import dataclass, fields
from typing import final

from zolal._checks import is_number, nonnegative, positive, positive_int, require
from zolal.directions import Directions, Rademacher
from zolal.mirror import Euclidean, MirrorMap, SmoothedLq
from zolal.schedules import momentum_weight
from zolal.theory._explained import Explained, explained


@final
@dataclass(frozen=True)
class Constants:
    """What Assumptions 2.1 to 2.3 (labels `ass:lip`, `ass:u`, `ass:ms-p`) and 3.2 (label `ass:ensc`) name, in the paper's symbols.

    L_f: smoothness of f, in mean square of F (> 0). M_f: bound of ||grad f||_2 (> 0). sigma: standard deviation of grad F (>= 0).
    M_h: bound of the subgradients of h (>= 0). Mbar_c: bound of |c_i| (>= 0). M_c: bound of ||grad c_i||_2 (>= 0). L_c: smoothness of c_i
    (>= 0). beta: the regularity constant of Assumption 3.2 (> 0). m: number of constraints (>= 1). D_X: bound of ||x||_q on X (> 0).
    Phi_gap: Phi(x^0) - Phi_inf (>= 0). c0: ||c(x^0)||_2 (>= 0). Phi_range: sup Phi - Phi_inf over X, for Algorithm 2; Phi_gap if not given.
    """

    L_f: float
    M_f: float
    sigma: float
    M_c: float
    L_c: float
    Mbar_c: float
    beta: float
    D_X: float
    Phi_gap: float
    c0: float = 0.0
    M_h: float = 0.0
    m: int = 1
    Phi_range: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value, name = getattr(self, field.name), f"Constants({field.name}=...)"
            if field.name == "m":
                positive_int(name, value)
            elif field.name == "Phi_range":
                if value is not None:
                    nonnegative(name, value)
            elif field.name in ("L_f", "M_f", "beta", "D_X"):
                positive(name, value)
            else:
                nonnegative(name, value)
        wide_enough = self.Phi_range is None or self.Phi_range >= self.Phi_gap
        require(wide_enough, "Constants(Phi_range=...)", f"be at least Phi_gap = {self.Phi_gap}", self.Phi_range)


SOURCES: dict[type[Directions], str] = {Rademacher: "Eq. (5.15), label `eq:Sp-rad`"}


@final
@dataclass(frozen=True)
class Geometry:
    """d, p, delta and the kind of directions, with what follows from them; p-bar is what the estimator's error is measured in."""

    d: int
    p: float
    delta: float = 1e-2
    directions: type[Directions] = Rademacher

    def __post_init__(self) -> None:
        known = isinstance(self.directions, type) and issubclass(self.directions, Directions)
        require(known, "Geometry(directions=...)", "be a class of zolal.directions", self.directions)
        positive_int("Geometry(d=...)", self.d)
        require(self.d >= 3, "Geometry(d=...)", "be at least 3, as the paper assumes", self.d)
        require(is_number(self.p) and 2 <= self.p < math.inf, "Geometry(p=...)", "be a finite number >= 2", self.p)
        positive("Geometry(delta=...)", self.delta)

    @property
    def p_bar(self) -> float:
        """min(p, 2 ln d): Theorem 5.3 up to 2 ln d, Theorem 5.4 beyond."""
        return min(self.p, 2.0 * math.log(self.d))

    @property
    def S_p(self) -> Explained:
        """S_p, or S_{p-bar} for p > 2 ln d."""
        return explained(
            self.directions.moment_constant(self.d, self.p_bar),
            f"S_p of {self.directions.kind} at p = {self.p_bar:.4g}",
            SOURCES.get(self.directions, "Section 5.3"),
        )

    @property
    def sixth(self) -> Explained:
        """E ||u||_2^6."""
        return explained(self.directions.sixth_moment(self.d), f"E||u||_2^6 of {self.directions.kind}", "Section 5.3")

    @property
    def mirror(self) -> MirrorMap:
        """v: Euclidean for p = 2, else v_delta."""
        return Euclidean() if self.p == 2.0 else SmoothedLq(self.p, self.delta)

    def L_v(self, D_X: float) -> Explained:
        """The smoothness of the mirror map on X; 1 for p = 2."""
        return explained(
            self.mirror.smoothness(self.d, D_X),
            "(2-q)/(q-1) + (D_X^q + d delta^q)^{(2-q)/q} delta^{q-2}/(q-1)",
            "Eq. (5.14), label `eq:Lv`",
        )


@final
@dataclass(frozen=True)
class Parameters:
    """What Algorithm 1 runs with: eta, mu, nu, alpha, n_0, n, K and rho, with rho_k = rho / K."""

    eta: float
    mu: float
    nu: float
    alpha: float
    n_0: int
    n: int
    K: int
    rho: float

    def __post_init__(self) -> None:
        for name in ("eta", "mu", "nu"):
            positive(f"Parameters({name}=...)", getattr(self, name))
        for name in ("n_0", "n", "K"):
            positive_int(f"Parameters({name}=...)", getattr(self, name))
        momentum_weight("Parameters(alpha=...)", self.alpha)
        nonnegative("Parameters(rho=...)", self.rho)

    @property
    def evaluations(self) -> int:
        """2 n_0 + 4 n K, as the paper counts (Section 5.2); step 0 takes 2 n_0 and the others 4 n, so a run takes 4 n less."""
        return 2 * self.n_0 + 4 * self.n * self.K


def penalty_numerator(constants: Constants, rho: float) -> float:
    """40 (M_f^2 + M_h^2 + m^2 rho^2 Mbar_c^2 M_c^2), the square of gamma beta (Eq. (6.6), label `par-set-s`)."""
    return 40.0 * (constants.M_f**2 + constants.M_h**2 + (constants.m * rho * constants.Mbar_c * constants.M_c) ** 2)


def penalty_floor(constants: Constants, L_v: float) -> dict[str, float]:
    """The two terms of mu^2 in (5.9) that do not depend on epsilon."""
    return {
        "10(8 L_v^2 + 3)/(27 beta^2)": 10.0 * (8.0 * L_v**2 + 3.0) / (27.0 * constants.beta**2),
        "8(2 L_v^2 + 1)/(3 beta^2)": 8.0 * (2.0 * L_v**2 + 1.0) / (3.0 * constants.beta**2),
    }


def lagrangian_smoothness(constants: Constants, mu: float, rho: float) -> Explained:
    """L_mu = L_f + m (mu M_c^2 + mu Mbar_c L_c + rho Mbar_c L_c) (Lemma 4.3, label `le:Lu`). Differs from the paper: nothing."""
    c, mu, rho = constants, positive("lagrangian_smoothness(mu=...)", mu), nonnegative("lagrangian_smoothness(rho=...)", rho)
    value = c.L_f + c.m * (mu * c.M_c**2 + mu * c.Mbar_c * c.L_c + rho * c.Mbar_c * c.L_c)
    return explained(value, "L_f + m (mu M_c^2 + mu Mbar_c L_c + rho Mbar_c L_c)", "Lemma 4.3, label `le:Lu`")


def initial_gap(constants: Constants, mu: float, rho: float) -> Explained:
    """Delta_0 = L(x^0, 0; mu) - Phi_inf + 2 m rho Mbar_c^2 (Eq. (4.1), label `ab`). Differs from the paper: nothing."""
    c = constants
    value = c.Phi_gap + 0.5 * mu * c.c0**2 + 2.0 * c.m * rho * c.Mbar_c**2
    return explained(value, "Phi(x^0) - Phi_inf + (mu/2) ||c(x^0)||_2^2 + 2 m rho Mbar_c^2", "Eq. (4.1), label `ab`")


def variance_constant(constants: Constants, geometry: Geometry, nu: float) -> Explained:
    """sigma-tilde^2 = nu^2 L_f^2 E||u||_2^6 + 4 S_p (sigma^2 + M_f^2) + 2 M_f^2 (Eq. (4.1), label `ab`), at p-bar."""
    c, nu = constants, nonnegative("variance_constant(nu=...)", nu)
    terms = {
        "nu^2 L_f^2 E||u||^6": nu**2 * c.L_f**2 * geometry.sixth,
        "4 S_p (sigma^2 + M_f^2)": 4.0 * geometry.S_p * (c.sigma**2 + c.M_f**2),
        "2 M_f^2": 2.0 * c.M_f**2,
    }
    return explained(sum(terms.values()), "the sum of", "Eq. (4.1), label `ab`", terms, max(terms, key=terms.__getitem__))
