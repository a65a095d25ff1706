"""Engineering design problems in their natural units: a cost, exact constraints, the usual bounds, a start, and the best cost known."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Design(NamedTuple):
    """limits(x) <= 0 row by row. best: the least cost, as SLSQP finds it from many starts with the same formulae."""

    name: str
    cost: Callable[[np.ndarray], float]
    limits: Callable[[np.ndarray], np.ndarray]
    bounds: list[tuple[float, float]]
    start: np.ndarray
    best: float


def beam_cost(x):
    h, length, t, b = x
    return float(1.10471 * h**2 * length + 0.04811 * t * b * (14.0 + length))


def beam_limits(x):
    """Shear stress, bending stress, side constraint, cost of weld, deflection, buckling; P = 6000 lb, L = 14 in."""
    h, length, t, b = x
    load, span, young, shear = 6000.0, 14.0, 30e6, 12e6
    first = load / (np.sqrt(2.0) * h * length)
    moment = load * (span + length / 2.0)
    arm = np.sqrt(length**2 / 4.0 + ((h + t) / 2.0) ** 2)
    inertia = 2.0 * (np.sqrt(2.0) * h * length * (length**2 / 12.0 + ((h + t) / 2.0) ** 2))
    second = moment * arm / inertia
    stress = np.sqrt(first**2 + first * second * length / arm + second**2)
    bending = 6.0 * load * span / (b * t**2)
    deflection = 4.0 * load * span**3 / (young * t**3 * b)
    buckling = 4.013 * young * np.sqrt(t**2 * b**6 / 36.0) / span**2 * (1.0 - t / (2.0 * span) * np.sqrt(young / (4.0 * shear)))
    cheap = 0.10471 * h**2 + 0.04811 * t * b * (14.0 + length) - 5.0
    return np.array([stress - 13600.0, bending - 30000.0, h - b, cheap, 0.125 - h, deflection - 0.25, load - buckling])


def vessel_cost(x):
    shell, head, radius, length = x
    return float(0.6224 * shell * radius * length + 1.7781 * head * radius**2 + 3.1661 * shell**2 * length + 19.84 * shell**2 * radius)


def vessel_limits(x):
    shell, head, radius, length = x
    volume = np.pi * radius**2 * length + 4.0 / 3.0 * np.pi * radius**3
    return np.array([0.0193 * radius - shell, 0.00954 * radius - head, 1_296_000.0 - volume])


def spring_cost(x):
    wire, coil, turns = x
    return float((turns + 2.0) * coil * wire**2)


def spring_limits(x):
    wire, coil, turns = x
    return np.array(
        [
            1.0 - coil**3 * turns / (71785.0 * wire**4),
            (4.0 * coil**2 - wire * coil) / (12566.0 * (coil * wire**3 - wire**4)) + 1.0 / (5108.0 * wire**2) - 1.0,
            1.0 - 140.45 * wire / (coil**2 * turns),
            (wire + coil) / 1.5 - 1.0,
        ]
    )


DESIGNS = (
    Design(
        "welded beam", beam_cost, beam_limits, [(0.1, 2.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)], np.array([0.4, 6.0, 9.0, 0.5]), 1.724852
    ),
    Design(
        "pressure vessel",
        vessel_cost,
        vessel_limits,
        [(0.0625, 6.1875), (0.0625, 6.1875), (10.0, 200.0), (10.0, 240.0)],
        np.array([1.5, 1.0, 60.0, 100.0]),
        5804.376,
    ),
    Design("tension spring", spring_cost, spring_limits, [(0.05, 2.0), (0.25, 1.3), (2.0, 15.0)], np.array([0.07, 0.6, 8.0]), 0.01266523),
)
