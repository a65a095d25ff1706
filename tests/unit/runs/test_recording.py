"""A trace has a record per step, and of more steps than it can hold those at equal distances and the last."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from zolal.runs import recording
from zolal.runs.recording import COUNTS, FIELDS, Recorder, distance

MOST = 8


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(recording, "MOST", MOST)


def step(k):
    """The state after k steps; its numbers say which it is."""
    return SimpleNamespace(k=k, stationarity=k + 0.25, feasibility=k + 0.5, fun_error=np.nan, stationarity_error=-0.0)


def recorded(recorder, first, last):
    for k in range(first, last + 1):
        recorder(step(k), 10 * k, k / 3, 2)
    return recorder


def row(k):
    return (k - 1, 10 * k, 2, k / 3, k + 0.25, k + 0.5, np.nan, -0.0)


@pytest.mark.parametrize("steps", range(1, 70))
def test_what_is_kept_is_every_first_second_or_fourth_step_and_the_last(steps):
    trace = recorded(Recorder(), 1, steps).trace
    apart = 1
    while len(range(0, steps, apart)) > MOST:
        apart *= 2
    expected = sorted({*range(0, steps, apart), steps - 1})
    for column, name in enumerate(FIELDS):
        assert_array_equal(trace[name], [row(k + 1)[column] for k in expected])
    assert all(trace[name].dtype.kind == "i" for name in COUNTS)
    assert distance(steps) == apart


@given(steps=st.integers(1, 200), where=st.floats(0, 1))
def test_a_recorder_that_is_taken_up_again_goes_on_as_it_would_have(steps, where):
    middle = int(where * steps)
    before, whole = recorded(Recorder(), 1, middle), recorded(Recorder(), 1, steps)
    after = recorded(Recorder(before.kept(), before.last, middle), middle + 1, steps)
    for name in FIELDS:
        assert_array_equal(after.trace[name], whole.trace[name])
    coarser = [record for record in before.kept() if record[0] % distance(steps) == 0]  # as a file that was thinned later
    again = recorded(Recorder(coarser, before.last, middle), middle + 1, steps)
    assert_array_equal(again.trace["fun"], whole.trace["fun"])


def test_a_recorder_without_steps_has_an_empty_trace():
    assert {name: column.size for name, column in Recorder().trace.items()} == dict.fromkeys(FIELDS, 0)


def test_counts_stay_whole_numbers():
    assert [type(value) for value in next(recorded(Recorder(), 1, 20).kept())[:4]] == [int, int, int, float]
