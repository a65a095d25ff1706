"""Passes over the weights of a model, as ratios to a copy of them: one perturbation, a whole step of 16 directions, peak memory.

python benchmarks/torch_kernels.py            on a GPU with 10^8 weights where there is one, else on the CPU with 10^7
python benchmarks/torch_kernels.py --tune     on a GPU: the perturbation for several sizes of its blocks

Weights lie in one tensor, and again in the 148 tensors of a transformer. A copy reads and writes each weight once, as a perturbation
does, so 1 is the floor of a perturbation, and (16 + 1) / 16 that of a step of 16 directions, per direction.
"""

import argparse
import functools
import statistics
import time
from collections.abc import Callable

import torch

import zolal.torch
from zolal.torch._weights import Part

DIRECTIONS, SMOOTHING = 16, 2.0**-10


def seconds(run: Callable[[], object], device: str, repeats: int = 30) -> float:
    """The median time of a run on a GPU, the shortest on a CPU that others may use, too; slow ones are not repeated as often."""
    start = time.perf_counter()
    for _ in range(3):
        run()
    repeats = min(repeats, max(1, int(30 / (time.perf_counter() - start))))
    times = []
    for _ in range(repeats):
        if device == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        else:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
    return statistics.median(times) if device == "cuda" else min(times)


def transformer_sizes(total: int) -> list[int]:
    """The sizes of the tensors of a transformer with 12 layers, about as many weights in all."""
    width = int((total / (12 * 12 + 40)) ** 0.5)
    attention, feed = [width, width, 3 * width**2, 3 * width, width**2, width], [width, width, 4 * width**2, 4 * width, 4 * width**2, width]
    return [40 * width**2, 1024 * width, *(12 * (attention + feed)), width, width]


def part_of(sizes: list[int], dtype: torch.dtype, device: str) -> Part:
    tensors, first, firsts = [], 0, []
    for size in sizes:
        tensors.append((0.02 * torch.randn(size, device=device)).to(dtype))
        firsts.append(first)
        first += size
    part = Part(tuple(tensors), tuple(firsts), 0, SMOOTHING)
    part.project(0, 0, 0, 1.0)
    return part


def step_of(part: Part) -> Callable[[], object]:
    """A whole step of the optimizer with a loss that costs nothing."""
    parameters = [torch.nn.Parameter(tensor) for tensor in part.tensors]
    opt = zolal.torch.ForwardOnly(parameters, lr=1e-3, num_directions=DIRECTIONS)
    loss = torch.zeros((), device=part.device)
    return lambda: opt.step(lambda: loss)


def measure(total: int, dtype: torch.dtype, device: str) -> None:
    source = torch.randn(total, device=device).to(dtype)
    target = torch.empty_like(source)
    copy = seconds(functools.partial(target.copy_, source), device)
    speed = 2 * total * source.element_size() / copy / 1e12
    del source, target
    print(f"{dtype}, {total:,} weights: a copy takes {1e6 * copy:,.0f} us, {speed:.2f} TB/s read and written")
    for name, sizes in (("one tensor", [total]), ("148 tensors", transformer_sizes(total))):
        part = part_of(sizes, dtype, device)
        share = sum(sizes) / total
        start = [tensor.clone() for tensor in part.tensors]
        there = seconds(lambda part=part: (part.shift(0, 1, None, 5), part.shift(0, 1, 5, None)), device) / 2
        exact = all(torch.equal(tensor, kept) for tensor, kept in zip(part.tensors, start, strict=True))
        del start
        between = seconds(lambda part=part: (part.shift(0, 1, 5, 7), part.shift(0, 1, 7, 5)), device) / 2
        whole = seconds(step_of(part), device, 10)
        print(f"  {name:12s} perturbation {there / copy / share:5.2f}   from one to the next {between / copy / share:5.2f}", end="   ")
        print(f"step of {DIRECTIONS} directions, per direction {whole / copy / share / DIRECTIONS:5.2f}   restored exactly: {exact}")


def peak_memory(total: int, dtype: torch.dtype) -> None:
    """The most memory that a step takes beside the weights, in vectors of their size."""
    part = part_of([total], dtype, "cuda")
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step_of(part)()
    torch.cuda.synchronize()
    extra = (torch.cuda.max_memory_allocated() - before) / (total * part.tensors[0].element_size())
    print(f"{dtype}: peak memory of the optimizer and a step beside the weights {extra:.4f} vectors")


def tune(total: int) -> None:
    import zolal.torch._triton as kernels

    for dtype in (torch.float32, torch.bfloat16):
        source = torch.randn(total, device="cuda").to(dtype)
        copy = seconds(functools.partial(torch.empty_like(source).copy_, source), "cuda")
        for block in (1024, 2048, 4096, 8192):
            for warps in (4, 8):
                kernels.BLOCK, kernels.WARPS = block, warps
                part = part_of([total], dtype, "cuda")
                there = seconds(lambda part=part: (part.shift(0, 1, None, 5), part.shift(0, 1, 5, None)), "cuda") / 2
                update = seconds(lambda part=part: part.update(0, 1, None, [0.0] * DIRECTIONS), "cuda")
                print(f"{dtype} block {block:5d} warps {warps}: perturbation {there / copy:.2f}, update {update / copy:.2f} copies")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=float, help="how many; 1e8 on a GPU, else 1e7")
    parser.add_argument("--tune", action="store_true")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    total = int(arguments.weights or (1e8 if device == "cuda" else 1e7))
    print(torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} threads")
    if arguments.tune:
        tune(total)
        return
    for dtype in (torch.float32, torch.bfloat16) if device == "cuda" else (torch.float32,):
        measure(total, dtype, device)
        if device == "cuda":
            peak_memory(total, dtype)


if __name__ == "__main__":
    main()
