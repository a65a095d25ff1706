"""What a run of `minimize` promises: counts, reproducibility, samples, outputs and schedules."""

import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import Bounds, NonlinearConstraint

import zolal
from zolal.estimators import Momentum
from zolal.mirror import Euclidean, SmoothedLq
from zolal.schedules import InverseSqrt
from zolal.solvers import MDLAL

X0 = np.array([0.5, -0.5, 0.25])
SPHERE = NonlinearConstraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)


def bowl(x):
    return float((x - 1.0) @ (x - 1.0) + np.cos(x[0]))


class Counted:
    """A function that knows how often it was called, and with what."""

    def __init__(self, function=bowl):
        self.function, self.calls = function, []

    def __call__(self, *args):
        self.calls.append(tuple(np.copy(arg) for arg in args))
        return self.function(args[0])


def solve(fun=bowl, x0=X0, *, rng=0, maxfev=400, options=(), **arguments):
    options = dict(step_size=0.05, num_directions=4) | dict(options)
    return zolal.minimize(fun, x0, rng=rng, maxfev=maxfev, options=options, **arguments)


def drift(k_max, **options):
    """A run on f(x) = x in one dimension, where every estimate is exactly 1 whatever the directions: x^{k+1} = x^k - eta."""
    options = dict(step_size=0.25, smoothing=0.25, num_directions=1, kkt_directions=0, max_iterations=k_max) | options
    return zolal.minimize(lambda x: float(x[0]), [0.0], maxfev=10_000, rng=options.pop("rng", 0), options=options)


def same(one, other):
    """Whether two results are identical to the bit."""
    return all(
        np.array_equal(one[name], other[name], equal_nan=True) for name in ("x", "fun", "nfev", "nit", "multipliers", "maxcv")
    ) and all(np.array_equal(one.trace[name], other.trace[name], equal_nan=True) for name in one.trace)


def test_the_call_of_the_issue_works_and_prints():
    rng = np.random.default_rng(0)
    res = zolal.minimize(
        lambda x: x[0] + 2 * x[1] + 1e-5 * rng.normal(),
        np.array([0.5, 0.5]),
        bounds=Bounds(-1, 1),
        constraints=NonlinearConstraint(lambda x: 0.5 * x @ x - 0.5, 0, 0, jac=lambda x: x),
        method="mdlal",
        geometry=2,
        maxfev=20_000,
        rng=0,
        options=dict(step_size=0.05, penalty=20.0, dual_step=1.0, smoothing=1e-4, num_directions=16, momentum=0.5),
    )
    text = f"{res.x} {res.fun} {res.maxcv} {res.multipliers} {res.kkt} {res.nfev} {res.message}"
    assert "stationarity" in text
    assert_allclose(res.x, [-1 / np.sqrt(5), -2 / np.sqrt(5)], atol=0.1)
    assert res.nfev <= 20_000
    assert "multipliers" in repr(res)


def test_the_result_has_the_fields_of_scipy():
    res = solve(constraints=SPHERE)
    assert isinstance(res, zolal.Result)
    assert set(res) >= {"x", "fun", "nfev", "nit", "success", "status", "message", "maxcv", "multipliers", "kkt", "trace"}
    assert res.message.startswith(res.status.sentence)
    assert_allclose(res.maxcv, abs(res.x @ res.x - 1.0))


def test_a_run_that_reaches_tol_is_a_success():
    def gradient(x):
        return 2 * (x - 1.0)

    res = zolal.minimize(lambda x: (x - 1) @ (x - 1), [0.0, 0.0], gradient=gradient, tol=1e-2, rng=0, options=dict(step_size=0.2))
    assert res.success
    assert res.status == zolal.Status.CONVERGED
    assert np.linalg.norm(gradient(res.x)) <= 1e-2


COST_CASES = list(itertools.product((False, True), (1.0, 0.5), (0, 3, None), (False, True)))


@pytest.mark.parametrize(("share_base", "momentum", "kkt_directions", "sampled"), COST_CASES)
def test_nfev_is_the_number_of_calls_and_the_printed_cost(share_base, momentum, kkt_directions, sampled):
    fun = Counted()
    options = dict(share_base=share_base, momentum=momentum, kkt_directions=kkt_directions, num_initial_directions=6)
    res = solve(fun, maxfev=301, options=options, sample=(lambda rng: rng.random()) if sampled else None)
    per = (lambda n: n + 1) if share_base else (lambda n: 2 * n)
    check = 4 if kkt_directions is None else kkt_directions
    steps = per(6) + (res.nit - 1) * per(4) * (1 if momentum == 1.0 else 2)
    assert res.nfev == len(fun.calls) == steps + 2 * check
    assert res.nfev <= 301 < res.nfev + 2 * per(4)
    assert res.status == zolal.Status.MAX_EVALUATIONS


@given(maxfev=st.integers(24, 150), n=st.integers(1, 5), n0=st.integers(1, 5), share_base=st.booleans())
def test_maxfev_is_never_exceeded(maxfev, n, n0, share_base):
    fun = Counted()
    options = dict(num_directions=lambda k: 1 + k % n, num_initial_directions=n0, share_base=share_base, kkt_directions=2)
    res = solve(fun, maxfev=maxfev, options=options)
    assert res.nfev == len(fun.calls) <= maxfev


@pytest.mark.parametrize(("directions", "budget"), [(1, 1500), (4, 3200)])
def test_the_default_maxfev_is_500_per_variable_or_200_steps(directions, budget):
    fun = Counted()
    res = solve(fun, maxfev=None, tol=1e-12, options=dict(num_directions=directions))
    assert budget - 4 * directions < res.nfev == len(fun.calls) <= budget


def test_the_same_rng_gives_the_same_bits_whoever_evaluates():
    reference = solve(constraints=SPHERE)
    with ThreadPoolExecutor(3) as pool:
        assert same(reference, solve(constraints=SPHERE, workers=pool.map))
    rows = solve(lambda X: np.array([bowl(x) for x in X]), constraints=SPHERE, vectorized=True)
    assert same(reference, rows)
    assert same(reference, solve(constraints=SPHERE))


def test_the_same_rng_gives_the_same_samples_whoever_evaluates():
    def fun(x, xi):
        return bowl(x) + xi @ x

    def rows(X, samples):
        return np.array([fun(x, xi) for x, xi in zip(X, samples, strict=True)])

    reference = solve(fun, sample=lambda rng: rng.normal(size=3))
    with ThreadPoolExecutor(3) as pool:
        assert same(reference, solve(fun, sample=lambda rng: rng.normal(size=3), workers=pool.map))
    assert same(reference, solve(rows, sample=lambda rng: rng.normal(size=3), vectorized=True))


def test_different_seeds_differ_and_the_reported_seed_repeats_the_run():
    assert not same(solve(rng=0), solve(rng=1))
    free = solve(rng=None)
    assert same(free, solve(rng=free.seed))
    assert not same(free, solve(rng=None))


def test_a_generator_is_a_seed_that_moves_on():
    generator = np.random.default_rng(7)
    first, second = solve(rng=generator), solve(rng=generator)
    assert same(first, solve(rng=np.random.default_rng(7)))
    assert not same(first, second)


@pytest.mark.parametrize("seed", [2**64 - 1, 2**64 + 3, 2**200, np.int64(5), np.uint8(5)])
def test_a_seed_may_be_any_nonnegative_integer(seed):
    assert same(solve(rng=seed, maxfev=100), solve(rng=int(seed), maxfev=100))
    assert not same(solve(rng=seed, maxfev=100), solve(rng=int(seed) % 2**64 + 1, maxfev=100))


def test_the_callback_sees_every_state_and_can_stop():
    states = []
    res = solve(callback=lambda state: states.append(state) or state.k == 5)
    assert [state.k for state in states] == [1, 2, 3, 4, 5]
    assert res.status == zolal.Status.CALLBACK
    assert res.nit == 5
    assert_array_equal(res.x, states[-1].x)
    assert_array_equal(res.trace["stationarity"], [state.stationarity for state in states])


@pytest.mark.parametrize("answer", [None, False, 0, "yes", np.zeros(3)])
def test_a_callback_that_does_not_return_true_goes_on(answer):
    assert same(solve(callback=lambda state: answer), solve())


def test_both_ends_of_a_difference_and_both_iterates_get_the_same_sample():
    fun = Counted()
    solve(fun, sample=lambda rng: rng.random(), options=dict(max_iterations=2, kkt_directions=0))
    xi = np.array([float(call[1]) for call in fun.calls])
    first, second = xi[:8].reshape(4, 2), xi[8:].reshape(2, 4, 2)
    assert_array_equal(first[:, 0], first[:, 1])
    assert (second == second[:1, :, :1]).all()
    assert len(np.unique(xi)) == 4 + 4
    assert_array_equal(np.stack([call[0] for call in fun.calls])[16::2], np.tile(X0, (4, 1)))


def test_one_sample_serves_an_iteration_that_shares_its_base():
    fun = Counted()
    solve(fun, sample=lambda rng: rng.random(), options=dict(max_iterations=3, share_base=True, kkt_directions=2))
    xi = [float(call[1]) for call in fun.calls]
    assert [len(list(group)) for _, group in itertools.groupby(xi)] == [5, 10, 10, 2, 2]  # the final check has fresh ones
    assert len(set(xi)) == 5


def test_args_follow_x_and_the_sample():
    res = solve(lambda x, a, b: a * bowl(x) + b, args=(2.0, 1.0))
    assert same(res, solve(lambda x: 2.0 * bowl(x) + 1.0))
    assert same(solve(lambda x, xi, a: xi * a, args=3.0, sample=lambda rng: 1.0), solve(lambda x: 3.0))


def test_the_trace_is_that_of_a_run_by_hand():
    res = solve(constraints=SPHERE, options=dict(penalty=3.0, dual_step=0.7, smoothing=1e-3, momentum=0.4))
    solver = MDLAL(Momentum(4, 1e-3, momentum=0.4), 0.05, 3.0, 0.7)
    state, nfev, rows = solver.init(zolal.Problem(bowl, 3, SPHERE), X0, 0), 0, []
    for k in range(res.nit):
        batch = solver.ask(state)
        values = np.array([bowl(batch.point(i)) for i in range(len(batch))])
        state, nfev = solver.tell(state, values), nfev + len(batch)
        rows.append((k, nfev, 1, values[: batch.per_base : 2].mean(), state.stationarity, state.feasibility))
    assert_array_equal(res.x, state.x)
    assert_array_equal(np.array(rows).T, list(res.trace.values())[:6])
    assert (np.diff(res.trace["nfev"]) > 0).all()


def test_x0_is_not_changed_nor_part_of_the_result():
    x0 = X0.copy()
    res = solve(lambda x: 0.0, x0, options=dict(max_iterations=1))
    x0 += 1.0
    assert_array_equal(res.x, X0)
    problem = zolal.Problem(lambda x: 0.0, 3, x0=X0.copy())
    solve(problem, None, options=dict(max_iterations=1)).x[:] = 9.0
    assert_array_equal(problem.x0, X0)


def test_a_function_that_writes_into_its_argument_does_not_move_the_run():
    def rude(x):
        x -= 1.0
        return float(x @ x + np.cos(x[0] + 1.0))

    assert_allclose(solve(rude).x, solve().x, atol=1e-6)


def test_arrays_that_the_function_keeps_are_not_the_result():
    kept = []
    res = solve(lambda x: kept.append(x) or bowl(x))
    x = res.x.copy()
    for point in kept:
        point[:] = np.nan
    assert_array_equal(res.x, x)


def iterates(output, **options):
    xs = [X0]
    res = solve(constraints=SPHERE, callback=lambda state: xs.append(state.x.copy()), options=dict(output=output, **options))
    return res, np.array(xs)


def test_last_is_the_last_iterate():
    res, xs = iterates("last")
    assert_array_equal(res.x, xs[-1])


def test_average_is_the_mean_of_the_iterates_that_were_measured():
    res, xs = iterates("average")
    assert_allclose(res.x, xs[:-1].mean(axis=0), rtol=1e-12)
    assert_allclose(res.maxcv, abs(res.x @ res.x - 1.0), rtol=1e-12)


@pytest.mark.parametrize("step_size", [0.01, 0.04])
def test_best_has_the_least_residual_of_the_trace(step_size):
    res, xs = iterates("best", step_size=step_size)
    residual = np.maximum(res.trace["stationarity"], res.trace["feasibility"])
    assert_array_equal(res.x, xs[np.argmin(residual)])


def test_random_is_uniform_over_the_iterates_before_the_last():
    K, seeds = 5, 500
    found = [-drift(K, output="random", rng=seed).x[0] / 0.25 for seed in range(seeds)]
    counts = np.bincount(np.rint(found).astype(int), minlength=K)
    assert counts.size == K
    assert scipy.stats.chisquare(counts).pvalue > 1e-6  # the false-alarm rate, were the seeds drawn anew


def test_a_single_step_makes_every_rule_but_last_return_the_start():
    for output in ("best", "random", "average"):
        assert drift(1, output=output).x[0] == 0.0
    assert drift(1, output="last").x[0] == -0.25


def test_a_step_size_schedule_is_followed():
    assert_allclose(drift(4, step_size=lambda k: 2.0**-k).x, -(1 + 0.5 + 0.25 + 0.125))
    assert_allclose(drift(3, step_size=InverseSqrt(1.0, 2.0)).x, -sum(1 / np.sqrt(1 + k / 2) for k in range(3)))


def test_penalty_and_dual_step_schedules_are_followed():
    x, lam, eta = 0.0, 0.0, 0.25  # f(x) = x subject to x = 1, by hand
    for k in range(6):
        c = x - 1.0
        x, lam = x - eta * (1.0 + lam + (1 + k) * c), lam + 0.5**k * c
    res = zolal.minimize(
        lambda x: float(x[0]),
        [0.0],
        constraints=dict(type="eq", fun=lambda x: x - 1.0, jac=lambda x: np.eye(1)),
        options=dict(
            step_size=eta, penalty=lambda k: 1 + k, dual_step=lambda k: 0.5**k, num_directions=1, smoothing=0.25, max_iterations=6
        ),
    )
    assert_allclose(res.x, [x], rtol=1e-12)
    assert_allclose(res.multipliers, [lam + 6 * (x - 1.0)], rtol=1e-12)  # the last step's penalty


def test_a_smoothing_schedule_is_followed():
    fun = Counted()
    solve(fun, options=dict(smoothing=lambda k: 0.5 / (k + 1), num_directions=1, momentum=1.0, kkt_directions=1, max_iterations=3))
    moved = [np.abs(b[0] - a[0]) for a, b in zip(fun.calls[::2], fun.calls[1::2], strict=True)]
    assert_allclose(moved, np.outer([0.5, 0.25, 0.5 / 3, 0.5 / 3], np.ones(3)))  # the check takes the last step's


def test_num_directions_and_momentum_schedules_set_the_cost():
    res = solve(options=dict(num_directions=lambda k: k + 2, momentum=lambda k: 1.0 if k % 2 else 0.5, max_iterations=5, kkt_directions=0))
    assert_array_equal(np.diff(res.trace["nfev"], prepend=0), [2 * 2, 2 * 3, 4 * 4, 2 * 5, 4 * 6])


BAD_SCHEDULES = {"step_size": 0.0, "penalty": -1.0, "dual_step": -0.5, "smoothing": np.nan, "momentum": 1.5, "num_directions": 2.5}


@pytest.mark.parametrize(("name", "value"), BAD_SCHEDULES.items())
def test_a_schedule_is_checked_at_every_step(name, value):
    good = dict(step_size=0.1, penalty=1.0, dual_step=1.0, smoothing=1e-3, momentum=0.5, num_directions=2)[name]
    res = solve(options={name: lambda k: value if k == 2 else good})
    assert (res.status, res.nit, res.success) == (zolal.Status.OPTION_FAILED, 2, False)
    assert re.search(rf"`options\['{name}'\] at iteration 2` must .* got {value}", res.message)
    with pytest.raises(zolal.InvalidArgumentError, match=rf"`options\['{name}'\] at iteration 0` must"):
        solve(options={name: lambda k: value})


def test_a_schedule_that_raises_keeps_what_was_found():
    res = solve(options=dict(step_size=lambda k: [0.1, 0.1, 0.1][k]))
    assert (res.status, res.nit) == (zolal.Status.OPTION_FAILED, 3)
    assert "IndexError at iteration 3" in res.message
    assert solve(options=dict(step_size=lambda k: [0.1, 0.1, 0.1][k], max_iterations=3)).status is zolal.Status.MAX_ITERATIONS


@pytest.mark.parametrize("geometry", [4, 2.0, "auto", SmoothedLq(4, 1e-3), Euclidean()], ids=str)
def test_every_way_to_name_the_geometry_works(geometry):
    res = solve(geometry=geometry, constraints=SPHERE)
    expected = 4 if geometry in (4, SmoothedLq(4, 1e-3)) else 2
    assert res.kkt.p == expected
    assert same(res, solve(geometry=expected, constraints=SPHERE))


def test_bounds_may_be_pairs_with_none_and_keep_every_iterate_inside():
    xs = []
    pairs = [(0.0, 0.3), (None, 0.0), (0.25, None)]
    solve(x0=[0.1, -1.0, 0.5], bounds=pairs, callback=lambda state: xs.append(state.x))
    xs = np.array(xs)
    assert ((xs >= [0.0, -np.inf, 0.25]) & (xs <= [0.3, 0.0, np.inf])).all()
    assert same(solve(x0=[0.1, -1.0, 0.5], bounds=pairs), solve(x0=[0.1, -1.0, 0.5], bounds=Bounds([0, -np.inf, 0.25], [0.3, 0, np.inf])))


def test_a_regularizer_is_part_of_the_reported_value():
    res = solve(lambda x: 0.0, regularizer=zolal.regularizers.L1(0.5), options=dict(max_iterations=1))
    assert_allclose(res.fun, 0.5 * np.abs(res.x).sum())
