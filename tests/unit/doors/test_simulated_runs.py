"""Runs with constraints that only the simulator knows, through every door, and what becomes of wrong outputs."""

import itertools
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import zolal
from zolal import Constraint, Simulated
from zolal.errors import InvalidArgumentError, ObjectiveError
from zolal.result import Status
from zolal.solvers.auto.constants import CONSTANTS

WAIT = Simulated(upper=2.0, name="wait")
START = np.array([-3.0, 1.0])  # the output is 6 there
SOLUTION = [1.0, 0.0]
ALLOWED = itertools.count()  # calls of `sampled` before somebody presses Ctrl-C


def fun(x):
    """The least |x|^2 with 3 - x_0 <= 2 is at (1, 0), with the multiplier 2."""
    return np.sum(x * x), [3.0 - x[0]]


def sampled(x, xi):
    if next(ALLOWED, None) is None:
        raise KeyboardInterrupt
    return x @ x + 0.05 * xi[0], [3.0 - x[0] + 0.05 * xi[1]]


def draw(rng):
    return rng.normal(size=2)


class Scripted:
    """`fun`, but some calls give what they are told to."""

    def __init__(self, wrong, every=None, at=None):
        self.wrong, self.every, self.at, self.calls = wrong, every, at, 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.at or (self.every and self.calls % self.every == 0):
            return self.wrong(x)
        return fun(x)


def failing(x):
    raise RuntimeError("The mesh is broken")


def check_same(one, other):
    for name in ("x", "fun", "fun_error", "nfev", "nit", "multipliers", "multiplier_errors", "status", "message", "success", "outputs"):
        assert_array_equal(one[name], other[name])


REFERENCE = zolal.minimize(fun, START, constraints=[WAIT], rng=0)


def test_the_run_ends_at_the_solution_of_the_closed_form():
    assert REFERENCE.success
    assert REFERENCE.nfev <= 20
    assert_allclose(REFERENCE.x, SOLUTION, atol=1e-4)
    assert REFERENCE.named_multipliers == pytest.approx({"wait": 2.0}, abs=1e-3)
    (row,) = REFERENCE.constraints
    assert (row["name"], row["error"], row["probability"]) == ("wait", 0.0, 1.0)
    assert row["value"] == pytest.approx(2.0, abs=1e-5)
    assert "All outputs hold with probability 1" in REFERENCE.message


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (lambda x: (np.sum(x * x), {"wait": 3.0 - x[0]}), {}),
        (lambda x: (np.sum(x * x), 3.0 - x[0]), {}),
        (lambda x: [np.sum(x * x), np.array([3.0 - x[0]])], {}),
        (lambda X: (np.sum(X * X, axis=1), 3.0 - X[:, :1]), dict(vectorized=True)),
        (fun, dict(workers=2)),
        (fun, dict(constraints={"wait": Simulated(upper=2.0)})),
        (fun, dict(constraints=WAIT)),
    ],
)
def test_every_door_gives_the_same_run(given, arguments):
    check_same(zolal.minimize(given, START, **dict(constraints=[WAIT], rng=0) | arguments), REFERENCE)


def test_whoever_tells_values_tells_outputs_with_them():
    opt = zolal.Optimizer(None, START, constraints=[WAIT], rng=0)
    for batch in opt:
        opt.tell({query.key: fun(query.point) for query in batch})
    check_same(opt.result, REFERENCE)


def test_what_is_told_without_outputs_is_refused_and_nothing_is_lost():
    opt = zolal.Optimizer(None, START, constraints=[WAIT], rng=0)
    opt.tell([fun(query.point) for query in opt.ask()])
    (query,) = opt.ask()
    with pytest.raises(InvalidArgumentError, match=r"`tell\(values\)` must hold \(value, outputs\) with 1 output \('wait'\), got 1\.0"):
        opt.tell({query.key: 1.0})
    with pytest.raises(InvalidArgumentError, match=r"`tell\(values\)` must hold 1 output \('wait'\), got the outputs \[1\.0, 2\.0\]"):
        opt.tell({query.key: (1.0, [1.0, 2.0])})
    while batch := opt.ask():
        opt.tell({query.key: fun(query.point) for query in batch})
    check_same(opt.result, REFERENCE)


def test_names_of_variables_and_a_problem_as_a_whole():
    problem = zolal.Problem(lambda x: (x["a"] ** 2 + x["b"] ** 2, [3.0 - x["a"]]), 2, constraints=[WAIT], names=["a", "b"])
    res = zolal.minimize(problem, {"a": -3.0, "b": 1.0}, rng=0)
    assert res.x == pytest.approx({"a": 1.0, "b": 0.0}, abs=1e-4)
    assert res.constraint_names == ("wait",)


def test_exact_constraints_hold_to_rounding_at_every_query_beside_simulated_ones():
    seen = []

    def watched(x):
        seen.append(x[0] + x[1])
        return (x - 2.0) @ (x - 2.0), [x[0]]

    line = Constraint(lambda x: x[0] + x[1], 1.0, 1.0, name="line")
    res = zolal.minimize(watched, [0.0, 0.0], constraints=[line, Simulated(upper=0.25, name="first")], rng=0)
    assert_allclose(res.x, [0.25, 0.75], atol=1e-4)
    assert_allclose(seen[: -2 * 1], 1.0, atol=1e-12)  # the final check alone looks across the equality
    assert_allclose(res.x.sum(), 1.0, atol=1e-12)
    assert res.success
    assert [row["name"] for row in res.constraints] == ["line", "first"]
    assert "probability" not in res.constraints[0]
    assert_allclose([res.named_multipliers[name] for name in ("line", "first")], [2.5, 1.0], atol=1e-2)


@pytest.mark.parametrize(
    ("bounds", "output", "x", "multiplier"),
    [
        ((1.0, 1.0), lambda x: x[0] * x[1], [1.0, 1.0], -2.0),
        ((2.0, 5.0), lambda x: x[0] + x[1], [1.0, 1.0], -2.0),
        ((-9.0, -2.0), lambda x: x[0] + x[1], [-1.0, -1.0], 2.0),
        ((-9.0, 5.0), lambda x: x[0] + x[1], [0.0, 0.0], 0.0),
    ],
)
def test_two_sided_and_equal_bounds(bounds, output, x, multiplier):
    res = zolal.minimize(lambda z: (z @ z, [output(z)]), [2.0, 0.7], constraints=[Simulated(*bounds)], rng=0)
    assert res.success
    assert_allclose(res.x, x, atol=2e-3)
    assert res.multipliers[0] == pytest.approx(multiplier, abs=1e-2)
    assert res.multiplier_errors[0] < 0.1


@pytest.mark.parametrize("value", [0.0, -7.3])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_constant_objective_asks_for_any_feasible_point(value, noise):
    rng = np.random.default_rng(0)
    res = zolal.minimize(lambda x: (value, [3.0 - x[0] + noise * rng.normal()]), START, constraints=[WAIT], rng=0, maxfev=100, tol=1e-2)
    assert res.success
    assert res.x[0] >= 1.0 - 1e-2


@pytest.mark.parametrize("noise", [0.1, 10.0])
@pytest.mark.parametrize(
    ("outputs", "upper"), [(lambda x: [3.0 - x[0]], [2.0]), (lambda x: [3.0 - x[0], np.mean((x - 1.0) ** 2)], [2.0, 2.0])]
)
@pytest.mark.parametrize("d", [2, 6])
def test_an_objective_of_noise_alone_leads_nowhere_but_to_where_outputs_hold(outputs, upper, noise, d):
    """Noise has no direction: x stays within what looks reach, and what is said of f is that noise hides it."""
    rng = np.random.default_rng(d)
    res = zolal.minimize(
        lambda x: (1.0 + noise * rng.normal(), outputs(x) + 0.05 * rng.normal(size=len(upper))),
        np.full(d, -3.0),
        constraints=[Simulated(upper=upper)],
        rng=0,
        maxfev=50 * d,
    )
    assert res.status is Status.TOO_NOISY
    assert np.all(np.array(outputs(res.x)) <= upper)
    assert "All outputs hold with probability" in res.message
    assert np.abs(res.x).max() < 100.0


def test_a_run_that_cannot_become_feasible_says_which_output_is_in_the_way_and_how_far():
    both = [Simulated(upper=10.0, name="mass"), Simulated(upper=0.5, name="ring")]
    res = zolal.minimize(lambda x: (x[0], [x[0], x @ x + 1.0]), [2.0, 1.0], constraints=both, rng=0, maxfev=200)
    assert res.status is Status.INFEASIBLE
    assert not res.success
    assert "Output 'ring' is 1.0" in res.message
    assert "0.5 above its bound 0.5" in res.message
    assert res.maxcv == pytest.approx(0.5, abs=1e-2)
    assert res.constraints[1]["probability"] == 0.0


def test_noisy_outputs_are_told_with_their_errors_and_hold_with_the_confidence():
    """Of 8 runs at confidence 0.95 more than two end outside once in 170 tries."""
    missed, outside = [], 0
    for seed in range(8):
        rng = np.random.default_rng([seed, 3])
        res = zolal.minimize(lambda x, rng=rng: sampled(x, rng.normal(size=2)), START, constraints=[WAIT], rng=seed, maxfev=40, tol=2e-2)
        (row,) = res.constraints
        truth = 3.0 - res.x[0]
        assert row["error"] > 0.0
        missed.append((row["value"] - truth) / row["error"])
        outside += truth > 2.0
        assert not res.success or row["probability"] >= 0.95
    assert outside <= 2
    assert np.sqrt(np.mean(np.square(missed))) < 2.0


def test_more_confidence_keeps_farther_from_the_bound():
    def run(confidence):
        rng = np.random.default_rng(1)
        return zolal.minimize(lambda x: sampled(x, rng.normal(size=2)), START, constraints=[WAIT], rng=0, maxfev=50, confidence=confidence)

    rows = [run(confidence).constraints[0] for confidence in (0.5, 0.95, 0.999)]
    gaps = [(2.0 - row["value"]) / row["error"] for row in rows]
    assert gaps[0] < gaps[1] < gaps[2]
    assert np.all(np.array(gaps) > CONSTANTS.chosen + np.array([0.0, 1.64, 3.09]) - 0.35)


def test_objective_and_outputs_share_the_sample_and_runs_repeat():
    runs = [zolal.minimize(sampled, START, constraints=[WAIT], sample=draw, rng=3, maxfev=60, workers=workers) for workers in (1, 2)]
    check_same(*runs)
    assert runs[0].x[0] > 0.9


@pytest.mark.parametrize("stop", [3, 11])
def test_a_resumed_run_has_the_same_bits(tmp_path, monkeypatch, stop):
    arguments = dict(constraints=[WAIT], sample=draw, rng=3, maxfev=50)
    whole = zolal.minimize(sampled, START, **arguments)
    monkeypatch.setattr("test_simulated_runs.ALLOWED", iter(range(stop)))
    first = zolal.minimize(sampled, START, checkpoint=tmp_path / "run", **arguments)
    assert first.status is Status.INTERRUPTED
    monkeypatch.undo()
    lines = [json.loads(line) for path in (tmp_path / "run").glob("*.jsonl") for line in path.read_text().splitlines()]
    assert any("o" in line for line in lines)
    check_same(zolal.minimize(sampled, START, checkpoint=tmp_path / "run", resume=True, **arguments), whole)


def test_a_run_is_another_one_with_other_bounds(tmp_path):
    zolal.minimize(fun, START, constraints=[WAIT], rng=0, checkpoint=tmp_path / "run")
    with pytest.raises(zolal.errors.CheckpointError, match="outputs"):
        zolal.minimize(fun, START, constraints=[Simulated(upper=2.5, name="wait")], rng=0, checkpoint=tmp_path / "run", resume=True)


@pytest.mark.parametrize("policy", ["retry", "skip"])
@pytest.mark.parametrize("wrong", [failing, lambda x: (x @ x, [np.nan]), lambda x: (np.nan, [1.0]), lambda x: (x @ x, [np.inf])])
def test_evaluations_that_fail_now_and_then_are_done_without(policy, wrong):
    res = zolal.minimize(Scripted(wrong, every=5), START, constraints=[WAIT], rng=0, on_error=policy)
    assert res.success
    assert_allclose(res.x, SOLUTION, atol=1e-3)
    assert res.failures


def test_an_output_that_is_never_a_number_is_named():
    res = zolal.minimize(lambda x: (x @ x, [np.nan]), START, constraints=[WAIT], rng=0)
    assert res.status is Status.EVALUATION_FAILED
    assert res.message.startswith("The output 'wait' is nan. It failed 3 times. Nothing is known of the outputs")
    assert_array_equal(res.x, START)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda x: (x @ x, [1.0, 2.0]), "The objective must return 1 output ('wait'), got the outputs [1.0, 2.0]."),
        (lambda x: (x @ x, []), "The objective must return 1 output ('wait'), got the outputs []."),
        (lambda x: 4.0, "The objective must return (value, outputs) with 1 output ('wait'), got 4.0."),
    ],
)
def test_outputs_of_varying_length_end_the_run_with_its_best_point(wrong, sentence):
    res = zolal.minimize(Scripted(wrong, at=7), START, constraints=[WAIT], rng=0)
    assert res.status is Status.EVALUATION_FAILED
    assert res.message.startswith(sentence)
    assert not res.success
    assert res.fun < fun(START)[0]
    assert "how far that is from its mean is not known" in res.message
    with pytest.raises(ObjectiveError) as caught:
        zolal.minimize(Scripted(wrong, at=1), START, constraints=[WAIT], rng=0)
    assert sentence in str(caught.value)


def test_a_pair_without_simulated_constraints_is_told_what_it_lacks():
    with pytest.raises(ObjectiveError, match=r"returned a pair, .*; outputs beside a value go with `Simulated` constraints"):
        zolal.minimize(fun, START)


@pytest.mark.parametrize("method", ["mdlal", "szo-conex"])
def test_other_methods_know_their_constraints_exactly(method):
    with pytest.raises(InvalidArgumentError, match=f"`Simulated` constraints go with method 'auto', got '{method}'"):
        zolal.minimize(fun, START, constraints=[WAIT], method=method)


@pytest.mark.parametrize("confidence", [0.3, 1.0, "sure", None, float("nan"), True])
def test_confidence_is_a_number_from_a_half_to_below_one(confidence):
    with pytest.raises(InvalidArgumentError) as caught:
        zolal.minimize(fun, START, constraints=[WAIT], confidence=confidence)
    assert str(caught.value) == f"`confidence` must be a number from 0.5 to below 1, got {confidence!r}."


def test_looks_for_a_straight_noisy_output_stay_near():
    """Such an output asks for looks without end, where f may mean nothing."""
    rng, seen = np.random.default_rng(0), []

    def watched(x):
        seen.append(np.abs(x).max())
        return x @ x, [3.0 - x[0] + 0.1 * rng.normal()]

    zolal.minimize(watched, [2.0, 1.0], constraints=[WAIT], rng=0, maxfev=60)
    assert max(seen) < 40.0
