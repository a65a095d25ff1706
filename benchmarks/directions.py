"""Rademacher directions at d = 1e6 as ratios: a query point to a copy of x, a combination of 64 to NumPy's own drawing.

python benchmarks/directions.py
"""

import numpy as np
from timing import best_times

from zolal.directions import Gaussian, Rademacher

DIMENSION, COUNT = 10**6, 64


def main() -> None:
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal(DIMENSION), rng.standard_normal(COUNT)
    directions, gaussian = Rademacher(DIMENSION, COUNT, seed=1), Gaussian(DIMENSION, COUNT, seed=1)

    def drawn_with_numpy() -> np.ndarray:
        return weights @ (2.0 * rng.integers(0, 2, size=(COUNT, DIMENSION), dtype=np.int8) - 1.0)

    def drawn_as_bits() -> np.ndarray:
        bits = np.unpackbits(np.frombuffer(rng.bytes(COUNT * DIMENSION // 8), dtype=np.uint8)).reshape(COUNT, DIMENSION)
        return weights @ (2.0 * bits - 1.0)

    quick = best_times(
        {
            "copy of x": x.copy,
            "query point": lambda: directions.shift(x, 1e-3, 40),
            "combine": lambda: directions.combine(weights),
            "dot": lambda: directions.dot(x),
            "Gaussian row": lambda: gaussian.row(0, x),
            "NumPy normal row": lambda: rng.standard_normal(DIMENSION),
        },
        rounds=40,
    )
    slow = best_times({"NumPy integers": drawn_with_numpy, "NumPy bits": drawn_as_bits}, rounds=3)
    print(f"d = {DIMENSION:,}, {COUNT} directions; best times in one run")
    for name, seconds in (quick | slow).items():
        print(f"  {name:18s} {1e3 * seconds:9.2f} ms")
    print(f"query point / copy of x:                        {quick['query point'] / quick['copy of x']:6.2f}   (at most 2)")
    print(f"drawing with rng.integers and multiplying / combine: {slow['NumPy integers'] / quick['combine']:6.0f}   (at least 50)")
    print(f"drawing with rng.bytes and multiplying / combine:    {slow['NumPy bits'] / quick['combine']:6.0f}")
    print(f"Gaussian row / NumPy's standard_normal:         {quick['Gaussian row'] / quick['NumPy normal row']:6.2f}")
    floor = 8 * DIMENSION / (16 * DIMENSION / quick["copy of x"])
    print(f"combine / writing its result at copy speed:     {quick['combine'] / floor:6.1f}   (the floor is 1)")


if __name__ == "__main__":
    main()
