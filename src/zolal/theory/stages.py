"""The stages of Algorithm 2: penalties, accuracies and parameters (Section 6.3)."""

import math
from dataclasses import replace

from zolal._checks import positive, require
from zolal.theory._explained import Explained, explained, largest
from zolal.theory.base import Constants, Geometry, penalty_floor, penalty_numerator

SOURCE = "Eq. (6.6), label `par-set-s`"


def stage_penalties(mu_base: float, mu_star: float) -> list[float]:
    """mu_1 = mu_base, mu_{s+1} = min(2 mu_s^2, mu_star) until mu_star (Algorithm 2, label `algo:restart`).

    Differs from the paper: mu_base > 1/2 is asked for, since 2 mu^2 does not exceed mu otherwise (the paper's is at least 1).

    >>> stage_penalties(1.0, 100.0)
    [1.0, 2.0, 8.0, 100.0]
    """
    mu_star = positive("stage_penalties(mu_star=...)", mu_star)
    penalties = [_growing("stage_penalties", mu_base)]
    while penalties[-1] < mu_star:
        penalties.append(min(2.0 * penalties[-1] ** 2, mu_star))
    return penalties


def stage_count_bound(mu_base: float, mu_star: float) -> int:
    """T <= 1 + ceil(log_2(log(2 mu_star) / log(2 mu_base))) (Eq. (6.4), label `O_T`). Differs from the paper: 1 for mu_star <= mu_base."""
    mu_base, mu_star = _growing("stage_count_bound", mu_base), positive("stage_count_bound(mu_star=...)", mu_star)
    if mu_star <= mu_base:
        return 1
    return 1 + math.ceil(math.log2(math.log(2.0 * mu_star) / math.log(2.0 * mu_base)) - 1e-12)


def penalty_scale(constants: Constants, rho: float) -> Explained:
    """gamma = sqrt(40 (M_f^2 + M_h^2 + m^2 rho^2 Mbar_c^2 M_c^2)) / beta (Eq. (6.6), label `par-set-s`).

    Differs from the paper: nothing.
    """
    return explained(
        math.sqrt(penalty_numerator(constants, rho)) / constants.beta, "sqrt(40 (M_f^2 + M_h^2 + m^2 rho^2 Mbar_c^2 M_c^2))/beta", SOURCE
    )


def first_penalty(constants: Constants, geometry: Geometry, rho: float) -> Explained:
    """mu_base, the smallest penalty that satisfies (5.9) at accuracy gamma / mu (Eq. (6.6), label `par-set-s`)."""
    floors = {f"sqrt({name})": math.sqrt(value) for name, value in penalty_floor(constants, geometry.L_v(constants.D_X)).items()}
    return largest("the largest of", SOURCE, {"1": 1.0, "gamma": float(penalty_scale(constants, rho))} | floors)


def range_bound(constants: Constants, rho: float) -> Explained:
    """B_X = sup over X of Phi - Phi_inf, plus 2 m rho Mbar_c^2 (Eq. (6.6), label `par-set-s`).

    Delta-bar_1 = B_X + mu_1 m Mbar_c^2/2 and Delta-bar_+ = B_X + m^{1-2/p} gamma^2 bound the gaps at the stages' starts. Differs from the
    paper: nothing, where `Phi_range` is given; Phi_gap stands for it otherwise.
    """
    c, rho = constants, positive("range_bound(rho=...)", rho)
    return explained(_spread(c) + 2.0 * c.m * rho * c.Mbar_c**2, "sup Phi - Phi_inf + 2 m rho Mbar_c^2", SOURCE)


def stage_constants(constants: Constants, geometry: Geometry, epsilon: float, rho: float = 1.0) -> list[tuple[float, Constants]]:
    """(epsilon_s, constants) of every stage, such that `settings` of them is Eq. (6.5), label `K-s`.

    epsilon_s = gamma / mu_s. The gap is B_X with sup Phi - Phi_inf for Phi(x^0) - Phi_inf, and ||c||_2^2 at the stage's start is bounded by
    C_1 = m Mbar_c^2 and C_s = 2 m^{1-2/p} gamma^2 / mu_s; then Delta_0 is the paper's Delta-bar_s. Differs from the paper: nothing.
    """
    epsilon, rho = positive("stage_constants(epsilon=...)", epsilon), positive("stage_constants(rho=...)", rho)
    gamma, base = penalty_scale(constants, rho), first_penalty(constants, geometry, rho)
    stages = []
    for s, mu in enumerate(stage_penalties(base, max(base, gamma / epsilon))):
        infeasibility = constants.m * constants.Mbar_c**2 if s == 0 else 2.0 * constants.m ** (1.0 - 2.0 / geometry.p) * gamma**2 / mu
        stages.append((gamma / mu, replace(constants, Phi_gap=_spread(constants), c0=math.sqrt(infeasibility))))
    return stages


def _spread(constants: Constants) -> float:
    """sup Phi - Phi_inf over X, as far as it is known."""
    return constants.Phi_gap if constants.Phi_range is None else constants.Phi_range


def _growing(name: str, mu_base: float) -> float:
    mu_base = positive(f"{name}(mu_base=...)", mu_base)
    require(mu_base > 0.5, f"{name}(mu_base=...)", "exceed 1/2, or the penalties would not grow", mu_base)
    return mu_base
