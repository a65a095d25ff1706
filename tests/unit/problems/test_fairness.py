"""The fairness problem against naive loops, finite differences and the formulas of the paper's Section 7.3."""

import math
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import zolal
from registry import PEOPLE
from zolal.errors import InvalidArgumentError
from zolal.problems import FairnessModel, fairness, fairness_diagnostics
from zolal.problems.fairness import phi

WEIGHT = 0.4


@pytest.fixture
def model():
    return FairnessModel(PEOPLE, WEIGHT)


def naive_loss(data, x, rows):
    margins = [data.labels[i] * sum(a * v for a, v in zip(data.features[[i]].toarray()[0], x, strict=True)) for i in rows]
    return sum(2 * math.log(1 + math.log(1 + math.exp(-t)) / 2) for t in margins) / len(margins)


def naive_constraint(data, weight, x):
    total = 0.0
    for a, minority in zip(data.fairness.toarray(), data.minority, strict=True):
        rate = math.exp(a @ x) / (1 + math.exp(a @ x))
        total += weight * rate - (rate if minority else 0.0)
    return total / len(data.minority)


def slopes(fun, x, step=1e-5):
    return np.array([(fun(x + e) - fun(x - e)) / (2 * step) for e in step * np.eye(x.size)])


def test_the_loss_of_a_minibatch_is_the_naive_mean(model, rng):
    x, rows = rng.standard_normal(6), rng.integers(25, size=8)
    assert model(x, rows) == pytest.approx(naive_loss(PEOPLE, x, rows), rel=1e-14)
    assert model.value(x) == pytest.approx(naive_loss(PEOPLE, x, range(25)), rel=1e-14)


def test_the_constraint_is_the_naive_sum(model, rng):
    x = rng.standard_normal(6)
    assert model.constraint(x) == pytest.approx(naive_constraint(PEOPLE, WEIGHT, x), rel=1e-13)


def test_gradients_are_those_of_the_values(model, rng):
    for x in (np.zeros(6), 3.0 * rng.standard_normal(6)):
        np.testing.assert_allclose(model.gradient(x), slopes(model.value, x), rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(model.constraint_gradient(x), slopes(model.constraint, x), rtol=1e-7, atol=1e-10)


def test_large_margins_neither_overflow_nor_vanish(model):
    np.testing.assert_allclose(phi(np.array([-1e4, 0.0, 800.0])), [2 * math.log(1 + 5e3), 2 * math.log(1 + math.log(2) / 2), 0.0])
    assert phi(np.array(40.0)) == pytest.approx(math.exp(-40.0), rel=1e-12)
    for x in (np.full(6, 1e4), np.full(6, -1e4)):
        assert np.isfinite(model.gradient(x)).all()
        assert np.isfinite(model.constraint_gradient(x)).all()
        assert model.diagnostics(x).value == pytest.approx(model.value(x), rel=1e-12)


def test_minibatches_are_unbiased():
    """E[F(x; xi)] = f_0(x) and E[grad F] = grad f_0: means of 4000 minibatches of 8, false alarm 7 * P(|z| > 5.5) = 3e-7."""
    problem = fairness(PEOPLE, WEIGHT, batch_size=8)
    model, rng = problem.objective, np.random.default_rng(3)
    x, rows = np.linspace(-1.0, 1.0, 6), [problem.sample(rng) for _ in range(4000)]
    e = 1e-3 * np.eye(6)
    values = np.array([[model(x, xi), *(model(np.vstack([x + e, x - e]), [xi] * 12).reshape(2, 6).T @ [500.0, -500.0])] for xi in rows])
    exact = np.append(model.value(x), model.gradient(x))
    assert (np.abs(values.mean(0) - exact) <= 5.5 * values.std(0) / np.sqrt(len(rows)) + 1e-6).all()


def test_equal_neighbours_are_evaluated_together(model, rng, monkeypatch):
    calls = []
    monkeypatch.setattr(FairnessModel, "_minibatch", lambda self, x, rows: calls.append(len(x)) or np.zeros(len(x)))
    first, second = rng.integers(25, size=(2, 8))
    model(np.zeros((6, 6)), [first, first.copy(), first, second, second.copy(), first])
    assert calls == [3, 2, 1]


def test_diagnostics_are_those_of_the_paper(model, rng):
    for x in rng.standard_normal((20, 6)):
        g, slope, normal = model.constraint(x), model.gradient(x), model.constraint_gradient(x)
        lam = max(0.0, -(slope @ normal) / (g**2 + normal @ normal))
        found = model.diagnostics(x)
        want = [max(g, 0.0), np.linalg.norm(slope + lam * normal), abs(lam * g), lam, model.value(x), g]
        np.testing.assert_allclose(list(vars(found).values()), want, rtol=1e-12, atol=1e-15)
        assert fairness_diagnostics(fairness(PEOPLE, WEIGHT), x) == found


def test_the_weight_is_the_share_of_the_minority_unless_given():
    """There, equal rates satisfy the constraint exactly, whatever the data."""
    parity = sum(PEOPLE.minority) / len(PEOPLE.minority)
    assert fairness(PEOPLE).objective.weight == pytest.approx(parity, rel=1e-15)
    assert fairness(PEOPLE).objective.constraint(np.zeros(6)) == pytest.approx(0.0, abs=1e-15)
    assert fairness(PEOPLE, 2 * parity).objective.weight == 2 * parity


def test_the_problem_can_be_sent_to_workers(rng):
    problem = fairness(PEOPLE, WEIGHT, batch_size=8)
    again, x = pickle.loads(pickle.dumps(problem)), rng.standard_normal(6)
    rows, same = (p.sample(np.random.default_rng(0)) for p in (problem, again))
    assert problem.objective(x, rows) == again.objective(x, same)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (partial(fairness, "loan"), r"`fairness\(data=...\)` must be a FairnessData or one of 'a9a', 'bank', 'lendingclub', got 'loan'"),
        (partial(fairness, PEOPLE, weight=0.0), r"`fairness\(weight=...\)` must be a positive number, got 0.0"),
        (
            partial(fairness, replace(PEOPLE, minority=np.zeros_like(PEOPLE.minority))),
            r"must be given for data without a minority, got None",
        ),
        (partial(fairness, PEOPLE, batch_size=0), r"`fairness\(batch_size=...\)` must be a positive integer, got 0"),
        (partial(fairness_diagnostics, zolal.problems.l1_box(4), np.zeros(4)), "must be a problem of zolal.problems.fairness"),
    ],
)
def test_bad_arguments_are_told(call, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        call()


def test_a9a_agrees_with_naive_loops(public_data, rng):
    problem = fairness("a9a")
    model, x = problem.objective, 0.3 * rng.standard_normal(123)
    rows = problem.sample(rng)
    assert rows.shape == (256,)
    assert model(x, rows) == pytest.approx(naive_loss(model.data, x, rows), rel=1e-12)
    assert model.constraint(x) == pytest.approx(naive_constraint(model.data, 1561 / 16281, x), rel=1e-10)
    direction = rng.standard_normal(123)
    for fun, gradient in ((model.value, model.gradient), (model.constraint, model.constraint_gradient)):
        slope = (fun(x + 1e-5 * direction) - fun(x - 1e-5 * direction)) / 2e-5
        assert gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_a9a_is_solved_in_three_lines(public_data):
    problem = fairness("a9a")
    found = zolal.minimize(problem, maxfev=4000, rng=0, options=dict(step_size=0.6))
    assert fairness_diagnostics(problem, found.x).stationarity < 0.2 * fairness_diagnostics(problem, problem.x0).stationarity
