"""Algorithm 2 as Theorem 6.2 prescribes it: the parameters of every stage, and what all stages cost together."""

from collections.abc import Sequence

from zolal._checks import require
from zolal.theory._explained import Explained, explained
from zolal.theory.base import Constants, Geometry
from zolal.theory.parameters import Settings, settings
from zolal.theory.stages import stage_constants


def stage_settings(constants: Constants, geometry: Geometry, epsilon: float, rho: float = 1.0) -> tuple[Settings, ...]:
    """The parameters of each stage with which Algorithm 2 returns an epsilon-KKT point from any start in X.

    Stage s has mu_s and epsilon_s = gamma / mu_s; eta_s, alpha_s, nu_s, n_{0,s} and n_s are those of (5.9) at epsilon_s, and K_s that of
    (6.5). Implements Theorem 6.2, label `thm:restart`; for p = 2 it is Corollary 6.2, label `cor:2-restart`. Differs from the paper: the
    directions are those of the geometry, not Rademacher's alone. `MultiStage.from_theory` runs them.

    >>> known = Constants(L_f=1.0, M_f=1.0, sigma=1.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    >>> [round(float(stage.mu), 1) for stage in stage_settings(known, Geometry(d=100, p=2.0), epsilon=1e-2)]
    [8.9, 160.0, 894.4]
    """
    return tuple(settings(known, geometry, accuracy, rho) for accuracy, known in stage_constants(constants, geometry, epsilon, rho))


def stage_evaluations(stages: Sequence[Settings]) -> Explained:
    """The sum over the stages of 2 n_{0,s} + 4 n_s K_s, the left-hand side of Eq. (B.4), label `sum-cp`.

    Differs from the paper: nothing; a run takes 4 n_s less in each stage, as in `Parameters.evaluations`.
    """
    require(len(stages) > 0, "stage_evaluations(stages=...)", "hold at least one stage", stages)
    terms = {f"stage {number}, mu = {float(stage.mu):.4g}": float(stage.evaluations) for number, stage in enumerate(stages, start=1)}
    return explained(
        sum(terms.values()), "the sum of 2 n_0 + 4 n K over", "Eq. (B.4), label `sum-cp`", terms, max(terms, key=terms.__getitem__)
    )
