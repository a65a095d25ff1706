"""What a run is known by: descriptions differ where values do, whatever holds them."""

import functools
import types

import numpy as np
import pytest
import scipy.sparse

import zolal
from zolal.runs.checkpoint._dependencies import dependencies
from zolal.runs.checkpoint._fingerprint import described, differences


def power(exponent, x):
    return x**exponent


class Scaled:
    def __call__(self, x):
        return 2.0 * x

    def twice(self, x):
        return 2.0 * x

    def thrice(self, x):
        return 3.0 * x


PAIRS = {
    "partial": (functools.partial(power, 2), functools.partial(power, 3)),
    "method": (Scaled().twice, Scaled().thrice),
    "sparse": (scipy.sparse.eye_array(3), 2.0 * scipy.sparse.eye_array(3)),
    "object": (Scaled(), np.cos),
    "nested": ([1, {"a": (2.0, None)}], [1, {"a": (3.0, None)}]),
}


@pytest.mark.parametrize(("one", "other"), PAIRS.values(), ids=PAIRS)
def test_what_differs_is_described_differently_and_the_same_alike(one, other):
    assert described(one) == described(one)
    assert described(one) != described(other)


def test_a_list_that_holds_itself_is_described():
    endless = [1]
    endless.append(endless)
    assert described(endless) == described(endless)


def test_code_is_compared_within_one_version_of_python_alone():
    old, new = dict(objective="f #12", tol="0.1"), dict(objective="f #34", tol="0.2")
    assert differences(old, new, same_python=True) == ["objective was f #12 and is f #34", "tol was 0.1 and is 0.2"]
    assert differences(old, new, same_python=False) == ["tol was 0.1 and is 0.2"]


SCALE, TABLE, COUNT, LOG = 2.0, np.array([1.0, 2.0]), 0, []


def helper(x):
    return SCALE * x


def outer(x, *, power=2):
    """Names a helper, which names a number, beside an array, a counter and what changes as a program runs."""
    global COUNT
    COUNT += 1
    LOG.append(x)
    return helper(x) ** power + TABLE[0] + np.cos(x)


class Model:
    def predict(self, x):
        return helper(x)


def by_class(x):
    return Model().predict(x)


def counting():
    count = 0

    def inner(x):
        nonlocal count
        count += 1
        return x

    return inner


def test_what_code_names_is_found_through_helpers_and_classes_and_nothing_that_changes():
    assert dependencies(outer) == {"SCALE": SCALE, "TABLE": TABLE, "helper": helper}
    assert set(dependencies(by_class)) == {"Model", "SCALE", "helper"}
    assert set(dependencies(functools.partial(power, 2))) == set()
    assert set(dependencies(lambda x: outer(x), [Scaled()])) == {"outer", "SCALE", "TABLE", "helper"}
    assert dependencies(np.cos, scipy.sparse.eye_array, None, 3) == {}


def test_a_module_of_the_users_is_seen_through_the_names_that_are_asked_of_it(tmp_path, monkeypatch):
    (tmp_path / "own_model.py").write_text("RATE = 0.5\ndef price(x):\n    return RATE * x\ndef unused(x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import own_model

    fun = types.FunctionType(compile("def f(x): return model.price(x)", "script.py", "exec").co_consts[0], {"model": own_model})
    assert dependencies(fun) == {"model.price": own_model.price, "RATE": 0.5}


def test_keyword_defaults_and_counters_of_closures():
    def one(x, *, a=1):
        return a * x

    def other(x, *, a=2):
        return a * x

    other.__qualname__ = one.__qualname__
    assert described(one) != described(other)
    fun = counting()
    before = described(fun)
    fun(1.0)
    assert described(fun) == before


CHANGES = {
    "global": ("SCALE", 3.0, r"'SCALE' of the objective was 2\.0 and is 3\.0"),
    "helper": ("helper", power, r"'helper' of the objective was helper #\w+ and is power #\w+"),
    "array": ("TABLE", np.array([1.0, 3.0]), r"'TABLE' of the objective was array of shape \(2,\) #\w+ and is array"),
    "limit": ("LIMIT", 2.0, r"'LIMIT' of the constraints was 1\.0 and is 2\.0"),
    "spread": ("SPREAD", 0.2, r"'SPREAD' of the sample was 0\.1 and is 0\.2"),
}
LIMIT, SPREAD = 1.0, 0.1


def objective(x, xi):
    return float(np.sum(outer(x)) + xi)


def draw(rng):
    return SPREAD * rng.normal()


def disc(x):
    return LIMIT - LIMIT * (x @ x)  # the same at the start, whatever the limit is


@pytest.mark.parametrize(("name", "value", "difference"), CHANGES.values(), ids=CHANGES)
def test_a_run_whose_code_depends_on_something_else_now_is_refused_by_its_name(tmp_path, monkeypatch, name, value, difference):
    arguments = dict(sample=draw, constraints=dict(type="ineq", fun=disc), maxfev=40, rng=0, checkpoint=tmp_path)
    zolal.minimize(objective, [1.0, 0.0], **arguments)
    zolal.minimize(objective, [1.0, 0.0], **arguments, resume=True)
    monkeypatch.setitem(globals(), name, value)
    with pytest.raises(zolal.CheckpointError, match=difference):
        zolal.minimize(objective, [1.0, 0.0], **arguments, resume=True)
