"""What a run is known by: descriptions differ where values do, whatever holds them."""

import functools

import numpy as np
import pytest
import scipy.sparse

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
