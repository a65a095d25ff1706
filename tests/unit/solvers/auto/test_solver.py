"""Which member runs when, and what the states of the one for few variables are: the same run however it is made."""

import functools
import hashlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import zolal
from kept_runs import check_same
from zolal import Constraint, Problem
from zolal.mirror import SmoothedLq
from zolal.regularizers import L1
from zolal.sets import Box, L1Ball, L2Ball, NonNegative, Product, Simplex
from zolal.solvers import Auto
from zolal.solvers.auto.constants import CONSTANTS
from zolal.solvers.auto.modelled import Modelled
from zolal.solvers.auto.slopes import Slopes
from zolal.solvers.auto.state import ModelledState

D = 5
SPHERE = Constraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)
TARGET = np.array([1.0, -0.5, 0.3, 0.2, 0.8])


def exact(x):
    return float(np.sum((np.asarray(x, dtype=float) - TARGET) ** 2) + np.sum(np.exp(0.5 * np.asarray(x, dtype=float))))


def noisy(x):
    """Noise that is a function of x alone: equal points have equal values, but no two others are related."""
    return exact(x) + 1e-2 * _normal(np.asarray(x, dtype=float).tobytes())


class Numbered:
    """Noise that is a function of x and of how often x has been asked for: repeats differ, whoever makes the run."""

    def __init__(self):
        self.asked = {}

    def __call__(self, x):
        key = np.asarray(x, dtype=float).tobytes()
        self.asked[key] = self.asked.get(key, 0) + 1
        return exact(x) + 1e-2 * _normal(key + bytes([self.asked[key] % 256]))


def _normal(data):
    seed = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
    return float(np.random.default_rng(seed).standard_normal())


@pytest.mark.parametrize(
    "region", [Box(0.0, 1.0), NonNegative(), L2Ball(2.0), Simplex(1.0), Product([(L2Ball(1.0), 2), (Box(0.0, 1.0), 3)])]
)
def test_few_variables_in_smooth_regions_are_modelled(region):
    assert isinstance(Auto().chosen(Problem(exact, D, region=region)), Modelled)
    assert isinstance(Auto().chosen(Problem(exact, D, constraints=[SPHERE], region=region)), Modelled)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(exact, CONSTANTS.most_variables + 1),
        Problem(exact, D, region=L1Ball(1.0)),
        Problem(exact, D, regularizer=L1(0.1)),
        Problem(lambda x, xi: exact(x), D, sample=lambda rng: 0.0),
    ],
    ids=["many variables", "edges", "regularizer", "samples"],
)
def test_all_else_is_for_slopes(problem):
    assert isinstance(Auto().chosen(problem), Slopes)


def test_another_geometry_is_for_slopes():
    assert isinstance(Auto(mirror=SmoothedLq(p=3.0, delta=1e-2)).chosen(Problem(exact, D)), Slopes)


def test_the_switch_is_where_the_constants_say():
    assert isinstance(Auto().chosen(Problem(exact, CONSTANTS.most_variables)), Modelled)


def test_the_same_state_asks_the_same_and_is_not_changed_by_being_told():
    solver = Modelled()
    state = solver.init(Problem(exact, D, constraints=[SPHERE]), np.full(D, 0.4), 1)
    for _ in range(12):
        points = [solver.ask(state).point(i) for i in range(len(solver.ask(state)))]
        first = solver.tell(state, np.array([exact(x) for x in points]))
        second = solver.tell(state, np.array([exact(x) for x in points]))
        assert_array_equal(first.asked, second.asked)
        assert_array_equal(solver.ask(state).point(0), points[0])
        state = first
    assert isinstance(state, ModelledState)
    assert state.k == 12


def test_every_point_that_is_asked_for_is_feasible():
    """All but those of the final check, two across the equality, keep it; these keep the bounds."""
    asked = []
    zolal.minimize(
        lambda x: asked.append(x.copy()) or exact(x), np.full(D, 0.4), constraints=SPHERE, bounds=[(-0.6, 0.6)] * D, maxfev=80, rng=0
    )
    assert max(abs(x @ x - 1.0) for x in asked[:-2]) <= 1e-9
    assert max(np.abs(x).max() for x in asked) <= 0.6


OBJECTIVES = {"exact": lambda: exact, "noisy by x": lambda: noisy, "noisy by number": Numbered}


@functools.cache
def made_at_once(make, **given):
    return zolal.minimize(make(), np.full(D, 0.4), constraints=SPHERE, rng=4, **given)


@pytest.mark.parametrize("make", OBJECTIVES.values(), ids=OBJECTIVES.keys())
@pytest.mark.parametrize("stop", [3, 17, 60])
def test_a_run_that_goes_on_with_more_budget_is_the_run_made_at_once(tmp_path, make, stop):
    given = dict(constraints=SPHERE, rng=4, tol=1e-7)
    fun = make()
    zolal.minimize(fun, np.full(D, 0.4), maxfev=stop, checkpoint=tmp_path, **given)
    resumed = zolal.minimize(fun, np.full(D, 0.4), maxfev=150, checkpoint=tmp_path, resume=True, **given)
    check_same(resumed, made_at_once(make, maxfev=150, tol=1e-7))
    assert resumed.nfev > 20  # so the stops at 3 and 17 do interrupt it


@pytest.mark.parametrize("make", OBJECTIVES.values(), ids=OBJECTIVES.keys())
def test_a_run_that_was_stopped_by_its_callback_goes_on_to_the_same_bits(tmp_path, make):
    given = dict(constraints=SPHERE, rng=4, tol=1e-7, maxfev=150)
    fun = make()
    zolal.minimize(fun, np.full(D, 0.4), checkpoint=tmp_path, callback=lambda state: state.k == 31, **given)
    resumed = zolal.minimize(fun, np.full(D, 0.4), checkpoint=tmp_path, resume=True, **given)
    check_same(resumed, made_at_once(make, maxfev=150, tol=1e-7))


@pytest.mark.parametrize("make", OBJECTIVES.values(), ids=OBJECTIVES.keys())
def test_asking_and_telling_is_the_same_run(make):
    given, fun = dict(constraints=SPHERE, rng=4, maxfev=90), make()
    with zolal.Optimizer(None, np.full(D, 0.4), **given) as run:
        while (batch := run.ask()) is not None:
            run.tell({query.key: fun(query.point) for query in batch})
    check_same(run.result, zolal.minimize(make(), np.full(D, 0.4), **given))


def test_a_torch_start_gives_the_same_run():
    torch = pytest.importorskip("torch")
    sphere = Constraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)
    there = zolal.minimize(lambda x: exact(x.numpy()), torch.full((D,), 0.4, dtype=torch.float64), constraints=sphere, maxfev=80, rng=4)
    here = zolal.minimize(exact, np.full(D, 0.4), constraints=sphere, maxfev=80, rng=4)
    assert there.x.dtype == torch.float64
    assert_allclose(there.x.numpy(), here.x, rtol=0, atol=1e-7)  # the sphere's products are rounded differently
    assert there.nfev == here.nfev


def test_a_start_in_single_precision_is_solved_as_far_as_it_goes():
    torch = pytest.importorskip("torch")
    found = zolal.minimize(lambda x: exact(x.double().numpy()), torch.full((D,), 0.4), constraints=SPHERE, maxfev=120, rng=4)
    assert found.x.dtype == torch.float32
    best = zolal.minimize(exact, np.full(D, 0.4), constraints=SPHERE, maxfev=300, rng=4)
    assert exact(found.x.double().numpy()) <= exact(best.x) + 1e-4
    assert found.maxcv <= 1e-5


def test_float32_numpy_starts_work():
    found = zolal.minimize(lambda x: exact(x), np.full(D, 0.4, dtype=np.float32), maxfev=120, rng=4)
    assert found.x.dtype == np.float32
    assert exact(found.x) <= exact(zolal.minimize(exact, np.full(D, 0.4), maxfev=300, rng=4).x) + 1e-4


def test_units_do_not_change_the_run_where_they_are_given_with_the_variables():
    """f(x/s) from s x0 with x_scale = s is the run of f from x0 with x_scale = 1, up to rounding."""
    scale = np.array([1e-3, 1e4, 1.0, 10.0, 0.1])
    plain = zolal.minimize(exact, np.full(D, 0.4), x_scale=1.0, maxfev=60, rng=2)
    scaled = zolal.minimize(lambda x: exact(x / scale), scale * 0.4, x_scale=scale, maxfev=60, rng=2)
    assert_allclose(scaled.x / scale, plain.x, atol=1e-5)


def test_the_multipliers_of_a_linear_objective_are_known_with_their_errors():
    cost, total = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), Constraint(lambda x: x.sum(), 1.0, 1.0, jac=lambda x: np.ones((1, D)))
    values = np.random.default_rng(0)
    found = zolal.minimize(
        lambda x: float(cost @ x) + 1e-3 * values.standard_normal(),
        np.full(D, 0.2),
        bounds=[(0, 1)] * D,
        constraints=total,
        maxfev=300,
        rng=0,
    )
    assert found.x[0] == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(found.multiplier_errors).all()


@pytest.mark.parametrize(("hope", "converged"), [(0.0, True), (1e6, False)])
def test_what_a_long_step_might_gain_is_asked_last(monkeypatch, hope, converged):
    """It takes calls of the constraints, so it is not asked where anything else is above tol."""
    states, asked = [], []
    zolal.minimize(lambda x: float(x @ x), np.array([0.6, 0.8]), maxfev=12, rng=0, callback=states.append)
    solver, last = Modelled(), states[-1]
    monkeypatch.setattr("zolal.solvers.auto.course.hope", lambda *given: asked.append(given) or hope)
    assert not solver.is_converged(last, 0.5 * last.residual)
    assert not asked
    assert solver.is_converged(last, 2.0 * last.residual) == converged
    assert len(asked) == 1
