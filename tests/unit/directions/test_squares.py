"""What squares promise beside what all directions do: one number per square, and how alike two pixels are."""

import numpy as np
import pytest

from zolal.directions import Gaussian, Squares
from zolal.errors import InvalidArgumentError


def test_a_direction_has_one_number_per_square():
    for seed in range(5):
        image = Squares(2 * 9 * 8, 1, seed=seed, shape=(2, 9, 8), side=3).rows().reshape(2, 9, 8)
        edges = [np.flatnonzero(np.any(np.diff(image, axis=axis) != 0, axis=tuple({0, 1, 2} - {axis}))) for axis in (1, 2)]
        for found in edges:
            assert np.all(np.diff(found) == 3)
        assert not np.any(image[0] == image[1])  # channels are independent


def test_pixels_are_as_alike_as_their_chance_to_share_a_square():
    U = np.concatenate([Squares(36, 200, seed=seed, shape=(6, 6), side=4).rows() for seed in range(30)]).reshape(-1, 6, 6)
    for dy, dx in ((0, 0), (0, 1), (1, 1), (2, 3), (4, 0), (5, 5)):
        expected = max(0, 1 - dy / 4) * max(0, 1 - dx / 4)
        assert np.mean(U[:, 0, 0] * U[:, dy, dx]) == pytest.approx(expected, abs=5 * 1.8 / np.sqrt(len(U)))


def test_other_backends_give_the_same_bits_with_a_shape():
    torch = pytest.importorskip("torch")
    squares = Squares(48, 3, seed=4, shape=(3, 4, 4), side=2)
    np.testing.assert_array_equal(squares.rows(reference=torch.zeros(48, dtype=torch.float64)).numpy(), squares.rows())


def test_squares_of_one_pixel_are_normal_numbers_of_their_own():
    assert np.std(Squares(10_000, 1).rows()) == pytest.approx(1.0, abs=0.05)
    assert not np.array_equal(Squares(9, 1).rows(), Gaussian(9, 1).rows())


@pytest.mark.parametrize("shape", [(3, 3), (), (1, 2, 2, 2)])
def test_a_bad_shape_is_one_sentence(shape):
    with pytest.raises(InvalidArgumentError, match=r"must have 8 pixels on one to three axes, got"):
        Squares(8, 1, shape=shape)
