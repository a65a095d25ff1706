"""How busy workers are kept: the speed of a run with workers to that of the calling thread, and the bytes that travel.

python benchmarks/parallel.py
"""

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil

import zolal
from zolal.directions import Rademacher
from zolal.estimators import QueryBatch
from zolal.evaluation.crews import as_crew
from zolal.evaluation.evaluate import Crew, evaluate
from zolal.evaluation.faults import Ledger
from zolal.problem import Problem

PAUSE = 0.005  # seconds per evaluation
ROUNDS = 3
OPTIONS = dict(step_size=0.01, num_directions=16, kkt_directions=16)  # 64 evaluations per step


def sleeping(x: np.ndarray) -> float:
    """An evaluation that waits: a service, a licence server, a laboratory."""
    time.sleep(PAUSE)
    return float(x @ x)


def computing(x: np.ndarray) -> float:
    """An evaluation that computes in Python for as long on an idle core."""
    end = time.thread_time() + PAUSE
    while time.thread_time() < end:
        pass
    return float(x @ x)


def seconds(fun: Callable[[np.ndarray], float], workers: Any, maxfev: int) -> float:
    started = time.perf_counter()
    zolal.minimize(fun, np.full(10, 0.5), workers=workers, maxfev=maxfev, rng=0, tol=1e-12, options=OPTIONS)
    return time.perf_counter() - started


def compare(name: str, fun: Callable[[np.ndarray], float], workers: Any, maxfev: int = 700) -> None:
    seconds(fun, workers, 100)  # start processes, compile
    ratios = [seconds(fun, 1, maxfev) / seconds(fun, workers, maxfev) for _ in range(ROUNDS)]
    print(f"  {name:40s} {np.median(ratios):5.2f} x   [{min(ratios):.2f}, {max(ratios):.2f}]")


def bare_scaling(rounds: int = ROUNDS) -> float:
    """What this machine gives to two processes that do nothing but compute: the yardstick for two workers that compute."""
    with multiprocessing.Pool(2) as pool:
        pool.map(computing_for, [0.1, 0.1])
        ratios = []
        for _ in range(rounds):
            started = time.perf_counter()
            computing_for(1.0)
            alone = time.perf_counter() - started
            started = time.perf_counter()
            pool.map(computing_for, [0.5, 0.5])
            ratios.append(alone / (time.perf_counter() - started))
    return float(np.median(ratios))


def computing_for(seconds_of_work: float) -> None:
    for _ in range(round(seconds_of_work / PAUSE)):
        computing(np.zeros(10))


def copies(crew: Crew, sent: Callable[[], int], d: int = 1_000_000, rounds: int = 6) -> float:
    """Copies of x that are sent per iteration, with 64 queries around x^k and x^{k-1}."""
    points, before = [np.full(d, float(k)) for k in range(rounds + 2)], 0
    for k in range(rounds + 1):
        evaluate(crew, Ledger(QueryBatch((points[k + 1], points[k]), 0.1, Rademacher(d, 16, iteration=k))))
        before = sent() if k == 0 else before
    return (sent() - before) / (rounds * 8 * d)


def loopback() -> int:
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def first(x: np.ndarray) -> float:
    return float(x[0])


def main() -> None:
    from distributed import Client, LocalCluster

    print(f"Speed of a run to that of the calling thread, {1000 * PAUSE:g} ms per evaluation, median of {ROUNDS}:")
    with ThreadPoolExecutor(8) as threads, ProcessPoolExecutor(2) as processes:
        compare("sleeping, 8 threads", sleeping, threads)
        compare("sleeping, workers=8 processes", sleeping, 8)
        print(f"  {'computing, 2 bare processes (the yardstick)':40s} {bare_scaling():5.2f} x")
        compare("computing, workers=2 processes", computing, 2)
        compare("computing, ProcessPoolExecutor(2)", computing, processes)
    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster, Client(cluster) as client:
        compare("sleeping, Dask with 2 processes", sleeping, client)
        compare("computing, Dask with 2 processes", computing, client)
        on_dask = copies(as_crew(Problem(first, 1_000_000), client), loopback)
    crew: Any = as_crew(Problem(first, 1_000_000), 2)
    ours = copies(crew, lambda: crew.sent_bytes)
    crew.close()
    print("Copies of x sent per iteration, d = 1e6, 64 queries, 2 workers:")
    print(f"  workers=2 processes, what goes through their pipes {ours:.2f}")
    print(f"  Dask with 2 processes, all that goes through the loopback device {on_dask:.2f}")


if __name__ == "__main__":
    main()
