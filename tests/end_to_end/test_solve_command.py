"""`zolal solve` and `zolal report`, as a user runs them on a file of theirs."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest

import zolal
from command import COMMAND, called, started

FILE = """
import os
import time
import numpy as np
import zolal
from scipy.optimize import NonlinearConstraint
from target import TARGET

OPTIONS = dict(step_size=lambda k: 0.05 / (1 + k / 50), num_directions=4)
NUMBER = 3


def fun(x, xi):
    time.sleep(float(os.environ.get("PAUSE", "0")))  # no global: a run is refused where one has changed
    return float((x - TARGET) @ (x - TARGET) + 0.1 * xi @ x)


def energy(x):
    return x @ x


def problem():
    constraint = NonlinearConstraint(energy, -np.inf, 1.0, jac=lambda x: 2 * x)
    return zolal.Problem(fun, 3, constraint, sample=lambda rng: rng.normal(size=3), x0=np.full(3, 0.4))


instance = problem()
named = zolal.Problem(
    lambda x: (x["price"] - 2) ** 2 + x["count"] ** 2,
    2,
    {"budget": NonlinearConstraint(lambda x: x["price"], -np.inf, 1.0)},
    x0={"price": 0.0, "count": 1.0},
)


def broken():
    raise RuntimeError("no data")


def failing():
    return zolal.Problem(lambda x: 1 / 0, 3, x0=np.zeros(3))


def queue():
    rng = np.random.default_rng(0)
    line = zolal.Constraint(lambda x: x[0] - x[1], -1.0, 1.0, name="line")
    wait = zolal.Simulated(upper=2.0, name="wait")
    fun = lambda x: (x @ x, [3.0 - x[0] + 0.05 * rng.normal()])
    return zolal.Problem(fun, 2, constraints=[line, wait], x0=np.array([-3.0, -3.0]))
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "model.py").write_text(FILE)
    (folder / "target.py").write_text("import numpy as np\nTARGET = np.array([1.0, 0.5, -0.5])\n")
    return folder / "model.py"


@pytest.fixture(scope="module")
def whole(file):
    """What the run prints that nothing interrupts, made by the process itself."""
    return solve(*common(file), "--json").stdout


def solve(*arguments, check=True):
    return started("solve", *arguments, check=check)


def common(file, name="problem", option="step_size=0.05"):
    return f"{file}:{name}", "--maxfev", 300, "--option", option, "--option", "num_directions=4", "--seed", 3


def expected(file):
    """The same run from Python."""
    sys.path.insert(0, str(file.parent))
    names = {"__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    sys.path.remove(str(file.parent))
    sys.modules.pop("target")
    return zolal.minimize(names["problem"](), maxfev=300, rng=3, options=dict(step_size=0.05, num_directions=4))


@pytest.mark.parametrize("name", ["problem", "instance"])
def test_solve_gives_the_result_of_minimize(file, name, tmp_path):
    reference = expected(file)
    done = solve(*common(file, name), "--json", "--out", tmp_path / "result.json")
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "result.json").read_text())
    np.testing.assert_array_equal(found["x"], reference.x)
    assert (found["fun"], found["nfev"], found["status"]) == (reference.fun, reference.nfev, reference.status.name)
    np.testing.assert_array_equal(found["multipliers"], reference.multipliers)
    assert found["constraints"][0]["name"] == "energy"


def test_outputs_are_shown_with_their_errors_and_probabilities(file, tmp_path):
    done = solve(f"{file}:queue", "--maxfev", 30, "--seed", 0, "--confidence", 0.9, "--checkpoint", tmp_path / "run")
    line, wait = (re.search(rf"^{name} .*$", done.stdout, flags=re.M).group(0).strip() for name in ("line", "wait"))
    assert line.endswith("exact")
    assert re.search(r" \+- 0\.0\d+ .* (0\.\d+|1)$", wait)
    started("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "<th>holds with probability</th>" in page
    assert re.search(r"<td>wait</td>.*<td>[\d.]+ ± 0\.0\d+</td>.*<td>(0\.\d+|1)</td></tr>", page)


def test_solve_prints_the_result_and_says_where_the_run_is_kept(file, tmp_path):
    done = solve(*common(file), "--checkpoint", tmp_path / "run")
    for words in ("MAX_EVALUATIONS", "objective", "energy", "multiplier", "seed 3", "zolal report"):
        assert words in done.stdout
    assert "evaluations" in done.stderr  # the progress line
    page = called("report", tmp_path / "run")
    assert Path(page.stdout.strip()) == tmp_path / "run" / "report.html"
    assert "<svg" in (tmp_path / "run" / "report.html").read_text()


def test_solve_prints_the_names_of_variables_and_constraints(file):
    done = called("solve", f"{file}:named", "--maxfev", "60", "--seed", "3", "--no-progress")
    assert re.search(r"x +price 1(\.0+\d*)?, count", done.stdout)
    assert re.search(r"^budget +-inf", done.stdout, flags=re.M)


def test_solve_takes_options_from_the_file_and_flags_win(file):
    both = ["solve", f"{file}:problem", "--maxfev", "300", "--seed", "3", "--json", "--no-progress", "--options", "OPTIONS"]
    with_flag = json.loads(called(*both, "--option", "step_size=0.05").stdout)["x"]
    assert json.loads(called(*both).stdout)["x"] != with_flag
    np.testing.assert_array_equal(with_flag, expected(file).x)


def test_workers_do_not_change_the_result(file, whole):
    assert solve(*common(file), "--json", "--workers", 2).stdout == whole


def test_a_dask_scheduler_evaluates_functions_that_its_workers_cannot_import(tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    file = tmp_path / "alone.py"
    file.write_text(FILE.replace("from target import TARGET", "TARGET = np.array([1.0, 0.5, -0.5])"))
    local = dict(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with distributed.LocalCluster(**local) as cluster:
        done = solve(*common(file), "--json", "--dask", cluster.scheduler_address)
    assert done.stdout == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_exits_with_130_and_resumes_to_the_same_result(file, whole, tmp_path, number):
    arguments = [*common(file), "--json", "--checkpoint", tmp_path / "run"]
    child = subprocess.Popen(
        [COMMAND, "solve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PAUSE": "0.1"},
    )
    trace = tmp_path / "run" / "trace.jsonl"
    while not trace.exists() or not trace.read_text():
        assert child.poll() is None, child.communicate()
        time.sleep(0.05)
    child.send_signal(number)
    stdout, stderr = child.communicate(timeout=120)
    assert child.returncode == 130
    assert json.loads(stdout)["status"] == "INTERRUPTED"
    assert "Traceback" not in stderr
    assert solve(*arguments, "--resume").stdout == whole


def test_a_run_that_fails_exits_with_1(file):
    done = solve(*common(file, "failing"), check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stdout


BAD = {
    "no name": ("{file}", "must be named as FILE.py:NAME, got"),
    "no file": ("{file}x:problem", "The problem's file must exist, got"),
    "no such name": ("{file}:nothing", "must define 'nothing', got only"),
    "no problem": ("{file}:NUMBER", "must be a zolal.Problem or a function that returns one, got 3"),
    "raises": ("{file}:broken", "broken() of "),
}


@pytest.mark.parametrize(("target", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_target_is_one_sentence(file, target, sentence):
    done = called("solve", target.format(file=file), "--option", "step_size=0.1")
    assert done.returncode == 2
    assert done.stderr.startswith("zolal: ")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


BAD_FLAGS = {
    "option": (["--option", "step_size"], "`--option` must be NAME=VALUE, got 'step_size'"),
    "options": (["--options", "NUMBER"], "`--options` must name a dict in the problem's file, got 'NUMBER'"),
    "geometry": (
        ["--option", "step_size=0.1", "--geometry", "round"],
        "`geometry` must be a number p >= 2, a MirrorMap or 'auto', got 'round'",
    ),
    "both": (["--workers", "2", "--dask", "tcp://127.0.0.1:1"], "Give `--workers` or `--dask`, not both"),
    "on-error": (["--option", "step_size=0.1", "--on-error", "cry"], "`on_error` must be one of"),
}


@pytest.mark.parametrize(("flags", "sentence"), BAD_FLAGS.values(), ids=BAD_FLAGS)
def test_a_bad_flag_is_one_sentence(file, flags, sentence):
    done = called("solve", f"{file}:problem", *flags)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_result_that_cannot_be_written_is_one_sentence(file, tmp_path):
    done = called("solve", *common(file), "--no-progress", "--out", tmp_path / "no" / "result.json")
    assert done.returncode == 2
    assert "`--out` must be a file that can be written, got" in done.stderr


def test_words_among_the_options_are_words(file):
    done = called("solve", *common(file), "--no-progress", "--option", "directions=gaussian", "--json")
    assert done.returncode == 0
    assert done.stdout != called("solve", *common(file), "--no-progress", "--json").stdout


def test_a_file_that_does_not_run_is_one_sentence(tmp_path):
    (tmp_path / "bad.py").write_text("import nothing_of_that_name\n")
    done = called("solve", f"{tmp_path}/bad.py:problem")
    assert done.returncode == 2
    assert "cannot be loaded: ModuleNotFoundError: No module named 'nothing_of_that_name'" in done.stderr


def test_a_report_of_nothing_is_one_sentence(tmp_path):
    done = called("report", tmp_path)
    assert done.returncode == 2
    assert "must be the folder of a run, got" in done.stderr


def test_a_terminal_gets_a_live_line(file):
    """In a real pseudo-terminal of the usual width: the line is redrawn in place and tells what it should."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen(
        [COMMAND, "solve", *map(str, common(file))],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"PAUSE": "0.004", "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert child.wait() == 0
    text = shown.decode()
    frames = [" ".join(frame.split()) for frame in text.replace("\x1b[1A", "").split("\x1b[2K") if frame.strip()]  # lines that were erased
    assert len(frames) > 5
    told = r"\d+ of 300 evaluations [\d.]+/s \d+:\d\d left objective \S+ violation \S+ residual \S+"
    assert any(re.fullmatch(told, frame) for frame in frames)
