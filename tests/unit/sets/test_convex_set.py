"""A set of a user's own, with a projection and nothing else: what has no exact step there is refused, and sets that have one are named."""

import numpy as np
import pytest

from zolal.errors import UnsupportedError
from zolal.sets import ConvexSet


class Halfspace(ConvexSet):
    """{x : sum(x) <= 0}."""

    def contains(self, x, tol=0.0):
        return x.sum() <= tol

    def project(self, x):
        return x - max(0.0, x.mean())


def test_without_an_l1_term_the_step_is_the_projection():
    x = np.array([1.0, 2.0, -1.0])
    np.testing.assert_array_equal(Halfspace().project_soft(x, 0.0), Halfspace().project(x))


def test_what_is_not_known_of_the_set_is_refused_and_the_known_sets_are_named():
    with pytest.raises(UnsupportedError, match=r"The l1 term has no exact step on .*Halfspace.*; supported sets: WholeSpace, Box"):
        Halfspace().project_soft(np.ones(3), 0.1)
    with pytest.raises(UnsupportedError, match=r"The normal cone of .*Halfspace.* is not known; supported sets: WholeSpace, Box"):
        Halfspace().normal_distance(np.zeros(3), np.ones(3))
