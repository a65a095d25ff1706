"""Asynchronous runs with eight workers whose evaluation times are log-normal: how many evaluations they need, and how busy they are.

python benchmarks/asynchronous.py [seeds] [first seed]

The first table counts evaluations until f at the point that would be returned is near its least value, beside those of a run with one
worker; clocks are simulated, the order of arrivals is that of the times. The second runs real processes that sleep, and
says which share of the time they are busy.
"""

import heapq
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.optimize import minimize as scipy_minimize
from scipy.special import logsumexp

import zolal

WORKERS, SIGMA = 8, 1.0
SECONDS = 0.5  # the median time of a real evaluation
BUDGET = 20  # evaluations per variable and one more
NOISY_GOALS, GOALS = (1e-1, 1e-2), (1e-2, 1e-3)  # of what f can fall by


class Task(NamedTuple):
    """A smooth convex function under equalities."""

    fun: Callable[[np.ndarray], float]
    start: np.ndarray
    matrix: np.ndarray
    least: float

    @property
    def constraints(self) -> list[LinearConstraint]:
        right = self.matrix @ self.start
        return [LinearConstraint(self.matrix, right, right)]


def task(family: str, d: int, seed: int) -> Task:
    rng = np.random.default_rng([d, seed, 0xA5])
    solution, start = rng.standard_normal(d), np.zeros(d)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    rows = rng.standard_normal((2 * d, d)) / np.sqrt(d)
    curvature = np.geomspace(1.0, 30.0, d)
    functions = {
        "quadratic": lambda x: float(0.5 * curvature @ (rotation.T @ (x - solution)) ** 2),
        "log-sum-exp": lambda x: float(logsumexp(np.concatenate([rows @ (x - solution), -rows @ (x - solution)])) + 0.05 * x @ x),
        "exp": lambda x: float(np.sum(np.cosh(rotation.T @ (x - solution)))),
    }
    fun, matrix = functions[family], rng.standard_normal((d // 10, d))
    basis = np.linalg.svd(matrix)[2][len(matrix) :].T
    found = scipy_minimize(lambda t: fun(basis @ t), np.zeros(basis.shape[1]), method="BFGS", options=dict(gtol=1e-7))
    return Task(fun, start, matrix, float(found.fun))


def needed(given: Task, workers: int, noise: float, seed: int) -> dict[float, int]:
    """Evaluations until f at the iterate is so near to its least value."""
    rng, span = np.random.default_rng([seed, 0xA6]), given.fun(given.start) - given.least
    left, found, done, now = set(NOISY_GOALS if noise else GOALS), dict[float, int](), 0, 0.0
    budget = BUDGET * (len(given.start) + 1)
    opt = zolal.Optimizer(None, given.start, constraints=given.constraints, rng=seed, tol=1e-9, maxfev=budget, asynchronous=workers > 1)
    under_way: list[Any] = []
    while left and not opt.done:
        asked = (opt.ask() if workers == 1 else opt.ask(workers - len(under_way))) if len(under_way) < workers else None
        for query in asked or ():
            heapq.heappush(under_way, (now + rng.lognormal(0.0, SIGMA), query.key, query.point))
        if not under_way:
            break
        told = [heapq.heappop(under_way) for _ in range(1 if workers > 1 else len(under_way))]
        now, done = told[-1][0], done + len(told)
        opt.tell({key: given.fun(point) + noise * span * rng.standard_normal() for _, key, point in told})
        value = given.fun(np.asarray(opt._session.state.x))
        for goal in [goal for goal in left if value <= given.least + goal * span]:
            found[goal] = done
            left.remove(goal)
    return found


def counted(seeds: range) -> None:
    print("d    noise  function     to      one worker  eight   ratio   range of ratios")
    for d in (20, 200):
        for noise in (0.0, 1e-2):
            for family in ("quadratic", "log-sum-exp", "exp"):
                runs = []
                for seed in seeds if d < 100 else seeds[: max(1, len(seeds) // 3)]:
                    given = task(family, d, seed)
                    runs.append((needed(given, 1, noise, seed), needed(given, WORKERS, noise, seed)))
                for goal in NOISY_GOALS if noise else GOALS:
                    pairs = np.array([(one.get(goal, np.inf), eight.get(goal, np.inf)) for one, eight in runs])
                    ratios = pairs[:, 1] / pairs[:, 0]
                    one, eight = np.median(pairs, axis=0)
                    spread = f"{np.nanmin(ratios):.2f} to {np.nanmax(ratios):.2f}"
                    print(
                        f"{d:<4} {noise:<6g} {family:<12} {goal:<7g} {one:<11.0f} {eight:<7.0f} {np.nanmedian(ratios):<7.2f} {spread}",
                        flush=True,
                    )


def throughput(seed: int) -> None:
    print("\nd    evaluations  seconds  workers busy, from the second evaluation's start to the last one's  over the whole run")
    for d in (20, 200):
        given = task("exp", d, seed)
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "times"

            def slow(x: np.ndarray, given: Task = given, log: Path = log) -> float:
                seconds = SECONDS * float(np.random.default_rng(list(x.tobytes())).lognormal(0.0, SIGMA))
                begun = time.monotonic()
                time.sleep(seconds)
                with log.open("a") as file:
                    file.write(f"{begun} {time.monotonic()}\n")
                return given.fun(x)

            started = time.monotonic()
            budget = 600 if d < 100 else 800
            res = zolal.minimize(slow, given.start, workers=WORKERS, asynchronous=True, rng=seed, tol=1e-12, maxfev=budget)
            elapsed, times = time.monotonic() - started, np.loadtxt(log)
        first, last = np.sort(times[:, 0])[[1, -1]]
        busy = np.sum(np.maximum(np.minimum(times[:, 1], last) - np.maximum(times[:, 0], first), 0.0)) / (WORKERS * (last - first))
        whole = np.sum(times[:, 1] - times[:, 0]) / (WORKERS * elapsed)
        print(f"{d:<4} {res.nfev:<12} {elapsed:<8.1f} {busy:<74.2f} {whole:.2f}", flush=True)


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    counted(range(first, first + (int(sys.argv[1]) if len(sys.argv) > 1 else 6)))
    throughput(first)
