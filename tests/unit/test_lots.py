"""Lots among classifiers: shares and prices against cases that can be worked out by hand."""

import numpy as np
import pytest

pytest.importorskip("sklearn.base", reason="needs the extra sklearn: pip install 'zolal[sklearn]'")

from numpy.testing import assert_allclose

from zolal.sklearn._lots import Tried, best_lot
from zolal.sklearn._rates import Rates


def limits(lower, upper):
    return Rates(np.zeros((len(lower), 1)), np.array(lower, dtype=float), np.array(upper, dtype=float))


def tried(*pairs):
    return [Tried(loss, np.atleast_1d(np.asarray(rates, dtype=float)), np.zeros(1)) for loss, rates in pairs]


def test_two_classifiers_share_what_a_limit_leaves():
    """Rates -0.1 and 0.3 under |rate| <= 0.1: half of each, at a price of (0.4 - 0.2)/0.4 per unit of the rate."""
    lot = best_lot(tried((0.4, -0.1), (0.2, 0.3)), limits([-0.1], [0.1]))
    assert_allclose(lot.shares, [0.5, 0.5])
    assert lot.violation == 0.0
    assert_allclose(lot.prices, [0.5])


def test_a_lower_limit_has_a_price_below_zero():
    lot = best_lot(tried((0.4, 0.1), (0.2, -0.3)), limits([-0.1], [np.inf]))
    assert_allclose(lot.shares, [0.5, 0.5])
    assert_allclose(lot.prices, [-0.5])


def test_without_limits_the_best_one_takes_all():
    lot = best_lot(tried((0.4, []), (0.2, []), (0.3, [])), limits([], []))
    assert_allclose(lot.shares, [0.0, 1.0, 0.0])


def test_where_no_lot_keeps_a_limit_the_violation_is_the_least():
    lot = best_lot(tried((0.1, 0.5), (0.9, 0.3)), limits([-0.1], [0.1]))
    assert lot.violation == pytest.approx(0.2)
    assert_allclose(lot.shares, [0.0, 1.0])


@pytest.mark.parametrize("seed", range(5))
def test_all_that_share_have_one_price_and_no_other_is_cheaper(seed):
    rng = np.random.default_rng(seed)
    known = tried(*((rng.random(), rng.standard_normal(3)) for _ in range(30)))
    lot = best_lot(known, limits([-0.1] * 3, [0.1] * 3))
    prices = np.array([lot.price(one) for one in known])
    assert lot.shares.sum() == pytest.approx(1.0)
    assert 1 <= np.sum(lot.shares > 0) <= 4  # a vertex of the programme: one for each limit, and one
    assert_allclose(prices[lot.shares > 0], prices.min(), atol=1e-9)
    rates = lot.shares @ np.array([one.rates for one in known])
    assert np.all(np.abs(rates) <= 0.1 + 1e-9)
