"""Damaged folders: a run that is resumed is the same to the bit, or one sentence names the file; repaired, it goes on and is the same."""

import contextlib
import json
import random
import shutil
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import zolal
from kept_runs import SPHERE, X0, bowl, check_same, solve
from zolal._safe import replace_file
from zolal.errors import CheckpointError, DamagedError
from zolal.runs.checkpoint import _codec, read_run, repair
from zolal.runs.checkpoint import folder as folders
from zolal.runs.checkpoint._files import read_sealed, replace_sealed
from zolal.runs.checkpoint._lines import encoded

CALLS = []


def now_and_then(x, xi):
    """Fails for some samples, the same each time."""
    CALLS.append(x)
    return np.nan if xi > 1.5 else bowl(x) + 0.1 * float(xi)


def run(**arguments):
    options = dict(step_size=0.05, num_directions=4)
    arguments = dict(constraints=SPHERE, on_error="skip", maxfev=90, rng=1, options=options) | arguments
    return zolal.minimize(now_and_then, X0, sample=lambda rng: rng.normal(), **arguments)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that has ended and one that was stopped, with two states each, and the result of both."""
    place, before = tmp_path_factory.mktemp("whole"), (folders.SHORTEST_INTERVAL, folders.SHARE)
    folders.SHORTEST_INTERVAL, folders.SHARE = 0.0, np.inf  # a state with every batch
    try:
        run(checkpoint=place / "stopped", callback=lambda state: state.k == 3)
        folders.SHORTEST_INTERVAL = 1e9
        reference = run(checkpoint=place / "ended")
        (place / "stopped" / "result.json").unlink()
    finally:
        folders.SHORTEST_INTERVAL, folders.SHARE = before
    return place, reference


def flipped(data, where, rng):
    data[where] ^= 1 << rng.randrange(8)


def cut(data, where, rng):
    del data[where:]


def garbled(data, where, rng):
    data[where : where + 20] = rng.randbytes(20)


def zeroed(data, where, rng):
    data[where : where + 512] = bytes(len(data[where : where + 512]))


def inserted(data, where, rng):
    data[where:where] = rng.randbytes(3)


def removed(data, where, rng):
    del data[where : where + 1 + rng.randrange(40)]


def grown(data, where, rng):
    data += rng.randbytes(30) + b"\n"


def emptied(data, where, rng):
    del data[:]


def without_a_line(data, where, rng):
    lines = data.splitlines(keepends=True)
    del lines[where % len(lines)]
    data[:] = b"".join(lines)


def with_a_line_twice(data, where, rng):
    lines = data.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines)), lines[where % len(lines)])
    data[:] = b"".join(lines)


def with_two_lines_swapped(data, where, rng):
    lines = data.splitlines(keepends=True)
    i, j = where % len(lines), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    data[:] = b"".join(lines)


DAMAGES = [flipped, cut, garbled, zeroed, inserted, removed, grown, emptied]
DAMAGES += [without_a_line, with_a_line_twice, with_two_lines_swapped]


def check_told(error, name):
    """One sentence that names the file and what can be done."""
    text = str(error)
    assert text.endswith(".")
    assert "\n" not in text
    assert name in text or "has format" in text  # a flip in the number of the format
    assert "repair" in text or "has format" in text or "cannot be" in text


def same_but_for_the_trace(found, reference):
    """What a lost line of the trace took with it is unknown, and nothing else."""
    lost = np.isnan(found.trace["stationarity"]) & ~np.isnan(reference.trace["stationarity"])
    for name in found.trace:
        assert_array_equal(found.trace[name][~lost], reference.trace[name][~lost])
    found.trace = reference.trace
    check_same(found, reference)


def check_damage(whole, which, file, damage, where, seed):
    """One kind of damage to one file; how it ended."""
    place, reference = whole
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        shutil.copytree(place / which, folder)
        names = sorted(path.name for path in folder.iterdir() if path.stat().st_size)
        path = folder / names[int(file * len(names))]
        if damage is None:
            path.unlink()
        else:
            data = bytearray(path.read_bytes())
            damage(data, int(where * len(data)), random.Random(seed))
            path.write_bytes(data)
        with contextlib.suppress(CheckpointError):
            read_run(folder)
        try:
            check_same(run(checkpoint=folder, resume=True), reference)
            return "the same"
        except CheckpointError as error:
            check_told(error, path.name)
        try:
            assert repair(folder)
        except CheckpointError as error:
            check_told(error, path.name)
            return "told"
        same_but_for_the_trace(run(checkpoint=folder, resume=True), reference)
        assert repair(folder) == []
        return "repaired"


ANY = dict(
    which=st.sampled_from(["stopped", "ended"]),
    file=st.floats(0, 1, exclude_max=True),
    damage=st.sampled_from([None, *DAMAGES]),
    where=st.floats(0, 1, exclude_max=True),
    seed=st.integers(0, 2**32),
)
QUIET = dict(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@settings(max_examples=30, **QUIET)
@given(**ANY)
def test_a_damaged_folder_gives_the_same_run_or_one_sentence(whole, which, file, damage, where, seed):
    check_damage(whole, which, file, damage, where, seed)


@pytest.mark.slow
@settings(max_examples=2000, **QUIET)
@given(**ANY)
def test_2000_damaged_folders_give_the_same_run_or_one_sentence(whole, which, file, damage, where, seed):
    check_damage(whole, which, file, damage, where, seed)


@pytest.fixture
def stopped(whole, tmp_path):
    shutil.copytree(whole[0] / "stopped", tmp_path / "run")
    return tmp_path / "run"


def last_state(folder):
    return max(folder.glob("state-*.npz"), key=lambda path: int(path.stem.split("-")[1]))


def test_nothing_is_paid_for_twice_where_only_the_last_state_is_damaged(whole, stopped):
    state = last_state(stopped)
    content = state.read_bytes()[:100]
    state.write_bytes(content)
    with pytest.raises(DamagedError, match=rf"'{state.name}' does not match its checksum; `zolal repair .*` goes back to what is whole\."):
        run(checkpoint=stopped, resume=True)
    before = max(int(path.stem.split("-")[1]) for path in stopped.glob("state-*.npz") if path != state)
    assert repair(stopped) == [f"'{state.name}' was damaged.", f"The run goes back to its state after {before} batches."]
    assert (stopped / f"{state.name}.damaged").read_bytes() == content
    CALLS.clear()
    res = run(checkpoint=stopped, resume=True)
    check_same(res, whole[1])
    assert len(CALLS) == res.nfev - 40  # paid for before the stop: 8 in the first step and 16 in each of two


def test_a_run_that_has_lost_its_description_is_not_wiped_and_gets_it_back(whole, stopped):
    (stopped / "run.json").unlink()
    before = {path.name: path.read_bytes() for path in stopped.iterdir()}
    with pytest.raises(DamagedError, match=r"'run.json' is missing; `zolal repair "):
        run(checkpoint=stopped, resume=True)
    assert {path.name: path.read_bytes() for path in stopped.iterdir()} == before
    assert repair(stopped) == ["'run.json' was damaged or missing, and is made again from the state."]
    check_same(run(checkpoint=stopped, resume=True), whole[1])


def test_a_folder_of_which_nothing_is_whole_cannot_be_repaired_and_stays(stopped):
    for path in [*stopped.glob("state-*.npz"), stopped / "run.json"]:
        path.write_bytes(b"{")
    with pytest.raises(CheckpointError, match=r"cannot be repaired: none of its states is whole\."):
        repair(stopped)
    for path in stopped.glob("values-*.jsonl"):
        path.unlink()
    with pytest.raises(CheckpointError, match=r"cannot be repaired: neither 'run.json' nor a state is whole\."):
        repair(stopped)
    with pytest.raises(CheckpointError, match=r"is no folder of a run\."):
        repair(stopped / "run.json")


def test_a_damaged_value_costs_its_batch_and_what_came_after_it(tmp_path):
    """One state at the start, then batches of 16 values: the third value of the second batch is lost."""
    calls = []

    def counted(x):
        calls.append(1)
        return bowl(x)

    reference = solve(counted, checkpoint=tmp_path, maxfev=100)
    for path in tmp_path.glob("state-*.npz"):
        path.unlink() if path.name != "state-0.npz" else None
    values = tmp_path / "values-0.jsonl"
    lines = values.read_bytes().splitlines(keepends=True)
    first = sum(b'"b":0,' in line for line in lines)
    lines[first + 2] = b"x" + lines[first + 2][1:]
    values.write_bytes(b"".join(lines))
    with pytest.raises(DamagedError, match=rf"line {first + 3} of 'values-0.jsonl' does not match its checksum"):
        solve(counted, checkpoint=tmp_path, maxfev=100, resume=True)
    later = sum(b'"b":0,' not in line and b'"b":1,' not in line for line in lines)
    told = f"Line {first + 3} of 'values-0.jsonl' was damaged: 1 values are lost, and {later} that came after them are asked for again."
    assert repair(tmp_path)[0] == told
    calls.clear()
    check_same(solve(counted, checkpoint=tmp_path, maxfev=100, resume=True), reference)
    assert len(calls) == later + 1


def test_a_state_that_claims_more_than_it_holds_takes_no_memory(stopped):
    """A digest is no protection from whoever can make one: neither compressed arrays nor false headers are taken for true."""
    path = last_state(stopped)

    def compressed(file):
        np.savez_compressed(file, tree=np.zeros(1 << 24, dtype=np.uint8), about=np.zeros(1, dtype=np.uint8))
        sealed(file)

    def boastful(file):
        with zipfile.ZipFile(file, "w") as archive:
            header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
            archive.writestr("tree.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8))
        sealed(file)

    def sealed(file):
        size = file.seek(0, 2)
        seal = _codec._digest(file, size)
        file.seek(size)
        file.write(seal)

    for write in (compressed, boastful):
        replace_file(path, write)
        with pytest.raises(DamagedError, match=r"is no state of this version of zolal \(ValueError: .* claims \d+ bytes\)"):
            run(checkpoint=stopped, resume=True)


CRAFTED = {
    "kind": ({"b": 0, "check": False, "i": "0", "v": 1.0}, "is no answer of a run"),
    "value": ({"b": 0, "check": False, "i": 0, "v": "much"}, "is no answer of a run"),
    "query": ({"b": 0, "check": False, "i": 10**6, "v": 1.0}, "answers query 1000000 of 8"),
    "jump": ({"b": 9, "check": False, "i": 0, "v": 1.0}, "answers batch 9 after batch 0"),
    "gap": ({"b": 1, "check": False, "i": 0, "v": 1.0}, "answers batch 1, but answers to batch 0 are missing"),
}


@pytest.mark.parametrize(("line", "what"), CRAFTED.values(), ids=CRAFTED)
def test_lines_with_a_right_checksum_and_a_wrong_content_are_told(tmp_path, line, what):
    solve(checkpoint=tmp_path, maxfev=60)
    for path in tmp_path.glob("state-*.npz"):
        path.unlink()
    (tmp_path / "values-0.jsonl").write_bytes(encoded(1, line))
    with pytest.raises(DamagedError, match=f"line 1 of 'values-0.jsonl' {what}"):
        solve(checkpoint=tmp_path, maxfev=60, resume=True)


def test_a_description_with_a_right_checksum_and_a_wrong_content_is_told(stopped):
    for change in (dict(seed="-1"), dict(maxfev="many"), dict(fingerprint={"x0": 1})):
        about = read_sealed(stopped / "run.json")
        replace_sealed(stopped / "run.json", about | change)
        with pytest.raises(DamagedError, match=r"'run.json' does not say what the run is"):
            run(checkpoint=stopped, resume=True)
        replace_sealed(stopped / "run.json", about)


def test_the_repaired_page_of_a_damaged_trace_says_what_is_unknown(whole, stopped):
    trace = stopped / "trace.jsonl"
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join([lines[0], lines[1].replace(b'"nfev"', b'"never"'), *lines[2:]]))
    with pytest.raises(DamagedError, match=r"line 2 of 'trace.jsonl'"):
        read_run(stopped)
    assert "The trace of 1 steps was damaged: their objective and residuals are unknown." in repair(stopped)
    assert_array_equal(np.isnan(read_run(stopped).trace["fun"]), np.arange(3) == 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res = run(checkpoint=stopped, resume=True)
    assert_array_equal(res.x, whole[1].x)
    assert json.loads((stopped / "result.json").read_text())["nfev"] == whole[1].nfev
