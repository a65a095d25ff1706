"""What every mirror map promises: Appendix A's formulae and Assumption 3.1. The step (3.4) has its own file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from optimality import naive_gradient

from registry import DIMENSION, LQ_MAPS, MIRROR_MAPS, members_of
from zolal.errors import InvalidArgumentError
from zolal.mirror import Block, Euclidean, MirrorMap, SmoothedLq

vectors = arrays(float, DIMENSION, elements=st.floats(-10, 10)).map(lambda x: np.where(np.abs(x) < 1e-60, 0.0, x))
plain_vectors = arrays(float, DIMENSION, elements=st.floats(0.1, 10)).flatmap(
    lambda x: arrays(float, DIMENSION, elements=st.sampled_from([-1.0, 1.0])).map(lambda sign: sign * x)
)  # away from zero, where finite differences see the curvature
scales = st.integers(-9, 9).map(lambda e: 10.0**e)
every_map = pytest.mark.parametrize("mirror", MIRROR_MAPS, ids=repr)
every_lq_map = pytest.mark.parametrize("mirror", LQ_MAPS, ids=repr)
smooth_maps = pytest.mark.parametrize("mirror", [m for m in MIRROR_MAPS if getattr(m, "delta", 1.0) > 0], ids=repr)


def norm(x, p=2.0):
    """||x||_p with the largest entry taken out, so that p = 100 does not overflow."""
    largest = np.abs(x).max()
    return largest * np.linalg.norm(x / largest, p) if largest > 0 else 0.0


def naive_potential(mirror, x):
    """v_delta(x), Eq. (5.13), by loops."""
    q = mirror.p / (mirror.p - 1)
    return sum((v * v + mirror.delta**2) ** (q / 2) for v in x) ** (2 / q) / (2 * (q - 1))


def naive_hessian(mirror, x):
    """M(x) + Lambda(x), Appendix A, entry by entry."""
    q, a = mirror.p / (mirror.p - 1), x**2 + mirror.delta**2
    psi, hessian = np.sum(a ** (q / 2)), np.zeros((x.size, x.size))
    for i in range(x.size):
        for j in range(x.size):
            hessian[i, j] = (2 - q) / (q - 1) * psi ** (2 / q - 2) * a[i] ** (q / 2 - 1) * x[i] * a[j] ** (q / 2 - 1) * x[j]
        hessian[i, i] += psi ** (2 / q - 1) * a[i] ** (q / 2 - 2) * ((q - 1) * x[i] ** 2 + mirror.delta**2) / (q - 1)
    return hessian


@every_lq_map
@given(x=vectors)
def test_potential_agrees_with_equation_5_13(mirror, x):
    assert mirror.potential(x) == pytest.approx(naive_potential(mirror, x), rel=1e-12)


@every_map
@given(x=vectors)
def test_gradient_agrees_with_appendix_a(mirror, x):
    np.testing.assert_allclose(mirror.grad(x), naive_gradient(mirror, x), rtol=1e-12)


@every_map
@given(x=plain_vectors, direction=vectors)
def test_gradient_is_the_derivative_of_the_potential(mirror, x, direction):
    direction = direction / (norm(direction) or 1.0)
    slope = (mirror.potential(x + 1e-5 * direction) - mirror.potential(x - 1e-5 * direction)) / 2e-5
    assert mirror.grad(x) @ direction == pytest.approx(slope, abs=1e-7 * mirror.potential(x))


@every_map
@given(x=vectors, scale=scales)
def test_the_conjugate_gradient_inverts_the_gradient(mirror, x, scale):
    x = scale * x
    np.testing.assert_allclose(mirror.grad_conjugate(mirror.grad(x)), x, rtol=1e-10, atol=1e-10 * np.abs(x).max())


@every_map
@given(y=vectors, scale=scales)
def test_the_gradient_inverts_the_conjugate_gradient(mirror, y, scale):
    y = scale * y
    np.testing.assert_allclose(mirror.grad(mirror.grad_conjugate(y)), y, rtol=1e-10, atol=1e-10 * np.abs(y).max())


@smooth_maps
def test_gradients_at_zero_are_zero(mirror):
    zero = np.zeros(DIMENSION)
    assert mirror.grad(zero).tolist() == mirror.grad_conjugate(zero).tolist() == zero.tolist()


@every_lq_map
@given(x=plain_vectors, y=vectors, scale=scales)
def test_hessian_agrees_with_appendix_a(mirror, x, y, scale):
    expected = naive_hessian(mirror, scale * x) @ y
    assert norm(mirror.hessian_vector(scale * x, y) - expected) <= 1e-11 * np.linalg.norm(naive_hessian(mirror, scale * x), 2) * norm(y)


@every_lq_map
@given(x=plain_vectors, y=vectors)
def test_hessian_is_the_derivative_of_the_gradient(mirror, x, y):
    y = y / (norm(y) or 1.0)
    difference = (mirror.grad(x + 1e-5 * y) - mirror.grad(x - 1e-5 * y)) / 2e-5
    assert norm(mirror.hessian_vector(x, y) - difference) <= 1e-6 * np.linalg.norm(naive_hessian(mirror, x), 2)


@every_map
@given(x=vectors, y=vectors, scale=scales)
def test_gradient_is_strongly_monotone(mirror, x, y, scale):
    x, y = scale * x, scale * y
    q = mirror.q if not isinstance(mirror, Block) else 2.0  # a sum over blocks is strongly convex in the l_2 norm at least
    gradients = mirror.grad(x) - mirror.grad(y)
    rounding = 1e-13 * norm(x - y, 1) * (np.abs(mirror.grad(x)).max() + np.abs(mirror.grad(y)).max())
    assert (x - y) @ gradients >= norm(x - y, q) ** 2 * (1 - 1e-9) - rounding


@smooth_maps
@given(x=vectors, y=vectors, radius=st.integers(-3, 3).map(lambda e: 10.0**e))
def test_gradient_is_smooth_on_bounded_sets(mirror, x, y, radius):
    x, y = (radius * z / max(norm(z, mirror.q), 1e-3) for z in (x, y))
    difference = norm(mirror.grad(x) - mirror.grad(y), mirror.p)
    rounding = 1e-13 * (norm(mirror.grad(x)) + norm(mirror.grad(y)))
    assert difference <= mirror.smoothness(DIMENSION, radius) * norm(x - y, mirror.q) + rounding


@every_map
@given(x=vectors, y=vectors)
def test_divergence_dominates_half_the_squared_distance(mirror, x, y):
    q = mirror.q if not isinstance(mirror, Block) else 2.0
    rounding = 1e-13 * (mirror.potential(x) + mirror.potential(y) + norm(mirror.grad(x)) * norm(x - y))
    assert mirror.divergence(x, y) >= norm(x - y, q) ** 2 / 2 - rounding


@every_map
@given(x=vectors, y=vectors)
def test_divergence_is_its_definition(mirror, x, y):
    size = mirror.potential(x) + mirror.potential(y) + norm(mirror.grad(x)) * norm(x - y)
    expected = mirror.potential(y) - mirror.potential(x) - mirror.grad(x) @ (y - x)
    assert mirror.divergence(x, y) == pytest.approx(expected, abs=1e-12 * size)
    assert mirror.divergence(x, x) <= 1e-12 * size


@given(p=st.floats(2.001, 100), exponent=st.floats(-8, 0), d=st.integers(1, 10**6), radius=st.floats(1e-3, 1e3))
def test_smoothness_constant_is_equation_5_14(p, exponent, d, radius):
    delta, q = 10.0**exponent, p / (p - 1)
    expected = (2 - q) / (q - 1) + (radius**q + d * delta**q) ** ((2 - q) / q) * delta ** (q - 2) / (q - 1)
    assert SmoothedLq(p, delta).smoothness(d, radius) == pytest.approx(expected, rel=1e-9)


def test_smoothness_constant_of_the_plain_norms():
    assert Euclidean().smoothness(10, 3.0) == SmoothedLq(2.0, 0.1).smoothness(10, 3.0) == 1.0
    assert SmoothedLq(3.0, 0.0).smoothness(10, 3.0) == np.inf


@given(x=vectors, y=vectors)
def test_p_equal_to_two_is_the_euclidean_map_up_to_a_constant(x, y):
    smoothed, euclidean = SmoothedLq(2.0, 0.1), Euclidean()
    np.testing.assert_allclose(smoothed.grad(x), x, rtol=1e-14)
    np.testing.assert_allclose(smoothed.grad_conjugate(y), y, rtol=1e-12)
    assert smoothed.divergence(x, y) == pytest.approx(euclidean.divergence(x, y), abs=1e-12 * (1 + norm(x) + norm(y)) ** 2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: SmoothedLq(1.9, 0.1), "`SmoothedLq(p=...)` must be a finite number >= 2, got 1.9."),
        (lambda: SmoothedLq(np.inf, 0.1), "`SmoothedLq(p=...)` must be a finite number >= 2, got inf."),
        (lambda: SmoothedLq("4", 0.1), "`SmoothedLq(p=...)` must be a finite number >= 2, got '4'."),
        (lambda: SmoothedLq(3, -0.1), "`SmoothedLq(delta=...)` must be a nonnegative number, got -0.1."),
        (lambda: Block([]), "`Block([(mirror, size), ...])` must hold at least one pair of a MirrorMap and its size, got []."),
        (
            lambda: Block([Euclidean()]),
            "`Block([(mirror, size), ...])` must hold at least one pair of a MirrorMap and its size, got Euclidean().",
        ),
        (lambda: Block([(Euclidean(), 0)]), "`Block([(mirror, size), ...]) size` must be a positive integer, got 0."),
    ],
)
def test_a_bad_argument_gets_one_clear_sentence(make, sentence):
    with pytest.raises(InvalidArgumentError) as error:
        make()
    assert str(error.value) == sentence


def test_the_registry_holds_every_mirror_map():
    assert {type(mirror) for mirror in MIRROR_MAPS} == {Euclidean, SmoothedLq, Block} == members_of(MirrorMap)
