"""`zolal demo`: the main job on an embedded problem."""

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from zolal.cli._console import console
from zolal.cli._pages import write_page
from zolal.minimize import minimize
from zolal.problem import Problem
from zolal.problems import inventory
from zolal.result import Result


def demo(seed: int = 0, maxfev: int = 6_000, out: Path = Path("zolal-demo")) -> None:
    """Find a shop's stock levels from a noisy simulator, under three exact constraints, and make the page of the run.

    The run is kept in the folder --out, which takes the place of an earlier demo's.
    """
    problem = inventory()
    print("A shop's daily stock of 30 products. A simulator returns the cost of 20 random days; there are no gradients.")
    print("Exact constraints: budget (equality), volume (inequality), diversity of the range (nonlinear inequality).\n", flush=True)
    _make_room(out)
    started = time.perf_counter()
    show = sys.stderr.isatty()
    result = minimize(problem, maxfev=maxfev, rng=seed, tol=1e-2, progress=show, checkpoint=out, options=dict(kkt_directions=200))
    seconds = time.perf_counter() - started
    write_page(out, out / "report.html")
    _show(problem, result, seconds)
    _compare(problem, result)
    print(f"The run is kept in {out}, its page is {(out / 'report.html').resolve()}")


def _make_room(folder: Path) -> None:
    """Remove the run of an earlier demo, and nothing else."""
    if (folder / "run.json").is_file():
        shutil.rmtree(folder)


def _show(problem: Problem, result: Result, seconds: float) -> None:
    from rich.table import Table

    budget, volume, diversity = (float(part.value_at(result.x)[0]) for part in problem.equalities(result.x).parts)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("stock found", f"{result.x.min():.2f} to {result.x.max():.2f} days of demand (1.20 of each product at the start)")
    table.add_row("cost per day", f"{result.fun:.2f} +- {result.fun_error:.2f}")
    table.add_row("budget", f"{budget:.4f}    must be 1.2")
    table.add_row("volume", f"{volume:.4f}    at most 1.15")
    table.add_row("diversity", f"{diversity:.4f}    at least 0.75")
    table.add_row("largest violation", f"{result.maxcv:.1e}")
    table.add_row("multipliers", ", ".join(f"{name} {value:.2f}" for name, value in result.named_multipliers.items()))
    table.add_row("KKT", str(result.kkt))
    table.add_row("evaluations", f"{result.nfev} in {result.nit} steps, {seconds:.1f} s")
    table.add_row("ended", result.status.sentence)
    console().print(table)


def _compare(problem: Problem, result: Result) -> None:
    draw: Any = problem.sample
    rng = np.random.default_rng(1)
    demands = np.concatenate([draw(rng) for _ in range(500)])
    before, after = (problem.objective(x, demands) for x in (problem.x0, result.x))
    print(f"\nOver 500 fresh simulations: {before:.2f} a day at the start, {after:.2f} with the stock found.")
