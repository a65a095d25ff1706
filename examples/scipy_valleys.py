"""Many valleys seen through noise: basinhopping of SciPy with zolal, COBYQA and SLSQP as its local method.

Run it, and see where each of them ends, with the same budget of calls for each hop:

    python examples/scipy_valleys.py valleys.png

The function has nine valleys and noise of a hundredth; a disc of the plane is allowed. What is printed are values without noise.
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import NonlinearConstraint, basinhopping

import zolal

NOISE, HOPS, CALLS = 0.01, 6, 60
BOUNDS = [(-2.0, 2.0)] * 2
DISC = NonlinearConstraint(lambda x: x @ x, -np.inf, 2.25, jac=lambda x: 2 * x[None, :])
METHODS = {
    "zolal": dict(method=zolal.scipy_method, tol=0.1, options=dict(maxfev=CALLS)),  # basinhopping keeps what claims success
    "COBYQA": dict(method="COBYQA", options=dict(maxfev=CALLS)),
    "SLSQP": dict(method="SLSQP", options=dict(maxiter=CALLS // 3)),  # three calls per step: its differences
}


def exact(x):
    """The function without its noise, for one point or a grid of them."""
    return 0.15 * (x[0] ** 2 + x[1] ** 2) + 0.1 * x[0] - 0.5 * (np.cos(4 * x[0]) + np.cos(4 * x[1] + 1))


def ends(name, seed):
    """The lowest point that basinhopping reports, and the calls of the function."""
    noise, calls = np.random.default_rng(seed), []

    def noisy(x):
        calls.append(x)
        return exact(x) + NOISE * noise.standard_normal()

    local = METHODS[name] | dict(bounds=BOUNDS, constraints=DISC)
    res = basinhopping(noisy, [1.0, -1.0], niter=HOPS, stepsize=1.0, rng=seed, minimizer_kwargs=local)
    return res.x, len(calls)


def draw(found, path):
    """The valleys, the disc, and the ends of each method."""
    grid = np.meshgrid(*[np.linspace(-2, 2, 201)] * 2)
    figure, axes = plt.subplots(1, len(found), figsize=(11, 4), sharey=True, layout="constrained")
    for panel, (name, points) in zip(axes, found.items(), strict=True):
        panel.contour(*grid, exact(grid), levels=18, cmap="Greys", linewidths=0.8)
        panel.add_patch(plt.Circle((0, 0), 1.5, fill=False, color="tab:blue", linestyle="--"))
        panel.plot(*np.transpose(points), "o", color="tab:red", markersize=7, alpha=0.6)
        panel.set(title=f"{name}: median value {np.median([exact(x) for x in points]):.3f}", aspect="equal", xlabel="x₀")
    axes[0].set_ylabel("x₁")
    figure.savefig(path, dpi=110)


def main(path):
    found = {}
    for name in METHODS:
        runs = [ends(name, seed) for seed in range(8)]
        found[name] = [x for x, _ in runs]
        values = sorted(exact(x) for x in found[name])
        calls = np.median([count for _, count in runs])
        print(f"{name:7s} values {values[0]:.4f} to {values[-1]:.4f}, median {np.median(values):.4f}; calls {calls:g}")
    inside = [x for x in np.stack(np.meshgrid(*[np.linspace(-1.5, 1.5, 601)] * 2), -1).reshape(-1, 2) if x @ x <= 2.25]
    print(f"least on a fine grid of the disc: {min(map(exact, inside)):.4f}")
    draw(found, path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "valleys.png")
