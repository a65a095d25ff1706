"""Problems as people have them, on which an earlier automatic method failed; each with the level that it has to reach from every seed.

Gaps are relative to the start's, unless said otherwise.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, rosen
from scipy.optimize import minimize as scipy_minimize
from scipy.special import logsumexp

from design_problems import DESIGNS
from zolal import Constraint, Status, minimize
from zolal.sets import Box, L2Ball, NonNegative, Simplex

SEEDS = range(3)
MORE = range(3, 11)


def noisy(f, size, seed):
    values = np.random.default_rng([seed, 99])
    return lambda x: f(x) + size * values.standard_normal()


def gap(f, x, x0, best):
    return (f(x) - best) / (f(np.asarray(x0, dtype=float)) - best)


def total(d, value):
    return Constraint(lambda x: x.sum(), value, value, jac=lambda x: np.ones((1, d)))


def distance(x):
    return float(np.linalg.norm(x - 1.0))


def seeds(quick=SEEDS, slow=MORE):
    return pytest.mark.parametrize("seed", [*quick, *(pytest.param(seed, marks=pytest.mark.slow) for seed in slow)])


# A1: the start is not returned where something better is known


@seeds(range(2), range(2, 8))
def test_a_noisy_norm_is_not_answered_by_its_start(seed):
    found = minimize(noisy(distance, 3e-4, seed), np.zeros(10), maxfev=500, rng=seed)
    assert gap(distance, found.x, np.zeros(10), 0.0) <= 0.1


@pytest.mark.slow
@pytest.mark.xfail(strict=False, reason="ends at 0.007 to 0.017: the radius does not shrink towards the tip of the cone")
@pytest.mark.parametrize("seed", range(8))
def test_the_tip_of_a_noisy_norm_is_found(seed):
    found = minimize(noisy(distance, 3e-4, seed), np.zeros(10), maxfev=3000, rng=seed)
    assert gap(distance, found.x, np.zeros(10), 0.0) <= 5e-4


@seeds()
def test_a_newsvendor_without_samples_is_not_answered_by_its_start(seed):
    """Costs 1, prices 3, demand uniform in [0, 2]: the best order is 4/3 each, by 40 fresh draws per value."""
    demand = np.random.default_rng([seed, 5])

    def mean(x):
        return float(np.sum(x - 3.0 * (x - x**2 / 4.0)))

    def profit(x):
        return float(np.sum(x - 3.0 * np.minimum(x, demand.uniform(0.0, 2.0, (40, 3))).mean(axis=0)))

    found = minimize(profit, np.full(3, 0.2), bounds=[(0.0, 2.0)] * 3, maxfev=600, rng=seed)
    assert gap(mean, found.x, np.full(3, 0.2), mean(np.full(3, 4 / 3))) <= 0.01


# A2: noise does not stop it for good


def exponentials(d):
    weights = np.linspace(0.5, 3.0, d)

    def f(x):
        return float(np.sum(np.exp(1.5 * x) - weights * x))

    return f, f(np.log(weights / 1.5) / 1.5)


@seeds(range(1), range(1, 6))
def test_noisy_exponentials_come_within_a_hundredth(seed):
    f, best = exponentials(20)
    found = minimize(noisy(f, 0.05, seed), np.zeros(20), maxfev=2000, rng=seed, tol=1e-6)
    assert gap(f, found.x, np.zeros(20), best) <= 0.012


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_more_evaluations_of_noisy_exponentials_make_the_answer_better(seed):
    f, best = exponentials(8)
    gaps = [gap(f, minimize(noisy(f, 0.05, seed), np.zeros(8), maxfev=n, rng=seed, tol=1e-9).x, np.zeros(8), best) for n in (500, 8000)]
    assert gaps[1] <= 0.5 * gaps[0] or gaps[1] <= 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_noisy_log_sum_exp_of_thirty_variables_comes_within_a_thousandth(seed):
    rng = np.random.default_rng([seed, 30])
    rows, shift = rng.standard_normal((60, 30)), rng.standard_normal(60)

    def f(x):
        return float(logsumexp(rows @ x + shift) + 0.05 * x @ x)

    best = scipy_minimize(f, np.zeros(30), method="L-BFGS-B", options=dict(maxiter=5000, maxfun=10**6, ftol=1e-15, gtol=1e-10)).fun
    spread = f(np.ones(30)) - best
    found = minimize(noisy(f, 1e-3 * spread, seed), np.ones(30), maxfev=3000, rng=seed, tol=1e-6)
    assert gap(f, found.x, np.ones(30), best) <= 1e-3


# A3: curved valleys


@seeds()
def test_a_curved_valley_with_tiny_noise_is_followed(seed):
    found = minimize(noisy(rosen, 1e-8, seed), np.array([-1.2, 1.0]), maxfev=600, rng=seed, tol=1e-6)
    assert gap(rosen, found.x, [-1.2, 1.0], 0.0) <= 1e-6


@seeds()
def test_a_curved_valley_with_some_noise_is_followed(seed):
    found = minimize(noisy(rosen, 1e-4, seed), np.array([-1.2, 1.0]), maxfev=600, rng=seed, tol=1e-6)
    assert gap(rosen, found.x, [-1.2, 1.0], 0.0) <= 1e-4


@seeds(range(1), range(1, 5))
def test_a_curved_valley_of_ten_variables_with_much_noise_is_followed(seed):
    x0 = np.tile([-1.2, 1.0], 5)
    found = minimize(noisy(rosen, 1e-2, seed), x0, maxfev=1500, rng=seed, tol=1e-6)
    assert gap(rosen, found.x, x0, 0.0) <= 0.02


@seeds(range(1), range(1, 5))
def test_a_curved_valley_of_twenty_variables_on_a_plane_is_followed(seed):
    d, x0 = 20, np.tile([-1.2, 1.0], 10)
    found = minimize(noisy(rosen, 1e-8, seed), x0, constraints=total(d, 16.0), maxfev=1200, rng=seed, tol=1e-6)
    plane = dict(type="eq", fun=lambda x: x.sum() - 16.0, jac=lambda x: np.ones(d))
    best = min(
        scipy_minimize(rosen, start, constraints=plane, method="SLSQP", options=dict(maxiter=2000, ftol=1e-14)).fun
        for start in (x0, np.ones(d), np.linspace(1.0, 0.5, d))
    )
    assert found.maxcv <= 1e-9
    assert rosen(found.x) <= best + 0.02 * best


# A4: variables of different size


def unlike(x):
    return float(((x[0] - 2e-3) / 1e-3) ** 2 + ((x[1] - 3e4) / 1e4) ** 2)


@seeds()
def test_variables_of_different_size_are_told_by_their_bounds(seed):
    x0 = np.array([1e-3, 1e4])
    found = minimize(noisy(unlike, 5e-3, seed), x0, bounds=[(0.0, 1e-2), (0.0, 1e5)], maxfev=600, rng=seed, tol=1e-6)
    assert gap(unlike, found.x, x0, 0.0) <= 1e-6


@pytest.mark.xfail(strict=False, reason="units of a few variables come from quantiles on a linear scale")
@seeds(range(1), ())
def test_variables_of_different_size_are_told_by_the_start(seed):
    x0 = np.array([1e-3, 1e4])
    found = minimize(unlike, x0, maxfev=200, rng=seed)
    assert gap(unlike, found.x, x0, 0.0) <= 1e-5


@seeds()
def test_a_minimum_a_million_units_away_is_reached(seed):
    found = minimize(lambda x: float(np.sum((x - 1e6) ** 2)), np.zeros(5), maxfev=400, rng=seed)
    assert np.abs(found.x - 1e6).max() <= 1e3


@pytest.mark.parametrize("design", DESIGNS, ids=[design.name for design in DESIGNS])
@seeds(range(1), range(1, 8))
def test_designs_in_natural_units_are_right_to_a_half_percent(design, seed):
    limits = NonlinearConstraint(design.limits, -np.inf, 0.0)
    found = minimize(
        noisy(design.cost, 1e-3 * design.best, seed), design.start, bounds=design.bounds, constraints=limits, maxfev=300, rng=seed, tol=1e-6
    )
    assert design.cost(found.x) <= 1.005 * design.best
    assert (design.limits(found.x) / np.maximum(np.abs(design.limits(design.start)), 1.0)).max() <= 1e-8
    assert all(low <= each <= high for each, (low, high) in zip(found.x, design.bounds, strict=True))


@pytest.mark.parametrize("design", DESIGNS, ids=[design.name for design in DESIGNS])
def test_designs_without_noise_are_right_to_five_digits(design):
    limits = NonlinearConstraint(design.limits, -np.inf, 0.0)
    found = minimize(design.cost, design.start, bounds=design.bounds, constraints=limits, maxfev=200, rng=0, tol=1e-6)
    assert design.cost(found.x) == pytest.approx(design.best, rel=1e-5)


# A5: ill-conditioned problems


def spread_quadratic(d, condition, seed):
    rng = np.random.default_rng([seed, d])
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    hessian, target = turn @ np.diag(np.logspace(0, np.log10(condition), d)) @ turn.T, rng.standard_normal(d)

    def f(x):
        return float(0.5 * (x - target) @ hessian @ (x - target))

    reached = np.linalg.solve(hessian, np.ones(d))
    return f, f(target - reached * target.sum() / reached.sum())


@seeds(range(3), range(3, 10))
def test_an_ill_conditioned_quadratic_on_a_plane_takes_a_dozen_evaluations_per_variable(seed):
    f, best = spread_quadratic(10, 1e4, seed)
    found = minimize(f, np.zeros(10), constraints=total(10, 0.0), maxfev=12 * 11, rng=seed, tol=1e-9)
    assert gap(f, found.x, np.zeros(10), best) <= 1e-5


@seeds(range(2), range(2, 8))
def test_an_ill_conditioned_quadratic_on_a_plane_under_noise_takes_thirty_evaluations_per_variable(seed):
    f, best = spread_quadratic(10, 1e4, seed)
    noise = 1e-3 * (f(np.zeros(10)) - best)
    found = minimize(noisy(f, noise, seed), np.zeros(10), constraints=total(10, 0.0), maxfev=30 * 11, rng=seed, tol=1e-9)
    assert gap(f, found.x, np.zeros(10), best) <= 1e-4


# A6: every query in bounds and region


def roots(x):
    return float(np.sum(np.sqrt(x)) - 2.0 * x[0])


OBJECTIVES = {"bowl": lambda x: float(np.sum((x + 1.0) ** 2)), "roots": roots}
REGIONS = {"box": Box(0.0, 1.0), "nonnegative": NonNegative()}
LEAVING = pytest.param(Simplex(1.0), marks=pytest.mark.xfail(strict=False, reason="the final check goes across the region's own equality"))


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("region", [*REGIONS.values(), LEAVING], ids=[*REGIONS, "simplex"])
def test_every_query_lies_in_the_region(region, name, noise):
    if name == "roots" and isinstance(region, NonNegative):
        pytest.skip("has no minimum there")
    asked, f = [], noisy(OBJECTIVES[name], noise, 1) if noise else OBJECTIVES[name]
    found = minimize(lambda x: asked.append(x.copy()) or f(x), region.project(np.full(5, 0.5)), region=region, maxfev=250, rng=1)
    assert min(x.min() for x in asked) >= 0.0
    assert all(region.contains(x, 1e-9) for x in asked)
    assert found.status not in (Status.EVALUATION_FAILED, Status.TOO_MANY_FAILURES)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_every_query_lies_in_a_ball(noise):
    asked, f = [], noisy(lambda x: float(np.sum((x - 2.0) ** 2)), noise, 1)
    found = minimize(lambda x: asked.append(x.copy()) or f(x), np.zeros(5), region=L2Ball(1.0), maxfev=250, rng=1)
    assert max(np.linalg.norm(x) for x in asked) <= 1.0 + 1e-9
    np.testing.assert_allclose(found.x, np.full(5, 5**-0.5), atol=0.05)


@pytest.mark.xfail(strict=False, reason="stalls at (1, 0, 0, 0, 1) after 17 evaluations, where x_4 = 1 is a maximum along its edge")
def test_roots_on_the_unit_box_end_in_a_corner():
    found = minimize(roots, np.full(5, 0.5), bounds=[(0.0, 1.0)] * 5, maxfev=300, rng=0)
    assert roots(found.x) <= -1.0 + 1e-3


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_bowl_beyond_the_bounds_ends_at_them(noise):
    found = minimize(noisy(OBJECTIVES["bowl"], noise, 0), np.ones(5), region=NonNegative(), maxfev=300, rng=0)
    assert OBJECTIVES["bowl"](found.x) <= 5.0 + 5e-3


# A7: steps out of the domain of f or of a constraint are refused, and the run goes on


def barrier(x):
    return float(np.sum(x) - 0.01 * np.sum(np.log(x))) if (x > 0).all() else np.inf


@seeds(range(8), ())
def test_a_barrier_is_not_the_end(seed):
    best = barrier(np.full(5, 0.01))
    found = minimize(barrier, np.ones(5), maxfev=500, rng=seed)
    assert found.status not in (Status.EVALUATION_FAILED, Status.TOO_MANY_FAILURES)
    assert gap(barrier, found.x, np.ones(5), best) <= 5e-3


@pytest.mark.xfail(strict=False, reason="the model's minimiser is returned without a value there, and five of six queries have none")
@seeds(range(4), ())
def test_a_noisy_barrier_is_not_the_end(seed):
    best = barrier(np.full(5, 0.01))
    found = minimize(noisy(barrier, 1e-3, seed), np.ones(5), maxfev=800, rng=seed)
    assert gap(barrier, found.x, np.ones(5), best) <= 2e-2


@seeds(range(4), ())
def test_a_constraint_without_a_value_at_a_trial_point_is_not_the_end(seed):
    """log x_0 + x_1 = 0 exists for x_0 > 0 alone; the minimum of x.x over it lies at x_0 = 0.6529, x_1 = 0.4263."""
    row = Constraint(lambda x: np.log(x[0]) + x[1] if x[0] > 0 else np.nan, 0.0, 0.0, jac=lambda x: np.array([1 / x[0], 1.0]))
    found = minimize(lambda x: float(x @ x), np.array([3.0, -1.0]), constraints=row, maxfev=200, rng=seed)
    np.testing.assert_allclose(found.x, [0.6529, 0.4263], atol=2e-2)
    assert found.maxcv <= 1e-8


# A8: huge values


@seeds(range(6), range(6, 20))
def test_exponentials_that_explode_are_survived(seed):
    def f(x):
        with np.errstate(over="ignore"):
            return float(np.sum(np.exp(3.0 * (x - 1.0)) - 3.0 * x))

    x0 = np.random.default_rng(seed).standard_normal(5)
    found = minimize(f, x0, maxfev=250, rng=seed)
    assert found.status not in (Status.EVALUATION_FAILED, Status.TOO_MANY_FAILURES)
    assert gap(f, found.x, x0, f(np.ones(5))) <= 1e-3


class Once:
    """f, but one value at a certain call."""

    def __init__(self, f, call, value):
        self.f, self.call, self.value, self.calls = f, call, value, 0

    def __call__(self, x):
        self.calls += 1
        return self.value if self.calls == self.call else self.f(x)


def bowl(x):
    return float(np.sum((x - 1.0) ** 2))


def with_one(call, value, noise, folder):
    """A run with one odd value, interrupted and taken up again."""
    fun = Once(noisy(bowl, noise, 0) if noise else bowl, call, value)
    minimize(fun, np.zeros(4), maxfev=60, rng=0, checkpoint=folder, tol=1e-9)
    return minimize(fun, np.zeros(4), maxfev=200, rng=0, checkpoint=folder, resume=True, tol=1e-9)


@pytest.mark.parametrize("call", [7, 15, 40])
@pytest.mark.parametrize("value", [1e300, 1e160, 1e20])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_one_huge_value_is_survived(call, value, noise, tmp_path):
    assert bowl(with_one(call, value, noise, tmp_path).x) <= 0.1


@pytest.mark.xfail(strict=False, reason="squares of the first values overflow, and one of them rules their mean")
@pytest.mark.parametrize("call", [1, 2, 3, 4])
@pytest.mark.parametrize("value", [1e300, 1e160, 1e20])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_one_huge_value_among_the_first_is_survived(call, value, noise, tmp_path):
    found = with_one(call, value, noise, tmp_path)
    assert bowl(found.x) <= 0.1 or (call <= 2 and not found.success)


@pytest.mark.parametrize("call", [3, 10, 25])
@pytest.mark.parametrize(
    "value", [pytest.param(-1e300, marks=pytest.mark.xfail(strict=False, reason="squares overflow: OverflowError")), -1e20]
)
def test_one_huge_negative_value_raises_nothing(call, value):
    found = minimize(Once(bowl, call, value), np.zeros(4), maxfev=200, rng=0)
    assert np.isfinite(found.x).all()


# A9: no success without convergence


def bowl_of(d):
    target = np.linspace(-1.0, 2.0, d)
    return lambda x: float(np.sum((x - target) ** 2) + 10.0)


@pytest.mark.parametrize("digits", ["%.4g", "%.3g", "%.6g"])
@seeds(range(2), range(2, 20))
def test_values_of_a_few_digits_bring_no_false_success(digits, seed):
    f = bowl_of(6)
    x0 = 3.0 * np.random.default_rng(seed).standard_normal(6)
    found = minimize(lambda x: float(digits % f(x)), x0, maxfev=400, rng=seed)
    share = gap(f, found.x, x0, 10.0)
    assert share <= 1e-2 or not found.success
    assert share <= 0.1


@seeds(range(6), range(6, 20))
def test_values_rounded_to_hundredths_bring_no_false_success(seed):
    x0 = np.full(5, 2.5)
    found = minimize(lambda x: round(float(x @ x), 2), x0, maxfev=400, rng=seed)
    assert found.x @ found.x <= 0.1 or not found.success
    assert found.x @ found.x <= 0.1 * (x0 @ x0)


@seeds(range(3), ())
def test_a_flat_start_is_said_to_be_flat_or_left(seed):
    """Constant within a radius of 2 of the start, a bowl outside."""

    def f(x):
        return float(max(np.sum((x - 5.0) ** 2), 0.0)) if np.linalg.norm(x) > 2.0 else 125.0

    found = minimize(f, np.zeros(5), maxfev=500, rng=seed)
    assert found.status is Status.NO_REACTION or f(found.x) < 124.0
    assert not found.success or f(found.x) <= 1.0


def test_an_objective_that_never_reacts_is_said_not_to():
    found = minimize(lambda x: 7.0, np.zeros(4), maxfev=500, rng=0)
    assert found.status is Status.NO_REACTION
    assert not found.success


@pytest.mark.parametrize("call", [3, 8, 15])
def test_one_wild_slope_does_not_loosen_the_tolerance(call):
    found = minimize(Once(bowl, call, 9999.0), np.zeros(5), maxfev=400, rng=0)
    assert not found.success or bowl(found.x) <= 0.05


# A10: claims under noise


def claims_module():
    path = Path(__file__).parents[2] / "benchmarks" / "claims.py"
    spec = importlib.util.spec_from_file_location("claims", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_most_noisy_solvable_runs_claim_success_and_nearly_all_claims_are_true():
    seen = list(claims_module().claims(200, tol=1e-2))
    claimed = [claim for claim in seen if claim.success]
    assert len(claimed) >= 0.8 * len(seen)
    assert sum(claim.is_true for claim in claimed) >= 0.95 * len(claimed)


def test_a_few_noisy_claims_are_true():
    """Of six runs at most one claims what is not so, and at least four claim something."""
    measured = claims_module()
    seen = [measured.made(measured.task(seed), tol=1e-2) for seed in (0, 4, 6, 8, 12, 16)]
    false = [claim for claim in seen if claim.success and not claim.is_true]
    assert len(false) <= 1
    assert sum(claim.success for claim in seen) >= 4


# A12: degenerate starts


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("d", [10, pytest.param(20, marks=pytest.mark.slow)])
@seeds(range(1), range(1, 4))
def test_a_start_with_parallel_gradients_is_left(d, unit, seed):
    t = np.random.default_rng([seed, d]).standard_normal(d) / np.sqrt(d)
    along = (t - t.mean()) / np.linalg.norm(t - t.mean())
    solution = 1 / d + np.sqrt(0.5 - 1 / d) * along

    def f(x):
        return float(np.sum((x / unit - t) ** 2))

    rows = Constraint(
        lambda x: np.array([x.sum() / unit - 1.0, x @ x / unit**2 - 0.5]), jac=lambda x: np.stack([np.ones(d) / unit, 2 * x / unit**2])
    )
    found = minimize(noisy(f, 1e-3, seed), unit * np.ones(d), constraints=rows, maxfev=40 * d, rng=seed)
    assert f(found.x) <= 1.02 * f(unit * solution)
    assert found.maxcv <= 1e-8


# A13: no run is much worse than the others


@seeds(range(3), range(3, 40))
def test_no_seed_of_a_noisy_sphere_is_lost(seed):
    target = np.random.default_rng([seed, 3]).standard_normal(10)

    def f(x):
        return float(np.sum((x - target) ** 2))

    found = minimize(noisy(f, 0.01 * f(np.zeros(10)), seed), np.zeros(10), maxfev=1000, rng=seed, tol=1e-6)
    assert gap(f, found.x, np.zeros(10), 0.0) <= 1e-3


def portfolio(seed, d=8):
    rng = np.random.default_rng([seed, 17])
    factors, mean = 0.2 * rng.standard_normal((d, 3)), rng.uniform(0.02, 0.12, d)
    risk = factors @ factors.T + np.diag(rng.uniform(0.01, 0.05, d))

    def f(x):
        return float(x @ risk @ x - mean @ x)

    rows = [dict(type="eq", fun=lambda x: x.sum() - 1.0)]
    given = dict(bounds=[(0, 1)] * d, constraints=rows, method="SLSQP", options=dict(ftol=1e-15, maxiter=1000))
    return f, scipy_minimize(f, np.full(d, 1 / d), **given).fun


@seeds(range(2), range(2, 6))
def test_a_portfolio_comes_within_a_hundredth(seed):
    f, best = portfolio(seed)
    x0, rows = np.full(8, 1 / 8), LinearConstraint(np.ones(8), 1.0, 1.0)
    found = minimize(noisy(f, 0.01 * (f(x0) - best), seed), x0, bounds=[(0.0, 1.0)] * 8, constraints=rows, maxfev=300, rng=seed)
    assert gap(f, found.x, x0, best) <= 0.02


@pytest.mark.slow
@pytest.mark.xfail(strict=False, reason="the answer moves by as much at 1,200 evaluations as at 300")
@pytest.mark.parametrize("seed", range(6))
def test_a_portfolio_does_not_get_worse_with_more_evaluations(seed):
    f, best = portfolio(seed)
    x0, gaps = np.full(8, 1 / 8), []
    for most in (300, 1200):
        fun = noisy(f, 0.01 * (f(x0) - best), seed)
        found = minimize(
            fun, x0, bounds=[(0.0, 1.0)] * 8, constraints=LinearConstraint(np.ones(8), 1.0, 1.0), maxfev=most, rng=seed, tol=1e-6
        )
        gaps.append(gap(f, found.x, x0, best))
    assert gaps[1] <= max(gaps[0], 1e-3)
    assert gaps[1] <= 1e-2


# A14: failures that are skipped


@seeds(range(3), range(3, 20))
def test_one_failure_in_ten_is_skipped(seed):
    values = np.random.default_rng([seed, 4])

    def f(x):
        if values.uniform() < 0.1:
            raise RuntimeError("the simulation failed")
        return float(np.sum((x - 1.0) ** 2)) + 0.01 * values.standard_normal()

    found = minimize(f, np.zeros(6), maxfev=400, rng=seed, on_error="skip", tol=1e-6)
    assert found.status is not Status.TOO_MANY_FAILURES
    assert np.sum((found.x - 1.0) ** 2) <= 0.02


# A15: nonsmooth objectives


@seeds(range(3), ())
def test_a_nonsmooth_objective_is_improved_and_its_end_is_no_false_success(seed):
    def f(x):
        return float(np.abs(x - 1.0).max())

    found = minimize(f, np.random.default_rng(seed).standard_normal(10), maxfev=2000, rng=seed)
    assert not found.success or f(found.x) <= 1e-2
    assert found.status in (Status.STALLED, Status.MAX_EVALUATIONS, Status.CONVERGED)
    assert found.message
