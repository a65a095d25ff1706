"""A long run on a Dask cluster: memory of client, scheduler and workers, the size of the run's folder, and how long it takes to resume.

python benchmarks/dask_scale.py                      # 10^6 evaluations
python benchmarks/dask_scale.py 100000 --directions 32
"""

import argparse
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster

import zolal

DIMENSION = 50
ROWS = 20  # of the table
WARM = 0.2  # of the run, after which memory is to be flat
FAILING = 0.01  # of the evaluations
TARGET = np.linspace(-1.0, 1.0, DIMENSION)
BUDGET = dict(type="eq", fun=lambda x: x @ x - 5.0, jac=lambda x: 2 * x)


def cheap(x: np.ndarray, xi: np.ndarray) -> float:
    """A noisy evaluation that takes microseconds, so that all that is measured is what the run costs by itself; some fail."""
    return float((x - TARGET) @ (x - TARGET) + xi[1:] @ x) if xi[0] > FAILING else np.nan


def sample(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.random(1), 0.1 * rng.standard_normal(DIMENSION)])


@dataclass
class Watch:
    """A callback that looks at everybody's memory and at the folder every so often, and ends the run after so many evaluations."""

    folder: Path
    others: dict[str, psutil.Process]
    per_step: int
    evaluations: int
    seen: list[tuple[float, ...]] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def __call__(self, state: Any) -> bool:
        done = state.k * self.per_step
        if done >= len(self.seen) * self.evaluations / ROWS:
            memory = [process.memory_info().rss for process in (psutil.Process(), *self.others.values())]
            size = sum(path.stat().st_size for path in self.folder.iterdir())
            self.seen.append((done, time.perf_counter() - self.started, *memory, size))
            print("".join(f"{value:>14}" for value in self._row()), flush=True)
        return done >= self.evaluations

    @property
    def columns(self) -> list[str]:
        return ["evaluations", "per second", *(f"{name}, MB" for name in ("client", *self.others)), "folder, MB"]

    def _row(self) -> list[str]:
        done, seconds, *sizes = self.seen[-1]
        return [f"{done:,.0f}", f"{done / seconds:,.0f}", *(f"{size / 1e6:.2f}" for size in sizes)]

    def slopes(self) -> list[float]:
        """Megabytes per 10^5 evaluations after the warm-up, by least squares, of each process and of the folder."""
        seen = np.array([row for row in self.seen if row[0] >= WARM * self.evaluations])
        return [float(np.polyfit(seen[:, 0] / 1e5, column / 1e6, 1)[0]) for column in seen[:, 2:].T]


def arguments(directions: int) -> dict[str, Any]:
    options = dict(step_size=1e-3, num_directions=directions)
    return dict(constraints=BUDGET, sample=sample, on_error="skip", tol=1e-12, rng=0, options=options)


def members(client: Client) -> dict[str, psutil.Process]:
    """The processes of the cluster."""
    found = {"scheduler": client.run_on_scheduler(os.getpid)}
    found |= {f"worker {i}": pid for i, pid in enumerate(client.run(os.getpid).values())}
    return {name: psutil.Process(pid) for name, pid in found.items()}


def resumed(client: Client, folder: Path, chosen: dict[str, Any], maxfev: int) -> tuple[float, float]:
    """The seconds that a run in this folder takes from the call to its next step, and those of a run that begins."""

    def seconds(**where: Any) -> float:
        started, ended = time.perf_counter(), []
        zolal.minimize(
            cheap,
            np.full(DIMENSION, 0.3),
            workers=client,
            callback=lambda state: not ended.append(time.perf_counter()),
            maxfev=maxfev,
            **where,
            **chosen,
        )
        return ended[0] - started

    fresh = seconds(checkpoint=folder.with_name("fresh"))
    return seconds(checkpoint=folder, resume=True), fresh


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluations", type=int, nargs="?", default=10**6)
    parser.add_argument("--directions", type=int, default=8, help="a step takes four times as many evaluations")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    chosen, maxfev = arguments(given.directions), 10 * given.evaluations
    local = dict(n_workers=given.workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with tempfile.TemporaryDirectory() as place, SubprocessCluster(**local) as cluster, Client(cluster) as client:
        client.wait_for_workers(given.workers)
        folder = Path(place) / "run"
        watch = Watch(folder, members(client), 4 * given.directions, given.evaluations)
        print("".join(f"{name:>14}" for name in watch.columns))
        res = zolal.minimize(cheap, np.full(DIMENSION, 0.3), workers=client, checkpoint=folder, callback=watch, maxfev=maxfev, **chosen)
        print(f"{res.nfev:,} evaluations in {res.nit:,} steps, {sum(count for _, count in res.failures):,} failed")
        names = [name.removesuffix(", MB") for name in watch.columns[2:]]
        print(f"after the first {WARM:.0%}, MB per 100,000 evaluations:")
        print("  " + ", ".join(f"{name} {slope:+.3f}" for name, slope in zip(names, watch.slopes(), strict=True)))
        print("the folder, MB: " + ", ".join(f"{path.name} {path.stat().st_size / 1e6:.2f}" for path in sorted(folder.iterdir())))
        again, fresh = resumed(client, folder, chosen, maxfev)
        print(f"from `resume=True` to the next step {again:.2f} s; a new run to its first step {fresh:.2f} s")


if __name__ == "__main__":
    main()
