"""Section 7.2: attacks in lockstep, their counts, the choice of steps, and a whole small experiment. No data is needed."""

import numpy as np
import pytest

from held_runs import holding
from zolal.campaigns import Task
from zolal.errors import InvalidArgumentError
from zolal.estimators import Momentum
from zolal.evaluation.evaluate import VectorizedEvaluator
from zolal.experiments import attack as experiment
from zolal.experiments._lockstep import attack_all
from zolal.experiments._square import has_square_attack, square_attack
from zolal.problems._softmax import SoftmaxClassifier
from zolal.problems.attack import AttackSet
from zolal.runs.loop import run
from zolal.runs.recording import Recorder
from zolal.runs.stopping import MaxEvaluations
from zolal.schedules import InverseSqrt
from zolal.solvers import MDLAL

needs_art = pytest.mark.skipif(not has_square_attack(), reason="needs adversarial-robustness-toolbox: pip install 'zolal[bench]'")


def some_attacks(count=3, d=784, temperature=0.5):
    rng = np.random.default_rng(5)
    classifier = SoftmaxClassifier(0.1 * rng.standard_normal((4, d)), np.zeros(4))
    images = rng.uniform(size=(count, d))
    return AttackSet(classifier, images, np.argmax(classifier.logits(images), axis=1), temperature=temperature)


def small_solver(step_size=0.05, n=5):
    return MDLAL(Momentum(n, 1e-6, momentum=0.5), InverseSqrt(step_size), 1.0, 1.0)


@pytest.mark.parametrize("i", [0, 2])
def test_lockstep_is_the_ordinary_loop_for_each_image(i):
    attacks, budget = some_attacks(), 95
    problem = attacks[i].problem
    state = small_solver().init(problem, problem.x0, seed=70 + i)
    alone = run(small_solver(), state, VectorizedEvaluator(problem), MaxEvaluations(budget), Recorder())
    together = attack_all(small_solver(), attacks, [70, 71, 72], budget)
    assert alone.nfev == together.counts[-1]
    np.testing.assert_allclose(together.margins[i], attacks[i].margin(alone.state.x), rtol=0, atol=1e-9)


def test_images_that_have_ended_do_not_change_the_others():
    attacks = some_attacks(6)
    on, off = (attack_all(small_solver(), attacks, list(range(6)), 2000, run_on=run_on) for run_on in (True, False))
    assert on.queries == off.queries
    assert None not in on.queries
    assert np.mean(on.margins) < np.mean(off.margins)


def test_successes_come_at_odd_multiples_of_two_n():
    found = attack_all(small_solver(n=5), some_attacks(6), list(range(6)), 2000)
    assert {count // 10 % 2 for count in found.queries} == {1}
    assert [count % 10 for count in found.queries] == [0] * 6
    assert found.queries == [found.counts[k] for k in found.iterations]


def test_the_printed_counts_are_odd_multiples_of_two_n_or_the_mean_of_two():
    assert (experiment.P, experiment.MATCHED) == (15, 69)
    assert [7840 / (2 * 784), 5382 / (2 * 69), 1794 / (2 * 69)] == [5, 39, 13]
    assert 2 * 1932 / (2 * 69) == 13 + 15


def test_success_is_judged_by_the_margin_that_is_not_smoothed():
    attacks = some_attacks(temperature=50.0)
    assert np.all(attacks.smoothed(np.zeros((3, 784)), np.arange(3)) < 0.0)
    found = attack_all(small_solver(1e-9), attacks, [0, 1, 2], 100)
    assert found.queries == [None] * 3
    assert min(found.margins) > 0.0


def pilots(method, medians):
    return [experiment.Pilot(method, 10.0**i, median, 5, median) for i, median in enumerate(medians)]


def test_steps_are_those_closest_to_print_and_the_fastest():
    trials = pilots("euc-theory", [12000, 1568]) + pilots("euc-matched", [12000, 5000, 138, 138]) + pilots("non-euc", [2000, 138])
    assert experiment.closest(trials) == {"euc-matched": 10.0, "non-euc": 1.0, "euc-theory": 10.0}
    assert experiment.fastest(trials) == {"euc-theory": 10.0, "euc-matched": 100.0, "non-euc": 10.0}


def test_a_row_tells_medians_over_seeds_with_failures_at_the_budget():
    runs = [
        experiment.Measured([138, None, 414], [1, None, 2], [-1.0, 1.0, -3.0], experiment.Margins([0, 138, 414], [2.0, 0.0, -1.0])),
        experiment.Measured([138, 138, 138], [1, 1, 1], [-1.0, -1.0, -1.0], experiment.Margins([0, 138, 414], [2.0, 1.0, -2.0])),
    ]
    row = experiment.Row("euc-matched", 2, 69, 0.1, runs)
    assert (row.successes, row.median_successful, row.median_all, row.median_checked) == (2.5, 207.0, 276.0, 277.5)
    assert row.final_margin == (-1.0, 1.0)
    assert row.medians() == [414.0, 138.0]
    np.testing.assert_allclose(row.curve.success, [[0.0, 1 / 3, 2 / 3], [0.0, 2 / 3, 5 / 6], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(row.curve.margin, [[2.0, 0.0, -2.0], [2.0, 0.5, -1.5], [2.0, 1.0, -1.0]])


def made(count):
    return experiment.Measured([count, count + 138], [1, 2], [-1.0, -2.0], experiment.Margins([0, 138], [1.0, -1.0]))


def test_a_whole_experiment_takes_its_steps_from_the_pilots(tmp_path):
    """From a store: the second step of the pilots comes closest to print for Non-Euc, the first for Euc-matched, the third is fastest."""
    grid = experiment.Grid(images=2, seeds=2, pilot_images=2, per_decade=1)
    counts = {m: dict(zip(grid.steps(m), (5400, 1900, 138, 276, 414), strict=False)) for m in experiment.METHODS}
    beside = dict(count=2, skip=0)
    held = [(Task(experiment.clean, beside), experiment.Clean(0.9, [1.0, 2.0]))]
    held += [(Task(experiment.square, beside | dict(seed=seed)), experiment.Squared([9, 8], [7, 6], [-1.0, -1.0])) for seed in range(2)]
    held += [(task, made(counts[method][step])) for (method, step), task in grid.pilots().items()]
    for step in {step for steps in counts.values() for step in steps}:
        for tasks in grid.runs(dict.fromkeys(experiment.METHODS, step)).values():
            held += [(task, made(100 + seed)) for seed, task in enumerate(tasks)]
    found = experiment.reproduce(holding(tmp_path, held), grid)
    first, second, third = ({method: list(steps)[i] for method, steps in counts.items()} for i in range(3))
    printed = {"euc-theory": first["euc-matched"], "euc-matched": first["euc-matched"], "non-euc": second["non-euc"]}
    assert {row.method: row.step_size for row in found.printed} == printed
    assert {row.method: row.step_size for row in found.best} == third
    assert all(row.runs == [made(100), made(101)] for row in (*found.printed, *found.best))
    assert (found.accuracy, found.clean_margins, len(found.pilots)) == (0.9, [1.0, 2.0], len(grid.pilots()))
    if has_square_attack():
        assert (found.square.medians(), found.missing) == ([8.5, 8.5], None)
    else:
        assert found.square is None
        assert "zolal[bench]" in found.missing


def test_images_are_attacked_with_seeds_of_their_own():
    found = experiment.attacked(some_attacks(2), "euc-matched", 0.05, 3, True)
    direct = attack_all(experiment.solver("euc-matched", 0.05), some_attacks(2), [30_000, 30_001], experiment.BUDGET, run_on=True)
    assert (found.queries, found.iterations, found.curve.queries) == (direct.queries, direct.iterations, direct.counts)
    np.testing.assert_allclose(found.margins, direct.margins, atol=1e-6)


@pytest.mark.skipif(has_square_attack(), reason="adversarial-robustness-toolbox is installed")
def test_without_art_one_sentence_says_what_to_install():
    with pytest.raises(InvalidArgumentError, match="adversarial-robustness-toolbox"):
        square_attack(some_attacks(1)[0], 0, 10)


@needs_art
def test_square_attack_counts_every_evaluation_and_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    outcomes = [square_attack(attack, 3, 500) for attack in some_attacks(3)]
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert all(outcome.margin < 0.0 and 1 < outcome.distinct <= outcome.queries <= 500 for outcome in outcomes)
    assert square_attack(some_attacks(1)[0], 3, 2).queries is None
