"""The smoothed l_q Bregman step at d = 1e6, in units of one NumPy pass exp(log(x)), and against the bytes that it must move.

The floor reads x and g and writes the result, 24 bytes per coordinate, at the speed of a copy (16 bytes per coordinate).
The residual is that of the optimality condition, the largest coordinate relative to the largest gradient.

python benchmarks/bregman_step.py
"""

import math

import numpy as np
from timing import best_times

from zolal.mirror import SmoothedLq, bregman_step
from zolal.regularizers import L1, ElasticNet, Regularizer, Zero
from zolal.sets import Box, ConvexSet, L1Ball, L2Ball, LqBall, NonNegative, Simplex, WholeSpace

DIMENSION = 10**6
STEP_SIZE = 0.1
LOG_D = 2.0 * math.log(DIMENSION)


def cases() -> list[tuple[SmoothedLq, ConvexSet, Regularizer]]:
    """Every kind of set at p = 2 log d, and the intervals at other (p, delta) too."""
    vectors = Box(np.full(DIMENSION, -0.01), np.linspace(0.001, 0.1, DIMENSION))
    table: list[tuple[SmoothedLq, ConvexSet, Regularizer]] = []
    for p, delta in ((LOG_D, 1e-2), (LOG_D, 1e-5), (4.0, 1e-3), (100.0, 1e-8), (100.0, 1.0)):
        mirror = SmoothedLq(p, delta)
        pairs = ((Box(-1.0, 1.0), Zero()), (vectors, L1(0.01)), (WholeSpace(), Zero()), (NonNegative(), L1(0.01)))
        table += [(mirror, region, h) for region, h in pairs]
    for p, delta in ((LOG_D, 1e-3), (4.0, 1e-3)):
        mirror = SmoothedLq(p, delta)
        pairs = ((Box(-1.0, 1.0), ElasticNet(0.1, 0.1)), (L2Ball(1.0), Zero()), (LqBall(mirror.q, 1.0), L1(0.1)), (L1Ball(1.0), Zero()))
        table += [(mirror, region, h) for region, h in (*pairs, (Simplex(1.0), Zero()))]
    return table


def residual(mirror: SmoothedLq, region: ConvexSet, h: Regularizer, x: np.ndarray, g: np.ndarray, new: np.ndarray) -> float:
    """The distance of 0 to grad v(x+) - grad v(x) + eta (g + dh(x+)) + N(x+), relative; the normal of a ball or simplex is fitted."""
    l1, l2 = (STEP_SIZE * weight for weight in h.elastic_weights or (0.0, 0.0))
    start, end = mirror.grad(x), mirror.grad(new)
    slope = end - start + STEP_SIZE * g + l2 * new
    low, high = (slope + np.where(new > 0, l1, -l1), slope + np.where(new < 0, -l1, l1))
    if isinstance(region, (WholeSpace, Box, NonNegative)):
        bounds = (region.lower, region.upper) if isinstance(region, Box) else (0.0 if isinstance(region, NonNegative) else -np.inf, np.inf)
        low, high = np.where(new <= bounds[0], -np.inf, low), np.where(new >= bounds[1], np.inf, high)
    else:
        normal = _normal(region, new)
        theta = _multiplier(region, low, high, new, normal)
        edge = theta if isinstance(region, (Simplex, L1Ball)) else 0.0  # where x = 0 the normal may be anything up to it
        free = new == 0.0
        low = np.where(free, -np.inf if isinstance(region, Simplex) else low - edge, low + theta * normal)
        high = np.where(free, high + edge, high + theta * normal)
    largest = np.max(np.abs(start)) + STEP_SIZE * np.max(np.abs(g)) + np.max(np.abs(end))
    return float(np.max(np.maximum(np.maximum(low, -high), 0.0)) / largest)


def _normal(region: ConvexSet, new: np.ndarray) -> np.ndarray:
    if isinstance(region, (Simplex, L1Ball)):
        return np.sign(new)
    exponent = region.q if isinstance(region, LqBall) else 2.0
    return np.sign(new) * np.abs(new) ** (exponent - 1.0)


def _multiplier(region: ConvexSet, low: np.ndarray, high: np.ndarray, new: np.ndarray, normal: np.ndarray) -> float:
    """theta with low = high = -theta normal where x+ is not 0, in the least-squares sense; at least 0 for a ball."""
    theta = -float(np.dot(np.where(new == 0.0, 0.0, 0.5 * (low + high)), normal) / np.dot(normal, normal))
    return theta if isinstance(region, Simplex) else max(theta, 0.0)


def main() -> None:
    rng = np.random.default_rng(0)
    sample = rng.random(DIMENSION) + 0.1
    print(f"d = {DIMENSION:,}; unit = one pass np.exp(np.log(x)), measured between the steps")
    print(f"{'p':>6} {'delta':>6}  {'set':32s} {'regularizer':28s} {'ms':>7} {'units':>6} {'floors':>6}  residual")
    for mirror, region, h in cases():
        x, g = region.project(0.1 * rng.standard_normal(DIMENSION)), rng.standard_normal(DIMENSION)
        new = bregman_step(mirror, region, h, x, g, STEP_SIZE)
        times = best_times(
            {
                "unit": lambda: np.exp(np.log(sample)),
                "copy": sample.copy,
                "step": lambda mirror=mirror, region=region, h=h, x=x, g=g: bregman_step(mirror, region, h, x, g, STEP_SIZE),
            },
            rounds=5,
        )
        ratios = times["step"] / times["unit"], times["step"] / (1.5 * times["copy"]), residual(mirror, region, h, x, g, new)
        name = f"{mirror.p:6.1f} {mirror.delta:6.0e}  {region!s:32.32} {h!s:28.28} {1e3 * times['step']:7.1f}"
        print(name, f"{ratios[0]:6.1f} {ratios[1]:6.1f}  {ratios[2]:.1e}", flush=True)


if __name__ == "__main__":
    main()
