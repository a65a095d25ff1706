"""Folders that keep runs: what they refuse, what a full disk does to them, and that no pickle is in them."""

import json
import resource
import shutil
import subprocess
import warnings
import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint, NonlinearConstraint

import zolal
from kept_runs import X0, Counted, bowl, check_same, check_whole, in_child, limited, solve
from registry import PROBLEMS, SOLVERS
from zolal._safe import replace_file
from zolal.errors import CheckpointError, CheckpointWarning, UnsupportedError
from zolal.evaluation.evaluate import MapEvaluator
from zolal.runs.checkpoint import _codec
from zolal.runs.checkpoint import folder as folders
from zolal.runs.checkpoint._codec import read_record, write_record
from zolal.runs.checkpoint._lines import Lines, encoded, read_lines
from zolal.runs.session import Snapshot


@pytest.mark.parametrize("solver", SOLVERS, ids=[f"solver {i}" for i in range(len(SOLVERS))])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_state_comes_back_to_the_bit_and_goes_on_as_it_would_have(solver, name, tmp_path):
    problem = PROBLEMS[name]
    evaluate, state = MapEvaluator(problem), solver.init(problem, problem.x0, 2**70 + 3)
    for _ in range(3):
        state = solver.tell(state, evaluate(solver.ask(state)).values)
    replace_file(tmp_path / "state.npz", lambda file: write_record(file, Snapshot(state, 5, 2, 3, (("It failed.", 1),)), {}))
    back = read_record(tmp_path / "state.npz", state.form, state.z)
    assert (back.nfev, back.earliest, back.batches, back.failures) == (5, 2, 3, (("It failed.", 1),))
    assert (back.state.k, back.state.seed) == (3, 2**70 + 3)
    for _ in range(2):
        values = evaluate(solver.ask(state)).values
        assert_array_equal(evaluate(solver.ask(back.state)).values, values)
        state, back = solver.tell(state, values), Snapshot(solver.tell(back.state, values))
        assert_array_equal(back.state.z, state.z)
    for one, other in zip(solver.output(state), solver.output(back.state), strict=True):
        assert_array_equal(one, other)


def test_a_state_of_something_else_is_refused_by_its_type(tmp_path):
    with pytest.raises(UnsupportedError, match=r"A state that holds set cannot be kept in a checkpoint; records, arrays and numbers can\."):
        replace_file(tmp_path / "state.npz", lambda file: write_record(file, Snapshot({1, 2}, 5, 2, 3, ()), {}))


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    solve(checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="holds a run already; `resume=True` continues it"):
        solve(checkpoint=tmp_path)


def test_files_that_are_not_of_a_run_are_left_alone(tmp_path):
    (tmp_path / "result.json").write_text("mine")
    with pytest.raises(CheckpointError, match=r"holds 'result.json' and no run; name a folder that is empty, new or of a run"):
        solve(checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


OTHERS = {
    "seed": (dict(rng=1), "seed was 0 and is 1"),
    "step_size": (dict(options=dict(step_size=0.1)), "option 'step_size' was 0.05 and is 0.1"),
    "option": (dict(options=dict(momentum=0.3)), "option 'momentum' was not given and is 0.3"),
    "record": (
        dict(options=dict(step_size=zolal.schedules.InverseSqrt(0.05))),
        "option 'step_size' was 0.05 and is InverseSqrt(base=0.05, horizon=25.0)",
    ),
    "schedule": (dict(options=dict(step_size=lambda k: 0.05)), "option 'step_size' was 0.05 and is "),
    "method": (dict(method="multistage"), "method was 'mdlal' and is 'multistage'"),
    "geometry": (dict(geometry=4), "geometry was 'auto' and is 4"),
    "tol": (dict(tol=1e-4), "tol was 0.001 and is 0.0001"),
    "on_error": (dict(on_error="skip"), "on_error was 'retry' and is 'skip'"),
    "x0": (dict(x0=X0 + 0.1), "x0 was array of shape (3,)"),
    "objective": (dict(fun=lambda x: 2 * bowl(x)), "objective was bowl"),
    "region": (dict(region=zolal.sets.Box(-1.0, 1.0)), "region was WholeSpace"),
    "regularizer": (dict(regularizer=zolal.regularizers.L1(0.1)), "regularizer was Zero"),
    "constraints": (dict(constraints=LinearConstraint(np.ones((1, 3)), 1, 1)), "constraints was"),
    "bound": (dict(constraints=NonlinearConstraint(lambda x: x @ x, 1.0, 2.0, jac=lambda x: 2 * x)), "constraints was"),
    "vectorized": (dict(fun=lambda X: np.array([bowl(x) for x in X]), vectorized=True), "vectorized was False and is True"),
    "sample": (dict(fun=lambda x, xi: bowl(x), sample=lambda rng: rng.random()), "sample was None and is "),
}


@pytest.mark.parametrize(("arguments", "difference"), OTHERS.values(), ids=OTHERS)
def test_the_run_of_another_problem_or_option_set_is_refused_by_name(tmp_path, arguments, difference):
    solve(checkpoint=tmp_path, maxfev=50)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match="holds another run") as error:
        solve(checkpoint=tmp_path, resume=True, **arguments)
    assert difference in str(error.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def scaled(factor):
    return lambda x: factor * bowl(x)


def test_functions_that_differ_only_in_what_they_hold_are_told_apart(tmp_path):
    solve(scaled(2.0), checkpoint=tmp_path, maxfev=50)
    solve(scaled(2.0), checkpoint=tmp_path, maxfev=50, resume=True)
    with pytest.raises(CheckpointError, match="objective was"):
        solve(scaled(3.0), checkpoint=tmp_path, maxfev=50, resume=True)


def test_a_format_of_another_version_is_refused(tmp_path):
    solve(checkpoint=tmp_path, maxfev=50)
    about = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(CheckpointError, match="has format 99; this version of zolal reads format 2"):
        solve(checkpoint=tmp_path, resume=True, maxfev=50)


def test_nothing_in_the_folder_is_pickle(tmp_path):
    solve(checkpoint=tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    states = {path.name for path in tmp_path.glob("state-*.npz")}
    assert len(states) == 2
    assert names == states | {"run.json", "values-0.jsonl", "trace.jsonl", "failures.jsonl", "result.json", "lock"}
    for name in states:
        with np.load(tmp_path / name, allow_pickle=False) as content:
            assert all(content[name].dtype.kind in "fu" for name in content.files)
    for path in tmp_path.glob("*.json"):
        json.loads(path.read_text())


@pytest.mark.parametrize("path", ["os:system", "zolal.doors.minimize:minimize", "builtins:eval", "zolal.runs.session:Session"])
def test_a_state_can_name_records_of_zolal_alone(tmp_path, path, monkeypatch):
    monkeypatch.setattr(_codec, "_encoded", lambda *given: {"record": path, "fields": {"command": "true"}})
    replace_file(tmp_path / "state.npz", lambda file: write_record(file, None, {}))
    with pytest.raises(CheckpointError, match="is no record of this version"):
        read_record(tmp_path / "state.npz", None, X0)


def test_the_trace_can_be_read_while_the_run_goes_on(tmp_path):
    seen = []

    def look(state):
        lines = read_lines(tmp_path / "trace.jsonl")
        seen.append((state.k, len(lines), lines[-1]["stationarity"]))

    res = solve(checkpoint=tmp_path, callback=look)
    assert [(k, count) for k, count, _ in seen] == [(k, k) for k in range(1, res.nit + 1)]
    assert_array_equal([value for *_, value in seen], res.trace["stationarity"])


def test_two_runs_do_not_share_a_folder(tmp_path):
    inner = []

    def greedy(state):
        with pytest.raises(CheckpointError, match="is in use by another run"):
            solve(checkpoint=tmp_path, resume=True)
        inner.append(1)
        return True

    solve(checkpoint=tmp_path, callback=greedy)
    assert inner


def test_a_folder_that_cannot_be_made_is_an_error_before_anything_is_evaluated(tmp_path):
    (tmp_path / "file").write_text("")
    fun = Counted()
    for place in (tmp_path / "file", tmp_path / "file" / "run", "/proc/zolal/run"):
        with pytest.raises(CheckpointError, match=r"The checkpoint folder .* cannot be used: "):
            solve(fun, checkpoint=place)
    assert fun.count == 0


def full_from_the_start(path):
    fun = Counted()
    limited(500)
    with pytest.raises(CheckpointError, match="cannot be used: File too large"):
        solve(fun, checkpoint=path)
    assert fun.count == 0


def full_for_a_while(path):
    """The disk is full from step 3 to step 8; the run warns once, goes on, and catches up."""
    folders.SHORTEST_INTERVAL = 0.0

    def fill(state):
        if state.k in (3, 8):
            limited(10 if state.k == 3 else resource.RLIM_INFINITY)
        if state.k == 7:
            check_whole(path)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = solve(checkpoint=path, callback=fill)
    messages = [str(item.message) for item in caught if item.category is CheckpointWarning]
    assert len(messages) == 1
    assert "cannot be written now (File too large); the run goes on and tries again" in messages[0]
    check_same(res, solve())
    check_whole(path)
    assert len(read_lines(path / "trace.jsonl")) == res.nit


def full_to_the_end(path):
    folders.SHORTEST_INTERVAL = 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = solve(Counted(), checkpoint=path, callback=lambda state: limited(10) if state.k == 5 else None)
    check_same(res, solve())
    assert "The last checkpoint of the run" in str(caught[-1].message)
    check_whole(path)
    limited(resource.RLIM_INFINITY)
    fun = Counted()
    check_same(solve(fun, checkpoint=path, resume=True), res)
    assert 0 < fun.count < res.nfev


@pytest.mark.parametrize("scene", [full_from_the_start, full_for_a_while, full_to_the_end])
def test_a_full_disk_is_an_error_at_the_start_and_a_warning_later(tmp_path, scene):
    in_child(scene, tmp_path)


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of 64 kB, where we may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_file_system_without_space_is_told_and_nothing_is_torn(small_disk):
    (small_disk / "ballast").write_bytes(b"0" * 60_000)
    with pytest.raises(CheckpointError, match="No space left on device"):
        solve(checkpoint=small_disk / "run")
    (small_disk / "ballast").write_bytes(b"0" * 30_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = solve(checkpoint=small_disk / "again", maxfev=4000, tol=1e-9)
    assert "No space left on device" in str(caught[0].message)
    check_same(res, solve(maxfev=4000, tol=1e-9))
    check_whole(small_disk / "again")
    (small_disk / "ballast").unlink()


def test_a_line_that_was_cut_off_is_left_out_and_overwritten(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(encoded(1, {"a": 1}) + encoded(2, {"a": 2})[:-5])
    assert read_lines(path) == [{"a": 1}]
    lines = Lines(path)
    lines.append({"a": 3.5})
    lines.close()
    assert read_lines(path) == [{"a": 1}, {"a": 3.5}]
    checksum = zlib.crc32(b'{"n":2,"a":3.5')
    assert json.loads(path.read_bytes().splitlines()[1]) == {"n": 2, "a": 3.5, "crc": f"{checksum:08x}"}
