"""Roots of increasing functions, and the two ways of solving the smoothed l_q step."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zolal._roots import increasing_root, log_coordinate_root
from zolal.mirror import SmoothedLq
from zolal.mirror._lq_step import solve_lq_step
from zolal.regularizers import L1, ElasticNet, Zero
from zolal.sets import Box, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex, WholeSpace


@given(root=st.floats(-50, 50), start=st.floats(-60, 60), power=st.sampled_from([1, 3, 5]))
def test_a_power_is_brought_to_zero_from_any_start(root, start, power):
    found = increasing_root(lambda t: ((t - root) ** power, power * (t - root) ** (power - 1)), start)
    assert abs(found - root) <= 1e-2 if power > 1 else abs(found - root) <= 1e-12 * (1 + abs(root))


@given(root=st.floats(-5, 5), start=st.floats(-40, 40))
def test_a_kink_and_a_flat_end_do_not_trap_the_search(root, start):
    def fun(t):
        slope = 0.01 if t < root else 100.0
        return slope * (t - root), slope

    assert abs(increasing_root(fun, start, -100.0, 100.0) - root) <= 1e-12 * (1 + abs(root))
    smooth = increasing_root(lambda t: (math.tanh(t - root), 1.0 - math.tanh(t - root) ** 2), start, -100.0, 100.0)
    assert abs(smooth - root) <= 1e-9


def test_the_last_call_is_at_the_root():
    asked = []
    found = increasing_root(lambda t: (asked.append(t) or math.expm1(t - 1.0), math.exp(t - 1.0)), 5.0)
    assert asked[-1] == found == pytest.approx(1.0, abs=1e-14)


@given(
    log_x=st.floats(-30, 30),
    p=st.floats(2, 100),
    delta=st.sampled_from([0.0, 1e-8, 1e-2, 1.0]),
    linear=st.sampled_from([0.0, 1e-6, 3.0, 1e9]),
    theta=st.sampled_from([0.0, 1e-6, 3.0, 1e9]),
)
def test_a_coordinate_root_solves_its_equation(log_x, p, delta, linear, theta):
    x, q = math.exp(log_x), p / (p - 1)
    w = x * (x * x + delta * delta) ** (q / 2 - 1) + linear * x + theta * x ** (q - 1)
    logs = (math.log(value) if value > 0 else -math.inf for value in (delta, linear, theta))
    s = log_coordinate_root(np.array([math.log(w)]), q / 2 - 1, *logs, q - 1)
    assert s[0] == pytest.approx(log_x, rel=1e-11, abs=1e-11 * p)


REGIONS = {
    "whole space": lambda q: WholeSpace(),
    "box": lambda q: Box(-0.2, 0.3),
    "nonnegative": lambda q: NonNegative(),
    "simplex": lambda q: Simplex(),
    "l1 ball": lambda q: L1Ball(1.0),
    "l2 ball": lambda q: L2Ball(0.5),
    "lq ball": lambda q: LqBall(q, 1.0),
    "product": lambda q: Product([(Simplex(), 100), (LqBall(q, 1.0), 100), (Box(-0.1, 0.1), 100)]),
}


@pytest.mark.parametrize("h", [Zero(), L1(0.05), ElasticNet(0.05, 0.5)], ids=repr)
@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize(("p", "delta"), [(3.0, 1e-2), (13.8, 1e-5), (60.0, 1.0)])
def test_the_compiled_step_is_that_of_the_array_code(rng, name, h, p, delta):
    mirror = SmoothedLq(p, delta)
    region = REGIONS[name](mirror.q)
    for size in (1e-3, 1.0, 1e4):
        y = size * rng.standard_normal(300)
        compiled, arrays = (solve_lq_step(mirror.q, delta, region, h, y, 0.3, compiled=choice) for choice in (True, False))
        np.testing.assert_allclose(compiled, arrays, rtol=1e-9, atol=1e-12 * np.abs(arrays).max())
