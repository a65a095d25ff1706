"""zolal as a method of SciPy: results, callbacks, constraints, warnings and exceptions as SciPy's own methods have them."""

import os
import pickle
import signal

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import (
    Bounds,
    LinearConstraint,
    NonlinearConstraint,
    OptimizeResult,
    OptimizeWarning,
    basinhopping,
    dual_annealing,
    shgo,
)

import zolal

START = [0.1, 0.2]
BOX = [(0.0, 2.0), (0.0, 0.5)]


def tilted(x):
    """A bowl whose least lies outside of the box below."""
    return float((x[0] - 1.5) ** 2 + 2 * (x[1] - 1.0) ** 2 + 0.5 * x[0] * x[1] + 0.1 * np.exp(x[0]))


def minimize(fun=tilted, x0=START, **given):
    return scipy.optimize.minimize(fun, x0, method=zolal.scipy_method, **given)


def wavy(x):
    """Many valleys; the least lies at (-0.19507, -0.1), as a fine grid says."""
    return np.cos(14.5 * x[0] - 0.3) + (x[0] + 0.2) * x[0] + (x[1] + 0.2) * x[1]


@pytest.fixture(scope="module")
def least_wave():
    x = np.linspace(-1.0, 1.0, 2_000_001)
    return float(np.min(wavy([x, -0.1])))


CONSTRAINTS = {
    "dict": dict(type="ineq", fun=lambda x: 1.2 - x[0] - x[1]),
    "dict with jac and args": dict(type="ineq", fun=lambda x, a: a - x[0] - x[1], jac=lambda x, a: -np.ones(2), args=(1.2,)),
    "dicts": (dict(type="ineq", fun=lambda x: 1.2 - x.sum()), dict(type="eq", fun=lambda x: x[0] - 1.5 * x[1])),
    "linear": LinearConstraint([[1.0, 1.0]], -np.inf, 1.2),
    "linear row": LinearConstraint([1.0, 1.0], ub=1.2),
    "nonlinear": NonlinearConstraint(lambda x: x @ x, -np.inf, 0.8),
    "nonlinear with jac": [NonlinearConstraint(lambda x: [x @ x], 0.5, 0.5, jac=lambda x: 2 * x[None, :])],
    "nonlinear by words": NonlinearConstraint(lambda x: x @ x, -np.inf, 0.8, jac="2-point"),
    "both kinds": [LinearConstraint([[1.0, 1.0]], -np.inf, 1.2), NonlinearConstraint(lambda x: x[0] * x[1], 0.1, np.inf)],
}


@pytest.mark.parametrize("fun", [tilted, scipy.optimize.rosen])
@pytest.mark.parametrize("constraints", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_every_form_of_constraints_gives_the_point_that_slsqp_finds(constraints, fun):
    reference = scipy.optimize.minimize(fun, START, method="SLSQP", bounds=BOX, constraints=constraints, tol=1e-12)
    for seed in range(4):
        mine = minimize(fun, bounds=BOX, constraints=constraints, tol=1e-5, options=dict(rng=seed))
        assert mine.success
        assert mine.nfev <= 100
        assert mine.fun == pytest.approx(reference.fun, abs=1e-8)
        assert_allclose(mine.x, reference.x, atol=1e-5)
        assert mine.maxcv < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_in_a_corner_that_a_curve_makes_with_a_bound_a_run_converges(seed):
    """Constraints lead every look there to one point, whose exact value is known after the first."""
    res = minimize(bounds=BOX, constraints=CONSTRAINTS["nonlinear"], tol=1e-5, options=dict(rng=seed))
    assert res.success
    assert res.nfev <= 30
    assert_allclose(res.x, [np.sqrt(0.55), 0.5], atol=1e-8)


@pytest.mark.parametrize("bounds", [BOX, Bounds([0, 0], [2, 0.5]), [(0, None), (None, 0.5)], ((0, 2), (0, 0.5)), np.array(BOX)])
def test_every_form_of_bounds_is_taken(bounds):
    res = minimize(bounds=bounds, tol=1e-6)
    slope = 2 * (res.x[0] - 1.5) + 0.25 + 0.1 * np.exp(res.x[0])  # along the first variable, where the other is at its bound
    assert res.success
    assert_allclose([slope, res.x[1]], [0.0, 0.5], atol=1e-5)


def test_the_result_has_what_scipy_promises_and_counts_every_call():
    calls = []
    res = minimize(lambda x: calls.append(x) or tilted(x))
    assert isinstance(res, OptimizeResult)
    assert res.nfev == len(calls)
    assert res.fun == pytest.approx(tilted(res.x), abs=1e-9)
    assert (res.success, int(res.status), type(res.message), type(res.nit), type(res.x)) == (True, 0, str, int, np.ndarray)
    assert "maxcv" in res


def test_it_is_the_run_of_the_front_door():
    res = minimize(bounds=BOX, options=dict(maxfev=40, rng=5), tol=1e-4)
    own = zolal.minimize(tilted, START, bounds=BOX, maxfev=40, rng=5, tol=1e-4)
    assert_array_equal(res.x, own.x)
    assert (res.fun, res.nfev, res.message) == (own.fun, own.nfev, own.message)


def test_the_same_call_gives_the_same_result_unless_a_seed_is_given():
    assert_array_equal(minimize(options=dict(maxfev=12)).x, minimize(options=dict(maxfev=12)).x)
    assert np.any(minimize(options=dict(maxfev=12, rng=1)).x != minimize(options=dict(maxfev=12)).x)


@pytest.mark.parametrize("args", [(3.0,), 3.0])
def test_args_reach_the_function(args):
    assert_allclose(minimize(lambda x, a: float((x - a) @ (x - a)), args=args).x, [3.0, 3.0], atol=1e-3)


def test_a_scalar_start_and_a_value_in_an_array_are_what_scipy_allows():
    assert minimize(lambda x: (x - 2.0) ** 2, 0.0).x == pytest.approx([2.0], abs=1e-3)


def test_a_callback_by_name_is_told_of_each_step():
    told = []
    res = minimize(callback=lambda intermediate_result: told.append(intermediate_result))
    assert [step.nit for step in told] == list(range(1, len(told) + 1))
    assert all(step.fun == pytest.approx(tilted(step.x), abs=1e-9) for step in told)
    assert told[-1].nfev <= res.nfev
    assert isinstance(told[0], OptimizeResult)


def test_a_callback_of_x_gets_copies_and_its_answer_is_ignored():
    seen = []

    def callback(xk):
        seen.append(xk.copy())
        xk[:] = 100.0
        return True

    res = minimize(callback=callback)
    assert res.success
    assert len(seen) >= 5
    assert_array_equal(seen[0], START)


@pytest.mark.parametrize("by_name", [True, False])
def test_stop_iteration_ends_the_run(by_name):
    def named(intermediate_result):
        if intermediate_result.nit == 5:
            raise StopIteration

    count = iter(range(4))
    res = minimize(callback=named if by_name else lambda x: next(count))  # the fifth call raises
    assert (res.nit, res.success, res.status) == (5, False, zolal.Status.CALLBACK)
    assert res.message.startswith("`callback` raised `StopIteration`.")


def test_what_a_callback_raises_is_raised():
    with pytest.raises(KeyError, match="mine"):
        minimize(callback=lambda x: {}["mine"])


def test_limits_have_the_names_that_scipy_gives_them(capsys):
    assert minimize(options=dict(maxiter=4)).nit == 4
    assert minimize(options=dict(maxiter=4)).status is zolal.Status.MAX_ITERATIONS
    assert minimize(options=dict(maxfev=9)).nfev <= 9
    assert minimize(tol=1e-4, options=dict(maxfev=100)).nfev > minimize(tol=0.3).nfev
    minimize(options=dict(disp=True))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "evaluations" in captured.err


def test_unknown_options_and_derivatives_are_told_of_as_scipy_does():
    with pytest.warns(OptimizeWarning, match="Unknown solver options: eps, ftol") as told:
        minimize(options=dict(ftol=1e-9, eps=1e-8))
    assert told[0].filename == __file__
    with pytest.warns(RuntimeWarning, match=r"does not use derivatives of fun \(jac, hess\)"):
        res = minimize(jac=lambda x: x, hess=lambda x: np.eye(2))
    assert_array_equal(res.x, minimize().x)


class OwnError(Exception):
    """Of a user."""


def failing(x):
    raise OwnError("no licence")


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_function_raises_is_raised(workers):
    with pytest.raises(OwnError, match="no licence"):
        minimize(failing, options=dict(workers=workers))


def test_what_the_function_raises_is_raised_once_later_and_the_function_is_not_asked_again():
    calls = []

    def late(x):
        calls.append(x)
        if len(calls) == 7:
            raise OwnError
        return tilted(x)

    with pytest.raises(OwnError):
        minimize(late)
    assert len(calls) == 7


def test_a_slip_of_the_pen_is_raised_as_it_is():
    with pytest.raises(NameError, match="no_such_name"):
        minimize(lambda x: no_such_name)  # noqa: F821


def test_a_policy_on_failures_is_that_of_zolal():
    res = minimize(failing, options=dict(on_error="retry", retries=1))
    assert (res.status, res.nfev, res.success) == (zolal.Status.EVALUATION_FAILED, 2, False)
    assert "OwnError: no licence" in res.message


def test_a_start_without_a_value_is_a_result_without_success():
    res = minimize(lambda x: np.nan)
    assert not res.success
    assert_array_equal(res.x, START)
    assert "returned nan" in res.message


def test_an_interrupt_reaches_whoever_called_scipy():
    """A global method around this one would go on with its next local run."""
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return tilted(x)

    with pytest.raises(KeyboardInterrupt):
        basinhopping(interrupted, START, niter=3, minimizer_kwargs=dict(method=zolal.scipy_method))
    assert len(calls) == 5


BAD = {
    "bounds": (dict(bounds=[(1, 0), (0, 1)]), "Lower bounds must not exceed upper bounds"),
    "as many bounds": (dict(bounds=[(0, 1)]), "one pair per variable"),
    "constraints": (dict(constraints=[3]), "A constraint must be"),
    "callback": (dict(callback=3), "`callback` must be callable, got 3"),
    "value": (dict(fun=lambda x: "three"), "must return one real number, got 'three'"),
    "start": (dict(x0=[np.nan, 0.0]), "`x0` must be finite"),
    "option": (dict(options=dict(maxfev=-3)), "got -3"),
}


@pytest.mark.parametrize(("given", "sentence"), BAD.values(), ids=BAD)
def test_bad_input_is_a_value_error_as_in_scipy(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        minimize(**given)


def test_options_that_scipy_has_no_name_for_reach_zolal():
    res = minimize(lambda x, xi: float((x - xi) @ (x - xi)), options=dict(sample=lambda rng: rng.normal(1.0, 0.1, 2), maxfev=200))
    assert_allclose(res.x, [1.0, 1.0], atol=0.1)
    assert minimize(x0=[0.5, 0.5], options=dict(region=zolal.sets.Simplex())).x.sum() == pytest.approx(1.0)
    assert minimize(options=dict(method="mdlal", options=dict(step_size=1e-3, max_iterations=3))).nit == 3


def test_basinhopping_finds_the_least_valley(least_wave):
    local = dict(method=zolal.scipy_method, options=dict(maxfev=60), bounds=[(-1, 1)] * 2)
    res = basinhopping(wavy, [0.9, 0.9], niter=8, stepsize=0.5, rng=1, minimizer_kwargs=local)
    assert res.fun == pytest.approx(least_wave, abs=1e-5)
    assert res.lowest_optimization_result.success


def test_dual_annealing_finds_the_least_valley(least_wave):
    res = dual_annealing(wavy, [(-1, 1)] * 2, rng=1, maxiter=20, minimizer_kwargs=dict(method=zolal.scipy_method))
    assert res.fun == pytest.approx(least_wave, abs=1e-5)


def test_shgo_finds_the_least_valley_and_options_come_with_the_method(least_wave):
    limited = zolal.scipy_method.with_options(maxfev=30)
    res = shgo(wavy, [(-1, 1)] * 2, n=32, sampling_method="sobol", minimizer_kwargs=dict(method=limited))
    assert res.success
    assert res.fun == pytest.approx(least_wave, abs=1e-5)
    assert res.nlfev <= 30 * len(res.xl)


def test_shgo_hands_its_constraints_on():
    below = dict(type="ineq", fun=lambda x: 1.2 - x[0] - x[1])
    mine = shgo(tilted, BOX, constraints=below, minimizer_kwargs=dict(method=zolal.scipy_method))
    reference = shgo(tilted, BOX, constraints=below)
    assert mine.fun == pytest.approx(reference.fun, abs=1e-4)
    assert mine.x.sum() <= 1.2 + 1e-9


def test_the_method_travels_to_other_processes():
    method = pickle.loads(pickle.dumps(zolal.scipy_method.with_options(maxfev=9)))
    assert scipy.optimize.minimize(tilted, START, method=method).nfev <= 9
