"""Each example runs as its first lines say, and what it finds is near a solution known by other means."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import zolal
from command import called
from review_tools import seeds

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solved(name, maxfev, seed):
    module = load(name)
    return module, zolal.minimize(module.problem(), maxfev=maxfev, rng=seed)


@seeds((6,), (0, 1))
def test_queueing_finds_the_square_root_rule(seed):
    """For a long day the mean time is sum 1/(speed - 1), which Kleinrock's rule minimises under the budget."""
    module, res = solved("queueing", 2_500, seed)
    root = np.sqrt(module.COST)
    best = 1.0 + (module.BUDGET - module.COST.sum()) / (root * root.sum())
    assert best[2:].sum() < 3.8  # so that the other constraint does not matter
    np.testing.assert_allclose(res.x, best, atol=0.12)
    assert res.maxcv < 1e-6


def test_the_queueing_simulator_counts_as_a_naive_one_does():
    module = load("queueing")
    gaps, work = module.draw(np.random.default_rng(0))
    speed, free, total = np.array([1.5, 2.0, 1.2, 3.0]), np.zeros(4), 0.0
    for n, arrival in enumerate(np.cumsum(gaps)):
        now = arrival
        for desk in range(4):
            now = free[desk] = max(now, free[desk]) + work[desk, n] / speed[desk]
        total += now - arrival
    assert module.time_in_office(speed, (gaps, work)) == pytest.approx(total / gaps.size, rel=1e-12)


@seeds((3,), (0,))
def test_portfolio_has_the_risk_agreed_to_and_nearly_the_best_growth(seed):
    module, res = solved("portfolio", 4_000, seed)
    assert np.sqrt(res.x @ module.COVARIANCE @ res.x) == pytest.approx(module.RISK, rel=1e-6)
    assert res.x.min() >= 0
    assert res.x.sum() == pytest.approx(1.0, abs=1e-9)

    def growth(weights):  # of a year, to the second order
        return module.MEAN @ weights - 0.5 * weights @ module.COVARIANCE @ weights

    rules = [dict(type="eq", fun=lambda w: w.sum() - 1.0), dict(type="eq", fun=lambda w: module.risk(w) - 1.0)]
    best = minimize(lambda w: -growth(w), module.problem().x0, bounds=[(0, 1)] * module.ASSETS, constraints=rules)
    assert growth(res.x) > -best.fun - 0.004 > growth(module.problem().x0) + 0.05


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_advertising_sells_nearly_as_much_as_exact_gradients_would(seed):
    module, res = solved("advertising", 2_000, seed)
    model = module.SalesModel()
    model.line = type("GoodLine", (), {"random": lambda self: 1.0})()
    rules = [dict(type="eq", fun=lambda x: x.sum() - 1.0), dict(type="ineq", fun=lambda x: x[: module.REGIONAL].sum() - 0.3)]
    start = module.problem().x0
    best = minimize(lambda x: -model.predict(x), start, bounds=[(0, 1)] * module.CHANNELS, constraints=rules)
    assert model.predict(res.x) > -best.fun - 0.05 > model.predict(start)
    assert res.success
    assert res.maxcv < 1e-9
    assert sum(count for _, count in res.failures) > 0


@pytest.mark.parametrize("name", ["queueing", "portfolio", "advertising"])
def test_the_command_of_an_example_runs(name, tmp_path, monkeypatch):
    line = re.search(r"^    zolal (solve .*)$", (EXAMPLES / f"{name}.py").read_text(), flags=re.M).group(1)
    words = re.sub(r"--maxfev \d+", "--maxfev 600", line).replace("runs/", f"{tmp_path}/").split()
    monkeypatch.chdir(EXAMPLES.parent)
    done = called(*words)
    done.check_returncode()
    assert ("CONVERGED" if name == "advertising" else "MAX_EVALUATIONS") in done.stdout
    assert (tmp_path / name / "result.json").exists()


def in_folder(folder):
    return [sys.executable, str(EXAMPLES / "file_queue.py"), str(folder)]


def test_a_queue_of_files_survives_kills_of_the_optimizer_and_of_a_worker(tmp_path):
    module = load("file_queue")
    whole = subprocess.run(in_folder(tmp_path / "whole"), capture_output=True, text=True, check=True, timeout=200).stdout
    assert "mixture" in whole
    queue = tmp_path / "queue"
    child = subprocess.Popen(in_folder(queue), stdout=subprocess.PIPE, text=True, start_new_session=True)
    trace = queue / "run" / "trace.jsonl"
    while not trace.exists() or trace.read_text().count("\n") < 5:
        assert child.poll() is None
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)  # the optimizer and both workers
    child.communicate()
    again = subprocess.run(in_folder(queue), capture_output=True, text=True, check=True, timeout=200).stdout
    assert again == whole
    found = np.array(re.search(r"\[(.*?)\]", whole).group(1).split(), dtype=float)
    np.testing.assert_allclose(found, module.TARGET + (3.0 - module.TARGET.sum()) / 6, atol=0.1)


def test_the_valleys_end_in_a_picture(tmp_path, monkeypatch):
    module = load("scipy_valleys")
    monkeypatch.setattr(module, "HOPS", 1)
    x, calls = module.ends("zolal", 0)
    assert x @ x <= 2.25 + 1e-9
    assert calls <= 2 * module.CALLS
    slope = np.array([0.3 * x[0] + 0.1 + 2 * np.sin(4 * x[0]), 0.3 * x[1] + 2 * np.sin(4 * x[1] + 1)])
    assert np.linalg.norm(slope - min(0.0, slope @ x / 2.25) * x * (x @ x > 2.24)) < 0.6  # where a slope is 2 as a rule
    module.draw({"zolal": [x], "again": [x]}, tmp_path / "valleys.png")
    assert (tmp_path / "valleys.png").read_bytes().startswith(b"\x89PNG")


def test_forward_only_keeps_the_kl_and_beats_mezo(tmp_path):
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'zolal[torch]'")
    module = load("forward_only")
    first = module.first_model()
    bound, free = (module.curve(method, first, forwards=2_700, marks=5) for method in (module.forward_only, module.mezo))
    assert bound[0][1] > 2.0
    assert bound[-1][1] < 0.15
    assert bound[-1][2] <= module.BOUND < free[-1][2]
    assert bound[-1][1] < free[-1][1]
    module.picture({"zolal": bound, "MeZO": free}, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_price_of_fairness_ends_in_a_picture(tmp_path):
    pytest.importorskip("sklearn.base")
    module = load("fair_classifier")
    found = module.compared(600, (0.05,), maxfev=25)
    assert found[None][0][1] > 0.1
    assert found[0.05][0][1] <= 0.05
    module.draw(found, tmp_path / "fairness.png")
    assert (tmp_path / "fairness.png").read_bytes().startswith(b"\x89PNG")


def test_attacks_keep_their_constraints_and_end_in_a_picture(tmp_path):
    pytest.importorskip("art.estimators")
    module = load("attack_constraints")
    clean, labels, found = module.attacked_digits()
    for changed, answers, _ in found.values():
        assert np.all(answers != labels)
        assert 0.0 <= changed.min() <= changed.max() <= 1.0
    assert np.abs((found["same brightness"][0] - clean).sum(axis=(1, 2, 3), dtype=float)).max() < 1e-4
    assert np.sum(np.abs(found["few pixels"][0] - clean) > 1e-6, axis=(1, 2, 3)).max() < 20
    *_, second = module.models()
    assert np.array_equal(second.predict(found["second model unmoved"][0].reshape(3, -1)), labels)
    module.draw(clean, labels, found, tmp_path / "attack.png")
    assert (tmp_path / "attack.png").read_bytes().startswith(b"\x89PNG")
