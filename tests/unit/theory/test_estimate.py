"""Constants from data, on problems whose constants are known in closed form."""

import itertools

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

import zolal
from zolal import Problem, theory
from zolal.regularizers import L1
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex

A, B, NOISE = np.linspace(0.5, 2.0, 12), np.linspace(-1.0, 1.0, 12), 0.05


def quadratic(**more):
    sphere = NonlinearConstraint(lambda x: 0.5 * (x @ x - 1.0), 0.0, 0.0, jac=lambda x: x)
    arguments = dict(constraints=sphere, sample=lambda rng: rng.standard_normal(12)) | more
    return Problem(lambda x, xi: 0.5 * x @ (A * x) + (B + NOISE * xi) @ x, 12, **arguments)


def test_estimates_are_near_the_closed_form():
    x0 = np.full(12, 0.35)
    found = theory.estimate_constants(quadratic(), x0, maxfev=8000, rng=1)
    c, gradient = found.constants, np.linalg.norm(A * x0 + B)
    assert 0.9 * np.sqrt(np.mean(A**2)) <= found.spread["L_f"][1] <= 2.0  # between the mean and the largest curvature
    assert c.L_f <= 1.5 * 2.0
    assert found.spread["M_f"][1] == pytest.approx(gradient, rel=0.15)
    assert found.spread["sigma"][0] <= NOISE * np.sqrt(12) * 3
    assert c.M_c == pytest.approx(np.linalg.norm(x0), rel=0.25)
    assert c.L_c == pytest.approx(1.0)  # grad c = x exactly
    assert c.c0 == pytest.approx(abs(0.5 * (x0 @ x0 - 1.0)))
    assert c.beta == pytest.approx(np.linalg.norm(x0), rel=0.25)  # ||x c|| / |c|
    assert (c.m, c.M_h) == (1, 0.0)
    assert any("Phi_inf is unknown" in note for note in found.notes)


def test_noise_is_told_from_the_gradient():
    loud = quadratic(sample=lambda rng: 40.0 * rng.standard_normal(12))
    quiet = quadratic(sample=lambda rng: np.zeros(12))
    one, other = (theory.estimate_constants(problem, np.full(12, 0.3), maxfev=8000).spread["sigma"][1] for problem in (loud, quiet))
    assert one == pytest.approx(40.0 * NOISE * np.sqrt(12), rel=0.3)
    assert other <= 0.5 * one


def test_the_budget_is_kept_and_counted():
    calls = []
    problem = quadratic()
    counted = Problem(lambda x, xi: calls.append(1) or problem.objective(x, xi), 12, problem.constraints, sample=problem.sample)
    found = theory.estimate_constants(counted, np.full(12, 0.3), maxfev=500)
    assert len(calls) == found.nfev <= 500


def test_estimates_go_straight_into_the_settings():
    problem = quadratic(region=Box(-1.0, 1.0), regularizer=L1(0.1))
    found = theory.estimate_constants(problem, np.full(12, 0.3), p=3.0)
    assert found.constants.M_h == pytest.approx(0.1 * np.sqrt(12))
    assert theory.settings(found.constants, theory.Geometry(12, 3.0), 0.1).evaluations > 0


def test_without_repeatable_samples_and_violations_it_says_so():
    found = theory.estimate_constants(Problem(lambda x: float(x @ x), 3), np.ones(3), maxfev=200)
    assert any("cannot be repeated" in note for note in found.notes)
    assert any("beta was not seen" in note for note in found.notes)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(dict(maxfev=10), "must be at least 64"), (dict(radius=-1.0), "radius=...)` must be a positive number"), (dict(rng=-1), "rng=...)`")],
)
def test_bad_arguments_get_one_sentence(arguments, words):
    with pytest.raises(zolal.InvalidArgumentError) as error:
        theory.estimate_constants(quadratic(), np.ones(12), **arguments)
    assert words in str(error.value)


def test_a_failing_objective_is_told():
    with pytest.raises(zolal.ObjectiveError, match="raised ZeroDivisionError"):
        theory.estimate_constants(Problem(lambda x: 1 / 0, 3), np.ones(3))


def test_integers_are_numbers_and_words_are_not():
    one, other = (theory.estimate_constants(quadratic(), x, maxfev=400).constants for x in (np.ones(12, int), np.ones(12)))
    assert one == other
    with pytest.raises(zolal.InvalidArgumentError, match="must be a vector of numbers, got 'here'"):
        theory.estimate_constants(quadratic(), "here")


def test_a_path_is_visited():
    """beta = ||x|| for the sphere: along a path towards the origin it falls."""
    x0 = np.full(12, 0.3)
    near = theory.estimate_constants(quadratic(), x0, maxfev=2000, radius=1e-3).constants.beta
    along = theory.estimate_constants(quadratic(), x0, path=[0.5 * x0, 0.1 * x0], maxfev=2000, radius=1e-3).constants.beta
    assert near == pytest.approx(np.linalg.norm(x0), rel=0.02)
    assert along == pytest.approx(0.1 * np.linalg.norm(x0), rel=0.02)


@pytest.mark.parametrize("q", [1.0, 1.2, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("region", [Box(-1.0, 2.0), L1Ball(1.5), L2Ball(2.0), LqBall(3.0, 1.2), LqBall(1.3, 0.7), Simplex(2.0)], ids=repr)
def test_the_bound_of_a_set_is_reached_and_never_exceeded(region, q, rng):
    """The extreme points are enumerated by projecting far corners and far axes; random far points never lie beyond."""
    for part, size in ((region, 4), (Product([(region, 3), (Box(-0.5, 0.1), 2)]), 5)):
        bound = theory.region_bound(part, size, q)
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=size)))
        axes = np.eye(size)
        if isinstance(part, Product):
            corners = np.concatenate(
                [corners, np.concatenate([np.kron(axes[:3, :3], np.ones((4, 1))), np.tile(corners[:4, 3:], (3, 1))], axis=1)]
            )
        points = [part.project(1e6 * point) for point in (*corners, *axes, *rng.standard_normal((200, size)))]
        lengths = [np.sum(np.abs(x) ** q) ** (1 / q) for x in points]
        assert max(lengths) == pytest.approx(bound, rel=1e-5)


def test_the_bound_of_other_sets_is_infinite_or_unknown():
    class Mine(ConvexSet):
        def project(self, x):
            return x

        def contains(self, x, tolerance=0.0):
            return True

    assert theory.region_bound(Box(0.0, np.inf), 3, 2.0) == np.inf
    assert theory.region_bound(Product([(Mine(), 2), (NonNegative(), 1)]), 3, 2.0) == np.inf
    assert theory.region_bound(Product([(Mine(), 2), (Simplex(), 1)]), 3, 2.0) is None


def test_d_x_is_that_of_a_bounded_set_and_says_so_otherwise():
    x0 = np.full(12, 0.35)
    inside = theory.estimate_constants(quadratic(region=Box(-1.0, 2.0)), x0, p=3.0)
    assert pytest.approx(12 ** (2 / 3) * 2) == inside.constants.D_X
    assert not any("D_X" in note for note in inside.notes)
    free = theory.estimate_constants(quadratic(), x0)
    assert free.constants.D_X < 3.0
    assert any("D_X is that of the points seen: X is unbounded" in note for note in free.notes)
