"""The automatic method, with no options but a seed and a budget: how few queries it takes, and what it never does."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

from review_tools import seeds
from zolal import Constraint, Problem, Status, minimize
from zolal._hadamard import fwht
from zolal.problems import inventory, l1_box, simplex_lp, sphere_quadratic
from zolal.sets import Box, L2Ball


def probe(dimension, seed, noise=1e-3, scales=(1.0, 1.0, 1.0)):
    """min ||x - t||^2 + noise s.t. sum(x) = 1, <x, x> = 1/2, with f, x and c scaled; its optimum, and f without noise."""
    F, X, C = scales
    rng, values = np.random.default_rng([seed, dimension]), np.random.default_rng([seed, dimension, 1])
    t = rng.standard_normal(dimension) / np.sqrt(dimension)
    along = (t - t.mean()) / np.linalg.norm(t - t.mean())
    solution = 1 / dimension + np.sqrt(0.5 - 1 / dimension) * along

    def f(x):
        return F * float((x / X - t) @ (x / X - t))

    rows = Constraint(
        lambda x: C * np.array([x.sum() / X - 1, x @ x / X**2 - 0.5]), jac=lambda x: C * np.stack([np.ones(dimension) / X, 2 * x / X**2])
    )
    return lambda x: f(x) + F * noise * values.standard_normal() if noise else f(x), f, rows, X * solution, X * np.ones(dimension)


@seeds(range(1), range(1, 4))
def test_the_noisy_probe_is_solved_to_a_thousandth(seed):
    noisy, f, rows, solution, x0 = probe(50, seed)
    found = minimize(noisy, x0, constraints=rows, method="auto", maxfev=1000, rng=seed)
    assert f(found.x) <= 1.001 * f(solution)
    assert found.maxcv <= 1e-5
    assert found.nfev <= 1000


@pytest.mark.parametrize("scales", [(1e6, 1e-3, 1e4), (1e-6, 1e3, 1e-4), (1e-6, 1e-3, 1e4)], ids=str)
def test_scales_of_f_x_and_c_do_not_matter(scales):
    noisy, f, rows, solution, x0 = probe(10, 1, 1e-3, scales)
    found = minimize(noisy, x0, constraints=rows, method="auto", maxfev=250, rng=0)
    assert f(found.x) <= 1.02 * f(solution)
    assert found.maxcv <= 1e-8 * scales[2]


def test_the_printed_qcqp_takes_a_little_more_than_two_queries_per_variable():
    d = 128
    rng = np.random.default_rng(0)
    eigenvalues = rng.permutation(np.concatenate([np.linspace(-0.05, -0.01, d // 2), np.linspace(0.01, 0.05, d // 2)]))
    beta = rng.standard_normal(d)
    b = fwht(beta / np.linalg.norm(beta))

    def gradient(x):
        return fwht(eigenvalues * fwht(x)) + b

    sphere = Constraint(lambda x: (x @ x - 1) / 2, jac=lambda x: x)
    problem = Problem(lambda x: 0.5 * x @ (gradient(x) + b), d, sphere, L2Ball(2.5), gradient=gradient, x0=np.full(d, d**-0.5))
    found = minimize(problem, method="auto", maxfev=3 * d, rng=0)
    assert found.kkt.euclidean <= 1e-2


def test_a_sparse_problem_takes_far_fewer_queries_than_variables():
    d, rng = 4096, np.random.default_rng(3)
    a, b, x0 = rng.uniform(-0.05, 0.05, d), np.zeros(d), np.zeros(d)
    b[rng.choice(d, 4, replace=False)], x0[0] = [0.5, -0.5, 0.5, 0.5], 1.0
    sphere = Constraint(lambda x: (x @ x - 1) / 2, jac=lambda x: x)
    problem = Problem(lambda x: 0.5 * x @ (a * x) + b @ x, d, sphere, L2Ball(2.5), gradient=lambda x: a * x + b, x0=x0)
    found = minimize(problem, method="auto", maxfev=d // 4, rng=0)
    assert found.kkt.euclidean <= 1e-2


@pytest.mark.parametrize("make", [sphere_quadratic, simplex_lp, l1_box])
def test_known_solutions_are_found_from_noisy_values(make):
    problem = make(10)
    found = minimize(problem, method="auto", maxfev=1000, rng=0)

    def f(x):
        return problem.objective(x, np.zeros(10)) + problem.regularizer.value(x)

    start, best = f(problem.x0), f(problem.solution)
    assert f(found.x) - best <= 0.05 * max(start - best, abs(best))
    assert found.maxcv <= 1e-6


def test_exact_values_are_recognised_and_the_run_stops_by_itself():
    target = np.linspace(-1, 1, 10)
    found = minimize(lambda x: float((x - target) @ (x - target)), np.zeros(10), method="auto", maxfev=20_000, rng=0)
    assert found.status is Status.CONVERGED
    assert found.success
    assert found.nfev < 1000
    np.testing.assert_allclose(found.x, target, atol=2e-3)


def test_an_inequality_holds_and_has_a_nonnegative_multiplier():
    total = Constraint(lambda x: x.sum(), -np.inf, 3.0, jac=lambda x: np.ones((1, 6)))
    found = minimize(lambda x: float((x - 1) @ (x - 1)), np.zeros(6), constraints=total, method="auto", maxfev=2000, rng=0)
    np.testing.assert_allclose(found.x, np.full(6, 0.5), atol=1e-3)
    assert found.multipliers[0] == pytest.approx(1.0, abs=1e-2)
    assert found.maxcv <= 1e-8


def test_what_cannot_be_satisfied_is_called_not_feasible():
    impossible = Constraint(lambda x: x @ x, -2.0, -1.0, jac=lambda x: 2 * x)
    found = minimize(lambda x: float(x.sum()), np.ones(4), bounds=[(-1, 1)] * 4, constraints=impossible, method="auto", maxfev=300, rng=0)
    assert not found.success
    assert "not feasible" in found.message
    assert np.isfinite(found.x).all()


def test_the_result_is_never_worse_than_a_feasible_start():
    """A start at the optimum and noise as large as the range: whatever the run does, it must not return something surely worse."""
    for seed in range(3):
        values = np.random.default_rng(seed)
        found = minimize(
            lambda x, values=values: float(np.abs(x).sum() ** 0.5) + 0.5 * values.standard_normal(), np.zeros(8), region=Box(-1.0, 1.0),
            method="auto", maxfev=400, rng=seed,
        )  # fmt: skip
        assert np.abs(found.x).sum() ** 0.5 <= 1.0


def test_another_geometry_may_be_asked_for():
    problem = sphere_quadratic(10, noise=0.0)
    found = minimize(problem, method="auto", geometry=3, maxfev=3000, rng=0)
    assert problem.objective(found.x, np.zeros(10)) <= problem.objective(problem.solution, np.zeros(10)) + 1e-2


def test_heavy_tails_and_multiplicative_noise_are_survived():
    noisy, f, rows, solution, x0 = probe(10, 2, 0.0)
    for number, corrupted in enumerate((lambda v, g: v + 1e-3 * g.standard_t(1.5), lambda v, g: v * (1 + 0.01 * g.standard_normal()))):
        values = np.random.default_rng(number)
        found = minimize(lambda x, c=corrupted, g=values: c(noisy(x), g), x0, constraints=rows, method="auto", maxfev=300, rng=0)
        assert f(found.x) <= 1.05 * f(solution)


def distance(x):
    return float(((x - 0.3) ** 2).sum())


@pytest.mark.parametrize("dimension", [1, 5, 64, 100])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_dense_unconstrained_problems_are_solved_in_every_dimension(dimension, start):
    found = minimize(distance, np.full(dimension, start), maxfev=30 * dimension + 100, rng=1)
    assert distance(found.x) <= 1e-3 * distance(np.full(dimension, start))


def test_no_success_is_claimed_far_from_a_solution():
    """Badly conditioned problems are not solved with this budget; whatever is returned must not be called a success."""
    weights, turned = np.logspace(0, 3, 40), np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))[0]

    def bad(x):
        return 0.5 * float(weights @ (turned @ (x - 0.3)) ** 2)

    def rosenbrock(x):
        return float((100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum())

    for f in (bad, rosenbrock):
        found = minimize(f, np.zeros(40), maxfev=400, rng=0)
        assert f(found.x) < f(np.zeros(40))
        assert not found.success


def test_a_badly_conditioned_sum_over_variables_is_known_from_few_values():
    """Curvature along the axes is a scale of its own: ten values per variable do, where a quadratic has 21 coefficients for each."""
    weights = np.logspace(0, 3, 40)
    found = minimize(lambda x: 0.5 * float(weights @ (x - 0.3) ** 2), np.zeros(40), maxfev=400, rng=0)
    assert found.success
    assert np.linalg.norm(weights * (found.x - 0.3)) <= found.stationarity_limit


def test_a_vanishing_gradient_of_a_constraint_throws_nobody_away():
    found = minimize(distance, np.zeros(5), constraints=Constraint(lambda x: x @ x - 1.0), maxfev=800, rng=0)
    np.testing.assert_allclose(found.x, np.full(5, 5**-0.5), atol=1e-2)
    impossible = minimize(distance, np.zeros(5), constraints=Constraint(lambda x: x @ x + 1.0), maxfev=200, rng=0)
    assert np.abs(impossible.x).max() < 10.0
    assert "not feasible" in impossible.message


def test_single_precision_is_enough_to_begin_with():
    found = minimize(distance, np.zeros(5, dtype=np.float32), maxfev=800, rng=0)
    assert found.x.dtype == np.float32
    np.testing.assert_allclose(found.x, 0.3, atol=1e-2)


def test_a_constant_is_recognised_at_once_and_not_called_a_success():
    found = minimize(lambda x: 1.0, np.ones(5), maxfev=800, rng=0)
    assert not found.success
    assert found.status is Status.NO_REACTION
    assert found.nfev < 50


@pytest.mark.parametrize("jitter", [0.0, 1e-12])
def test_samples_that_serve_all_points_keep_their_worth(jitter):
    """The samples' own spread is a hundred times the range of f, and common to all points; sums in another order may add a little."""
    g = np.random.default_rng(0)

    def noisy(x, xi):
        return distance(x) + float(x @ xi) + 10.0 * float(xi.sum()) + jitter * g.standard_normal()

    found = minimize(noisy, np.zeros(20), sample=lambda rng: rng.standard_normal(20), maxfev=3000, rng=0)
    assert distance(found.x) <= 0.25 * distance(np.zeros(20))


def test_samples_go_with_arrays_of_other_kinds():
    torch = pytest.importorskip("torch")
    found = minimize(
        lambda x, xi: ((x - 0.3) ** 2).sum() + 0.1 * (x * torch.as_tensor(xi)).sum(),
        torch.zeros(8, dtype=torch.float64),
        sample=lambda rng: rng.standard_normal(8),
        maxfev=1000,
        rng=0,
    )
    assert isinstance(found.x, torch.Tensor)
    assert float(((found.x - 0.3) ** 2).sum()) <= 0.1


SPHERE = Constraint(lambda x: x @ x - 1.0, jac=lambda x: 2 * x)


class Noisy:
    """Distance to 0.3 with noise that depends on the point alone, so that a resumed run sees it again; or with a sample's."""

    def __init__(self, kind):
        self.kind = kind  # of noise, so that runs of two kinds are told apart

    def __call__(self, x, *xi):
        spread = 0.1 * float(xi[0] @ x) if xi else 0.0
        return distance(x) + spread


@pytest.mark.parametrize("kind", ["exact", "sampled"])
def test_a_run_is_the_same_to_the_bit_however_it_is_evaluated_or_resumed(kind, tmp_path):
    given = dict(constraints=SPHERE, maxfev=150, rng=3, tol=1e-9)
    if kind == "sampled":
        given["sample"] = lambda rng: rng.standard_normal(6)
    whole = minimize(Noisy(kind), 3.0 * np.arange(1.0, 7.0), **given)
    processes = minimize(Noisy(kind), 3.0 * np.arange(1.0, 7.0), workers=2, **given)
    np.testing.assert_array_equal(processes.x, whole.x)
    minimize(Noisy(kind), 3.0 * np.arange(1.0, 7.0), checkpoint=tmp_path / "run", callback=lambda state: state.k == 9, **given)
    resumed = minimize(Noisy(kind), 3.0 * np.arange(1.0, 7.0), checkpoint=tmp_path / "run", resume=True, **given)
    np.testing.assert_array_equal(resumed.x, whole.x)
    assert resumed.nfev == whole.nfev


def test_a_run_without_a_seed_of_its_own_is_resumed(tmp_path):
    given = dict(constraints=SPHERE, maxfev=200, tol=1e-9, checkpoint=tmp_path / "run")
    minimize(distance, 3.0 * np.arange(1.0, 7.0), callback=lambda state: state.k == 5, **given)
    assert minimize(distance, 3.0 * np.arange(1.0, 7.0), resume=True, **given).nit > 5


@pytest.mark.parametrize("sampled", [False, True])
def test_failed_evaluations_are_skipped(sampled):
    g = np.random.default_rng(4)

    def unreliable(x, *xi):
        return np.nan if g.random() < 0.1 else distance(x) + (0.1 * float(xi[0] @ x) if xi else 0.0)

    sample = (lambda rng: rng.standard_normal(20)) if sampled else None
    found = minimize(unreliable, np.ones(20), sample=sample, on_error="skip", maxfev=3000, rng=0)
    assert found.failures
    assert distance(found.x) <= 0.05 * distance(np.ones(20))


def test_a_run_ends_in_success_where_only_rounding_is_left():
    """Near the solution the constraints' own rounding moves x, which must not be taken for steps that failed."""
    rng = np.random.default_rng(3)
    reach, scale, mixing = rng.uniform(0.5, 2.0, 12), rng.uniform(0.15, 0.5, 12), 0.1 * rng.normal(size=(12, 12))

    def f(x):
        seen = 1.0 - np.exp(-x / scale)
        return -float(reach @ seen + seen @ mixing @ seen)

    rules = [LinearConstraint(np.ones((1, 12)), 1.0, 1.0), LinearConstraint(np.r_[np.ones(4), np.zeros(8)][None, :], 0.3, np.inf)]
    res = minimize(f, np.full(12, 1 / 12), constraints=rules, bounds=Bounds(0, 1), maxfev=3000, rng=1)
    assert res.success


@pytest.mark.parametrize("seed", [2, 3])
def test_success_in_a_box_means_a_solution(seed):
    """However long a step has become, the mapping of one that crosses the box says nothing."""
    problem, zero = l1_box(100, weight=0.0, seed=seed), np.zeros(100)
    a = problem.constraints.A[0]

    def f(x):
        return problem.objective(x, zero)

    start = 0.5 * a / (a @ a)
    res = minimize(f, start, constraints=problem.constraints, region=problem.region, maxfev=5000, rng=seed)
    assert res.success
    assert f(res.x) - f(problem.solution) < 1e-3 * (f(start) - f(problem.solution))


@seeds((0,), (1,))
def test_multipliers_under_sampled_noise_are_those_of_the_point(seed):
    """Each step's own are noisy; the mean of them is returned, as the mean of the points is. Reference: least squares with many samples."""
    problem = inventory()
    res = minimize(problem, maxfev=6000, rng=seed)
    days = np.concatenate([problem.sample(np.random.default_rng([9, i])) for i in range(1000)])
    shifts = 0.02 * np.eye(problem.dimension)
    gradient = np.array([(problem.objective(res.x + e, days) - problem.objective(res.x - e, days)) / 0.04 for e in shifts])
    active = problem.equalities(res.x).signed_jacobian(res.x)[:2]  # budget and volume
    best = np.linalg.lstsq(active.T, -gradient, rcond=None)[0]
    np.testing.assert_allclose(res.multipliers[:2], best, atol=3.0)  # three standard deviations over seeds


def test_samples_that_shift_all_values_alike_are_no_hindrance():
    """Slopes are exact then; values of two samples are not to be compared."""
    found = minimize(
        lambda x, s: np.sum((x - 2.0) ** 2) + s, np.full(4, 0.1), sample=lambda rng: 0.1 * rng.standard_normal(), maxfev=2000, rng=0
    )
    np.testing.assert_allclose(found.x, 2.0, atol=1e-3)
