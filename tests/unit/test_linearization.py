"""Constraints linearized at a point."""

import numpy as np
import pytest

from zolal.linearization import Linearization


@pytest.mark.parametrize("size", [1e-90, 1.0, 1e160, 1e300])
def test_rows_have_their_length_also_where_its_square_is_no_number(size):
    rows = Linearization(np.array([size, 0.0]), size * np.array([[3.0, 4.0], [0.6, 0.8]]), np.zeros(2), np.zeros(2))

    scaled, lengths = rows.scaled()

    np.testing.assert_allclose(lengths, [5.0 * size, size])
    np.testing.assert_allclose(scaled.jacobian, [[0.6, 0.8], [0.6, 0.8]])
    np.testing.assert_allclose(scaled.value, [0.2, 0.0])
    assert rows.distance(rows.value) == pytest.approx(0.2)
