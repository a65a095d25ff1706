"""`minimize` on CUDA tensors: time per evaluation beside f, a pass over x, and a copy of x; peak memory in vectors.

python benchmarks/torch_minimize.py            d = 10^6, 10^7, 10^8 on a GPU; 10^5, 10^6 on the CPU
python benchmarks/torch_minimize.py --cupy     the same on CuPy arrays

f reads x once. Its point x + length u must be made before, which reads x and writes the point, so two thirds of the time lie outside f at
the least. "Floor" is the time of such a pass and of f.
"""

import argparse
import statistics
import time

import torch

import zolal


def timed(run, device, repeats=20):
    run()
    times = []
    for _ in range(repeats):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(d, device, evaluations, cupy=None):
    x0 = torch.ones(d, device=device)
    start = x0 if cupy is None else cupy.asarray(x0)
    spent = []

    def f(x):
        begin = time.perf_counter()
        value = float((x * x).sum() if cupy is not None else torch.dot(x, x)) / d
        spent.append(time.perf_counter() - begin)
        return value

    def run():
        return zolal.minimize(f, start, maxfev=evaluations, rng=0)

    def whole():
        began = time.perf_counter()
        result = run()
        return time.perf_counter() - began, result

    whole()
    spent.clear()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    total, result = whole()
    inside, calls = sum(spent), len(spent)
    target = torch.empty_like(x0)
    copy, own = timed(lambda: target.copy_(x0), device), timed(lambda: float(torch.dot(x0, x0)), device)
    peak = (torch.cuda.max_memory_allocated() - before) / (4 * d) if device == "cuda" else float("nan")
    each, within = 1e6 * total / calls, 1e6 * inside / calls
    print(f"d = {d:>11,}: {each:9,.0f} us per evaluation, in f {within:9,.0f}, outside {1 - inside / total:4.0%}", end="   ")
    print(f"copy {1e6 * copy:7,.0f} us, f alone {1e6 * own:7,.0f}, floor {1e6 * (copy + own):7,.0f}", end="   ")
    print(f"peak {peak:5.1f} vectors   {calls} evaluations, f {result.fun:.3g}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cupy", action="store_true")
    parser.add_argument("--evaluations", type=int, default=200)
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cupy = None
    if arguments.cupy:
        import cupy
    print(torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} threads")
    for d in (2**20, 10**6, 10**7, 2**26, 10**8) if device == "cuda" else (10**5, 2**20):
        measure(d, device, arguments.evaluations, cupy)


if __name__ == "__main__":
    main()
