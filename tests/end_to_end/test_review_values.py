"""Problems as people have them, continued: huge, rounded, failing and noisy values, degenerate starts, claims.

Gaps are relative to the start's, unless said otherwise.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import LinearConstraint
from scipy.optimize import minimize as scipy_minimize

from review_tools import gap, noisy, seeds
from zolal import Constraint, Status, minimize
from zolal.problems import probe

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


@pytest.mark.parametrize("call", [1, 2, 3, 4])
@pytest.mark.parametrize("value", [1e300, 1e160, 1e20])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_one_huge_value_among_the_first_is_survived(call, value, noise, tmp_path):
    found = with_one(call, value, noise, tmp_path)
    assert bowl(found.x) <= 0.1 or (call <= 2 and not found.success)


@pytest.mark.parametrize("call", [3, 10, 25])
@pytest.mark.parametrize("value", [-1e300, -1e20])
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


@pytest.mark.parametrize("seed", range(3))
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


MISLEADS = pytest.mark.xfail(
    strict=False, reason="a start of a million is none that is absurd, and slopes of that size loosen the tolerance"
)


@pytest.mark.parametrize(("call", "value"), [(1, 1e2), pytest.param(1, 1e6, marks=MISLEADS), (1, 1e20), (2, 1e2), (2, 1e6), (2, 1e20)])
def test_one_odd_value_at_the_start_brings_no_false_success(call, value):
    found = minimize(Once(bowl, call, value), np.zeros(4), maxfev=300, rng=0)
    assert not found.success or bowl(found.x) <= 0.05


def slanted(x):
    return float(np.sum(np.arange(1.0, len(x) + 1.0) * (x - 1.0) ** 2))


@pytest.mark.parametrize("penalty", [1e3, 1e4, 1e6, 1e8])
@seeds(range(3), ())
def test_a_penalty_for_what_failed_does_not_loosen_the_tolerance(penalty, seed):
    found = minimize(lambda x: slanted(x) if x[0] >= 0.1 else penalty, np.array([0.15, 0.0, 0.0]), maxfev=300, rng=seed)
    assert found.success
    assert slanted(found.x) <= 1e-4


@seeds(range(6), ())
def test_nothing_is_claimed_where_no_second_value_ever_came(seed):
    values, seen = np.random.default_rng(seed), set()

    def fun(x):
        if x.tobytes() in seen:
            return np.nan
        seen.add(x.tobytes())
        return slanted(x) + 0.1 * values.standard_normal()

    found = minimize(fun, np.zeros(2), maxfev=200, tol=0.1, rng=seed)
    assert not found.success
    assert np.isnan(found.fun_error)


@seeds(range(4), ())
def test_rounded_values_that_have_fallen_are_not_said_to_show_no_reaction(seed):
    found = minimize(lambda x: round(slanted(x), 1), np.zeros(3), maxfev=300, rng=seed)
    assert found.status in (Status.STALLED, Status.MAX_EVALUATIONS)
    assert slanted(found.x) <= 0.05


# A10: claims under noise


def claims_module():
    path = Path(__file__).parents[2] / "benchmarks" / "claims.py"
    spec = importlib.util.spec_from_file_location("claims", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_most_noisy_solvable_runs_claim_success_and_nearly_all_claims_are_true():
    seen = list(claims_module().claims(200, 100))
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


def test_claims_beside_bounds_answer_for_as_uneven_an_f_as_the_values_leave_open():
    """Near a bound looks go to one side only, and what the likeliest scales take for slopes is of higher order: two of these were false."""
    measured = claims_module()
    seen = [measured.made(measured.task(seed)) for seed in (1006, 1018, 1030, 1054, 1078)]
    assert all(claim.is_true for claim in seen if claim.success)
    assert np.median([claim.missed for claim in seen]) <= 1.5


@pytest.mark.parametrize("seed", [6, 15, 17, 31, 36])
def test_nothing_is_claimed_while_noise_hides_f_on_a_small_surface(seed):
    """The first looks see noise alone, and the sphere has no room for longer ones: these five of 40 runs ended after 35 values."""
    problem = probe(40, noise=0.0, seed=seed)
    away = np.random.default_rng(seed).standard_normal(40)
    away -= away.mean()
    x0 = 1.0 / 40 + away * np.sqrt((0.5 - 1.0 / 40) / (away @ away))

    def f(x):
        return float(problem.objective(x))

    size = 0.03 * (f(x0) - f(problem.solution))
    found = minimize(noisy(f, size, seed), x0, constraints=problem.constraints, maxfev=60, rng=seed)
    assert not found.success
    assert found.nfev >= 56  # the check of the multipliers has the others


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


@seeds(range(1), range(1, 40))
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


@seeds((0, 1), range(2, 6))
def test_a_portfolio_comes_within_a_hundredth(seed):
    f, best = portfolio(seed)
    x0, rows = np.full(8, 1 / 8), LinearConstraint(np.ones(8), 1.0, 1.0)
    found = minimize(noisy(f, 0.01 * (f(x0) - best), seed), x0, bounds=[(0.0, 1.0)] * 8, constraints=rows, maxfev=300, rng=seed)
    assert gap(f, found.x, x0, best) <= 0.02


@seeds((), range(12))
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
    assert found.status in (Status.NONSMOOTH, Status.STALLED, Status.MAX_EVALUATIONS, Status.CONVERGED)
    assert found.message


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step", [1.0, 0.1])
def test_a_function_with_steps_is_followed_down_and_never_called_solved(step, seed):
    def f(x):
        return float(np.sum((step * np.round(x / step) - 3.0) ** 2))

    found = minimize(f, np.zeros(4), maxfev=600, rng=seed)
    assert f(found.x) <= 0.01 * f(np.zeros(4))
    assert not found.success


def test_variables_that_do_not_matter_are_no_steps():
    found = minimize(lambda x: float((x[0] - 3.0) ** 2 + np.cosh(x[1])), np.zeros(6), maxfev=600, rng=0)
    assert found.success
    assert found.fun == pytest.approx(1.0, abs=1e-6)
