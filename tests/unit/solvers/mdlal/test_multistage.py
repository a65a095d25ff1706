"""Algorithm 2: stages follow one another, each is Algorithm 1 from where the last one ended, with fresh samples."""

import numpy as np
import pytest

import zolal
from zolal import theory
from zolal.estimators import Momentum
from zolal.evaluation.evaluate import MapEvaluator
from zolal.problems import sphere_quadratic
from zolal.solvers import MDLAL, MultiStage, Stage
from zolal.solvers.mdlal import stage_seed

PROBLEM = sphere_quadratic(6, noise=0.01)


def algorithm_1(penalty):
    return MDLAL(Momentum(8, 1e-4, momentum=0.3), 0.02, penalty, penalty / 3)


def advance(solver, state, steps):
    evaluate = MapEvaluator(PROBLEM)
    for _ in range(steps):
        state = solver.tell(state, evaluate(solver.ask(state)).values)
    return state


def test_algorithm_2_is_algorithm_1_restarted_from_its_output_with_fresh_samples():
    stages = [Stage(algorithm_1(1.0), 5), Stage(algorithm_1(2.0), 7), Stage(algorithm_1(8.0))]
    solver = MultiStage(stages)
    found = advance(solver, solver.init(PROBLEM, 2 * PROBLEM.x0, seed=4), 5 + 7 + 3)
    x = 2 * PROBLEM.x0
    for number, (stage, steps) in enumerate(zip(stages, (5, 7, 3), strict=True), start=1):
        state = advance(stage.solver, stage.solver.init(PROBLEM, x, stage_seed(4, number)), steps)
        x = stage.solver.output(state).z
    np.testing.assert_array_equal(found.z, x)
    np.testing.assert_array_equal(found.multipliers, state.multipliers)
    assert (found.k, found.stage) == (15, 3)


def test_a_stage_starts_with_multipliers_of_zero_at_the_last_output():
    solver = MultiStage([Stage(algorithm_1(1.0), 5), Stage(algorithm_1(2.0))])
    before = advance(solver, solver.init(PROBLEM, 2 * PROBLEM.x0, seed=4), 4)
    after = advance(solver, before, 1)
    assert (before.stage, after.stage) == (1, 2)
    assert np.any(before.multipliers != 0)
    assert not np.any(after.multipliers)
    assert len({stage_seed(seed, stage) for seed in range(50) for stage in range(1, 5)}) == 200


def test_the_trace_shows_the_stages_and_the_penalties_square():
    options = dict(step_size=0.01, penalty=30.0, initial_penalty=1.0, stage_steps=4, num_directions=4, share_base=True)
    result = zolal.minimize(PROBLEM, method="multistage", maxfev=600, rng=0, tol=1e-9, options=options)
    np.testing.assert_array_equal(result.trace["stage"][:14], [1] * 4 + [2] * 4 + [3] * 4 + [4] * 2)
    assert set(result.trace["stage"]) == {1, 2, 3, 4}  # penalties 1, 2, 8, 30
    assert result.nfev <= 600


@pytest.mark.parametrize(("geometry", "step_size"), [(2, 0.01), (4, 0.05)])
def test_from_a_far_infeasible_start_it_becomes_feasible(geometry, step_size):
    options = dict(
        step_size=step_size, penalty=30.0, dual_step=10.0, num_directions=16, share_base=True, momentum=lambda k: 1 / (1 + k / 5)
    )
    start = 3 * PROBLEM.x0
    result = zolal.minimize(PROBLEM, start, method="multistage", geometry=geometry, maxfev=15_000, rng=1, tol=1e-6, options=options)
    assert result.maxcv <= 2e-3
    assert np.linalg.norm(result.x - PROBLEM.solution) <= 0.15


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(initial_penalty=0.3), "options['initial_penalty']` must exceed 1/2"),
        (dict(initial_penalty=30.0), "at most the penalty, 10.0, got 30.0"),
        (dict(penalty=-1.0), "options['penalty']` must be a positive number, got -1.0"),
        (dict(stage_steps=0), "options['stage_steps']` must be a positive integer, got 0"),
        (dict(speed=1), "Unknown option 'speed'"),
    ],
)
def test_bad_options_get_one_sentence(options, words):
    with pytest.raises(zolal.InvalidArgumentError) as error:
        zolal.minimize(PROBLEM, method="multistage", options=dict(step_size=0.1) | options)
    assert words in str(error.value)


def test_stages_without_steps_are_refused():
    with pytest.raises(zolal.InvalidArgumentError, match="num_steps"):
        MultiStage([Stage(algorithm_1(1.0)), Stage(algorithm_1(2.0))])
    with pytest.raises(zolal.InvalidArgumentError, match="at least one stage"):
        MultiStage([])


def test_stages_with_the_parameters_of_the_theory():
    """Theorem 6.2's stages: penalties, accuracies and counts go into Algorithm 1 as they are; they are far too many to run."""
    constants = theory.Constants(L_f=1.0, M_f=2.0, sigma=0.1, M_c=1.2, L_c=1.0, Mbar_c=0.5, beta=0.9, D_X=1.2, Phi_gap=2.0)
    geometry = theory.Geometry(6, 3.0, 0.1)
    chosen = theory.stage_settings(constants, geometry, 1e-3)
    solver = MultiStage.from_theory(chosen)
    assert len(solver.stages) == len(theory.stage_penalties(float(chosen[0].mu), float(chosen[-1].mu))) >= 2
    state = solver.init(PROBLEM, PROBLEM.x0, seed=0)
    assert len(solver.ask(state)) == 2 * int(chosen[0].n_0)
    state = advance(solver, state, 1)
    assert len(solver.ask(state)) == 4 * int(chosen[0].n)
    assert solver.stages[0].solver.penalty_schedule(0) == float(chosen[0].mu)
    assert solver.stages[0].solver.dual_step_schedule(0) == pytest.approx(1.0 / float(chosen[0].K))
    for stage, found in zip(solver.stages, chosen, strict=True):
        assert (stage.num_steps, stage.solver.output_rule) == (int(found.K), "random")
        assert stage.solver.step_size_schedule(0) == float(found.eta)
        assert stage.solver.estimator.num_directions == int(found.n)


def test_slacks_start_anew_in_each_stage_and_never_violate_more():
    """g(x) + s is least in absolute value at s = [-g(x)]_+, so neither ||c|| nor the gap at the next stage's start grows."""
    problem = zolal.Problem(lambda x: float(np.sum((x - 1.0) ** 2)), 3, dict(type="ineq", fun=lambda x: 1.0 - x @ x), x0=np.full(3, 0.2))
    first = Stage(MDLAL(Momentum(4, 1e-4), 0.05, 1.0, 0.5), 6)
    solver, evaluate = MultiStage([first, Stage(first.solver)]), MapEvaluator(problem)
    state, alone = solver.init(problem, problem.x0, seed=1), first.solver.init(problem, problem.x0, stage_seed(1, 1))
    for _ in range(6):
        state = solver.tell(state, evaluate(solver.ask(state)).values)
        alone = first.solver.tell(alone, evaluate(first.solver.ask(alone)).values)
    assert state.stage == 2
    np.testing.assert_array_equal(state.x, alone.x)
    assert state.z[3] == max(1.0 - state.x @ state.x, 0.0) != alone.z[3]
    assert np.linalg.norm(state.c) <= np.linalg.norm(alone.c)
