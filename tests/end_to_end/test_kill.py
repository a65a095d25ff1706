"""`kill -9` at random moments over a set of runs: every resume ends in the uninterrupted result, and no value is asked for twice.

Half of the kills come at any time, the others once the run is seen to be at something: reading its folder, evaluating, writing a line,
replacing a file. Traces and lists of failures are short enough here to be replaced by shorter ones again and again.
"""

import contextlib
import json
import mmap
import multiprocessing
import os
import signal
import time
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import NonlinearConstraint

import zolal
from zolal.evaluation.crews.processes import AHEAD
from zolal.runs import recording
from zolal.runs.checkpoint import _failures, _lines
from zolal.runs.checkpoint import folder as folders

FORK = multiprocessing.get_context("fork")
SPHERE = NonlinearConstraint(lambda x: x @ x, 1.0, 1.0, jac=lambda x: 2 * x)
BALL = NonlinearConstraint(lambda x: x @ x, -np.inf, 1.0, jac=lambda x: 2 * x)
X0 = np.linspace(-0.5, 0.5, 4)
FIELDS = ("x", "nfev", "fun", "fun_error", "nit", "multipliers", "maxcv", "message", "status")

RUNS = {
    "equality": dict(constraints=SPHERE),
    "slack": dict(constraints=BALL, options=dict(share_base=True, output="average", directions="gaussian")),
    "random output": dict(constraints=SPHERE, options=dict(output="random", directions="gaussian", momentum=1.0)),
    "stages": dict(constraints=SPHERE, method="multistage", options=dict(stage_steps=5)),
    "geometry": dict(geometry=4, region=zolal.sets.Box(-1.0, 1.0), regularizer=zolal.regularizers.L1(0.1)),
    "unconfirmed checks": dict(tol=0.35, options=dict(momentum=1.0, num_directions=2)),
    "failures": dict(constraints=SPHERE, on_error="skip", options=dict(directions="sphere")),
    "processes": dict(constraints=BALL, workers=2),
}


PHASES = ("elsewhere", "evaluating", "reading the folder", "writing a line", "replacing trace or failures", "replacing a state", "removing")
PHASE = mmap.mmap(-1, 1)  # what the child is at; forked processes share it


@pytest.fixture(autouse=True)
def short_lists(monkeypatch):
    monkeypatch.setattr(recording, "MOST", 8)
    monkeypatch.setattr(_failures, "LATEST", 4)


@contextlib.contextmanager
def at(phase):
    before, PHASE[0] = PHASE[0], PHASES.index(phase)
    yield
    PHASE[0] = before


def watched():
    """In the child: from here on it says what it is at."""

    def watch(owner, name, phase):
        setattr(owner, name, at(phase)(getattr(owner, name)))

    watch(Logged, "value", "evaluating")
    watch(folders.RunFolder, "start", "reading the folder")
    watch(folders.RunFolder, "replay", "reading the folder")
    watch(_lines.Lines, "_write_on", "writing a line")
    watch(_lines.Lines, "_write_anew", "replacing trace or failures")
    watch(folders, "replace_file", "replacing a state")
    watch(folders.RunFolder, "_forget", "removing")


class Logged:
    """A noisy function that writes down every value before it gives it away; in one run it fails now and then."""

    def __init__(self, path, fails):
        self.path, self.fails = path, fails

    def __call__(self, x, xi):
        return self.value(x, xi)

    def value(self, x, xi):
        value = float((x - 1.0) @ (x - 1.0) + 0.3 * xi @ x)
        if self.path is not None:
            time.sleep(2e-4)
            with open(self.path, "ab", buffering=0) as file:
                file.write(f"{value!r}\n".encode())
        return np.nan if self.fails and xi[0] > 1.5 else value


def solve(name, calls=None, **arguments):
    given = RUNS[name]
    options = dict(step_size=0.03, num_directions=4, penalty=5.0, dual_step=1.0) | given.get("options", {})
    fun = Logged(calls, name == "failures")
    return zolal.minimize(fun, X0, sample=lambda rng: rng.normal(size=4), maxfev=500, rng=7, **given | arguments | dict(options=options))


def run(name, calls, folder):
    """What a child process does."""
    folders.SHORTEST_INTERVAL = 0.03
    watched()
    res = solve(name, calls, checkpoint=folder, resume=True)
    trace = {f"trace {field}": column for field, column in res.trace.items()}
    np.savez(f"{folder}.npz", **{field: res[field] for field in FIELDS}, **trace)


def told(folder):
    """The values that the folder has on record now."""
    lines = [line for path in folder.glob("values-*.jsonl") for line in path.read_bytes().split(b"\n")[:-1]]
    return {value for value in (json.loads(line)["v"] for line in lines) if value is not None}


def start(name, calls, folder):
    """A child process, and a descriptor that ends when the child and all workers that it has forked are gone."""
    ours, theirs = os.pipe()
    PHASE[0] = 0
    child = FORK.Process(target=run, args=(name, calls, str(folder)))
    child.start()
    os.close(theirs)
    return child, ours


def asked(calls):
    return [float(line) for line in calls.read_text().splitlines()] if calls.exists() else []


def kill(child, rng, seconds):
    """At a random moment, or at the next one after it at which the child is seen to be at something that was drawn; what it was at."""
    time.sleep(rng.uniform(0.0, seconds))
    if rng.random() < 0.5:
        aim, end = rng.integers(1, len(PHASES)), time.monotonic() + 0.3 * seconds
        while PHASE[0] != aim and time.monotonic() < end:
            pass
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    return PHASES[PHASE[0]]


def kill_until_done(name, tmp_path, rng, seconds, kills):
    """One run, killed again and again at random moments until it ends or has been killed so often; at what it was killed."""
    folder, calls, known, killed = tmp_path / "run", tmp_path / "calls", set(), Counter()
    while True:
        before = len(asked(calls))
        child, gone = start(name, calls, folder)
        phase = kill(child, rng, seconds) if killed.total() < kills else ""
        child.join()
        os.read(gone, 1)
        os.close(gone)
        new = asked(calls)[before:]
        assert not known & set(new), "a value that was on record was asked for again"
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        killed[phase] += 1
        known |= told(folder)
        check_bounded(folder)
    everything = asked(calls)
    held = RUNS[name]["workers"] * AHEAD if "workers" in RUNS[name] else 1  # what workers had at the moment, and nobody had heard of
    assert len(everything) - len(set(everything)) <= held * killed.total()
    return killed


def check_bounded(folder):
    """Two states and a third that is coming, answers since the older, as many lines as there may be, and one file that was not finished."""
    files = Counter(path.name.split("-")[0] for path in folder.glob("[!.]*"))
    assert files["state"] <= 3
    assert files["values"] <= 4
    assert len((folder / "trace.jsonl").read_bytes().splitlines() if (folder / "trace.jsonl").exists() else ()) <= recording.MOST + 1
    assert (
        len((folder / "failures.jsonl").read_bytes().splitlines() if (folder / "failures.jsonl").exists() else ())
        <= 2 * _failures.LATEST + 1
    )
    assert len(list(folder.glob(".*"))) <= 1


def check_kills(name, tmp_path, kills):
    rng = np.random.default_rng(len(name))
    reference = solve(name)
    started = time.monotonic()
    child = FORK.Process(target=run, args=(name, tmp_path / "whole-calls", str(tmp_path / "whole")))
    child.start()
    child.join()
    seconds = time.monotonic() - started
    killed, attempt = Counter(), 0
    while killed.total() < kills:
        place = tmp_path / str(attempt)
        place.mkdir()
        killed += kill_until_done(name, place, rng, 0.7 * seconds, kills - killed.total())
        attempt += 1
        with np.load(place / "run.npz") as found:
            for field in FIELDS:
                assert_array_equal(found[field], reference[field])
            for field, column in reference.trace.items():
                assert_array_equal(found[f"trace {field}"], column)
        check_bounded(place / "run")
    return killed


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_is_killed_ends_in_the_uninterrupted_result(name, tmp_path):
    assert check_kills(name, tmp_path, kills=3).total() >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_1000_kills_at_random_moments_leave_the_uninterrupted_results(name, tmp_path, record_property):
    killed = check_kills(name, tmp_path, kills=125)
    assert killed.total() >= 125
    record_property("killed", dict(killed))
    print(name, dict(killed))  # noqa: T201
    assert len(killed) >= 5, killed
