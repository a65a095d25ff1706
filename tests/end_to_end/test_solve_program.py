"""`zolal solve --command`: programs of any language, as a user starts them, and the examples of them."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint

import zolal
from command import COMMAND, called, started

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "command"
BOWL = "awk -F '[][,]' '{ a = $2 - 1; b = $3 + 0.5; printf \"%.17g\", a * a + b * b }'"
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.fixture
def bowl(tmp_path):
    (tmp_path / "bowl.json").write_text('{"x0": [0, 0], "constraints": {"sum": {"weights": [1, 1], "lower": 0, "upper": 0}}}')
    return tmp_path / "bowl.json"


@pytest.fixture(scope="module")
def suspension():
    spec = importlib.util.spec_from_file_location("example_suspension", EXAMPLES / "suspension.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_constrained_minimum_is_found(bowl):
    done = called("solve", bowl, "--command", BOWL, "--maxfev", 40, "--seed", 0, "--json", "--no-progress")
    assert done.returncode == 0
    assert_allclose(json.loads(done.stdout)["x"], [0.75, -0.75], atol=1e-3)


def test_a_program_that_fails_is_exit_code_1_and_one_that_is_not_there_2(bowl):
    done = called("solve", bowl, "--command", "sh -c 'echo no licence >&2; exit 3'", "--no-progress")
    assert done.returncode == 1
    assert "exit code 3: no licence" in " ".join(done.stdout.split())
    done = called("solve", bowl, "--command", "./nowhere", "--no-progress")
    assert (done.returncode, "got './nowhere'" in done.stderr) == (2, True)


def test_a_timeout_is_that_of_the_program(bowl):
    flags = ("--timeout", 0.3, "--retries", 0, "--no-progress")
    begun = time.monotonic()
    done = called("solve", bowl, "--command", "sleep 300", *flags)
    assert done.returncode == 1
    assert "longer than timeout=0.3 s" in " ".join(done.stdout.split())
    assert time.monotonic() - begun < 60


def test_workers_and_checkpoints_do_not_change_the_result(bowl, tmp_path):
    flags = ("--command", BOWL, "--seed", 0, "--json", "--no-progress", "--option", "step_size=0.1", "--option", "num_directions=2")
    whole = called("solve", bowl, *flags, "--maxfev", 60).stdout
    assert called("solve", bowl, *flags, "--maxfev", 60, "--workers", 2).stdout == whole
    called("solve", bowl, *flags, "--maxfev", 30, "--checkpoint", tmp_path / "run")
    assert called("solve", bowl, *flags, "--maxfev", 60, "--checkpoint", tmp_path / "run", "--resume").stdout == whole


def test_an_interrupted_run_exits_with_130(bowl, tmp_path):
    slow = f"sh -c 'echo $$ > {tmp_path}/child; exec sleep 300'"
    run = subprocess.Popen([COMMAND, "solve", str(bowl), "--command", slow, "--no-progress"], stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
        assert run.poll() is None
        time.sleep(0.05)
    run.terminate()
    assert "INTERRUPTED" in run.communicate(timeout=60)[0]
    assert run.returncode == 130
    state = subprocess.run(["ps", "-o", "stat=", "-p", (tmp_path / "child").read_text().strip()], capture_output=True, text=True).stdout
    assert not state.strip() or state.startswith("Z")


def test_the_mix_of_the_how_to_page_runs_as_written(monkeypatch):
    page = (ROOT / "docs/how-to/command.md").read_text()
    assert json.loads(re.search(r"```json\n(.*?)```", page, flags=re.S).group(1)) == json.loads((EXAMPLES / "mix.json").read_text())
    line = re.search(r'^zolal (solve mix\.json .*)--command "(.*?)" (.*)$', page, flags=re.M)
    monkeypatch.chdir(EXAMPLES)
    done = called(*line.group(1).split(), "--command", line.group(2), *line.group(3).split(), "--no-progress", "--json")
    found = json.loads(done.stdout)
    assert found["status"] == "CONVERGED"
    shares = np.array(found["x"])
    best = max(
        -strength(np.array([c, 1 - c - w, w])) for c in np.linspace(0.2, 0.25, 101) for w in np.linspace(0.05, 0.12, 141) if price(c, w)
    )
    assert -strength(shares) > best - 0.1
    assert shares.sum() == pytest.approx(1.0)
    assert 90 * shares[0] + 10 * shares[1] <= 28 + 1e-6


@pytest.mark.parametrize("seed", [0, 1, 165, 367])
def test_whatever_its_noise_the_mix_ends_with_success(seed):
    """At the solution the price holds the mix back. With 165 and 367 all looks went along it, and no claim was sure that it does."""
    rng = np.random.default_rng(seed)
    rows = LinearConstraint([[1.0, 1.0, 1.0], [90.0, 10.0, 0.0]], [1.0, -np.inf], [1.0, 28.0])
    bounds = [(0.1, 0.35), (0.4, 0.8), (0.03, 0.3)]

    def measured(shares):
        return strength(shares) + 0.03 * (rng.random(12).sum() - 6.0)

    found = zolal.minimize(measured, [0.2, 0.7, 0.1], bounds=bounds, constraints=rows, maxfev=150, tol=0.03, rng=0)
    assert found.status.name == "CONVERGED"


def strength(shares):
    """What the script computes, without its noise."""
    cement, sand, water = shares
    ratio, gravel = water / cement, (sand - 0.62) / 0.3
    return -60 * np.exp(-1.5 * ratio) * (1 - np.exp(-6 * ratio)) * (1 - gravel**2) * (0.6 + cement)


def price(cement, water):
    return 90 * cement + 10 * (1 - cement - water) <= 28


@pytest.mark.slow
@needs_compiler
def test_the_simulator_in_c_runs_as_the_example_says(suspension, tmp_path):
    lines = re.findall(r"^    ((?:cc|zolal) .*)$", (EXAMPLES / "suspension.py").read_text(), flags=re.M)
    subprocess.run(lines[0].replace("-o suspension", f"-o {tmp_path}/suspension"), shell=True, check=True, cwd=ROOT)
    command = lines[1].replace("./suspension", f"{tmp_path}/suspension").replace("--maxfev 400", "--maxfev 240 --json --no-progress")
    done = subprocess.run(
        command.replace("zolal ", f"{COMMAND} "), shell=True, check=True, cwd=ROOT, capture_output=True, text=True, env=os.environ
    )
    assert json.loads(done.stdout)["fun"] < 2.5  # 3.6 at the start
    assert started("solve", EXAMPLES / "suspension.json", "--command", f"{tmp_path}/suspension").returncode == 1  # told its usage


@needs_compiler
def test_the_example_in_c_ends_in_a_picture(suspension, tmp_path):
    simulate = suspension.compiled(tmp_path)
    res, tried = suspension.solved(simulate, 240)
    assert simulate(res.x, 5) < 0.7 * simulate(np.array(suspension.START), 5)
    assert np.all(tried.sum(axis=1) <= suspension.PRICE + 0.2)
    suspension.draw(simulate, res, tried, tmp_path / "picture.png", points=4)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
