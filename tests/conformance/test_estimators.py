"""What every estimator promises: the stated number of evaluations, the paper's recursion, and the bounds of Lemmas 2.1 to 2.3.

Statistical tests have fixed seeds and a false-alarm rate of ALPHA each, as in test_directions.
"""

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from registry import DIRECTIONS, ESTIMATORS, members_of
from zolal import theory
from zolal.directions import Rademacher
from zolal.errors import InvalidArgumentError
from zolal.estimators import Estimator, Innovation, Momentum, TwoPoint
from zolal.estimators.base import KINDS

ALPHA = 1e-6
D = 6
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
papers_estimator = pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if not isinstance(e, Innovation)], ids=repr)
INDEPENDENT = sorted(set(KINDS) - {"orthogonal"})  # kinds whose directions are independent of each other


@cache
def draw(key):
    """xi of this identity."""
    return np.random.default_rng(key).standard_normal()


class Oracle:
    """F(x; xi), evaluated point by point; remembers every call. xi is one number drawn from the sample's identity."""

    def __init__(self, function):
        self.function, self.calls = function, []

    def __call__(self, batch):
        values = []
        for i in range(len(batch)):
            x, key = batch.point(i), batch.query(i).sample
            self.calls.append((x.copy(), key))
            values.append(self.function(x, draw(key)))
        return np.array(values)


def noisy_quadratic(x, xi):
    """(1 + xi / 2) times a quadratic with gradient (1, ..., d) * x - 1."""
    return (1 + xi / 2) * (np.arange(1, D + 1) @ x**2 / 2 - x.sum())


def run(estimator, points, oracle, seed=0):
    """The estimates s^0, s^1, ... at the given points and the batches that they came from."""
    memory, gradients, batches = estimator.start(seed), [], []
    for k, x in enumerate(points):
        batch = estimator.plan(memory, x, k)
        gradient, memory = estimator.absorb(memory, batch, oracle(batch))
        gradients.append(gradient)
        batches.append(batch)
    return gradients, batches


def path(seed=0, length=4):
    return list(np.random.default_rng(seed).standard_normal((length, D)))


@every_estimator
def test_the_number_of_evaluations_is_the_stated_one(estimator):
    oracle, counts = Oracle(noisy_quadratic), []
    for length in range(1, 5):
        oracle.calls.clear()
        run(estimator, path(length=length), oracle)
        counts.append(len(oracle.calls))
    n, n_0 = 4, estimator.num_initial_directions or 4
    shared = estimator.share_base and not getattr(estimator, "central", False)
    first, later = (n_0 + 1, n + 1) if shared else (2 * n_0, 2 * n)
    twice = 2 if isinstance(estimator, Momentum) and estimator.momentum < 1 else 1
    assert [counts[0], *(b - a for a, b in pairwise(counts))] == [first] + [twice * later] * 3


@pytest.mark.parametrize(
    ("share_base", "momentum", "expected"),
    [(False, 0.3, [14, 16, 16]), (True, 0.3, [8, 10, 10]), (False, 1.0, [14, 8, 8]), (True, 1.0, [8, 5, 5])],
)
def test_the_costs_of_the_recursion_are_the_papers(share_base, momentum, expected):
    """2 n_0 then 4 n; n_0 + 1 then 2 n + 2 with a shared base; half of it with momentum 1; for n_0 = 7 and n = 4."""
    estimator = Momentum(4, 1e-3, num_initial_directions=7, share_base=share_base, momentum=momentum)
    _, batches = run(estimator, path(length=3), Oracle(noisy_quadratic))
    assert [len(batch) for batch in batches] == expected


@papers_estimator
def test_the_points_and_samples_are_those_of_the_two_point_estimator(estimator):
    oracle, points = Oracle(noisy_quadratic), path(length=2)
    _, batches = run(estimator, points, oracle)
    calls = iter(oracle.calls)
    for k, batch in enumerate(batches):
        U = KINDS[estimator.directions](D, batch.directions.count, seed=0, iteration=k).rows()
        for base in [points[k], points[k - 1]][: len(batch.bases)]:
            moves = [0 * U[0], *U] if estimator.share_base else [move for u in U for move in (0 * u, u)]
            for move in moves:
                np.testing.assert_allclose(next(calls)[0], base + 1e-3 * move, rtol=1e-14, atol=1e-15)
    assert next(calls, None) is None


@papers_estimator
def test_both_points_see_the_same_directions_and_samples(estimator):
    points, (_, batches) = path(length=2), run(estimator, path(length=2), Oracle(noisy_quadratic))
    batch = batches[1]
    keys = [batch.query(i).sample for i in range(len(batch))]
    if len(batch.bases) == 2:
        half = len(batch) // 2
        moves = [batch.point(i) - points[1 if i < half else 0] for i in range(len(batch))]
        assert keys[:half] == keys[half:]
        np.testing.assert_allclose(moves[:half], moves[half:], rtol=0, atol=1e-14)
    assert len(set(keys)) == (1 if estimator.share_base else 4)


@every_estimator
def test_samples_are_never_used_in_two_iterations(estimator):
    _, batches = run(estimator, path(), Oracle(noisy_quadratic))
    keys = [{batch.query(i).sample for i in range(len(batch))} for batch in batches]
    assert len(set.union(*keys)) == sum(map(len, keys))


def naive_estimates(estimator, points, function, seed):
    """Eq. (2.1) averaged, or the recursion (3.3), with explicit matrices of directions."""
    estimates = []
    for k, x in enumerate(points):
        n = estimator.num_initial_directions if k == 0 and estimator.num_initial_directions else estimator.num_directions
        U = KINDS[estimator.directions](D, n, seed=seed, iteration=k).rows()
        xi = [draw((seed, k, 0, 0 if estimator.share_base else j)) for j in range(n)]

        def two_points(y, U=U, xi=xi):
            return np.array([(function(y + 1e-3 * u, s) - function(y, s)) / 1e-3 * u for u, s in zip(U, xi, strict=True)])

        if k == 0 or isinstance(estimator, TwoPoint):
            estimates.append(two_points(x).mean(axis=0))
        else:
            alpha = estimator.momentum
            estimates.append((two_points(x) + (1 - alpha) * (estimates[-1] - two_points(points[k - 1]))).mean(axis=0))
    return estimates


@papers_estimator
@given(seed=st.integers(0, 10**6))
def test_the_estimates_follow_the_papers_recursion(estimator, seed):
    points = path(seed)
    gradients, _ = run(estimator, points, Oracle(noisy_quadratic), seed)
    np.testing.assert_allclose(gradients, naive_estimates(estimator, points, noisy_quadratic, seed), rtol=1e-9, atol=1e-9)


@every_estimator
def test_directions_follow_the_schedules_of_count_smoothing_and_momentum(estimator):
    options = {"momentum": lambda k: 1 / (k + 1)} if isinstance(estimator, Momentum) else {}
    changed = type(estimator)(lambda k: k + 2, lambda k: 0.1 / (k + 1), **options)
    _, batches = run(changed, path(), Oracle(noisy_quadratic))
    assert [batch.directions.count for batch in batches] == [2, 3, 4, 5]
    assert [batch.smoothing for batch in batches] == [0.1, 0.05, 0.1 / 3, 0.025]


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(seed=st.integers(0, 10**6), nu=st.sampled_from([2.0**-10, 1.0, 2.0**10]))
def test_a_linear_function_gives_exactly_slope_times_direction(kind, seed, nu):
    """G_nu(x; u) = <g, u> u for F(x) = <g, x>, whatever nu; at x = 0 nothing rounds but the sum itself."""
    g = np.arange(1.0, D + 1.0)
    estimator = TwoPoint(1, nu, directions=kind)
    (estimate,), _ = run(estimator, [np.zeros(D)], Oracle(lambda x, xi: g @ x), seed)
    u = KINDS[kind](D, 1, seed=seed, iteration=0).rows()[0]
    np.testing.assert_allclose(estimate, (g @ u) * u, rtol=1e-13, atol=1e-13)


@papers_estimator
def test_the_recursion_is_unbiased_on_linear_functions(estimator):
    """E s^k = g for F(x; xi) = <(1 + xi) g, x>: s^2 over 600 seeds, 6 means within the normal quantile of ALPHA / 12."""
    g, points = np.linspace(-1, 2, D), path(length=3)
    oracle = Oracle(lambda x, xi: (1 + xi) * (g @ x))
    estimates = np.array([run(estimator, points, oracle, seed)[0][2] for seed in range(600)])
    z = np.abs(estimates.mean(axis=0) - g) / (estimates.std(axis=0) / math.sqrt(600))
    assert z.max() <= stats.norm.isf(ALPHA / (2 * D)), f"|z| = {z.max():.2f}"


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_the_mean_square_error_falls_as_one_over_the_directions(kind):
    """E||s - g||^2 = (S_2 - 1) ||g||^2 / n on a noiseless linear function (2.2, Section 5.3); 1000 seeds, level ALPHA each."""
    g = np.linspace(-1, 2, D)
    for n in (1, 8):
        estimator = TwoPoint(n, 1.0, directions=kind)
        estimates = [run(estimator, [np.zeros(D)], lambda batch: batch.points(0, len(batch)) @ g, seed)[0][0] for seed in range(1000)]
        errors = np.sum((np.array(estimates) - g) ** 2, axis=1)
        expected = (KINDS[kind].moment_constant(D, 2.0) - 1) * (g @ g) / n
        z = abs(np.mean(errors) - expected) / (np.std(errors) / math.sqrt(1000))
        assert z <= stats.norm.isf(ALPHA / 2), f"|z| = {z:.2f}: mean {np.mean(errors):.3f}, expected {expected:.3f}"


@dataclass
class Setting:
    """A random quadratic f with noise F = (1 + xi) f, xi = +-1/2, and G_nu at x and y for 20000 pairs (u, xi)."""

    kind: type
    p: float
    nu: float = 0.1

    def __post_init__(self):
        rng = np.random.default_rng(6)
        root, b, x, move = rng.standard_normal((D, D)), rng.standard_normal(D), rng.standard_normal(D), rng.standard_normal(D)
        A, y = root @ root.T / D - 0.5 * np.eye(D), x + 0.3 * move
        batch = TwoPoint(20_000, self.nu, self.kind.kind).batch(3, (x, y), k=0)
        U, factors = batch.directions.rows(), 1 + rng.choice([-0.5, 0.5], 20_000)
        values = [factors * (np.sum(z @ A * z, axis=1) / 2 + z @ b) for base in (x, y) for z in (base + 0 * U, base + self.nu * U)]
        slopes = batch.slopes(np.concatenate([np.stack(values[:2], 1).ravel(), np.stack(values[2:], 1).ravel()]))
        self.estimates_x, self.estimates_y = (slope[:, None] * U for slope in slopes)
        # g_nu(z) = A z + b + nu E[(u^T A u) u] / 2, and u is symmetric, so the last term is 0
        self.mean_x, self.mean_y, self.distance = A @ x + b, A @ y + b, float(np.linalg.norm(y - x))
        self.L_f = math.sqrt(1.25) * float(np.linalg.norm(A, 2))  # in mean square: E(1 + xi)^2 = 5/4
        self.gradient = float(np.linalg.norm(self.mean_x))  # the lemmas use M_f and sigma at x alone
        self.sigma = 0.5 * self.gradient
        self.S_p, self.third, self.sixth = self.kind.moment_constant(D, self.p), self.kind.third_moment(D), self.kind.sixth_moment(D)


SETTINGS = [*((kind, 2.0) for kind in DIRECTIONS), (Rademacher, 4.0)]
lemma_settings = pytest.mark.parametrize("setting", SETTINGS, ids=lambda pair: f"{pair[0].__name__}-{pair[1]}")


@cache
def built(setting):
    return Setting(*setting)


def assert_below(bound, values, name):
    """The mean plus five standard errors (false-alarm rate 3e-7 at equality) is at most the bound; the message tells the slack."""
    values = np.atleast_1d(values)
    mean, error = values.mean(), values.std() / math.sqrt(values.size)
    assert mean + 5 * error <= bound, f"{name} is {mean:.4g} +- {error:.2g}, the bound is {bound:.4g}: slack {bound / mean:.3f}"


def squared(values, p):
    return np.linalg.norm(values, p, axis=-1) ** 2


@lemma_settings
def test_the_bias_obeys_lemma_2_1(setting):
    s = built(setting)
    assert_below(theory.bias_bound(s.nu, s.L_f, s.third), np.linalg.norm(s.estimates_x.mean(axis=0) - s.mean_x, s.p), "bias")


@pytest.mark.parametrize("kind", DIRECTIONS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("dimension", [1, 6])
def test_a_bias_that_is_not_zero_obeys_lemma_2_1(kind, dimension):
    """f(x) = 3 sum_i max(x_i, 0)^2 / 2 has L_f = 3 and, at 0, gradient 0 and g_nu = (3 nu / 2) E[sum_i max(u_i, 0)^2 u] != 0."""
    batch = TwoPoint(20_000, 0.1, kind.kind).batch(3, (np.zeros(dimension),), k=0)
    U = batch.directions.rows()
    moved = 1.5 * np.sum(np.maximum(0.1 * U, 0.0) ** 2, axis=1)
    slopes = batch.slopes(np.stack([np.zeros(20_000), moved], axis=1).ravel())
    bias = np.linalg.norm(slopes @ U / 20_000)
    assert bias >= 0.07 * math.sqrt(dimension)  # (3 nu / 2) / 2 per coordinate for signs, more for normal numbers
    assert_below(theory.bias_bound(0.1, 3.0, kind.third_moment(dimension)), bias, "bias")


@lemma_settings
def test_differences_obey_lemma_2_2(setting):
    s = built(setting)
    bound = theory.difference_bound(s.nu, s.L_f, s.S_p, s.sixth, s.distance)
    assert_below(bound, squared(s.estimates_y - s.estimates_x, s.p), "E||G(y) - G(x)||^2")
    assert_below(bound, squared(s.mean_y - s.mean_x, s.p), "||g(y) - g(x)||^2")


@lemma_settings
def test_the_second_moment_obeys_lemma_2_2(setting):
    s = built(setting)
    bound = theory.second_moment_bound(s.nu, s.L_f, s.S_p, s.sixth, s.sigma, s.gradient)
    assert_below(bound, squared(s.estimates_x, s.p), "E||G(x)||^2")


@lemma_settings
def test_the_variance_obeys_lemma_2_3(setting):
    s = built(setting)
    bound = theory.variance_bound(s.nu, s.L_f, s.S_p, s.sixth, s.sigma, s.gradient)
    assert_below(bound, squared(s.estimates_x - s.mean_x, s.p), "E||G(x) - g(x)||^2")


@given(nu=st.floats(1e-4, 1), L=st.floats(0.1, 10), S=st.floats(1, 50), sixth=st.floats(1, 1e4), sigma=st.floats(0, 5), m=st.floats(0, 5))
def test_the_bounds_are_the_printed_ones(nu, L, S, sixth, sigma, m):
    assert theory.bias_bound(nu, L, sixth) == pytest.approx(nu * L / 2 * sixth)
    assert theory.difference_bound(nu, L, S, sixth, m) == pytest.approx(3 * nu**2 * L**2 / 2 * sixth + 3 * S * L**2 * m**2)
    assert theory.second_moment_bound(nu, L, S, sixth, sigma, m) == pytest.approx(nu**2 * L**2 / 2 * sixth + 4 * S * (sigma**2 + m**2))
    expected = 2 * nu**2 * L**2 * sixth + 8 * S * (sigma**2 + m**2) + 4 * m**2
    assert theory.variance_bound(nu, L, S, sixth, sigma, m) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TwoPoint(0, 1e-3), "`TwoPoint(num_directions=...)` must be a positive integer, got 0."),
        (lambda: TwoPoint(4, -1.0), "`TwoPoint(smoothing=...)` must be a positive number, got -1.0."),
        (lambda: TwoPoint("4", 1e-3), "`TwoPoint(num_directions=...)` must be a number or a function of the iteration, got '4'."),
        (
            lambda: TwoPoint(4, 1e-3, "cube"),
            "`TwoPoint(directions=...)` must be one of 'rademacher', 'sphere', 'gaussian', 'orthogonal', 'squares', got 'cube'.",
        ),
        (lambda: Momentum(4, 1e-3, momentum=0.0), "`Momentum(momentum=...)` must lie in (0, 1], got 0.0."),
        (lambda: Momentum(4, 1e-3, momentum=1.5), "`Momentum(momentum=...)` must lie in (0, 1], got 1.5."),
        (lambda: Momentum(4, 1e-3, num_initial_directions=0), "`Momentum(num_initial_directions=...)` must be a positive integer, got 0."),
        (
            lambda: run(TwoPoint(4, lambda k: 0.0), path(length=1), Oracle(noisy_quadratic)),
            "`TwoPoint(smoothing=...) at iteration 0` must be a positive number, got 0.0.",
        ),
    ],
)
def test_a_bad_argument_gets_one_clear_sentence(make, sentence):
    with pytest.raises(InvalidArgumentError) as error:
        make()
    assert str(error.value) == sentence


def test_the_registry_holds_every_estimator():
    assert {type(estimator) for estimator in ESTIMATORS} == {TwoPoint, Momentum, Innovation} == members_of(Estimator)


@pytest.mark.parametrize("kind", ["rademacher", "sphere", "gaussian"])
@pytest.mark.parametrize("share_base", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_points_are_the_points_to_the_bit(kind, share_base, dtype, rng):
    bases = tuple(rng.standard_normal((2, D)).astype(dtype))
    batch = replace(TwoPoint(37, 1e-3, kind, share_base=share_base).batch(3, bases, 5), smoothing=0.1)
    everything = np.stack([batch.point(i) for i in range(len(batch))])
    for start, stop in [(0, len(batch)), (0, 1), (1, 2), (1, 40), (2, 75), (30, len(batch)), (len(batch) // 2, len(batch) // 2 + 1)]:
        rows = batch.points(start, stop)
        assert rows.dtype == dtype
        np.testing.assert_array_equal(rows, everything[start:stop])
    batch.points(0, 3)[:] = 7.0  # the caller's own
    np.testing.assert_array_equal(batch.points(0, 3), everything[:3])


@pytest.mark.parametrize("share_base", [True, False])
def test_values_are_arranged_in_the_order_of_the_queries(share_base, rng):
    batch = TwoPoint(5, 1e-3, share_base=share_base).batch(3, tuple(rng.standard_normal((2, D))), 5)
    still, moved = rng.standard_normal(2), rng.standard_normal((2, 5))
    queries = map(batch.query, range(len(batch)))
    expected = [still[query.base] if query.direction is None else moved[query.base, query.direction] for query in queries]
    assert batch.arrange(still, moved).tolist() == expected
    np.testing.assert_allclose(batch.slopes(batch.arrange(still, moved)), (moved - still[:, None]) / 1e-3)
