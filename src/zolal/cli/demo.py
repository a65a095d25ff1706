"""`zolal demo`: the main job on an embedded problem."""

import math
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from zolal.cli._console import console
from zolal.cli._pages import write_page
from zolal.doors.minimize import minimize
from zolal.problem import Problem
from zolal.problems import corner_shop
from zolal.result import Result

TOL = 5e-2  # of the largest gradient: what a few hundred noisy simulations can show


def demo(seed: int = 0, maxfev: int = 3_000, out: Path = Path("zolal-demo")) -> None:
    """Find a shop's stock levels from a noisy simulator, under four exact constraints, and make the page of the run.

    The run is kept in the folder --out, which takes the place of an earlier demo's.
    """
    problem = corner_shop(seed=seed)
    print("A corner shop's daily stock of six goods. A simulator returns the mean cost of 1,000 random days; there are no gradients.")
    print("Exact constraints: budget and shelf (inequalities), fresh goods (an equality), variety (a nonlinear inequality).\n", flush=True)
    _make_room(out)
    started = time.perf_counter()
    show = sys.stderr.isatty()
    result = minimize(problem, maxfev=maxfev, rng=seed, tol=TOL, progress=show, checkpoint=out)
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

    table = Table(show_header=False, box=None, pad_edge=False)
    stock = ", ".join(f"{name} {days:.2f}" for name, days in zip(result.names, result.x, strict=True))
    table.add_row("stock found", f"{stock} (days of mean demand; 0.40 of each at the start)")
    table.add_row("cost per day", f"{result.fun:.2f} +- {result.fun_error:.2f}")
    for row in result.constraints:
        table.add_row(row["name"], f"{round(row['value'], 4) + 0.0:.4f}    {_asked(row)}")
    for row, error in zip(result.constraints, result.multiplier_errors, strict=True):
        if sentence := _price(row, float(error)):
            table.add_row("price", sentence)
    table.add_row("evaluations", f"{result.nfev} in {result.nit} steps, {seconds:.1f} s")
    table.add_row("success" if result.success else "no success", result.message)
    console().print(table)


def _asked(row: dict[str, Any]) -> str:
    low, high = row["lower"], row["upper"]
    return f"must be {low:g}" if low == high else f"at most {high:g}" if math.isfinite(high) else f"at least {low:g}"


def _price(row: dict[str, Any], error: float) -> str:
    """What the bound of a constraint costs: f's least value changes by minus the multiplier times the change of the bound."""
    price = row["multiplier"]
    if row["lower"] == row["upper"] or not abs(price) > 2.0 * error:
        return ""
    saved = f"{0.1 * abs(price):.2f} +- {0.1 * error:.2f} a day"
    return f"0.1 more of {row['name']} saves {saved}" if price > 0.0 else f"0.1 more of {row['name']}, if asked for, costs {saved}"


def _compare(problem: Problem, result: Result) -> None:
    before, after = (np.mean([problem.objective(x) for _ in range(500)]) for x in (problem.x0, result.x))
    print(f"\nOver 500 fresh simulations: {before:.2f} a day at the start, {after:.2f} with the stock found.")
