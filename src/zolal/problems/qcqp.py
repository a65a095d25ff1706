"""Quadratics on the unit sphere: the paper's dimension ablation (Section 7.1), and its sparse sibling."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import NonlinearConstraint, brentq

from zolal._checks import nonnegative_int, positive_int, require
from zolal._hadamard import fwht
from zolal.directions import Directions, Rademacher
from zolal.directions.rademacher import HALF_WORD
from zolal.errors import InvalidArgumentError
from zolal.problem import Problem
from zolal.sets import L2Ball

RADIUS = 2.5
LARGEST = 2**14  # sums of so many signs still fit 16 bits


@final
@dataclass(frozen=True, eq=False)
class Quadratic:
    """f(x) = <x, A x>/2 + <b, x> with A = T diag(eigenvalues) T and b = T coefficients, T the Walsh-Hadamard transform or the identity.

    eigenvalues, coefficients: shape (d,). hadamard: whether T is the transform. Called on one point or on rows.
    """

    eigenvalues: np.ndarray
    coefficients: np.ndarray
    hadamard: bool

    def __post_init__(self) -> None:
        shapes = np.shape(self.eigenvalues), np.shape(self.coefficients)
        if len(shapes[0]) != 1 or shapes[0] != shapes[1]:
            raise InvalidArgumentError(
                f"`Quadratic` must have eigenvalues and coefficients of one shape (d,), got {shapes[0]} and {shapes[1]}."
            )
        d = shapes[0][0]
        require(
            not self.hadamard or _is_power_of_two(d), "Quadratic(eigenvalues=...)", "have a power of two as length with hadamard=True", d
        )

    def transform(self, x: np.ndarray) -> np.ndarray:
        """T x, which is its own inverse."""
        return fwht(x) if self.hadamard else x

    def __call__(self, x: np.ndarray) -> np.ndarray:
        y = self.transform(x)
        return 0.5 * y**2 @ self.eigenvalues + y @ self.coefficients

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """A x + b."""
        return self.transform(self.eigenvalues * self.transform(x) + self.coefficients)

    def forms(self, directions: Directions) -> np.ndarray:
        """<u_j, A u_j> for every direction j, shape (n,)."""
        n = directions.count
        if isinstance(directions, Rademacher) and not self.hadamard:  # u_i^2 = 1
            return np.full(n, self.eigenvalues.sum())
        if isinstance(directions, Rademacher) and directions.dimension <= LARGEST:
            return self._sign_forms(directions)
        blocks = (directions.rows(first, min(first + HALF_WORD, n)) for first in range(0, n, HALF_WORD))
        return np.concatenate([self.transform(rows) ** 2 @ self.eigenvalues for rows in blocks])

    def _sign_forms(self, directions: Rademacher) -> np.ndarray:
        from zolal.problems._qcqp_kernels import TOGETHER, sign_forms

        d, out = directions.dimension, []
        table = np.empty((d, TOGETHER), np.int16)
        for first in range(0, directions.count, HALF_WORD):
            words = directions.words(first)
            for bit in range(0, min(HALF_WORD, directions.count - first), TOGETHER):
                forms = np.zeros(TOGETHER)
                sign_forms(words, bit, self.eigenvalues, table, forms)
                out.append(forms)
        return np.concatenate(out)[: directions.count] / d


def qcqp(dimension: int = 64, seed: int = 0) -> Problem:
    """min <x, A x>/2 + <b, x> over ||x||_2 <= 2.5 subject to (||x||_2^2 - 1)/2 = 0, the dense problem of Section 7.1.

    A = H diag(eigenvalues) H with half of them evenly spaced in [-0.05, -0.01] and half in [0.01, 0.05], in an order that depends on the
    dimension alone; b = H g/||g||_2 with g standard normal, one per seed. H is the normalised Walsh-Hadamard matrix, so d is a power of
    two. The start is 1/sqrt(d). The global minimiser is known: x = -(A + lambda I)^{-1} b with the lambda > 0.05 at which ||x||_2 = 1.

    >>> float(np.linalg.norm(qcqp(64).solution).round(12))
    1.0
    """
    _check("qcqp", dimension, seed)
    g = np.random.default_rng([seed, dimension, 0x71]).standard_normal(dimension)
    return _on_the_sphere(Quadratic(_spectrum(dimension), g / np.linalg.norm(g), True), np.full(dimension, dimension**-0.5))


def sparse_qcqp(dimension: int = 64, seed: int = 0, nonzeros: int = 4) -> Problem:
    """The same with A diagonal and b of a few nonzeros: the theory's own regime, since ||x||_q stays bounded as d grows.

    The spectrum is that of `qcqp`; b has `nonzeros` normal entries at random places, scaled to ||b||_2 = 1. The start is the first unit
    vector.

    >>> int(np.count_nonzero(sparse_qcqp(64).solution))
    4
    """
    _check("sparse_qcqp", dimension, seed)
    positive_int("sparse_qcqp(nonzeros=...)", nonzeros)
    require(nonzeros <= dimension, "sparse_qcqp(nonzeros=...)", f"be at most the dimension, {dimension}", nonzeros)
    rng = np.random.default_rng([seed, dimension, nonzeros, 0x73])
    b, start = np.zeros(dimension), np.zeros(dimension)
    b[rng.choice(dimension, nonzeros, replace=False)] = rng.standard_normal(nonzeros)
    start[0] = 1.0
    return _on_the_sphere(Quadratic(_spectrum(dimension), b / np.linalg.norm(b), False), start)


def _check(name: str, dimension: int, seed: int) -> None:
    positive_int(f"{name}(dimension=...)", dimension)
    require(dimension >= 4 and _is_power_of_two(dimension), f"{name}(dimension=...)", "be a power of two, at least 4", dimension)
    nonnegative_int(f"{name}(seed=...)", seed)


def _is_power_of_two(d: int) -> bool:
    return d > 0 and d & (d - 1) == 0


def _spectrum(dimension: int) -> np.ndarray:
    below, above = np.linspace(-0.05, -0.01, dimension // 2), np.linspace(0.01, 0.05, dimension // 2)
    return np.random.default_rng([dimension, 0x4C]).permutation(np.concatenate([below, above]))


def _on_the_sphere(objective: Quadratic, start: np.ndarray) -> Problem:
    eigenvalues, coefficients = objective.eigenvalues, objective.coefficients
    inner = float(np.min(eigenvalues))
    # ||b|| = 1. At lambda = 1 - inner every coefficient is divided by at least 1, so the norm is at most 1. At 1e-6 - inner every one is
    # divided by at most 0.1 + 1e-6, so the norm is at least about 10, also when b misses the lowest eigenvector.
    multiplier = brentq(
        lambda lam: np.linalg.norm(coefficients / (eigenvalues + lam)) - 1.0, 1e-6 - inner, 1.0 - inner, xtol=1e-15, rtol=1e-15
    )
    return Problem(
        objective,
        start.size,
        NonlinearConstraint(lambda x: 0.5 * (x @ x - 1.0), 0.0, 0.0, jac=lambda x: x),
        region=L2Ball(RADIUS),
        vectorized=True,
        gradient=objective.gradient,
        x0=start,
        solution=objective.transform(-coefficients / (eigenvalues + multiplier)),
        multipliers=np.array([multiplier]),
    )
