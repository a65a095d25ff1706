"""A run that fails ends with a Status, a sentence and the best point so far."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import Bounds, NonlinearConstraint

import zolal
from zolal import Status

X0 = np.array([0.5, -0.5])
OPTIONS = dict(step_size=0.05, num_directions=4, momentum=0.5)  # 8 evaluations, then 16 a step
SPHERE = NonlinearConstraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)


class Breaks:
    """A function that goes wrong at one call, or from that call on."""

    def __init__(self, fault, at, function=lambda x: float((x - 1) @ (x - 1)), forever=False):
        self.fault, self.at, self.function, self.forever = fault, at, function, forever
        self.count, self.lock = 0, threading.Lock()

    def __call__(self, x, *rest):
        with self.lock:
            self.count += 1
            broken = self.count > self.at if self.forever else self.count == self.at + 1
        return self.fault() if broken else self.function(x)


def raises():
    raise ConnectionError("the simulator is gone")


FAULTS = {
    "nan": (lambda: np.nan, "The objective returned nan"),
    "inf": (lambda: np.inf, "The objective returned inf"),
    "-inf": (lambda: -np.inf, "The objective returned -inf"),
    "raises": (raises, "The objective raised ConnectionError: the simulator is gone"),
}
LATER_FAULTS = FAULTS | {
    "vector": (lambda: np.ones(3), "got shape (3,)"),
    "None": (lambda: None, "got None"),
}


def solve(fun, **arguments):
    arguments = dict(bounds=Bounds(-1, 1), constraints=SPHERE, maxfev=400, rng=0, retries=0, options=OPTIONS) | arguments
    return zolal.minimize(fun, X0, **arguments)


def check_failed(res, status, fragment):
    """The promises of every failed run."""
    assert res.status == status
    assert res.success is False
    assert fragment in res.message
    assert np.isfinite(res.x).all()
    assert (np.abs(res.x) <= 1).all()
    assert len(res.trace["nfev"]) == res.nit


@pytest.mark.parametrize(("fault", "sentence"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("at", [0, 5])
def test_an_objective_that_fails_in_the_first_step_returns_the_start(fault, sentence, at):
    fun = Breaks(fault, at)
    res = solve(fun)
    check_failed(res, Status.EVALUATION_FAILED, sentence)
    assert_array_equal(res.x, X0)
    assert (res.nit, res.nfev) == (0, at + 1)
    assert res.nfev == fun.count


@pytest.mark.parametrize(("fault", "sentence"), LATER_FAULTS.values(), ids=LATER_FAULTS)
@pytest.mark.parametrize("at", [8, 100, 167])
def test_an_objective_that_fails_later_returns_the_best_point_so_far(fault, sentence, at):
    xs, fun = [X0], Breaks(fault, at)
    res = solve(fun, callback=lambda state: xs.append(state.x))
    check_failed(res, Status.EVALUATION_FAILED, sentence)
    assert res.nfev == fun.count == at + 1
    assert_array_equal(res.x, xs[np.argmin(np.maximum(res.trace["stationarity"], res.trace["feasibility"]))])


@pytest.mark.parametrize(("fault", "sentence"), LATER_FAULTS.values(), ids=LATER_FAULTS)
def test_a_failure_in_the_final_check_is_told(fault, sentence):
    fun = Breaks(fault, 8)  # the first step makes the residual small enough, the check then fails
    res = solve(fun, tol=1e3)
    check_failed(res, Status.EVALUATION_FAILED, sentence)
    assert res.nfev == fun.count == 9


@pytest.mark.parametrize(("fault", "sentence"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("at", [0, 3])
def test_a_vectorized_objective_that_fails_ends_the_run(fault, sentence, at):
    fun = Breaks(fault, at, lambda X: ((X - 1) ** 2).sum(axis=1))
    broken = fun.fault
    fun.fault = lambda: np.full(8 if at == 0 else 16, broken())
    res = solve(fun, vectorized=True)
    check_failed(res, Status.EVALUATION_FAILED, sentence)
    assert res.nfev == 8 + 16 * at


def test_a_sample_that_raises_ends_the_run():
    res = solve(lambda x, xi: float(x @ x), sample=Breaks(raises, 20, lambda rng: rng.random()))
    check_failed(res, Status.EVALUATION_FAILED, "ConnectionError: the simulator is gone")


def test_calls_that_an_eager_map_makes_after_a_failure_are_counted():
    fun = Breaks(raises, 10)
    res = solve(fun, workers=lambda function, items: [function(item) for item in items])
    check_failed(res, Status.EVALUATION_FAILED, "ConnectionError")
    assert res.nfev == fun.count == 24


def test_the_message_of_a_failure_is_made_of_sentences():
    assert "the simulator is gone. " in solve(Breaks(raises, 30)).message


def test_a_keyboard_interrupt_ends_the_run_with_what_it_has_found():
    def stop():
        raise KeyboardInterrupt

    xs, fun = [X0], Breaks(stop, 30)
    res = solve(fun, callback=lambda state: xs.append(state.x))
    check_failed(res, Status.INTERRUPTED, "The run was interrupted.")
    assert_array_equal(res.x, xs[-1])
    assert (res.nit, res.nfev, fun.count) == (2, 30, 31)  # the call that was cut off gave no value


CONSTRAINT_FAULTS = {
    "nan": (lambda: np.nan, "The value of constraint 1 in row 0 is not finite: nan"),
    "inf": (lambda: np.inf, "The value of constraint 1 in row 0 is not finite: inf"),
    "raises": (raises, "In constraint 1 `fun` raised ConnectionError: the simulator is gone"),
    "more rows": (lambda: np.ones(2), "`fun` of constraint 1 returned 2 rows after 1 at the start"),
    "complex": (lambda: 1j, "complex128"),
    "matrix": (lambda: np.ones((1, 1)), "got shape (1, 1)"),
}


@pytest.mark.parametrize(("fault", "sentence"), CONSTRAINT_FAULTS.values(), ids=CONSTRAINT_FAULTS)
@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
def test_a_constraint_that_fails_in_the_run_ends_it_with_the_best_point_so_far(fault, sentence, forever):
    constraint = NonlinearConstraint(Breaks(fault, 8, lambda x: x @ x, forever), 1.0, 1.0, jac=lambda x: 2 * x)
    xs = [X0]
    res = solve(lambda x: float((x - 1) @ (x - 1)), constraints=constraint, callback=lambda state: xs.append(state.x))
    check_failed(res, Status.CONSTRAINT_FAILED, sentence)
    assert res.nit > 0
    assert_array_equal(res.x, xs[np.argmin(np.maximum(res.trace["stationarity"], res.trace["feasibility"]))])


JACOBIAN_FAULTS = {
    "nan": (lambda: np.array([np.nan, 0.0]), "not finite"),
    "raises": (raises, "In constraint 1 `jac` raised ConnectionError: the simulator is gone"),
    "wrong shape": (lambda: np.ones((1, 3)), "shape"),
}


@pytest.mark.parametrize(("fault", "sentence"), JACOBIAN_FAULTS.values(), ids=JACOBIAN_FAULTS)
@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
def test_a_jacobian_that_fails_in_the_run_ends_it(fault, sentence, forever):
    constraint = NonlinearConstraint(lambda x: x @ x, 1.0, 1.0, jac=Breaks(fault, 6, lambda x: 2 * x, forever))
    res = solve(lambda x: float((x - 1) @ (x - 1)), constraints=constraint)
    check_failed(res, Status.CONSTRAINT_FAILED, sentence)


@pytest.mark.parametrize("constraints", [(), NonlinearConstraint(lambda x: x[0] - x[1], 0, 0, jac=lambda x: np.array([1.0, -1.0]))])
def test_iterates_that_run_away_end_with_diverged(constraints):
    with np.errstate(all="ignore"):
        res = zolal.minimize(
            lambda x: 100.0 * float(x[0]), [0.0, 0.0], constraints=constraints, rng=0, options=dict(step_size=1e308, smoothing=1.0)
        )
    assert res.status == Status.DIVERGED
    assert "step_size" in res.message
    assert np.isfinite(res.x).all()
    assert not res.success


def test_an_exact_gradient_that_raises_does_not_lose_the_run():
    calls = []
    res = solve(lambda x: float((x - 1) @ (x - 1)), gradient=lambda x: raises() if calls else calls.append(1) or 2 * (x - 1))
    assert np.isfinite(res.x).all()
    assert not res.success
    assert "ConnectionError" in res.message


@pytest.mark.parametrize("gradient", [lambda x: np.ones(3), lambda x: 0.0, lambda x: x * np.nan, lambda x: x * 1j, lambda x: raises()])
def test_a_wrong_gradient_is_refused_before_anything_is_evaluated(gradient):
    evaluated = []
    with pytest.raises(zolal.ObjectiveError, match="The gradient"):
        solve(lambda x: evaluated.append(1) or float(x @ x), gradient=gradient)
    assert not evaluated


def test_an_unsupported_combination_is_told_before_anything_is_evaluated():
    evaluated = []
    with pytest.raises(zolal.UnsupportedError, match="supported"):
        solve(lambda x: evaluated.append(1) or float(x @ x), bounds=[(-9, 9)] * 2, regularizer=zolal.regularizers.GroupL2(0.1, [1, 1]))
    assert not evaluated


def test_a_sample_that_raises_is_told_as_the_samples():
    res = solve(lambda x, xi: 0.0, sample=lambda rng: raises())
    assert res.status is zolal.Status.EVALUATION_FAILED
    assert res.message.startswith("`sample` raised ConnectionError")


@pytest.mark.parametrize(
    ("workers", "words"), [(lambda f, items: raises(), "`workers` raised"), (lambda f, items: [f(0)], "`workers` returned 1 of")]
)
def test_workers_that_fail_are_named(workers, words):
    res = solve(lambda x: float(x @ x), workers=workers)
    assert res.status is zolal.Status.EVALUATION_FAILED
    assert words in res.message


def test_a_smoothing_that_rounding_swallows_is_no_success():
    with pytest.raises(zolal.InvalidArgumentError, match=r"smoothing 1.0e-04 is lost in the rounding of x"):
        zolal.minimize(lambda x: float(np.sum((x / 1e12 - 3) ** 2)), np.full(2, 1e13), rng=0, options=dict(step_size=0.1))
    res = zolal.minimize(lambda x: float((x - 0.3) @ (x - 0.3)), np.zeros(2), rng=0, maxfev=100_000, options=dict(step_size=1e3))
    assert not res.success
    assert "lost in the rounding" in res.message


def test_a_residual_that_the_check_does_not_confirm_does_not_end_the_run():
    noise = np.random.default_rng(0)
    options, seen = dict(step_size=0.02, num_directions=2, smoothing=1e-2, momentum=1.0), []
    res = zolal.minimize(
        lambda x: float(x @ x) + 1e-3 * noise.standard_normal(),
        np.full(4, 0.5),
        rng=0,
        maxfev=4000,
        tol=0.05,
        options=options,
        callback=lambda state: seen.append(state.k),
    )
    assert seen == list(range(1, res.nit + 1))  # each step once, also where a check came between
    assert (res.trace["stationarity"] <= 0.05).any()
    assert res.success or res.nfev > 4000 - 16
    assert res.nfev <= 4000
