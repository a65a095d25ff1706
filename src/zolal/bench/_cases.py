"""Random problems with known solutions in random units under random noise: one per number."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import final

import numpy as np

from zolal._array import Array
from zolal.bench import _smooth
from zolal.problem import Problem
from zolal.problems import l1_box, probe, qcqp, scaled, simplex_lp, sparse_qcqp, sphere_quadratic

SMOOTH: dict[str, Callable[[int, int], Problem]] = {
    "logistic": _smooth.logistic,
    "log-sum-exp": _smooth.log_sum_exp,
    "quartic": _smooth.quartic,
    "exponentials": _smooth.exponentials,
    "rosenbrock": _smooth.rosenbrock,
}
MAKERS: dict[str, Callable[[int, int], Problem]] = {
    "sphere": lambda d, seed: sphere_quadratic(d, seed=seed),
    "simplex lp": lambda d, seed: simplex_lp(d, seed=seed),
    "l1 box": lambda d, seed: l1_box(d, seed=seed),
    "probe": lambda d, seed: probe(d, noise=0.0, seed=seed),
    "qcqp": lambda d, seed: qcqp(d, seed=seed),
    "sparse qcqp": lambda d, seed: sparse_qcqp(d, seed=seed),
    **SMOOTH,
}
FAMILIES = tuple(MAKERS)
NOISES = ("none", "additive", "samples", "multiplicative", "heavy tails")
PER_SEED = len(FAMILIES) * len(NOISES)  # every family under every noise
SMALL, LARGE = (5, 8, 13, 20, 32, 50), (100, 200)
SMALL_POWERS, LARGE_POWERS = (8, 16, 32), (64, 128)  # for quadratics in a Hadamard basis
FAR = 3.0  # standard deviation of the entries of a start that is far away
OBJECTIVE, VARIABLES, CONSTRAINTS = 6.0, 3.0, 4.0  # decades up and down


@dataclass(frozen=True)
class Facts:
    """What describes a case. family, noise: of the lists above. dimension: d. level: the noise as a part of the range.

    objective, variables, constraints: the units, factors of f, x and c. own_units: whether each variable has one more factor of its own.
    far: whether the start is far instead of the problem's own.
    """

    number: int
    family: str
    dimension: int
    noise: str
    level: float
    objective: float
    variables: float
    constraints: float
    own_units: bool
    far: bool


@final
@dataclass(frozen=True, eq=False)
class Case(Facts):
    """One problem, in its units, noisy.

    value: x -> f(x) + h(x), exactly. range: the larger of |f + h - optimum| at this start and at the problem's own.
    """

    problem: Problem
    value: Callable[[Array], float]
    range: float

    @property
    def optimum(self) -> float:
        return self.value(self.problem.solution)

    @property
    def facts(self) -> Facts:
        return Facts(**{one.name: getattr(self, one.name) for one in fields(Facts)})


def case(number: int, small: bool = False) -> Case:
    """The case of this number; families and noises take turns, all else is drawn. small: at most 8 variables.

    >>> case(7).family, case(7).noise, case(7).dimension == case(7).problem.dimension
    ('log-sum-exp', 'none', True)
    """
    rng = np.random.default_rng([number, 0x5CA1E])
    family = FAMILIES[number % len(FAMILIES)]
    noise = NOISES[number // len(FAMILIES) % len(NOISES)]
    large = rng.random() < 0.1
    d = int(rng.choice(_dimensions(family, large and not small, small)))
    exponents = [rng.uniform(-decades, decades) for decades in (OBJECTIVE, VARIABLES, CONSTRAINTS)]
    level = 0.0 if noise == "none" else float(10.0 ** rng.uniform(-3.0, -1.0))
    base = _plain(family, d, int(rng.integers(2**31)))
    far = bool(rng.random() < 0.5)
    start = base.region.project(FAR * rng.standard_normal(d)) if far else base.x0
    exact = base.objective

    def value(x: Array) -> float:
        return float(exact(x)) + base.regularizer.value(x)

    best = value(base.solution)
    span = max(abs(value(start) - best), abs(value(base.x0) - best))
    noisy = _with_noise(base, noise, level * span, start, np.random.default_rng([number, 0xA01]))
    f, x, c = (float(10.0**exponent) for exponent in exponents)
    own_units = family in SMOOTH and bool(rng.random() < 0.5)
    units = x * 10.0 ** rng.uniform(-VARIABLES, VARIABLES, d) if own_units else x
    problem = scaled(replace(noisy, x0=start), f, units, c)
    return Case(number, family, d, noise, level, f, x, c, own_units, far, problem, lambda y: f * value(y / units), f * span)


def _dimensions(family: str, large: bool, small: bool) -> tuple[int, ...]:
    powers = family.endswith("qcqp")
    chosen = (LARGE_POWERS if powers else LARGE) if large else (SMALL_POWERS if powers else SMALL)
    return tuple(d for d in chosen if not small or d <= 8)


def _plain(family: str, d: int, seed: int) -> Problem:
    """The problem with its mean as objective, on one point."""
    base = MAKERS[family](d, seed)
    fun, zero = base.objective, np.zeros(d)
    if base.sample is None:
        return replace(base, vectorized=False)
    return replace(base, objective=lambda x: fun(x, zero), sample=None, vectorized=False)


def _with_noise(base: Problem, noise: str, size: float, start: Array, rng: np.random.Generator) -> Problem:
    """The problem with noise of about this standard deviation. But for "samples", it is new at every evaluation, and nothing repeats it.

    samples: size * (xi_0 + <xi, x - start> / ||start - solution||), one xi for whoever draws the same sample.
    multiplicative: f (1 + e), with the size where |f| is largest among start and solution. heavy tails: Student's t with 3 degrees.
    """
    fun, d = base.objective, base.dimension
    if noise == "none":
        return base
    if noise == "samples":
        reach = max(float(np.linalg.norm(start - base.solution)), 1e-12)
        return replace(
            base,
            objective=lambda x, xi: fun(x) + size * (xi[0] + xi[1:] @ (x - start) / reach),
            sample=lambda generator: generator.standard_normal(d + 1),
        )
    if noise == "multiplicative":
        relative = size / max(abs(float(fun(start))), abs(float(fun(base.solution))))
        return replace(base, objective=lambda x: fun(x) * (1.0 + relative * rng.standard_normal()))
    if noise == "heavy tails":
        return replace(base, objective=lambda x: fun(x) + size * rng.standard_t(3) / np.sqrt(3.0))
    return replace(base, objective=lambda x: fun(x) + size * rng.standard_normal())
