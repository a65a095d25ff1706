"""Every query of the solver for slopes lies in X, wherever X has an inside or fixed coordinates alone are in the way."""

import numpy as np
import pytest

from zolal import Problem
from zolal.sets import Box, L1Ball, L2Ball, LqBall, NonNegative, Product, Simplex
from zolal.solvers.auto.slopes import Slopes

D = 40
LOWER = np.where(np.arange(D) % 3 == 0, -np.inf, -0.3)
UPPER = np.where(np.arange(D) % 4 == 0, np.inf, 0.4)
FIXED = np.where(np.arange(D) % 5 == 0, 0.25, 1.0)
NARROW = np.where(np.arange(D) == 7, 1e-4, 1.0)
REGIONS = {
    "box": Box(0.0, 1.0),
    "one-sided box": Box(LOWER, UPPER),
    "box with fixed coordinates": Box(np.where(FIXED < 1.0, 0.25, 0.0), FIXED),
    "box with a narrow coordinate": Box(0.0, NARROW),
    "far from zero": Box(1e6, 1e6 + 1.0),
    "nonnegative": NonNegative(),
    "ball": L2Ball(1.5),
    "l1 ball": L1Ball(1.5),
    "lq ball": LqBall(3.0, 1.5),
    "product": Product([(Box(0.0, 0.5), D // 2), (L2Ball(1.0), D // 2)]),
}


def queries(problem, x0, most, seed=0):
    """All points that a run asks for, and the point that it would return."""
    solver, points, rng = Slopes(), [], np.random.default_rng(seed)
    state = solver.init(problem, np.asarray(x0, dtype=float), seed)
    while len(points) < most:
        survey = solver.ask(state)
        samples = {survey.query(i).sample: None for i in range(len(survey))}
        drawn = {key: problem.sample(rng) if problem.sample else None for key in samples}
        values = []
        for i in range(len(survey)):
            points.append(survey.point(i))
            given = () if problem.sample is None else (drawn[survey.query(i).sample],)
            values.append(problem.objective(points[-1], *given))
        assert np.isfinite(values).all()
        state = solver.tell(state, np.asarray(values))
    return points, state.form.variables(solver.output(state).z)


def noisy(f, size):
    rng = np.random.default_rng(3)
    return lambda x: f(x) + size * rng.standard_normal()


def quadratic(x):
    return float(np.sum((x - np.linspace(-1.0, 1.5, x.size)) ** 2))


def outside(region, points):
    tolerance = 0.0 if isinstance(region, (Box, NonNegative)) else 1e-14
    return [x for x in points if not region.contains(x, tolerance)]


@pytest.mark.parametrize("kind", ["exact", "noisy", "sampled"])
@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS.keys())
def test_every_query_lies_in_the_region(region, kind):
    objective = {"exact": quadratic, "noisy": noisy(quadratic, 0.3), "sampled": lambda x, xi: quadratic(x + xi)}[kind]
    sample = (lambda rng: 0.3 * rng.standard_normal(D)) if kind == "sampled" else None
    x0 = region.project(np.full(D, 0.2))
    points, x = queries(Problem(objective, D, region=region, sample=sample), x0, 700)
    assert not outside(region, [*points, x])


@pytest.mark.parametrize("kind", ["exact", "noisy"])
def test_every_query_lies_in_the_region_under_constraints(kind):
    objective = quadratic if kind == "exact" else noisy(quadratic, 0.3)
    total = {"type": "eq", "fun": lambda x: np.array([x.sum() - 8.0]), "jac": lambda x: np.ones((1, x.size))}
    region = Box(0.0, 1.0)
    points, x = queries(Problem(objective, D, constraints=[total], region=region), np.zeros(D), 600)
    assert not outside(region, [*points, x])
    assert abs(x.sum() - 8.0) < 1e-6


def test_a_function_that_is_defined_at_nonnegative_numbers_alone_is_never_asked_elsewhere():
    problem = Problem(lambda x: float(np.sum((x + 1.0) ** 2)), D, region=NonNegative())
    points, x = queries(problem, np.full(D, 3.0), 800)
    assert not outside(problem.region, points)
    assert np.abs(x).max() < 1e-3


def test_square_roots_are_never_asked_below_zero():
    def roots(x):
        assert (x >= 0.0).all()
        return float(np.sum(np.sqrt(x)) - 2.0 * x[0])

    problem = Problem(roots, 5, region=Box(0.0, 1.0))
    points, x = queries(problem, np.full(5, 0.5), 500)
    assert not outside(problem.region, points)
    assert roots(x) < roots(np.full(5, 0.5)) - 1.0  # the slopes next to 0 are too steep for more


def test_a_coordinate_that_is_fixed_keeps_its_value_in_every_query():
    region = REGIONS["box with fixed coordinates"]
    points, _ = queries(Problem(quadratic, D, region=region), region.project(np.zeros(D)), 400)
    assert all((x[FIXED < 1.0] == 0.25).all() for x in points)


def test_queries_leave_a_simplex_by_a_difference_at_most():
    region = Simplex()
    points, x = queries(Problem(lambda x: float(np.sum((x - 0.5) ** 2)), 20, region=region), np.full(20, 0.05), 400)
    length = 1e-6 * np.sqrt(2.0)
    assert max(np.linalg.norm(point - region.project(point)) for point in points) <= 1.01 * length
    assert region.contains(x)
