"""Cos a + sin a at multiples of 2 pi / d, by additions and multiplications alone, so that every machine has the same bits."""

import math

import numpy as np

TERMS = 11  # of the cosine's series: at pi/2 the next one is below 1e-19


def coefficients(dimension: int) -> np.ndarray:
    """An eighth of 2 pi / d, and sqrt(2) times the coefficients of the cosine's series in the square, the highest first."""
    series = [math.sqrt(2.0) * (-1.0) ** n / math.factorial(2 * n) for n in reversed(range(TERMS))]
    return np.array([math.pi / (4.0 * dimension), *series])


def entries(k: np.ndarray, dimension: int) -> np.ndarray:
    """Cos a + sin a = sqrt(2) cos(a - pi/4) at a = 2 pi k/d, 0 <= k < d; the angle is folded to at most pi/2 in whole numbers."""
    unit, *series = coefficients(dimension)
    eighths = np.abs(8 * k - dimension)  # of 2 pi / d, below 7 d
    eighths = np.where(eighths > 4 * dimension, 8 * dimension - eighths, eighths)
    beyond = eighths > 2 * dimension
    angle = np.where(beyond, 4 * dimension - eighths, eighths) * unit
    square, found = angle * angle, np.full(len(k), series[0])
    for coefficient in series[1:]:
        found *= square
        found += coefficient
    return np.where(beyond, -found, found)
