"""Steps over exact constraints against SLSQP on the same model from several starts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from zolal import Constraint, Problem
from zolal.problem import SlackForm
from zolal.sets import Box, WholeSpace
from zolal.solvers.auto.reported import OutputRow
from zolal.solvers.auto.step import FARTHEST, Model, Stepper
from zolal.solvers.auto.terrain import Terrain

D = 6
SPHERE = Constraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)
HALF = Constraint(lambda x: x[0] + 2 * x[1] - x[2], -np.inf, 0.8, jac=lambda x: np.array([1.0, 2.0, -1.0, 0.0, 0.0, 0.0]))
LIMITS = {
    "nothing": ((), WholeSpace()),
    "box": ((), Box(-0.6, 0.7)),
    "sphere": ((SPHERE,), WholeSpace()),
    "half-space": ((HALF,), WholeSpace()),
    "sphere, half-space and box": ((SPHERE, HALF), Box(-0.6, 0.7)),
}


def terrain_of(limits):
    constraints, region = LIMITS[limits]
    x0 = np.full(D, 0.3)
    problem = Problem(lambda x: 0.0, D, constraints=list(constraints), region=region)
    return Terrain.of(SlackForm(problem, problem.equalities(x0)), np.ones(D), x0)


def random_model(rng, terrain, curvature):
    """A model around a feasible centre, convex or not."""
    half = rng.standard_normal((D, D))
    hessian = half @ half.T if curvature == "convex" else half + half.T if curvature == "indefinite" else np.zeros((D, D))
    centre, left, _ = terrain.restored(rng.uniform(-0.6, 0.6, D))
    assert left <= 1e-12
    return Model(centre, rng.standard_normal(D), hessian)


def violation(terrain, u):
    value = terrain.values(u)
    rows = np.abs(value - np.clip(value, *terrain.interval)).max(initial=0.0)
    return max(rows, np.maximum(terrain.lower - u, 0.0).max(), np.maximum(u - terrain.upper, 0.0).max())


def by_slsqp(terrain, model, radius, rng):
    """The best of the local solutions from the centre and from near it."""
    low, high = terrain.interval if terrain.num_rows else (np.empty(0), np.empty(0))
    limits = [dict(type="ineq", fun=lambda u: radius**2 - (u - model.centre) @ (u - model.centre), jac=lambda u: -2 * (u - model.centre))]
    for i in range(terrain.num_rows):
        kind, sign = ("eq", 1.0) if low[i] == high[i] else ("ineq", -1.0)
        limits.append(
            dict(
                type=kind,
                fun=lambda u, i=i, sign=sign: sign * (terrain.values(u)[i] - high[i]),
                jac=lambda u, i=i, sign=sign: sign * terrain.rows(u).jacobian[i],
            )
        )
    best, bounds = 0.0, list(zip(terrain.lower, terrain.upper, strict=True))
    for start in [model.centre, *(model.centre + 0.3 * radius * rng.standard_normal((2, D)))]:
        found = minimize(model.change, terrain.clipped(start), jac=model.slope, bounds=bounds, constraints=limits, method="SLSQP")
        if violation(terrain, found.x) <= 1e-6 and np.linalg.norm(found.x - model.centre) <= 1.001 * radius:
            best = max(best, -found.fun)
    return best


@pytest.mark.parametrize("curvature", ["convex", "indefinite", "none"])
@pytest.mark.parametrize("limits", LIMITS)
def test_a_step_gains_nearly_what_the_best_local_solution_gains(limits, curvature):
    """The radius is kept to between 0.9 and 1.05, and so is the gain of a model without curvature; restoration may add to the length."""
    terrain, shares = terrain_of(limits), []
    longest = 1.1 if "sphere" in limits else 1.06
    for seed in range(12):
        rng = np.random.default_rng([seed, 3])
        model, radius = random_model(rng, terrain, curvature), 10 ** rng.uniform(-2, 0)
        step = Stepper(terrain).minimiser(model, terrain.rows(model.centre), radius, np.zeros((D, D)))
        assert violation(terrain, step.point) <= 1e-9
        assert np.linalg.norm(step.point - model.centre) <= longest * radius
        assert step.gain == pytest.approx(-model.change(step.point), abs=1e-12)
        shares.append(step.gain / max(by_slsqp(terrain, model, radius, rng), 1e-12))
    assert np.mean(np.asarray(shares) >= 0.9) >= 0.9
    assert np.median(shares) >= 0.97


def test_a_linear_model_without_limits_is_followed_to_the_edge():
    terrain = terrain_of("nothing")
    model = Model(np.zeros(D), np.arange(1.0, D + 1), np.zeros((D, D)))
    step = Stepper(terrain).minimiser(model, terrain.rows(model.centre), 0.5, np.zeros((D, D)))
    assert 0.9 * 0.5 <= np.linalg.norm(step.point) <= 1.06 * 0.5
    assert_allclose(step.point / np.linalg.norm(step.point), -model.gradient / np.linalg.norm(model.gradient), atol=1e-6)


def test_a_convex_model_whose_minimiser_is_near_is_solved_exactly():
    terrain = terrain_of("nothing")
    model = Model(np.zeros(D), np.full(D, 0.1), 2.0 * np.eye(D))
    step = Stepper(terrain).minimiser(model, terrain.rows(model.centre), 5.0, np.zeros((D, D)))
    assert_allclose(step.point, np.full(D, -0.05), atol=1e-7)


def test_where_nothing_is_better_the_step_stays():
    terrain = terrain_of("sphere")
    centre = np.eye(D)[0]
    model = Model(centre, -3.0 * centre, np.eye(D))
    step = Stepper(terrain).minimiser(model, terrain.rows(centre), 0.3, np.zeros((D, D)))
    assert step.gain <= 1e-12
    assert_allclose(step.point, centre, atol=1e-6)


def test_multipliers_make_the_models_gradient_vanish_at_the_end():
    terrain = terrain_of("sphere")
    model = Model(np.eye(D)[0], np.ones(D), np.zeros((D, D)))
    stepper, bend, radius = Stepper(terrain), np.zeros((D, D)), 3.0
    step = stepper.minimiser(model, terrain.rows(model.centre), radius, bend)
    assert_allclose(step.point, -np.ones(D) / np.sqrt(D), atol=0.05)
    rows = terrain.rows(step.point)
    assert np.linalg.norm(model.slope(step.point) + rows.jacobian.T @ step.multipliers) <= 0.1 * np.linalg.norm(model.gradient)


def test_a_curvature_that_leads_nowhere_is_forgotten():
    """Kept from steps with other multipliers, it may call a direction flat along which the model rises."""
    terrain = terrain_of("sphere")
    centre = np.eye(D)[0]
    model = Model(centre, np.array([0.0, 0.05, 0.0, 0.0, 0.0, 0.0]), 2.6 * np.eye(D))
    wrong = np.zeros((D, D))
    wrong[2, 2], wrong[1, 2], wrong[2, 1] = -8.0, 0.1, 0.1
    steps = [Stepper(terrain).minimiser(model, terrain.rows(centre), 0.4, bend) for bend in (wrong, np.zeros((D, D)))]
    assert steps[1].gain > 1e-4
    assert steps[0].gain >= 0.9 * steps[1].gain


def test_numbers_that_no_factor_takes_end_in_no_step():
    terrain = terrain_of("nothing")
    for size in (1e-300, 1e150, 1e300):
        model = Model(np.zeros(D), np.full(D, size), -size * np.eye(D))
        with np.errstate(all="ignore"):
            step = Stepper(terrain).minimiser(model, terrain.rows(model.centre), 0.1, np.zeros((D, D)))
        assert np.isfinite(step.point).all()
        assert np.linalg.norm(step.point) <= 1.06 * 0.1


def test_a_constraint_without_a_value_beyond_an_edge_is_not_crossed():
    edge = Constraint(lambda x: np.log(x[0]) if x[0] > 0 else np.nan, -5.0, np.inf, jac=lambda x: np.append(1 / x[0], np.zeros(D - 1)))
    x0 = np.full(D, 0.5)
    problem = Problem(lambda x: 0.0, D, constraints=[edge])
    terrain = Terrain.of(SlackForm(problem, problem.equalities(x0)), np.ones(D), x0)
    model = Model(x0, np.append(1.0, np.zeros(D - 1)), np.zeros((D, D)))
    step = Stepper(terrain).minimiser(model, terrain.rows(x0), 3.0, np.zeros((D, D)))
    assert step.gain > 0.3
    assert step.point[0] >= np.exp(-5.0) * (1 - 1e-9)


def test_curvature_across_a_row_that_holds_the_step_does_not_shorten_it():
    """Along a hyperbola; what is kept of the constraint's curvature may be anything across it, since no step measures it there."""
    hyperbola = Constraint(lambda x: x[0] * x[1], 25.0, np.inf, jac=lambda x: np.array([x[1], x[0]]))
    start = np.array([10.0, 2.5])
    problem = Problem(lambda x: 0.0, 2, constraints=[hyperbola])
    terrain = Terrain.of(SlackForm(problem, problem.equalities(start)), np.ones(2), start)
    centre = terrain.inward(start)
    hessian = np.diag([0.02, 2.0])
    model, normal = Model(centre, hessian @ start, hessian), np.array([2.5, 10.0]) / np.hypot(2.5, 10.0)
    step = Stepper(terrain).minimiser(model, terrain.rows(centre), 100.0, -150.0 * np.outer(normal, normal))
    assert_allclose(terrain.outward(step.point), [np.sqrt(250.0), np.sqrt(2.5)], rtol=0.02)


@pytest.mark.parametrize("price", [0.0, 0.2, 5.0])
def test_an_output_that_had_a_price_does_not_hold_a_step_that_stays_away_from_it(price):
    """min -u_0 - u_1 + |u|^2/2 with u_0 <= 0.8, from 0, is at (0.8, 1) with the multiplier 0.2, whatever that was before."""
    start = np.zeros(2)
    problem = Problem(lambda x: 0.0, 2)
    terrain = Terrain.of(SlackForm(problem, problem.equalities(start)), np.ones(2), start)
    terrain = terrain.with_outputs((OutputRow(start, 0.0, np.array([1.0, 0.0]), np.zeros((2, 2)), -np.inf, 0.8),))
    model = Model(start, np.array([-1.0, -1.0]), np.eye(2))
    step = Stepper(terrain).minimiser(model, terrain.rows(start), 10.0, np.zeros((2, 2)), prices=np.array([price]))
    assert_allclose(step.point, [0.8, 1.0], atol=1e-9)
    assert_allclose(step.multipliers, [0.2], atol=1e-9)


def test_a_step_from_a_given_start_keeps_to_curved_rows_though_the_model_rises():
    """As where outputs have to come to hold: the centre violates the row, and every point where it holds is worse by the model."""
    bent = Constraint(lambda x: x[0] - 0.5 * x[1] ** 2 - 0.2 * x[0] ** 2, 0.3, np.inf, jac=lambda x: np.array([1.0 - 0.4 * x[0], -x[1]]))
    problem, start = Problem(lambda x: 0.0, 2, constraints=[bent]), np.array([0.5, 0.4])
    terrain = Terrain.of(SlackForm(problem, problem.equalities(start)), np.ones(2), start)
    model = Model(np.zeros(2), np.array([1.0, 0.2]), 0.1 * np.eye(2))
    step = Stepper(terrain).minimiser(model, terrain.rows(start), 0.6, np.zeros((2, 2)), start)
    rows = terrain.rows(step.point)
    assert rows.distance(rows.value) <= 1e-12
    assert -model.change(start) < step.gain < 0.0


def test_a_step_that_goes_on_from_a_shorter_one_ends_where_one_from_the_centre_does():
    terrain = terrain_of("sphere")
    rng = np.random.default_rng(5)
    model = random_model(rng, terrain, "convex")
    rows, bend = terrain.rows(model.centre), np.zeros((len(model.centre),) * 2)
    short = Stepper(terrain).minimiser(model, rows, 0.2, bend)
    longer, anew = Stepper(terrain).longer(model, short, 0.4), Stepper(terrain).minimiser(model, rows, 0.4, bend)
    assert longer.gain > short.gain
    assert longer.gain == pytest.approx(anew.gain, rel=0.05)  # rounds end where one adds a hundredth
    assert violation(terrain, longer.point) <= 1e-9


def test_over_rows_that_curve_a_step_does_not_end_on_the_way():
    """One that goes on finds more than a hundredth in next to no case; it ends where the exact rows hold, and keeps to the radius."""
    more = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        curved, slopes = rng.standard_normal((2, 5, 5)), rng.standard_normal((2, 5))
        curved = curved + curved.transpose(0, 2, 1)

        def value(x, curved=curved, slopes=slopes):
            return slopes @ x + 0.5 * np.einsum("i,kij,j->k", x, curved, x)

        rows = Constraint(value, jac=lambda x, curved=curved, slopes=slopes: slopes + curved @ x, lower=0.0, upper=0.0)
        problem = Problem(lambda x: 0.0, 5, constraints=[rows])
        terrain = Terrain.of(SlackForm(problem, problem.equalities(np.zeros(5))), np.ones(5), np.zeros(5))
        model = Model(np.zeros(5), rng.standard_normal(5), np.zeros((5, 5)))
        step = Stepper(terrain).minimiser(model, terrain.rows(model.centre), 2.0, np.zeros((5, 5)))
        assert np.abs(value(step.point)).max() <= 1e-8
        assert np.linalg.norm(step.point) <= 1.001 * FARTHEST * 2.0
        more += Stepper(terrain).longer(model, step, 2.0).gain > 1.01 * step.gain
    assert more <= 3


@pytest.mark.parametrize("start", [0.4, 0.3])
def test_where_rows_vanish_at_the_end_a_step_ends_on_the_way_there(start):
    """x_1^2 = x_0^5 has no gradient at 0, where x_0 is least: restoration to the last digit fails there, but not before."""
    problem = Problem(lambda x: 0.0, 2, [Constraint(lambda x: x[1] ** 2 - x[0] ** 5, 0.0, 0.0, jac=lambda x: [-5 * x[0] ** 4, 2 * x[1]])])
    centre = np.array([start**2, start**5])
    terrain = Terrain.of(SlackForm(problem, problem.equalities(centre)), np.ones(2), centre)
    step = Stepper(terrain).minimiser(Model(centre, np.array([1.0, 0.0]), np.zeros((2, 2))), terrain.rows(centre), 0.7, np.zeros((2, 2)))
    assert step.gain == pytest.approx(centre[0] - step.point[0])
    assert step.gain >= 0.5 * centre[0]
    assert abs(step.point[1] ** 2 - step.point[0] ** 5) <= 1e-12
