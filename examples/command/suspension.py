"""A simulator in C: which spring and which damper make a car comfortable on a random road?

From the shell, once the simulator is compiled:

    cc -O2 -o suspension examples/command/suspension.c -lm
    zolal solve examples/command/suspension.json --command "./suspension {input} {output} {seed}" --maxfev 400 --seed 0

From Python the same, with a picture of the designs that were tried:

    python examples/command/suspension.py suspension.png
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import Bounds, LinearConstraint

import zolal

SOURCE = Path(__file__).with_name("suspension.c")
START, PRICE = [2.5, 0.4], 2.9


def compiled(folder):
    """The simulator as a function of the design and the seed of a road."""
    program = Path(folder) / "suspension"
    subprocess.run(["cc", "-O2", "-o", program, SOURCE, "-lm"], check=True)
    return zolal.Command(f"{program} {{input}} {{output}} {{seed}}", timeout=10)


def solved(simulate, maxfev=400):
    """The result, and every design that was simulated."""
    tried = []

    def discomfort(x, seed):
        tried.append(x.copy())
        return simulate(x, seed)

    res = zolal.minimize(
        discomfort,
        START,
        bounds=Bounds([1.2, 0.3], [6.0, 4.0]),
        constraints={"price": LinearConstraint([[1.0, 1.0]], -np.inf, PRICE)},
        sample=zolal.Command.draw_seed,
        maxfev=maxfev,
        rng=0,
    )
    return res, np.array(tried)


def draw(simulate, res, tried, path, points=25):
    """The discomfort on one road, the budget, and the designs that were tried."""
    stiffness, damping = np.linspace(1.2, 3.0, points), np.linspace(0.3, 2.2, points)
    heights = [[simulate(np.array([k, c]), 1) for k in stiffness] for c in damping]
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    levels = axes.contourf(stiffness, damping, heights, levels=np.linspace(1.5, 3.0, 26), cmap="Blues", extend="max")
    figure.colorbar(levels, label="discomfort on one road", ticks=np.arange(1.5, 3.1, 0.25))
    axes.plot(stiffness, PRICE - stiffness, "k--", label="all the money is spent")
    axes.plot(*tried.T, ".", color="0.35", markersize=3, label=f"{len(tried)} simulations")
    axes.plot(*START, "s", color="tab:orange", label="start")
    axes.plot(*res.x, "*", color="tab:red", markersize=14, label="result")
    axes.set(xlabel="stiffness, 10 kN/m", ylabel="damping, kNs/m", xlim=(1.2, 3.0), ylim=(0.3, 2.2))
    axes.legend(loc="upper right")
    figure.savefig(path, dpi=90)


def main(path):
    with tempfile.TemporaryDirectory() as folder:
        simulate = compiled(folder)
        res, tried = solved(simulate)
        fresh = range(1000, 1100)
        before, after = (np.mean([simulate(np.array(x), seed) for seed in fresh]) for x in (START, res.x))
        print(f"stiffness {res.x[0]:.2f}, damping {res.x[1]:.2f} after {res.nfev} simulations")
        print(f"discomfort on 100 fresh roads: {before:.3f} before, {after:.3f} after")
        draw(simulate, res, tried, path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "suspension.png")
