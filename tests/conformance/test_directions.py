"""What every kind of directions promises: rows that depend on their identity alone, the same on every backend, with the stated moments.

Statistical tests have fixed seeds, so each passes or fails for good; ALPHA bounds the chance that it would have failed for truly
random directions. A test of N comparisons uses ALPHA / N for each (Bonferroni) and compares |z| with the normal quantile.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from registry import DIRECTIONS, members_of
from zolal.directions import Directions, Gaussian, Orthogonal, Rademacher, Sphere, Squares
from zolal.directions._normal import inverse_normal
from zolal.errors import InvalidArgumentError

ALPHA = 1e-6
every_kind = pytest.mark.parametrize("kind", DIRECTIONS, ids=lambda kind: kind.__name__)
identities = dict(seed=st.integers(0, 2**70), iteration=st.integers(0, 10**9), stream=st.integers(0, 5))


def limit(comparisons):
    """The |z| that `comparisons` normal statistics together exceed with probability at most ALPHA."""
    return stats.norm.isf(ALPHA / (2 * comparisons))


def samples(kind, dimension, count, seed=1):
    """Many directions as the rows of a matrix, over several iterations of 130 so that word boundaries are crossed."""
    batches = [kind(dimension, 130, seed=seed, iteration=k).rows() for k in range(math.ceil(count / 130))]
    return np.concatenate(batches)[:count]


def assert_mean_is(expected, values):
    """The columns' means lie within limit(columns) standard errors of what is expected; false-alarm rate ALPHA."""
    values = np.asarray(values).reshape(len(values), -1)
    error = values.std(axis=0) / math.sqrt(len(values)) + 1e-13 * (1 + np.abs(values).max(axis=0))  # rounding, where u has one length
    z = np.abs(values.mean(axis=0) - np.ravel(expected)) / error
    assert z.max() <= limit(z.size), f"|z| up to {z.max():.2f} over {z.size} means; at most {limit(z.size):.2f} expected"


@every_kind
@given(count=st.integers(1, 130), more=st.integers(0, 70), data=st.data(), **identities)
def test_a_row_does_not_depend_on_how_many_there_are(kind, count, more, data, seed, iteration, stream):
    few, many = (kind(5, n, seed, iteration, stream) for n in (count, count + more))
    j = data.draw(st.integers(0, count - 1))
    np.testing.assert_array_equal(few.row(j, np.empty(0)), many.rows(j, j + 1)[0])


@every_kind
@given(count=st.integers(1, 130), dimension=st.integers(1, 9), **identities)
def test_every_way_of_asking_sees_the_same_matrix(kind, count, dimension, seed, iteration, stream):
    directions, rng = kind(dimension, count, seed, iteration, stream), np.random.default_rng(seed)
    U, w, v = directions.rows(), rng.standard_normal(count), rng.standard_normal(dimension)
    assert U.shape == (count, dimension)
    np.testing.assert_allclose(
        directions.combine(w), sum(w[j] * U[j] for j in range(count)), rtol=0, atol=1e-12 * np.abs(w) @ np.abs(U).max(1)
    )
    np.testing.assert_allclose(directions.dot(v), [U[j] @ v for j in range(count)], rtol=0, atol=1e-12 * np.abs(U).max() * np.abs(v).sum())
    for j in {0, count // 2, count - 1}:
        np.testing.assert_array_equal(directions.row(j, v), U[j])
        np.testing.assert_allclose(directions.shift(v, 0.25, j), v + 0.25 * U[j], rtol=1e-15, atol=1e-15)


@every_kind
@given(start=st.integers(0, 129), length=st.integers(1, 130))
def test_a_range_of_rows_is_a_slice_of_all_rows(kind, start, length):
    directions, stop = kind(4, 130, seed=3), min(130, start + length)
    np.testing.assert_array_equal(directions.rows(start, stop), directions.rows()[start:stop])


@every_kind
def test_a_longer_vector_begins_with_the_same_words(kind):
    if kind not in (Sphere, Orthogonal):  # whose entries depend on the length of the whole vector
        np.testing.assert_array_equal(kind(50, 3).rows(), kind(90, 3).rows()[:, :50])


@every_kind
def test_another_seed_iteration_stream_or_number_gives_an_independent_row(kind):
    """10 rows with nothing in common but one number of their identity: 45 correlations of d = 2^14 entries, z = r sqrt(d)."""
    names = [dict(), dict(seed=1), dict(seed=10), dict(iteration=1), dict(iteration=10), dict(stream=1), dict(stream=10), dict(seed=2**64)]
    rows = [kind(16_384, 1, **name).rows()[0] for name in names] + list(kind(16_384, 66).rows()[[1, 65]])
    z = np.corrcoef(rows)[np.triu_indices(len(rows), 1)] * math.sqrt(16_384)
    assert np.abs(z).max() <= limit(z.size)


@every_kind
def test_directions_of_one_iteration_are_uncorrelated(kind):
    """130 directions, 8385 correlations of d = 2^14 entries, across word boundaries too; z = r sqrt(d)."""
    z = np.corrcoef(kind(16_384, 130, seed=5).rows())[np.triu_indices(130, 1)] * math.sqrt(16_384)
    assert np.abs(z).max() <= limit(z.size)


@every_kind
def test_one_direction_is_uncorrelated_over_iterations_and_over_seeds(kind):
    """Direction 0 at 60 iterations and under 60 seeds: 7140 correlations of d = 2^14 entries; z = r sqrt(d)."""
    rows = [kind(16_384, 1, seed=9, iteration=k).rows()[0] for k in range(60)] + [
        kind(16_384, 1, seed=s).rows()[0] for s in range(100, 160)
    ]
    z = np.corrcoef(rows)[np.triu_indices(len(rows), 1)] * math.sqrt(16_384)
    assert np.abs(z).max() <= limit(z.size)


@every_kind
def test_neighbouring_coordinates_are_uncorrelated(kind):
    """Products u_i u_{i+lag} of one direction, for 200 lags: each mean of 10^5 products is normal with variance 1 / 10^5."""
    u = kind(2**17, 1, seed=11).rows()[0]
    z = np.array([u[:100_000] @ u[lag : lag + 100_000] for lag in range(1, 201)]) / math.sqrt(100_000)
    assert np.abs(z).max() <= limit(200)


def test_every_bit_of_every_word_is_balanced():
    """130 directions (three words) at d = 10^5: the sum of each row is binomial, z = sum / sqrt(d); 130 comparisons."""
    z = Rademacher(100_000, 130, seed=13).rows().sum(axis=1) / math.sqrt(100_000)
    assert np.abs(z).max() <= limit(130)


def test_every_coordinate_is_balanced_over_directions():
    """The sum of each of 500 columns over 13000 directions: z = sum / sqrt(13000); 500 comparisons."""
    z = samples(Rademacher, 500, 13_000).sum(axis=0) / math.sqrt(13_000)
    assert np.abs(z).max() <= limit(500)


def test_triples_of_bits_are_balanced():
    """Products of three signs u_i u_j u_k within a row and of one coordinate over three directions; 2000 comparisons of 13000 or 16384."""
    rng, U = np.random.default_rng(0), samples(Rademacher, 60, 13_000)
    V = Rademacher(16_384, 130, seed=17).rows()
    across = [np.prod(U[:, rng.choice(60, 3, replace=False)], axis=1).sum() / math.sqrt(13_000) for _ in range(1000)]
    along = [np.prod(V[rng.choice(130, 3, replace=False)], axis=0).sum() / math.sqrt(16_384) for _ in range(1000)]
    assert np.abs(across + along).max() <= limit(2000)


@every_kind
def test_the_second_moment_is_the_identity(kind):
    """E[u u^T] = I (Assumption 2.4): 36 entries of the mean over 13000 directions, d = 8; false-alarm rate ALPHA."""
    U = samples(kind, 8, 13_000)
    i, j = np.triu_indices(8)
    assert_mean_is(np.eye(8)[i, j], U[:, i] * U[:, j])


@every_kind
def test_the_mean_of_slope_times_direction_is_the_gradient(kind):
    """E[<g, u> u] = g, Eq. (2.2): 8 entries of the mean over 13000 directions; false-alarm rate ALPHA."""
    U, g = samples(kind, 8, 13_000, seed=2), np.linspace(-1, 2, 8)
    assert_mean_is(g, (U @ g)[:, None] * U)


@pytest.mark.parametrize("p", [2.0, 2.5, 4.0, 13.8, 100.0])
@pytest.mark.parametrize("dimension", [1, 5, 1000])
def test_the_moment_constant_of_rademacher_directions_is_exact_for_every_p(p, dimension):
    """||u||_p^2 is S_p for every u, so E||<g,u> u||_p^2 = S_p E<g,u>^2 = S_p ||g||_2^2, Eq. (5.15)."""
    lengths = np.linalg.norm(Rademacher(dimension, 70).rows(), p, axis=1) ** 2
    np.testing.assert_allclose(lengths, Rademacher.moment_constant(dimension, p), rtol=1e-12)
    assert Rademacher.moment_constant(dimension, p) == pytest.approx(dimension ** (2 / p), rel=1e-14)


@every_kind
@pytest.mark.parametrize("dimension", [1, 3, 20])
def test_moments_of_the_directions_are_the_stated_ones(kind, dimension):
    """E||<g,u>u||_2^2 = S_2 ||g||^2, E||u||^3, E||u||^6 over 13000 directions; 3 comparisons, false-alarm rate ALPHA."""
    U, g = samples(kind, dimension, 13_000, seed=4), np.linspace(-1, 2, dimension)
    lengths = np.linalg.norm(U, axis=1)
    expected = [kind.moment_constant(dimension, 2.0) * (g @ g), kind.third_moment(dimension), kind.sixth_moment(dimension)]
    assert_mean_is(expected, np.stack([(U @ g) ** 2 * lengths**2, lengths**3, lengths**6], axis=1))


def test_moments_have_their_closed_forms():
    assert [kind.moment_constant(7, 2.0) for kind in (Rademacher, Sphere, Gaussian)] == pytest.approx([7.0, 7.0, 9.0])
    assert [kind.sixth_moment(7) for kind in (Rademacher, Sphere, Gaussian)] == [343.0, 343.0, 7.0 * 9.0 * 11.0]
    chi = stats.chi(7).moment(3)
    assert [kind.third_moment(7) for kind in (Rademacher, Sphere, Gaussian)] == pytest.approx([7**1.5, 7**1.5, chi])


@pytest.mark.parametrize("dimension", [1, 2, 17, 1000])
def test_directions_of_fixed_length_have_it(dimension):
    for kind in (Rademacher, Sphere):
        np.testing.assert_allclose(np.linalg.norm(kind(dimension, 5).rows(), axis=1), math.sqrt(dimension), rtol=1e-13)


def test_signs_are_signs():
    assert set(np.unique(Rademacher(1000, 130).rows())) == {-1.0, 1.0}


def test_gaussian_entries_are_normal():
    """Kolmogorov-Smirnov on 500000 entries of one long row and 65000 of many short ones; each rejects at level ALPHA / 2."""
    for entries in (Gaussian(500_000, 1, seed=21).rows(), samples(Gaussian, 5, 13_000, seed=22)):
        assert stats.kstest(entries.ravel(), "norm").pvalue >= ALPHA / 2


def test_projections_of_sphere_directions_have_the_beta_law():
    """(<a, u> / sqrt(d))^2 is Beta(1/2, (d-1)/2) for a unit vector a; Kolmogorov-Smirnov on 13000 rows at level ALPHA."""
    a = np.array([3.0, -4.0, 0.0, 0.0, 12.0]) / 13.0
    projections = (samples(Sphere, 5, 13_000, seed=23) @ a) ** 2 / 5
    assert stats.kstest(projections, stats.beta(0.5, 2.0).cdf).pvalue >= ALPHA


def test_the_inverse_normal_distribution_is_accurate():
    u = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 100_001), 2.0 ** -np.arange(1, 54), 1 - 2.0 ** -np.arange(1, 53), [0.075, 0.925]])
    np.testing.assert_allclose(inverse_normal(u), special.ndtri(u), rtol=1e-14, atol=1e-16)


@given(u=st.floats(2.0**-53, 1 - 2.0**-53))
def test_the_inverse_normal_distribution_is_accurate_and_odd(u):
    value = float(inverse_normal(np.array([u]))[0])
    assert value == pytest.approx(special.ndtri(u), rel=2e-14, abs=1e-16)


@every_kind
@settings(max_examples=20)
@given(j=st.integers(0, 129), dimension=st.integers(1, 40), **identities)
def test_other_backends_give_the_same_bits(kind, j, dimension, seed, iteration, stream):
    directions, x = kind(dimension, 130, seed, iteration, stream), np.linspace(-1.0, 1.0, dimension)
    for xp in (pytest.importorskip("array_api_strict"), pytest.importorskip("torch")):
        reference = xp.asarray(x)
        np.testing.assert_array_equal(np.asarray(directions.rows(j, j + 1, reference))[0], directions.row(j, x))
        np.testing.assert_array_equal(np.asarray(directions.shift(reference, 1e-3, j)), directions.shift(x, 1e-3, j))


@every_kind
@settings(max_examples=10)
@given(data=st.data(), dimension=st.integers(1, 40), **identities)
def test_other_backends_give_the_same_sums(kind, data, dimension, seed, iteration, stream):
    count = data.draw(st.integers(1, 130 if kind in (Rademacher, Orthogonal) else 3))  # only these share work
    directions, rng = kind(dimension, count, seed, iteration, stream), np.random.default_rng(seed)
    w, v = rng.standard_normal(count), rng.standard_normal(dimension)
    for xp in (pytest.importorskip("array_api_strict"), pytest.importorskip("torch")):
        np.testing.assert_allclose(np.asarray(directions.combine(xp.asarray(w))), directions.combine(w), rtol=0, atol=1e-11)
        np.testing.assert_allclose(np.asarray(directions.dot(xp.asarray(v))), directions.dot(v), rtol=0, atol=1e-11)


@every_kind
def test_single_precision_follows_the_reference(kind):
    torch = pytest.importorskip("torch")
    row = kind(9, 1).row(0, torch.zeros(9, dtype=torch.float32))
    assert row.dtype == torch.float32
    np.testing.assert_array_equal(row.numpy(), kind(9, 1).rows()[0].astype(np.float32))


GOLDEN_SIGNS = {
    (0, 0, 0): ["+--+++---+----++", "+-+---+------+--", "-+-+--+---+----+", "--++-+++--++---+"],
    (7, 3, 0): ["+-+++------+-+-+", "+-++------+--+-+", "-+---++-+-+---+-", "++--+-+-----+++-"],
    (12345678901234567890, 10**6, 2): ["++--++++++++----", "++++---+--+++-++", "+++++++----++-+-", "+++++---+-----++"],
}
GOLDEN_NUMBERS = {
    Gaussian: ["-0x1.a061f6513c699p+0", "-0x1.843ba06ed7322p-1", "-0x1.fc364f3ce8ffbp+0", "-0x1.1bd11b3b3be5cp-4"],
    Sphere: ["0x1.6664ec883bd98p-6", "-0x1.f64b727b873fdp-1", "0x1.b97cf566d125cp+0", "0x1.00eea743064d4p-2"],
}


@pytest.mark.parametrize("identity", GOLDEN_SIGNS)
def test_the_stream_of_signs_is_what_it_always_was(identity):
    rows = Rademacher(16, 66, *identity).rows()[[0, 31, 32, 65]]
    assert ["".join("+" if sign > 0 else "-" for sign in row) for row in rows] == GOLDEN_SIGNS[identity]


@pytest.mark.parametrize("kind", GOLDEN_NUMBERS)
def test_the_stream_of_normal_numbers_is_what_it_always_was(kind):
    assert [value.hex() for value in kind(4, 2, seed=7, iteration=3).rows()[1].tolist()] == GOLDEN_NUMBERS[kind]


@every_kind
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (dict(dimension=0, count=1), "`{}(dimension=...)` must be a positive integer, got 0."),
        (dict(dimension=2**32, count=1), "`{}(dimension=...)` must be below 2**32, got 4294967296."),
        (dict(dimension=3, count=0), "`{}(count=...)` must be a positive integer, got 0."),
        (dict(dimension=3, count=1.5), "`{}(count=...)` must be a positive integer, got 1.5."),
        (dict(dimension=3, count=1, seed=-1), "`{}(seed=...)` must be a nonnegative integer, got -1."),
        (dict(dimension=3, count=1, iteration="2"), "`{}(iteration=...)` must be a nonnegative integer, got '2'."),
    ],
)
def test_a_bad_argument_gets_one_clear_sentence(kind, arguments, sentence):
    with pytest.raises(InvalidArgumentError) as error:
        kind(**arguments)
    assert str(error.value) == sentence.format(kind.__name__)


@every_kind
@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda u: u.rows(2, 9), "`rows(start, stop)` must satisfy 0 <= start < stop <= 4, got (2, 9)."),
        (lambda u: u.combine(np.ones(3)), "`combine(weights)` must have shape (4,), got (3,)."),
        (lambda u: u.dot(np.ones((3, 1))), "`dot(v)` must have shape (3,), got (3, 1)."),
    ],
)
def test_a_question_of_the_wrong_shape_gets_one_clear_sentence(kind, ask, sentence):
    with pytest.raises(InvalidArgumentError) as error:
        ask(kind(3, 4))
    assert str(error.value) == sentence


@pytest.mark.parametrize("kind", [Sphere, Gaussian])
@pytest.mark.parametrize("p", [2.0, 3.0, 5.0])
@pytest.mark.parametrize("dense", [False, True])
def test_the_moment_constant_of_sphere_and_gaussian_bounds_the_moment(kind, p, dense):
    """E||<g, u> u||_p^2 over 40,000 rows, 5 standard errors below S_p at most 25 % looser: false alarm below 12 * 3e-7."""
    g = np.full(8, 8**-0.5) if dense else np.eye(8)[0]
    rows = kind(8, 40_000, seed=3).rows()
    terms = (rows @ g) ** 2 * np.linalg.norm(rows, p, axis=1) ** 2
    error = 5 * terms.std() / np.sqrt(terms.size)
    assert terms.mean() - error <= kind.moment_constant(8, p) <= 1.25 * (terms.mean() + error)


def test_the_registry_holds_every_kind():
    assert set(DIRECTIONS) == {Rademacher, Sphere, Gaussian, Orthogonal, Squares} == members_of(Directions)
