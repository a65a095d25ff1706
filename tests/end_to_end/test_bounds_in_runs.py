"""Runs of Algorithm 1 stay below the bounds of Theorems 5.1 and 5.2, with all constants in closed form."""

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

from zolal import Problem, theory
from zolal.estimators import Momentum
from zolal.kkt import gradient_mapping, kkt_measures, regularity_constant
from zolal.mirror import Euclidean, SmoothedLq
from zolal.regularizers import Zero
from zolal.sets import L2Ball
from zolal.solvers import MDLAL
from zolal.theory import Constants, Geometry, Parameters

D, RADIUS, SIGMA, DELTA, SEEDS = 4, 1.2, 0.5, 0.1, 8
A, B, START = np.array([-1.0, -0.25, 0.5, 1.0]), np.array([0.3, -0.4, 0.5, 0.2]), np.array([0.5, 0.5, -0.5, 0.5])
REGION = L2Ball(RADIUS)


def f(x):
    return 0.5 * x**2 @ A + x @ B


def c(x):
    return 0.5 * (x @ x - 1.0)


def values(batch, seed):
    """F(x; xi) = f(x) + <xi, x> at the batch's points, with E ||xi||^2 = SIGMA^2 and one xi per direction."""
    points, generator = batch.points(0, len(batch)), np.random.default_rng([seed, batch.directions.iteration])
    noise = SIGMA / np.sqrt(D) * generator.standard_normal((batch.directions.count, D))
    return f(points) + np.sum(points * noise[[batch.query(i).sample.number for i in range(len(batch))]], axis=1)


def closed_form(geometry, nu, beta):
    """The constants of the assumptions; f >= min(A) r^2/2 - ||B|| r on the ball."""
    L_f, q = np.abs(A).max(), geometry.p / (geometry.p - 1)
    lowest = 0.5 * A.min() * RADIUS**2 - np.linalg.norm(B) * RADIUS
    return Constants(
        L_f=L_f,
        M_f=L_f * (RADIUS + nu * np.sqrt(D)) + np.linalg.norm(B),
        sigma=SIGMA,
        M_c=RADIUS,
        L_c=1.0,
        Mbar_c=max(0.5, 0.5 * (RADIUS**2 - 1.0)),
        beta=beta,
        D_X=RADIUS * D ** (1 / q - 1 / 2),
        Phi_gap=f(START) - lowest,
        c0=abs(c(START)),
    )


def measured(mirror, a):
    """The mean over seeds and k < K of both squared measures, and the smallest regularity constant of the iterates."""
    problem = Problem(f, D, NonlinearConstraint(c, 0.0, 0.0, jac=lambda x: x), REGION)
    estimator = Momentum(a.n, a.nu, num_initial_directions=a.n_0, momentum=a.alpha)
    solver = MDLAL(estimator, a.eta, a.mu, a.rho / a.K, mirror)
    squares, betas = [], []
    for seed in range(SEEDS):
        state = solver.init(problem, START, seed)
        for _ in range(a.K):
            x, theta = state.x, state.multipliers + a.mu * c(state.x)
            mapping = gradient_mapping(mirror, REGION, Zero(), x, A * x + B + theta * x, a.eta)
            squares.append(np.square(kkt_measures(mirror, mapping, state.c)))
            betas.append(regularity_constant(REGION, x, c(x) * x, state.c, mirror.p))
            state = solver.tell(state, values(solver.ask(state), seed))
        betas.append(regularity_constant(REGION, state.x, c(state.x) * state.x, state.c, mirror.p))
    return *np.mean(squares, axis=0), min(betas)


@pytest.mark.parametrize("p", [2.0, 4.0])
def test_5_1_and_5_2_bounds_hold_in_runs(p):
    geometry, mirror = Geometry(D, p, DELTA), Euclidean() if p == 2 else SmoothedLq(p, DELTA)
    mu, rho, nu = 5.0, 1.0, 1e-4
    eta = 0.5 / theory.lagrangian_smoothness(closed_form(geometry, nu, 1.0), mu, rho)
    parameters = Parameters(eta=float(eta), mu=mu, nu=nu, alpha=0.3, n_0=20, n=5, K=200, rho=rho)
    stationarity, feasibility, beta = measured(mirror, parameters)
    constants = closed_form(geometry, nu, beta)
    for name, found, bound in (
        ("stationarity", stationarity, theory.stationarity_bound(constants, geometry, parameters)),
        ("feasibility", feasibility, theory.feasibility_bound(constants, geometry, parameters)),
    ):
        assert found <= bound, f"{name}: measured {found:.3e}, bound/measured = {bound / found:.3g}, beta = {beta:.3g}\n{bound.explain()}"
        assert found > 0.0
