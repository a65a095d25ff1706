"""One test per equation of the paper's Sections 2, 3, 5.3 and Appendix A, re-typed naively. docs/notation.md lists them."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

from zolal import Problem, theory
from zolal.directions import Gaussian, Rademacher, Sphere
from zolal.estimators import Memory, Momentum, TwoPoint
from zolal.kkt import euclidean_residual, gradient_mapping, kkt_measures, regularity_constant
from zolal.mirror import Euclidean, SmoothedLq, bregman_step
from zolal.regularizers import L1, Zero
from zolal.sets import Box, L2Ball, NonNegative, WholeSpace
from zolal.solvers import MDLAL
from zolal.solvers.mdlal.lagrangian import augmented_lagrangian, penalized_multipliers, smooth_part, update_multipliers

D = 5


def signs(dimension):
    """Every Rademacher direction, so that an expectation is a plain mean."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=dimension)))


def quadratic(rng, dimension=D):
    """f(x) = <x, A x>/2 + <b, x>, its gradient, L_f."""
    a = rng.standard_normal((dimension, dimension))
    a, b = (a + a.T) / 2, rng.standard_normal(dimension)
    return (lambda x: 0.5 * x @ a @ x + b @ x), (lambda x: a @ x + b), np.abs(np.linalg.eigvalsh(a)).max()


def values_of(function, batch):
    return np.array([function(batch.point(i)) for i in range(len(batch))])


def test_1_1_problem_minimises_f_plus_h_over_x_subject_to_c(rng):
    problem = Problem(lambda x: x @ x, 2, LinearConstraint([[1.0, 1.0]], 1.0, 1.0), Box(0.0, 1.0), L1(2.0))
    x = np.array([0.25, 0.5])
    assert problem.equalities(x).value(x, np.empty(0)) == pytest.approx([0.25 + 0.5 - 1.0])
    assert problem.regularizer.value(x) == 2.0 * (0.25 + 0.5)


def test_2_1_two_point_estimator(rng):
    f, _, _ = quadratic(rng)
    x, nu, n = rng.standard_normal(D), 1e-2, 3
    estimator = TwoPoint(n, nu)
    batch = estimator.plan(Memory(seed=4), x, k=0)
    g, _ = estimator.absorb(Memory(seed=4), batch, values_of(f, batch))
    expected = np.zeros(D)
    for j in range(n):
        u = batch.directions.rows()[j]
        expected += (f(x + nu * u) - f(x)) / nu * u / n
    np.testing.assert_allclose(g, expected, rtol=1e-10, atol=1e-10)


def test_2_2_mean_of_gu_u_is_g(rng):
    g = rng.standard_normal(D)
    mean = np.mean([(g @ u) * u for u in signs(D)], axis=0)
    np.testing.assert_allclose(mean, g, atol=1e-14)
    rows = Rademacher(D, 200_000, seed=1).rows()
    # 5 means of 2e5 terms of variance < 2 ||g||^2: false alarm below 5 * P(|z| > 5) = 3e-6
    np.testing.assert_allclose((rows @ g) @ rows / len(rows), g, atol=5 * np.linalg.norm(g) * math.sqrt(2 / len(rows)))


@pytest.mark.parametrize("p", [2.0, 3.0, 10.0])
def test_assumption_2_4_and_5_15_moment_constant_of_rademacher(rng, p):
    g = rng.standard_normal(D)
    mean = np.mean([sum(abs(g @ u * u_i) ** p for u_i in u) ** (2 / p) for u in signs(D)])
    assert mean == pytest.approx(D ** (2 / p) * (g @ g))
    assert Rademacher.moment_constant(D, p) == pytest.approx(D ** (2 / p))


def test_section_5_3_moment_constants_of_sphere_and_gaussian():
    assert Sphere.moment_constant(D, 2.0) == D
    assert Gaussian.moment_constant(D, 2.0) == D + 2
    assert Rademacher.sixth_moment(D) == Sphere.sixth_moment(D) == D**3
    chi = [2**s * math.gamma(D / 2 + s) / math.gamma(D / 2) for s in (1.5, 3)]
    assert Gaussian.third_moment(D) == pytest.approx(chi[0])
    assert Gaussian.sixth_moment(D) == pytest.approx(chi[1])


@pytest.mark.parametrize("p", [2.0, 4.0])
def test_lemma_2_1_bias_bound_holds(rng, p):
    f, gradient, L_f = quadratic(rng)
    x, nu = rng.standard_normal(D), 0.3
    smoothed = np.mean([(f(x + nu * u) - f(x)) / nu * u for u in signs(D)], axis=0)
    bias = np.sum(np.abs(smoothed - gradient(x)) ** p) ** (1 / p)
    assert theory.bias_bound(nu, L_f, Rademacher.third_moment(D)) == pytest.approx(nu * L_f / 2 * D**1.5)
    assert bias <= nu * L_f / 2 * D**1.5


@pytest.mark.parametrize("p", [2.0, 4.0])
def test_lemmas_2_2_and_2_3_moment_bounds_hold(rng, p):
    f, gradient, L_f = quadratic(rng)
    x, y, nu, sigma = rng.standard_normal(D), rng.standard_normal(D), 0.2, 0.5
    noise = sigma * signs(D) / math.sqrt(D)  # F(x; xi) = f(x) + <xi, x>: mean 0, E ||xi||^2 = sigma^2, enumerated

    def estimates(z):
        return np.array([((f(z + nu * u) - f(z)) / nu + xi @ u) * u for u in signs(D) for xi in noise])

    def mean_square(v):
        return np.mean(np.sum(np.abs(v) ** p, axis=1) ** (2 / p))

    S_p, sixth, M_f = D ** (2 / p), D**3, np.linalg.norm(gradient(x))
    at_x, at_y = estimates(x), estimates(y)
    difference = 1.5 * nu**2 * L_f**2 * sixth + 3 * S_p * L_f**2 * np.sum((y - x) ** 2)
    second = 0.5 * nu**2 * L_f**2 * sixth + 4 * S_p * (sigma**2 + M_f**2)
    variance = 2 * nu**2 * L_f**2 * sixth + 8 * S_p * (sigma**2 + M_f**2) + 4 * M_f**2
    assert theory.difference_bound(nu, L_f, S_p, sixth, np.linalg.norm(y - x)) == pytest.approx(difference)
    assert theory.second_moment_bound(nu, L_f, S_p, sixth, sigma, M_f) == pytest.approx(second)
    assert theory.variance_bound(nu, L_f, S_p, sixth, sigma, M_f) == pytest.approx(variance)
    assert mean_square(at_y - at_x) <= difference
    assert mean_square(at_y.mean(axis=0, keepdims=True) - at_x.mean(axis=0)) <= difference
    assert mean_square(at_x) <= second
    assert mean_square(at_x - at_x.mean(axis=0)) <= variance


def test_section_3_augmented_lagrangian_and_its_smooth_part():
    lam, c, mu, f, h = np.array([1.0, -2.0]), np.array([0.5, 0.25]), 4.0, 3.0, 0.125
    penalty = mu / 2 * (0.5**2 + 0.25**2)
    assert smooth_part(f, lam, c, mu) == f + (1.0 * 0.5 - 2.0 * 0.25) + penalty
    assert augmented_lagrangian(f, h, lam, c, mu) == f + h + (1.0 * 0.5 - 2.0 * 0.25) + penalty
    np.testing.assert_array_equal(penalized_multipliers(lam, c, mu), [1.0 + 4.0 * 0.5, -2.0 + 4.0 * 0.25])
    np.testing.assert_array_equal(update_multipliers(lam, c, 2.0), [1.0 + 2.0 * 0.5, -2.0 + 2.0 * 0.25])


@pytest.mark.parametrize("mirror", [Euclidean(), SmoothedLq(4.0, 0.1)], ids=repr)
def test_section_3_bregman_divergence(rng, mirror):
    x, y = rng.standard_normal((2, D))
    naive = mirror.potential(y) - mirror.potential(x) - sum(mirror.grad(x)[i] * (y[i] - x[i]) for i in range(D))
    assert mirror.divergence(x, y) == pytest.approx(naive)


@pytest.mark.parametrize("mirror", [Euclidean(), SmoothedLq(3.0, 0.1), SmoothedLq(8.0, 1e-3)], ids=repr)
def test_3_1_strong_convexity_and_3_2_smoothness(rng, mirror):
    q, p = mirror.q, mirror.p
    for x, y in rng.uniform(-1.0, 1.0, (200, 2, D)):
        difference = mirror.grad(x) - mirror.grad(y)
        distance = np.sum(np.abs(x - y) ** q) ** (1 / q)
        radius = max(np.sum(np.abs(z) ** q) ** (1 / q) for z in (x, y))
        assert (x - y) @ difference >= distance**2 * (1 - 1e-12)
        assert np.sum(np.abs(difference) ** p) ** (1 / p) <= mirror.smoothness(D, radius) * distance * (1 + 1e-12)


def test_3_3_momentum_recursion(rng):
    f, _, _ = quadratic(rng)
    nu, n0, n, alpha = 1e-2, 4, 3, 0.3
    estimator = Momentum(n, nu, num_initial_directions=n0, momentum=alpha)
    points = rng.standard_normal((4, D))
    memory, s = estimator.start(seed=9), None

    def two_point(x, u):
        return (f(x + nu * u) - f(x)) / nu * u

    for k, x in enumerate(points):
        batch = estimator.plan(memory, x, k)
        assert len(batch) == (2 * n0 if k == 0 else 4 * n)
        g, memory = estimator.absorb(memory, batch, values_of(f, batch))
        u = batch.directions.rows()
        if k == 0:
            s = sum(two_point(x, u[j]) for j in range(n0)) / n0
        else:
            s = sum(two_point(x, u[j]) + (1 - alpha) * (s - two_point(points[k - 1], u[j])) for j in range(n)) / n
        np.testing.assert_allclose(g, s, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mirror", [Euclidean(), SmoothedLq(4.0, 0.1)], ids=repr)
def test_3_4_bregman_step_minimises_the_subproblem(rng, mirror):
    x, g, eta, h = rng.uniform(-1, 1, D), rng.standard_normal(D), 0.4, L1(0.2)
    found = bregman_step(mirror, Box(-1.0, 1.0), h, x, g, eta)

    def objective(y):
        return g @ y + 0.2 * np.abs(y).sum() + mirror.divergence(x, y) / eta

    for scale in (1e-4, 1e-2, 1.0):
        for other in np.clip(found + scale * rng.standard_normal((300, D)), -1.0, 1.0):
            assert objective(found) <= objective(other) + 1e-14


def naive_algorithm_1(f, gradient_of_c, c, x, matrices, eta, mu, rho, nu, alpha, project):
    """Algorithm 1 with explicit matrices of directions, the Euclidean map and h = 0."""
    lam, previous, s, iterates = np.zeros_like(c(x)), None, None, [x]
    for u in matrices:
        now = np.mean([(f(x + nu * row) - f(x)) / nu * row for row in u], axis=0)
        if previous is None:
            s = now
        else:
            before = np.mean([(f(previous + nu * row) - f(previous)) / nu * row for row in u], axis=0)
            s = now + (1 - alpha) * (s - before)
        step = s + gradient_of_c(x).T @ (lam + mu * c(x))
        lam = lam + rho * c(x)
        previous, x = x, project(x - eta * step)
        iterates.append(x)
    return iterates, lam


def test_algorithm_1_with_equalities(rng):
    f, _, _ = quadratic(rng)
    eta, mu, rho, nu, alpha, n, steps = 0.05, 3.0, 1.0, 1e-2, 0.4, 3, 6

    def c(x):
        return np.array([x @ x - 1.0, x[0] - x[1]])

    def jacobian(x):
        return np.array([2 * x, np.eye(D)[0] - np.eye(D)[1]])

    problem = Problem(f, D, NonlinearConstraint(c, 0, 0, jac=jacobian), L2Ball(2.0))
    solver = MDLAL(Momentum(n, nu, momentum=alpha), eta, mu, rho)
    state = solver.init(problem, rng.standard_normal(D) / 3, seed=5)
    start, found, matrices = state.x, [state.x], []
    for _ in range(steps):
        batch = solver.ask(state)
        matrices.append(batch.directions.rows())
        state = solver.tell(state, values_of(f, batch))
        found.append(state.x)

    def project(y):
        return y * min(1.0, 2.0 / np.linalg.norm(y))

    expected, lam = naive_algorithm_1(f, jacobian, c, start, matrices, eta, mu, rho, nu, alpha, project)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(state.multipliers, lam, rtol=1e-9)


def test_section_7_3_slack_update(rng):
    """x and s as printed for the fairness problem: theta = lambda + mu (g(x) + s), s <- [s - eta theta]_+."""
    f, _, _ = quadratic(rng)
    a, eta, mu, rho, nu = rng.standard_normal(D), 0.05, 1.0, 0.5, 1e-3
    problem = Problem(f, D, NonlinearConstraint(lambda x: np.tanh(a @ x) - 0.1, -np.inf, 0, jac=lambda x: a / np.cosh(a @ x) ** 2))
    solver = MDLAL(TwoPoint(8, nu), eta, mu, rho)
    state = solver.init(problem, np.zeros(D), seed=2)
    x, lam = np.zeros(D), 0.0
    slack = max(0.0, -(np.tanh(a @ x) - 0.1))
    assert state.z[D] == slack
    for _ in range(5):
        batch = solver.ask(state)
        v = np.mean([(f(x + nu * u) - f(x)) / nu * u for u in batch.directions.rows()], axis=0)
        state = solver.tell(state, values_of(f, batch))
        g = np.tanh(a @ x) - 0.1
        theta = lam + mu * (g + slack)
        lam = lam + rho * (g + slack)
        x, slack = x - eta * (v + theta * a / np.cosh(a @ x) ** 2), max(0.0, slack - eta * theta)
        np.testing.assert_allclose(state.z, [*x, slack], rtol=1e-9, atol=1e-12)
        assert state.multipliers[0] == pytest.approx(lam)


@pytest.mark.parametrize("mirror", [Euclidean(), SmoothedLq(4.0, 0.1)], ids=repr)
def test_section_3_gradient_mapping_and_lemma_3_1(rng, mirror):
    x, g, eta = np.array([0.0, 0.3, -1.0, 1.0, 0.5]), rng.standard_normal(D), 0.2
    box, h = Box(-1.0, 1.0), L1(0.5)
    mapping = gradient_mapping(mirror, box, h, x, g, eta)
    np.testing.assert_allclose(mapping, (x - bregman_step(mirror, box, h, x, g, eta)) / eta)
    # -g in the subdifferential of h plus the normal cone of the box, coordinate by coordinate
    stationary = -np.array([0.4, 0.5, -0.5 - 2.0, 0.5 + 3.0, 0.5])
    np.testing.assert_allclose(gradient_mapping(mirror, box, h, x, stationary, eta), 0.0, atol=1e-12)


def test_definition_3_1_and_3_5_kkt_measures(rng):
    mapping, c = rng.standard_normal(D), rng.standard_normal(3)
    assert kkt_measures(Euclidean(), mapping, c) == pytest.approx((np.sqrt(np.sum(mapping**2)), np.sqrt(np.sum(c**2))))
    p, q = 4.0, 4.0 / 3.0
    expected = np.sum(np.abs(mapping) ** q) ** (1 / q), np.sum(np.abs(c) ** p) ** (1 / p)
    assert kkt_measures(SmoothedLq(p, 0.1), mapping, c) == pytest.approx(expected)


def test_assumption_3_2_and_3_6_regularity_constant():
    x, pulled_back, c = np.array([0.0, 2.0, 0.0]), np.array([3.0, -4.0, -12.0]), np.array([2.0, 0.0])
    assert regularity_constant(WholeSpace(), x, pulled_back, c, 2.0) == pytest.approx(13.0 / 2.0)
    # at x_0 = 0 the normal cone takes the positive component of grad c^T c, at x_2 = 0 it cannot take the negative one
    assert regularity_constant(NonNegative(), x, pulled_back, c, 2.0) == pytest.approx(math.sqrt(16 + 144) / 2.0)
    assert regularity_constant(NonNegative(), x, pulled_back, c, 4.0) == pytest.approx((4.0**4 + 12.0**4) ** 0.25 / 2.0)
    assert regularity_constant(WholeSpace(), x, pulled_back, 0 * c, 2.0) == math.inf


@pytest.mark.parametrize(("p", "delta"), [(2.0, 0.3), (3.0, 0.5), (10.0, 1e-2)])
def test_5_13_smoothed_potential(rng, p, delta):
    x, q = rng.standard_normal(D), p / (p - 1)
    naive = sum((x[i] ** 2 + delta**2) ** (q / 2) for i in range(D)) ** (2 / q) / (2 * (q - 1))
    assert SmoothedLq(p, delta).potential(x) == pytest.approx(naive, rel=1e-13)


@pytest.mark.parametrize(("p", "delta", "radius"), [(2.0, 0.3, 1.0), (3.0, 0.5, 2.0), (10.0, 1e-2, 1.0)])
def test_5_14_smoothness_constant(p, delta, radius):
    q = p / (p - 1)
    naive = (2 - q) / (q - 1) + (radius**q + D * delta**q) ** ((2 - q) / q) * delta ** (q - 2) / (q - 1)
    assert SmoothedLq(p, delta).smoothness(D, radius) == pytest.approx(naive, rel=1e-13)


def naive_hessian(x, q, delta):
    """M + Lambda, entry by entry as printed."""
    a = x**2 + delta**2
    psi = np.sum(a ** (q / 2))
    hessian = np.zeros((D, D))
    for i in range(D):
        for j in range(D):
            hessian[i, j] = (2 - q) / (q - 1) * psi ** (2 / q - 2) * a[i] ** (q / 2 - 1) * x[i] * a[j] ** (q / 2 - 1) * x[j]
        hessian[i, i] += psi ** (2 / q - 1) * a[i] ** (q / 2 - 2) * ((q - 1) * x[i] ** 2 + delta**2) / (q - 1)
    return hessian


@pytest.mark.parametrize(("p", "delta"), [(2.0, 0.3), (3.0, 0.5), (10.0, 1e-2)])
def test_appendix_a_gradient_and_hessian_entries(rng, p, delta):
    x, y, q, mirror = rng.standard_normal(D), rng.standard_normal(D), p / (p - 1), SmoothedLq(p, delta)
    a = x**2 + delta**2
    psi = np.sum(a ** (q / 2))
    np.testing.assert_allclose(mirror.grad(x), [psi ** (2 / q - 1) * a[i] ** (q / 2 - 1) * x[i] / (q - 1) for i in range(D)], rtol=1e-13)
    np.testing.assert_allclose(mirror.hessian_vector(x, y), naive_hessian(x, q, delta) @ y, rtol=1e-11)


@pytest.mark.parametrize(("p", "delta"), [(3.0, 0.5), (10.0, 1e-2), (40.0, 0.1)])
def test_lemma_a_1_hessian_lies_between_the_q_norm_and_l_v_times_it(rng, p, delta):
    mirror, q = SmoothedLq(p, delta), p / (p - 1)
    for x, y in rng.uniform(-1.0, 1.0, (200, 2, D)):
        form, square = y @ naive_hessian(x, q, delta) @ y, np.sum(np.abs(y) ** q) ** (2 / q)
        assert square * (1 - 1e-12) <= form <= mirror.smoothness(D, np.sum(np.abs(x) ** q) ** (1 / q)) * square


def test_section_7_1_euclidean_diagnostic(rng):
    x, g, c = rng.standard_normal(D), rng.standard_normal(D), np.array([0.3])
    moved = x - g
    projected = moved * min(1.0, 1.5 / np.linalg.norm(moved))
    assert euclidean_residual(L2Ball(1.5), Zero(), x, g, c) == pytest.approx(max(np.linalg.norm(x - projected), 0.3))
