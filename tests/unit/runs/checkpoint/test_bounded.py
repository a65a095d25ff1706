"""Folders of long runs stay small: traces are thinned, failures counted, and a run that is resumed is the same to the bit."""

import json
import resource
import warnings
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import zolal
from kept_runs import SPHERE, X0, bowl, check_same, check_whole, in_child, limited, solve, stop_at
from zolal.errors import CheckpointWarning, DamagedError
from zolal.report.run_page import run_page
from zolal.runs import recording
from zolal.runs.checkpoint import _failures, read_run, repair
from zolal.runs.checkpoint import folder as folders
from zolal.runs.checkpoint._failures import note_failure, parted, shortened
from zolal.runs.checkpoint._lines import Lines, encoded, read_lines

MOST, LATEST = 8, 4


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(recording, "MOST", MOST)
    monkeypatch.setattr(_failures, "LATEST", LATEST)


def fails_often(x, xi):
    return np.nan if xi > 1.0 else bowl(x) + 0.1 * float(xi)


def run(**arguments):
    options = dict(step_size=0.01, num_directions=4)
    given = dict(sample=lambda rng: rng.normal(), constraints=SPHERE, on_error="skip", maxfev=600, rng=1, tol=1e-9, options=options)
    return zolal.minimize(fails_often, X0, **given | arguments)


def test_the_file_has_the_trace_of_the_result_but_for_its_last_step(tmp_path):
    longest = []
    res = run(checkpoint=tmp_path, callback=lambda state: longest.append(len(read_lines(tmp_path / "trace.jsonl"))))
    assert res.nit > 4 * MOST
    assert max(longest) == MOST
    trace = read_run(tmp_path).trace
    for name, column in trace.items():
        assert_array_equal(column, res.trace[name][: column.size])
    assert res.trace["iteration"][-1] == res.nit - 1
    assert np.ptp(np.diff(trace["iteration"])) == 0
    assert all(type(json.loads(line)["nfev"]) is int for line in (tmp_path / "trace.jsonl").read_text().splitlines())


@pytest.mark.parametrize("interval", [0.0, 1e9], ids=["a state with every batch", "no state but the first"])
@pytest.mark.parametrize("k", [8, 9, 17, 33])
def test_a_run_that_was_stopped_anywhere_goes_on_to_the_same_bits(tmp_path, monkeypatch, interval, k):
    monkeypatch.setattr(folders, "SHORTEST_INTERVAL", interval)
    monkeypatch.setattr(folders, "SHARE", np.inf)
    run(checkpoint=tmp_path, callback=stop_at(k))
    if interval:
        for path in tmp_path.glob("state-*.npz"):
            path.unlink()  # it hears all answers again
    res = run(checkpoint=tmp_path, resume=True)
    check_same(res, run())
    check_whole(tmp_path) if not interval else None
    again = run(checkpoint=tmp_path, resume=True)
    check_same(again, res)


def test_a_damaged_line_of_a_thinned_trace_costs_that_line_alone(tmp_path):
    reference = run(checkpoint=tmp_path)
    trace = tmp_path / "trace.jsonl"
    lines = trace.read_bytes().splitlines(keepends=True)
    apart = json.loads(lines[1])["iteration"]
    trace.write_bytes(b"".join([*lines[:2], b"x" + lines[2][1:], *lines[3:]]))
    with pytest.raises(DamagedError, match=r"line 3 of 'trace.jsonl'"):
        run(checkpoint=tmp_path, resume=True)
    assert "The trace of 1 steps was damaged: their objective and residuals are unknown." in repair(tmp_path)
    res = run(checkpoint=tmp_path, resume=True)
    assert_array_equal(res.trace["iteration"], reference.trace["iteration"])
    assert_array_equal(np.isnan(res.trace["fun"]), res.trace["iteration"] == 2 * apart)
    assert repair(tmp_path) == []


@pytest.mark.parametrize("change", [dict(iteration=5), dict(iteration=None), dict(nfev="many")])
def test_lines_of_a_trace_that_are_not_at_equal_distances_are_told(tmp_path, change):
    run(checkpoint=tmp_path)
    lines = read_lines(tmp_path / "trace.jsonl")
    lines[3] |= change
    (tmp_path / "trace.jsonl").write_bytes(b"".join(encoded(i, line) for i, line in enumerate(lines, 1)))
    with pytest.raises(DamagedError, match=r"line 4 of 'trace.jsonl' is not that of step"):
        run(checkpoint=tmp_path, resume=True)


def test_a_trace_that_was_written_in_full_is_thinned_by_the_next_step(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "MOST", 1 << 14)
    run(checkpoint=tmp_path, callback=stop_at(30))
    assert len(read_lines(tmp_path / "trace.jsonl")) == 30
    monkeypatch.setattr(recording, "MOST", MOST)
    check_same(run(checkpoint=tmp_path, resume=True), run())
    assert len(read_lines(tmp_path / "trace.jsonl")) <= MOST


def test_of_many_failures_the_last_stay_and_the_others_are_counted(tmp_path):
    res = run(checkpoint=tmp_path)
    record, total = read_run(tmp_path), sum(count for _, count in res.failures)
    assert total > 10 * LATEST
    assert len(read_lines(tmp_path / "failures.jsonl")) <= 2 * LATEST
    assert record.earlier_failures.total() + len(record.failures) == total
    assert LATEST <= len(record.failures) < 2 * LATEST
    assert all(line["failure"] == "The objective returned nan." for line in record.failures)
    page = run_page(record)
    assert f"<td>{total:,}</td>" in page
    assert f"step {record.failures[-1]['iteration']}, query {record.failures[-1]['query']}" in page


def test_kinds_of_failures_are_counted_each_up_to_a_hundred():
    lines = [{"failure": f"Number {i}."} for i in range(150)] + [{"failure": "Number 7."}] * 20
    first = shortened(lines)
    counted, single = parted(first)
    assert single == lines[-LATEST:]
    assert (len(first), len(counted), counted.total(), counted["Number 7."]) == (LATEST + 1, 101, 166, 17)
    again, _ = parted(shortened([*first, *lines]))
    assert again.total() == 166 + 170
    assert again["Number 7."] == 17 + 4 + 17


def test_counts_that_somebody_has_made_up_are_passed_over():
    assert parted([{"earlier": [1]}, {"earlier": {"It failed.": "often"}}, {}]) == (Counter({"It failed.": 0}), [])


def test_lines_that_are_replaced_are_the_old_ones_or_the_new_ones(tmp_path):
    file = Lines(tmp_path / "lines.jsonl")
    for number in range(5):
        file.append({"a": number})
    file.replace({"a": number} for number in (1, 3))
    file.append({"a": 5})
    assert read_lines(file.path) == [{"a": 1}, {"a": 3}, {"a": 5}]
    file.close()
    again = Lines(file.path)
    again.append({"a": 6})
    assert read_lines(file.path) == [{"a": 1}, {"a": 3}, {"a": 5}, {"a": 6}]
    again.close()


def full_while_lines_are_replaced(path):
    file = Lines(path)
    for number in range(40):
        file.append({"a": number})
    limited(10)
    with pytest.raises(OSError, match="File too large"):
        file.replace([{"a": 1}])
    with pytest.raises(OSError, match="File too large"):
        file.append({"a": 2})
    assert len(read_lines(path)) == 40
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    limited(resource.RLIM_INFINITY)
    file.append({"a": 3})
    assert read_lines(path) == [{"a": 1}, {"a": 2}, {"a": 3}]
    note_failure(file, {"failure": "It failed."})
    assert len(read_lines(path)) == 4


def full_while_a_trace_is_thinned(path):
    folders.SHORTEST_INTERVAL = 0.0

    def fill(state):
        if state.k in (6, 20):  # thinned at the steps 9 and 17
            limited(10 if state.k == 6 else resource.RLIM_INFINITY)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = solve(checkpoint=path, callback=fill, maxfev=600, tol=1e-9)
    assert len([item for item in caught if item.category is CheckpointWarning]) == 1
    check_same(res, solve(maxfev=600, tol=1e-9))
    check_whole(path)
    assert res.nit > 20
    check_same(solve(checkpoint=path, maxfev=600, tol=1e-9, resume=True), res)


@pytest.mark.parametrize("scene", [full_while_lines_are_replaced, full_while_a_trace_is_thinned])
def test_a_full_disk_leaves_the_old_lines_until_there_is_room(tmp_path, scene):
    in_child(scene, tmp_path / "place")


@pytest.mark.parametrize("most", [2, 4])
def test_a_thinned_trace_that_is_gone_is_made_again_as_far_as_it_can_be(tmp_path, monkeypatch, most):
    monkeypatch.setattr(recording, "MOST", most)
    reference = run(checkpoint=tmp_path)
    (tmp_path / "trace.jsonl").unlink()
    with pytest.raises(DamagedError, match=r"'trace.jsonl' has 0 lines, fewer than the \d+ steps of the state"):
        run(checkpoint=tmp_path, resume=True)
    lost = len(range(0, reference.nit, recording.distance(reference.nit)))
    assert repair(tmp_path)[0] == f"The trace of {lost} steps was damaged: their objective and residuals are unknown."
    res = run(checkpoint=tmp_path, resume=True)
    assert_array_equal(res.trace["iteration"], reference.trace["iteration"])
    assert_array_equal(res.trace["fun"][lost:], reference.trace["fun"][lost:])
    assert_array_equal(res.x, reference.x)
    assert repair(tmp_path) == []
