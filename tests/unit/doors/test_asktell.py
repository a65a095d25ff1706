"""Ask and tell: the run of `minimize`, whoever evaluates, in any order and in parts, restorable at any moment."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import NonlinearConstraint

import zolal
from zolal.errors import CheckpointError
from zolal.evaluation.evaluate import draw_sample

X0 = np.array([0.5, -0.5, 0.25])
ARGUMENTS = dict(
    constraints=NonlinearConstraint(lambda x: x @ x, -np.inf, 1.0, jac=lambda x: 2 * x),
    sample=lambda rng: rng.normal(size=3),
    maxfev=200,
    rng=0,
    options=dict(step_size=0.05, num_directions=4),
)


def fun(x, xi):
    return float((x - 1.0) @ (x - 1.0) + 0.1 * xi @ x)


def value(query):
    return fun(query.point, query.sample)


def check_same(one, other):
    for name in ("x", "fun", "fun_error", "nfev", "nit", "multipliers", "status", "message", "success", "seed"):
        assert_array_equal(one[name], other[name])
    for name in one.trace:
        assert_array_equal(one.trace[name], other.trace[name])


REFERENCE = zolal.minimize(fun, X0, **ARGUMENTS)


def test_values_in_order_give_the_run_of_minimize():
    opt = zolal.Optimizer(None, X0, **ARGUMENTS)
    for batch in opt:
        opt.tell([value(query) for query in batch])
    check_same(opt.result, REFERENCE)
    assert opt.done
    assert opt.ask() is None


def test_values_in_any_order_and_in_parts_give_the_run_of_minimize():
    rng, opt = np.random.default_rng(0), zolal.Optimizer(fun, X0, **ARGUMENTS)
    while (batch := opt.ask()) is not None:
        some = rng.permutation(len(batch))[: rng.integers(1, len(batch) + 1)]
        opt.tell({batch[int(i)].key: value(batch[int(i)]) for i in some})
        assert opt.done or len(opt.ask()) in (len(batch) - len(some), 8, 16)
    check_same(opt.result, REFERENCE)


def test_points_come_row_by_row_or_as_an_array_and_equal_samples_have_equal_keys():
    opt = zolal.Optimizer(None, X0, **ARGUMENTS)
    batch = opt.ask()
    assert batch.points.shape == (8, 3)
    assert_array_equal(batch.points, [query.point for query in batch])
    assert len(set(batch.keys)) == 8
    assert batch[0].sample_key == batch[1].sample_key != batch[2].sample_key  # both ends of a difference
    assert_array_equal(batch[0].sample, draw_sample(ARGUMENTS["sample"], batch[0].sample_key))


def test_asking_again_changes_nothing():
    opt = zolal.Optimizer(None, X0, **ARGUMENTS)
    assert opt.ask().keys == opt.ask().keys
    assert_array_equal(opt.ask().points, opt.ask().points)


def test_the_result_is_there_at_any_time():
    opt, seen = zolal.Optimizer(None, X0, **ARGUMENTS), []
    for batch in opt:
        res = opt.result
        assert res.status is zolal.Status.RUNNING
        assert not res.success
        assert "not finished" in res.message
        assert np.isfinite(res.x).all()
        opt.tell({batch[0].key: value(batch[0])})
        assert opt.result.nfev == res.nfev + 1
        opt.tell([value(query) for query in opt.ask()])
        seen.append(res.nit)
    assert seen == [*range(REFERENCE.nit + 1)]
    assert opt.result.status is zolal.Status.MAX_EVALUATIONS


def test_it_can_be_left_at_any_moment_and_taken_up_again(tmp_path):
    rng, sittings = np.random.default_rng(1), 0
    while True:
        with zolal.Optimizer(None, X0, checkpoint=tmp_path, resume=True, **ARGUMENTS) as opt:
            sittings += 1
            for _ in range(rng.integers(1, 6)):
                if (batch := opt.ask()) is not None:
                    some = rng.permutation(len(batch))[: rng.integers(1, len(batch) + 1)]
                    opt.tell({batch[int(i)].key: value(batch[int(i)]) for i in some})
            if opt.done:
                break
    assert sittings > 3
    check_same(opt.result, REFERENCE)
    assert json.loads((tmp_path / "result.json").read_text())["nfev"] == REFERENCE.nfev


def test_what_one_door_has_begun_the_other_can_end(tmp_path):
    with zolal.Optimizer(fun, X0, checkpoint=tmp_path, **ARGUMENTS) as opt:
        for _ in range(3):
            opt.tell([value(query) for query in opt.ask()])
        opt.tell({opt.ask()[5].key: value(opt.ask()[5])})
    check_same(zolal.minimize(fun, X0, checkpoint=tmp_path, resume=True, **ARGUMENTS), REFERENCE)


def test_two_optimizers_do_not_share_a_folder(tmp_path):
    with zolal.Optimizer(None, X0, checkpoint=tmp_path, **ARGUMENTS), pytest.raises(CheckpointError, match="in use"):
        zolal.Optimizer(None, X0, checkpoint=tmp_path, resume=True, **ARGUMENTS)


@pytest.mark.parametrize("bad", [None, np.nan, np.inf])
def test_a_value_that_failed_is_asked_for_again(bad):
    opt = zolal.Optimizer(None, X0, **ARGUMENTS)
    batch = opt.ask()
    opt.tell([bad if i == 3 else value(query) for i, query in enumerate(batch)])
    assert opt.ask().keys == (batch[3].key,)
    opt.tell([value(query) for query in opt.ask()])
    assert opt.result.nit == 1
    assert sum(count for _, count in opt.result.failures) == 1


def test_a_value_that_failed_is_skipped_where_asked_to():
    opt = zolal.Optimizer(None, X0, on_error="skip", **ARGUMENTS)
    opt.tell([None if i == 3 else value(query) for i, query in enumerate(opt.ask())])
    assert opt.result.nit == 1


def test_values_that_all_fail_end_the_run():
    opt = zolal.Optimizer(None, X0, retries=0, **ARGUMENTS)
    opt.tell([np.nan] * 8)
    assert opt.done
    assert opt.result.status is zolal.Status.EVALUATION_FAILED
    with pytest.raises(zolal.ObjectiveError, match="The value told is nan"):
        zolal.Optimizer(None, X0, on_error="raise", **ARGUMENTS).tell([np.nan] * 8)


BAD = {
    "too few": ([1.0], "hold the 8 values that were asked for, got 1"),
    "unknown key": ({"step-9-0": 1.0}, "must name queries that await a value, got 'step-9-0'"),
    "no number": ({"step-0-0": "1"}, "must hold one real number, got '1'"),
    "vector": ({"step-0-0": np.ones(2)}, "must hold one real number, got shape (2,)"),
}


@pytest.mark.parametrize(("values", "sentence"), BAD.values(), ids=BAD)
def test_values_that_fit_nothing_are_refused_and_change_nothing(values, sentence):
    opt = zolal.Optimizer(None, X0, **ARGUMENTS)
    with pytest.raises(zolal.InvalidArgumentError) as error:
        opt.tell(values)
    assert sentence in str(error.value)
    assert len(opt.missing) == 8


def test_a_value_cannot_be_told_twice():
    opt = zolal.Optimizer(None, X0, **ARGUMENTS)
    opt.tell({"step-0-2": 1.0})
    with pytest.raises(zolal.InvalidArgumentError, match="await a value, got 'step-0-2'"):
        opt.tell({"step-0-2": 1.0})


def test_no_function_is_called():
    def never(x, xi):
        raise AssertionError

    opt = zolal.Optimizer(never, X0, **ARGUMENTS)
    for batch in opt:
        opt.tell([value(query) for query in batch])
    check_same(opt.result, REFERENCE)
