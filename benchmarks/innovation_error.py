"""How far the innovation estimate is from the gradient at one point, in units of R/t, and how much of the gradient it has.

python benchmarks/innovation_error.py
"""

import numpy as np

from zolal.estimators import Innovation

SIGMA, SEEDS, SWEEPS = 0.1, 30, (1, 2, 4, 8, 16, 32)
SIZES = ((16, 4), (64, 8), (256, 16))  # dimension, directions per step
NOISES = (0.09, 1.0, 9.0)  # R, the variance of a slope, over the square of the gradient


def errors(dimension: int, count: int, noise: float, seed: int) -> tuple[list[float], list[float]]:
    """||s - g||^2 t/R and <s, g>/||g||^2 after the sweeps, for f = <g, x> with ||g|| = 1 and central differences."""
    rng = np.random.default_rng(seed)
    g = rng.standard_normal(dimension)
    g /= np.linalg.norm(g)
    estimator = Innovation(count, SIGMA / np.sqrt(2 * noise), noise=SIGMA, central=True)
    memory, x, found, share = estimator.start(seed), np.zeros(dimension), [], []
    for k in range(max(SWEEPS) * dimension // count):
        batch = estimator.plan(memory, x, k)
        values = np.array([g @ batch.point(i) for i in range(len(batch))]) + SIGMA * rng.standard_normal(len(batch))
        s, memory = estimator.absorb(memory, batch, values)
        sweep, rest = divmod((k + 1) * count, dimension)
        if rest == 0 and sweep in SWEEPS:
            found.append(float((s - g) @ (s - g)) * sweep / noise)
            share.append(float(s @ g))
    return found, share


def main() -> None:
    print(f"means of {SEEDS} seeds; after {SWEEPS} sweeps: error over R/t | share of the gradient | the share with P known, t/(t + R/P_0)")
    for noise in NOISES:
        for dimension, count in SIZES:
            ratios, shares = np.mean([errors(dimension, count, noise, seed) for seed in range(SEEDS)], axis=0)
            known = [sweep / (sweep + noise) for sweep in SWEEPS]
            columns = (" ".join(f"{value:.2f}" for value in row) for row in (ratios, shares, known))
            print(f"R/P_0 = {noise:g}, d = {dimension}: ", " | ".join(columns))


if __name__ == "__main__":
    main()
