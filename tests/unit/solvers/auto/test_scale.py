"""Units of the variables: given, from bounds, from the start, or 1."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from zolal.solvers.auto.scale import units


def of(x0, lower=None, upper=None, given=None):
    x0 = np.asarray(x0, dtype=float)
    lower, upper = (np.full(len(x0), sign * np.inf) if b is None else np.asarray(b, float) for b, sign in ((lower, -1), (upper, 1)))
    return units(lower, upper, x0, given)


def test_what_is_given_is_taken():
    assert_allclose(of([0.0, 5.0], [0.0, 0.0], [1.0, 9.0], given=np.array([3.0, 1e-4])), [3.0, 1e-4])
    assert_allclose(of([0.0, 5.0], given=2.0), [2.0, 2.0])


def test_the_unit_of_a_bounded_variable_is_the_width_of_its_bounds():
    assert_allclose(of([5e-3, 6e4], [0.0, 0.0], [1e-2, 1e5]), [1e-2, 1e5])


def test_bounds_that_are_far_wider_than_the_start_do_not_count_in_full():
    found = of([1.0, 1.0], [0.0, 0.0], [1e5, 2.0])
    assert 1.0 <= found[0] <= 1e3
    assert found[1] == 2.0


def test_without_bounds_and_from_zero_all_units_are_one():
    assert_allclose(of(np.zeros(4)), np.ones(4))


def test_bounds_that_are_meant_to_be_none_are_none():
    assert_allclose(of([5.0, 5.0, 6.0], [-1e20] * 3, [1e20] * 3), 5.0)


def test_starts_of_one_order_have_one_unit():
    found = of([0.5, -2.0, 1.0, 3.0])
    assert np.ptp(found) == 0.0
    assert 0.5 <= found[0] <= 3.0


def test_starts_of_different_orders_have_units_of_their_own():
    found = of([1e-3, 1e4])
    assert_allclose(found, [1e-3, 1e4])


def test_a_zero_among_large_numbers_gets_a_unit_between_them():
    found = of([1e-3, 0.0, 1e4, 1e4])
    assert 1e-3 < found[1] < 1e4


def test_fixed_variables_get_the_unit_of_the_others():
    found = of([2.0, 7.0, 3.0], [0.0, 7.0, 0.0], [4.0, 7.0, 4.0])
    assert found[1] == pytest.approx(4.0)
    assert_allclose(of([1.0], [1.0], [1.0]), [1.0])


@pytest.mark.parametrize("factor", [1e-6, 1e5])
def test_units_go_with_the_variables(factor):
    x0, lower, upper = np.array([0.2, -3.0, 0.7]), np.array([0.0, -np.inf, -1.0]), np.array([1.0, np.inf, np.inf])
    assert_allclose(units(factor * lower, factor * upper, factor * x0), factor * units(lower, upper, x0))


def test_units_are_positive_whatever_the_start():
    rng = np.random.default_rng(0)
    for _ in range(200):
        x0 = rng.standard_normal(6) * 10 ** rng.uniform(-9, 9, 6) * (rng.uniform(size=6) < 0.7)
        lower = np.where(rng.uniform(size=6) < 0.5, x0 - 10 ** rng.uniform(-9, 9, 6), -np.inf)
        upper = np.where(rng.uniform(size=6) < 0.5, x0 + 10 ** rng.uniform(-9, 9, 6), np.inf)
        found = units(lower, upper, x0)
        assert np.isfinite(found).all()
        assert (found > 0.0).all()


def test_variables_with_bounds_of_one_width_have_one_unit():
    start = [2e-3, -3e-3, 6e-3, 0.0, 0.4]
    found = of(start, [-1.0] * 4 + [0.0], [1.0] * 4 + [0.5])
    assert_allclose(found, [2 * 3e-3] * 4 + [0.5])


def test_a_kind_whose_starts_differ_by_orders_keeps_them_apart():
    assert_allclose(of([1.0, 1e3], [0.0, 0.0], [1e4, 1e4]), [10.0, 2e3])


def test_widths_that_rounding_tells_apart_are_one_kind():
    assert_allclose(of([0.01, 0.2], [0.0, 0.1], [0.2, 0.3]), [0.2, 0.2])


def test_a_start_that_is_0_but_for_rounding_is_no_unit():
    plain = units(np.full(4, -np.inf), np.full(4, np.inf), np.array([3.0, 0.0, 2.0, 5.0]))
    tiny = units(np.full(4, -np.inf), np.full(4, np.inf), np.array([3.0, 1e-30, 2.0, 5.0]))
    np.testing.assert_array_equal(tiny, plain)


def test_units_of_a_capacitor_beside_a_resistor_are_their_own():
    """1 nF and 1 kOhm: small is not nothing."""
    np.testing.assert_allclose(units(np.full(2, -np.inf), np.full(2, np.inf), np.array([1e-9, 1e3])), [1e-9, 1e3])
