"""Runs that are taken up again: after a stop, a failure, an interrupt or the end of their budget, to the same bits."""

import contextlib
import json
import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import NonlinearConstraint

import zolal
from kept_runs import SPHERE, X0, Counted, bowl, check_same, check_whole, solve, stop_at
from zolal.errors import CheckpointError
from zolal.methods import METHODS
from zolal.runs.checkpoint import folder as folders
from zolal.runs.checkpoint import read_run


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_run_in_another_namespace_is_resumed_in_it(tmp_path, dtype):
    torch = pytest.importorskip("torch")
    arguments = dict(fun=lambda x: float(((x - 1.0) ** 2).sum()), x0=torch.tensor(X0, dtype=getattr(torch, dtype)))
    arguments |= dict(
        constraints=NonlinearConstraint(lambda x: x @ x, -np.inf, 1.0, jac=lambda x: 2 * x), options=dict(kkt_directions=0, smoothing=1e-2)
    )
    solve(checkpoint=tmp_path, callback=stop_at(3), **arguments)
    resumed = solve(checkpoint=tmp_path, resume=True, **arguments)
    assert resumed.x.dtype == getattr(torch, dtype)
    check_same(resumed, solve(**arguments))


def test_keeping_a_run_does_not_change_it(tmp_path):
    check_same(solve(checkpoint=tmp_path / "run"), solve())


@pytest.mark.parametrize("k", [1, 4])
def test_a_run_that_was_stopped_goes_on_to_the_result_of_one_that_was_not(tmp_path, k):
    stopped = solve(checkpoint=tmp_path, callback=stop_at(k), options=dict(kkt_directions=0))
    assert stopped.nit == k
    check_same(solve(checkpoint=tmp_path, resume=True, options=dict(kkt_directions=0)), solve(options=dict(kkt_directions=0)))


def test_resuming_a_finished_run_gives_its_result_and_evaluates_nothing(tmp_path):
    fun = Counted()
    finished = solve(fun, checkpoint=tmp_path)
    count = fun.count
    check_same(solve(fun, checkpoint=tmp_path, resume=True), finished)
    assert fun.count == count


def test_a_finished_run_goes_on_with_a_larger_budget_as_if_it_had_been_larger_from_the_start(tmp_path):
    solve(checkpoint=tmp_path)
    check_same(solve(checkpoint=tmp_path, resume=True, maxfev=400), solve(maxfev=400))
    check_same(solve(checkpoint=tmp_path, resume=True, maxfev=400), solve(maxfev=400))


@pytest.mark.parametrize("method", METHODS)
def test_more_budget_is_the_same_run_longer_whatever_the_method(tmp_path, method):
    needed = {
        "multistage": dict(stage_steps=5, step_size=0.03, penalty=5.0, dual_step=1.0),
        "zo-penalty": dict(penalty=2.0),
        "zo-sgd": dict(penalty=2.0),
    }
    given = dict(method=method, options=needed.get(method, {}))
    solve(checkpoint=tmp_path, **given)
    longer = solve(checkpoint=tmp_path, resume=True, maxfev=400, **given)
    check_same(longer, solve(maxfev=400, **given))
    assert longer.nfev > 300 or method == "auto"  # which has converged by then
    assert read_run(tmp_path).about["maxfev"] == 400


def test_a_smaller_budget_is_refused(tmp_path):
    solve(checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="maxfev was 200 and is 100, but may only grow"):
        solve(checkpoint=tmp_path, resume=True, maxfev=100)


def test_a_run_that_goes_on_has_no_result_meanwhile(tmp_path):
    results = []
    solve(checkpoint=tmp_path)
    solve(checkpoint=tmp_path, resume=True, maxfev=400, callback=lambda state: results.append(read_run(tmp_path).result))
    assert results
    assert not any(results)
    assert read_run(tmp_path).result["nfev"] > 200


def test_a_batch_that_fails_again_and_again_keeps_every_value(tmp_path):
    """Its queries 3, 5 and 6 fail in three sittings in turn; the fourth ends the run, and each query has been answered once."""
    good = []

    def sitting(bad):
        def fun(x):
            if len(good) in bad:
                raise OSError("not now")
            good.append(bowl(x))
            return good[-1]

        return fun

    for bad in ([3], [5], [6]):
        assert solve(sitting(bad), checkpoint=tmp_path, resume=True, retries=0).status is zolal.Status.EVALUATION_FAILED
    res = solve(sitting([]), checkpoint=tmp_path, resume=True, retries=0)
    reference = solve(maxfev=197, retries=0)
    assert_array_equal(res.x, reference.x)
    assert len(good) == reference.nfev
    assert res.nfev == reference.nfev + 3


def test_values_that_come_after_the_failure_that_ends_a_run_are_kept(tmp_path):
    common = dict(checkpoint=tmp_path, constraints=SPHERE, rng=0, retries=0, resume=True, options=dict(step_size=0.05, num_directions=4))
    with zolal.Optimizer(None, X0, **common) as opt:
        batch = opt.ask()
        opt.tell({query.key: None if i == 2 else bowl(query.point) for i, query in enumerate(batch)})
        assert opt.result.status is zolal.Status.EVALUATION_FAILED
        assert opt.result.nfev == 8
    with zolal.Optimizer(None, X0, **common) as opt:
        assert opt.ask().keys == (batch[2].key,)


def test_a_run_that_failed_is_resumed_by_asking_again_for_what_failed(tmp_path):
    broken = Counted(lambda x: bowl(x) if broken.count < 50 else 1 / 0)
    failed = solve(broken, checkpoint=tmp_path, retries=0)
    assert failed.status is zolal.Status.EVALUATION_FAILED
    mended = Counted(broken.function)
    mended.function = bowl
    reference = solve(maxfev=202, retries=0)
    res = solve(mended, checkpoint=tmp_path, retries=0, resume=True, maxfev=202)
    assert_array_equal(res.x, reference.x)
    assert res.nfev == reference.nfev + 1
    assert mended.count == reference.nfev - 49  # 49 values were kept


def test_resume_begins_where_there_is_nothing_to_continue(tmp_path):
    check_same(solve(checkpoint=tmp_path / "new" / "run", resume=True), solve())


def test_a_run_without_a_seed_keeps_its_own_when_it_is_resumed(tmp_path):
    first = solve(checkpoint=tmp_path, rng=None, callback=stop_at(3), options=dict(kkt_directions=0))
    resumed = solve(checkpoint=tmp_path, rng=None, resume=True, options=dict(kkt_directions=0))
    check_same(resumed, solve(rng=first.seed, options=dict(kkt_directions=0)))


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_in_a_result_and_a_checkpoint_that_goes_on(tmp_path, workers):
    run, flag, main = tmp_path / "run", tmp_path / "flag", os.getpid()

    def fun(x):
        """After the third step the first evaluation to come, whoever makes it, presses Ctrl-C."""
        with contextlib.suppress(FileNotFoundError):
            flag.unlink()
            os.kill(main, signal.SIGINT)
        return bowl(x)

    res = solve(fun, checkpoint=run, workers=workers, callback=lambda state: flag.touch() if state.k == 3 else None)
    assert res.status is zolal.Status.INTERRUPTED
    assert not res.success
    assert res.nit == 3
    assert json.loads((run / "result.json").read_text())["status"] == "INTERRUPTED"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    check_same(solve(fun, checkpoint=run, workers=workers, resume=True), solve())


def test_a_second_ctrl_c_does_not_disturb_the_last_checkpoint(tmp_path, monkeypatch):
    calls = Counted(lambda x: os.kill(os.getpid(), signal.SIGINT) if calls.count == 50 else bowl(x))
    write = folders.replace_sealed

    def impatient(path, content):
        if path.name == "result.json":
            os.kill(os.getpid(), signal.SIGINT)
        write(path, content)

    monkeypatch.setattr(folders, "replace_sealed", impatient)
    assert solve(calls, checkpoint=tmp_path).status is zolal.Status.INTERRUPTED
    assert json.loads((tmp_path / "result.json").read_text())["nfev"] == 49
    check_whole(tmp_path)


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def interrupt(request):
    """A signal that means Ctrl-C, as both do in the command."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), request.param)
    assert signal.signal(request.param, before) is signal.default_int_handler


def test_of_values_that_come_together_none_is_lost_to_an_interrupt(tmp_path, monkeypatch, interrupt):
    def rows(points):
        return np.array([bowl(x) for x in points])

    seen, heard = [], folders.RunFolder.heard

    def interrupted(self, session, answer):
        seen.append(answer)
        if len(seen) == 10:
            interrupt()
        heard(self, session, answer)

    monkeypatch.setattr(folders.RunFolder, "heard", interrupted)
    res = solve(rows, vectorized=True, checkpoint=tmp_path)
    assert (res.status, res.nit, res.nfev) == (zolal.Status.INTERRUPTED, 1, 8 + 16)  # the second batch is whole
    check_same(solve(rows, vectorized=True, checkpoint=tmp_path, resume=True), solve())


def test_ctrl_c_in_the_final_check_goes_on_with_the_check(tmp_path):
    calls = Counted(lambda x: os.kill(os.getpid(), signal.SIGINT) if calls.count == 190 else bowl(x))
    res = solve(calls, checkpoint=tmp_path)
    assert res.status is zolal.Status.INTERRUPTED
    again = Counted(calls.function)
    again.function, calls.count = calls.function, 1000
    check_same(solve(again, checkpoint=tmp_path, resume=True), solve())
    assert again.count == 3


def test_answers_that_come_after_the_end_of_their_batch_count_when_they_are_heard_again(tmp_path):
    """The first answer fails, the budget has no room for another try, and the others are there already."""
    arguments = dict(maxfev=16, rng=0, checkpoint=tmp_path, options=dict(step_size=0.05, num_directions=4))
    with zolal.Optimizer(None, X0, **arguments) as opt:
        opt.tell([None, *(bowl(query.point) for query in opt.ask()[1:])])
        first = opt.result
    with zolal.Optimizer(None, X0, **arguments, resume=True) as again:
        assert (again.result.nfev, again.result.status) == (first.nfev, first.status)
    assert first.nfev == 8  # all that were told; the final check is still to come
