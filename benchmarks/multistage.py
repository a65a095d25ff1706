"""Evaluations to feasibility 1e-3 from far infeasible starts: one stage with the final penalty, to several stages, over 20 seeds.

python benchmarks/multistage.py
"""

import numpy as np

import zolal
from zolal.problems import l1_box, simplex_lp, sphere_quadratic

SEEDS, BUDGET, TOLERANCE = 20, 8_000, 1e-3
RUNS = {
    "sphere quadratic, 3 x0": (sphere_quadratic(10, noise=0.01), lambda p: 3.0 * p.x0, dict(step_size=0.01, penalty=30.0)),
    "simplex LP, a vertex": (simplex_lp(10, noise=0.01), lambda p: np.eye(10)[0], dict(step_size=0.002, penalty=30.0)),
    "l1 box, a corner": (l1_box(10, noise=0.01), lambda p: np.ones(10), dict(step_size=0.002, penalty=30.0)),
}


def evaluations_to_feasibility(result: zolal.Result) -> float:
    """Evaluations until the constraints hold to the tolerance for the first time; infinite if never."""
    hits = np.flatnonzero(result.trace["feasibility"] <= TOLERANCE)
    return float(result.trace["nfev"][hits[0]]) if hits.size else np.inf


def main() -> None:
    print(f"{SEEDS} seeds, budget {BUDGET}; evaluations to max |c| <= {TOLERANCE:g}: median [10 %, 90 %]")
    for name, (problem, start, options) in RUNS.items():
        shared = dict(dual_step=10.0, num_directions=16, share_base=True, momentum=lambda k: 1 / (1 + k / 5)) | options
        counts = {
            method: [
                evaluations_to_feasibility(
                    zolal.minimize(problem, start(problem), method=method, maxfev=BUDGET, rng=seed, tol=1e-9, options=shared)
                )
                for seed in range(SEEDS)
            ]
            for method in ("mdlal", "multistage")
        }
        ratio = np.array(counts["mdlal"]) / np.array(counts["multistage"])
        for method, values in counts.items():
            low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), method="nearest")
            print(f"  {name:24s} {method:11s} {middle:7.0f} [{low:.0f}, {high:.0f}]")
        print(f"  {name:24s} one stage / several, median of paired ratios: {np.median(ratio):.2f}")


if __name__ == "__main__":
    main()
