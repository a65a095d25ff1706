"""The log of a run: nothing unless the program asks for it, and then how the run began, what failed, and how it ended."""

import logging
import subprocess
import sys
import warnings

import numpy as np
import pytest

import zolal
from kept_runs import Counted, bowl, solve, stop_at
from zolal.errors import CheckpointWarning, StartWarning, ZolalWarning


def test_a_run_is_silent_by_default():
    code = "import zolal; zolal.minimize(lambda x: float('nan'), [1.0, 2.0], maxfev=40, rng=0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_log_tells_how_a_run_begins_what_fails_and_how_it_ends(caplog):
    fails = Counted(lambda x: np.nan if fails.count == 5 else bowl(x))
    with caplog.at_level(logging.DEBUG, logger="zolal"):
        res = solve(fails)
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told[0] == ("INFO", "run 0: method mdlal, 3 variables, at most 200 evaluations, 0 made before")
    assert ("INFO", "run 0: query 4 of batch 0 failed: The objective returned nan.") in told
    assert told[-1] == ("INFO", f"run 0: {res.status.name} after {res.nfev} evaluations. {res.message}")
    assert sum(level == "DEBUG" for level, _ in told) == res.nit


def test_a_resumed_run_logs_what_is_new(tmp_path, caplog):
    stopped = solve(checkpoint=tmp_path, callback=stop_at(3))
    with caplog.at_level(logging.DEBUG, logger="zolal"):
        res = solve(checkpoint=tmp_path, resume=True)
    assert f"{stopped.trace['nfev'][-1]} made before" in caplog.records[0].getMessage()
    assert len(caplog.records) == 2 + res.nit - stopped.nit


def test_warnings_have_categories_of_our_own():
    assert issubclass(CheckpointWarning, ZolalWarning)
    assert issubclass(zolal.ZolalWarning, UserWarning)
    with pytest.warns(StartWarning, match="x0 lies outside the region and was projected onto it"):
        zolal.minimize(bowl, [2.0, 0.0], bounds=[(0, 1)] * 2, maxfev=10, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ZolalWarning)
        zolal.minimize(bowl, [2.0, 0.0], bounds=[(0, 1)] * 2, maxfev=10, rng=0)
