"""The progress line says what it should, as often as it should."""

import io

import numpy as np

import zolal
from prepared import prepared
from zolal.runs import progress
from zolal.runs.session import Session


def session():
    return Session(prepared(lambda x: float(x @ x), np.ones(2), method="mdlal", options=dict(step_size=0.1)))


def test_the_line_tells_evaluations_rate_time_left_objective_violation_and_residual():
    run = session()
    run.spent, run.failures = 250, {"It failed.": 3}
    run.recorder.last = (0, 250, 1, 1.25, 0.5, 0.75)
    line = progress.described(run, rate=10.0)
    assert line == "250 of 1,000 evaluations  10/s  1:15 left  objective 1.25  violation 0.75  residual 0.75  3 failed"


def test_hours_are_told_as_hours():
    run = session()
    assert "2:46:40 left" in progress.described(run, rate=0.1)


def test_a_time_that_nobody_can_tell_is_a_question_mark():
    assert "? left" in progress.described(session(), rate=1e-307)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_one_line_that_is_redrawn_and_broken_between_its_parts(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress.shown(stream) as line:
        line.show("250 of 1,000 evaluations  10/s  1:15 left  objective 1.25")
        line.show("260 of 1,000 evaluations  10/s  1:14 left  objective 1.25")
    drawn = [text.strip() for text in stream.getvalue().split("\n")]
    assert "\x1b[2K" in stream.getvalue()  # erased, not scrolled
    assert any(text.endswith("260 of 1,000 evaluations  10/s") for text in drawn)
    assert any("1:14 left  objective 1.25" in text for text in drawn)


def test_a_log_gets_a_plain_line_every_few_seconds(monkeypatch):
    monkeypatch.setattr(progress, "LOG", 0.0)
    stream = io.StringIO()
    with progress.shown(stream) as line:
        run = session()
        run.open((line,))
        while run.ledger is not None:
            for i in run.ledger.wanted:
                run.hear(zolal.evaluation.faults.Answer(i, 1.0))
            run.settle()
    lines = stream.getvalue().splitlines()
    assert len(lines) > 10
    assert all(text.startswith("zolal ") and " evaluations" in text for text in lines)
    assert run.result.status.sentence in lines[-1]


def test_minimize_shows_progress_on_stderr_alone(capfd, monkeypatch):
    monkeypatch.setattr(progress, "LOG", 0.0)
    zolal.minimize(lambda x: float(x @ x), np.ones(2), rng=0, maxfev=200, progress=True, options=dict(step_size=0.1))
    out, err = capfd.readouterr()
    assert out == ""
    assert "of 200 evaluations" in err
