"""The lemmas of the paper's Section 4, by sampling and enumeration, on f(x) = <x, a x>/2 + <b, x> + sum_i sin x_i and the unit sphere."""

import itertools

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

from zolal import Problem, theory
from zolal.estimators import Momentum
from zolal.mirror import Euclidean, SmoothedLq
from zolal.sets import L2Ball
from zolal.solvers import MDLAL
from zolal.theory import Constants, Geometry

RADIUS, SIGMA = 1.2, 0.5
M_C, L_C, MBAR_C = RADIUS, 1.0, 0.5  # of c(x) = (||x||_2^2 - 1)/2 on the ball: max(1/2, (1.44 - 1)/2) = 1/2


class Sphere:
    """f, its gradient and g_nu by enumerating all directions; F(x; xi) = f(x) + <xi, x> with E ||xi||^2 = SIGMA^2."""

    def __init__(self, rng, dimension):
        self.d, self.a, self.b = dimension, np.linspace(-1.0, 1.0, dimension), rng.standard_normal(dimension) / 2
        self.signs = np.array(list(itertools.product((-1.0, 1.0), repeat=dimension)))
        self.start = np.full(dimension, dimension**-0.5)
        constraint = NonlinearConstraint(self.c, 0.0, 0.0, jac=lambda x: x)
        self.problem = Problem(self.f, dimension, constraint, L2Ball(RADIUS))
        self.L_f = np.abs(self.a).max() + 1.0

    def f(self, x):
        return 0.5 * x**2 @ self.a + x @ self.b + np.sin(x).sum(axis=-1)

    def gradient(self, x):
        return self.a * x + self.b + np.cos(x)

    def c(self, x):
        return 0.5 * (np.sum(x**2) - 1.0)

    def smoothed_gradient(self, x, nu):
        return ((self.f(x + nu * self.signs) - self.f(x)) / nu) @ self.signs / len(self.signs)

    def constants(self, nu):
        M_f = np.abs(self.a).max() * (RADIUS + nu * np.sqrt(self.d)) + np.linalg.norm(self.b) + np.sqrt(self.d)
        return Constants(self.L_f, M_f, SIGMA, M_C, L_C, MBAR_C, beta=1.0, D_X=1.0, Phi_gap=1.0)

    def values(self, batch, noise=None):
        """F at the batch's points; noise: one xi per sample of the batch."""
        points = batch.points(0, len(batch))
        if noise is None:
            return self.f(points)
        return self.f(points) + np.sum(points * noise[[batch.query(i).sample.number for i in range(len(batch))]], axis=1)

    def states(self, solver, steps, seed=3):
        state = solver.init(self.problem, self.start, seed)
        yield state
        for _ in range(steps):
            state = solver.tell(state, self.values(solver.ask(state)))
            yield state


def norm(x, p):
    return np.sum(np.abs(x) ** p, axis=-1) ** (1 / p)


@pytest.mark.parametrize("p", [2.0, 3.0, 8.0, 40.0])
def test_lemma_4_1_squared_norm_is_smooth(rng, p):
    for scale in (1e-2, 1.0, 1e2):
        x, y = rng.standard_normal((2, 2000, 6))
        y *= scale
        gradient = 2 * norm(x, p)[:, None] ** (2 - p) * np.abs(x) ** (p - 1) * np.sign(x)
        right = norm(x, p) ** 2 + np.sum(gradient * y, axis=1) + (p - 1) * norm(y, p) ** 2
        assert np.all(norm(x + y, p) ** 2 <= right * (1 + 1e-12))


def test_lemma_4_2_multipliers_are_bounded(rng):
    sphere, rho = Sphere(rng, 4), lambda k: 3.0 / (1 + k)
    states = list(sphere.states(MDLAL(Momentum(4, 1e-3), 0.05, 5.0, rho), steps=60))
    for before, after in itertools.pairwise(states):
        increment = np.abs(after.multipliers - before.multipliers)
        assert np.all(increment <= rho(before.k) * MBAR_C)
        np.testing.assert_allclose(increment, rho(before.k) * abs(sphere.c(before.x)), atol=1e-14)
        assert np.all(np.abs(after.multipliers) <= MBAR_C * sum(rho(t) for t in range(after.k)))
    assert np.abs(states[-1].multipliers).max() > 0.0


@pytest.mark.parametrize("m", [1, 2])
def test_lemma_4_3_gradient_of_phi_is_lipschitz(rng, m):
    """m = 2 adds the second constraint <w, x> = 0, whose constants are below those of the first."""
    sphere, mu, rho, w = Sphere(rng, 4), 5.0, 2.0, np.array([0.4, 0.0, 0.0, 0.0])
    c = Constants(sphere.L_f, 1.0, 0.0, M_C, L_C, MBAR_C, beta=1.0, D_X=1.0, Phi_gap=1.0, m=m)
    L_mu = theory.lagrangian_smoothness(c, mu, rho)
    assert L_mu == pytest.approx(sphere.L_f + m * (mu * M_C**2 + mu * MBAR_C * L_C + rho * MBAR_C * L_C))

    def gradient(x, lam):
        second = (lam[1] + mu * (w @ x)) * w if m == 2 else 0.0
        return sphere.gradient(x) + (lam[0] + mu * sphere.c(x)) * x + second

    ratios = []
    for _ in range(2000):
        x, y = (L2Ball(RADIUS).project(z) for z in rng.standard_normal((2, 4)))
        y = x + 10.0 ** rng.uniform(-4, 0) * (y - x)
        lam = rho * MBAR_C * rng.choice([-1.0, 1.0], 2)
        ratios.append(np.linalg.norm(gradient(x, lam) - gradient(y, lam)) / np.linalg.norm(x - y))
    assert L_mu / 4 < max(ratios) <= L_mu


@pytest.mark.parametrize("mirror", [Euclidean(), SmoothedLq(4.0, 0.1)], ids=repr)
@pytest.mark.parametrize("nu", [1e-3, 0.1])
def test_lemma_4_4_one_step_descent(rng, mirror, nu):
    sphere, mu, rho, K = Sphere(rng, 4), 5.0, 0.1, 80
    L_mu = theory.lagrangian_smoothness(sphere.constants(nu), mu, rho)
    eta = 0.5 / L_mu
    states = list(sphere.states(MDLAL(Momentum(1, nu, momentum=0.9), eta, mu, rho / K, mirror), K))

    def lagrangian(state):
        c = sphere.c(state.x)
        return sphere.f(state.x) + state.multipliers[0] * c + mu / 2 * c**2

    needed = 0  # steps that only the estimator's error explains
    for before, after in itertools.pairwise(states):
        moved, error = after.x - before.x, after.memory.gradient - sphere.smoothed_gradient(before.x, nu)
        left = norm(moved, mirror.q) ** 2 / (2 * eta) - L_mu / 2 * norm(moved, 2) ** 2
        right = lagrangian(before) - lagrangian(after) + eta * nu**2 * sphere.L_f**2 / 4 * 4**3
        right += rho / K * MBAR_C**2
        needed += left > right
        right += eta * norm(error, mirror.p) ** 2
        assert left <= right, f"k = {before.k}: {left:.3e} > {right:.3e}"
    assert needed > 0


@pytest.mark.parametrize("p", [2.0, 4.0])
@pytest.mark.parametrize("alpha", [0.1, 0.6])
def test_lemma_4_5_error_recursion(rng, p, alpha):
    """d = 8, so that 4 <= 2 ln d and sigma-tilde^2 is taken at p itself. One step of 800 runs."""
    sphere, nu, n, n_0, eta, mu = Sphere(rng, 8), 0.05, 3, 2, 0.04, 5.0
    solver = MDLAL(Momentum(n, nu, num_initial_directions=n_0, momentum=alpha), eta, mu, 0.1, Euclidean() if p == 2 else SmoothedLq(p, 0.1))
    S_p, sixth, L_f = 8 ** (2 / p), 8**3, sphere.L_f
    differences = []
    for seed in range(800):
        states = [solver.init(sphere.problem, sphere.start, seed)]
        for count in (n_0, n):
            noise = SIGMA * rng.standard_normal((count, 8)) / np.sqrt(8)
            states.append(solver.tell(states[-1], sphere.values(solver.ask(states[-1]), noise)))
        first, second = (norm(after.memory.gradient - sphere.smoothed_gradient(x.x, nu), p) ** 2 for x, after in itertools.pairwise(states))
        moved = 24 * (1 - alpha) ** 2 * S_p * L_f**2 * norm(states[1].x - states[0].x, 2) ** 2
        differences.append(second - (1 - alpha) ** 2 * first - (p - 1) / n * moved)
    variance = theory.variance_constant(sphere.constants(nu), Geometry(8, p), nu)
    M_f = sphere.constants(nu).M_f
    assert variance == pytest.approx(nu**2 * L_f**2 * sixth + 4 * S_p * (SIGMA**2 + M_f**2) + 2 * M_f**2)
    right = (p - 1) / n * (4 * alpha**2 * variance + 12 * (1 - alpha) ** 2 * nu**2 * L_f**2 * sixth)
    # the mean with five standard errors on top, so that chance does not hide a broken bound
    assert np.mean(differences) + 5 * np.std(differences) / np.sqrt(len(differences)) <= right
