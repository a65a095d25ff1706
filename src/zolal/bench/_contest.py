"""The problems that every method of `zolal bench peers` is given, and the witness that counts and judges what it evaluates."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from zolal._array import Array
from zolal.constraints import Equalities
from zolal.problem import Problem
from zolal.problems import l1_box, probe, sphere_quadratic

FAMILIES = ("probe", "sphere", "box")
TOLERANCES = (0.01, 0.05)  # of the range
FEASIBLE = 1e-4  # the constraints are of order 1


@final
@dataclass(frozen=True, eq=False)
class Contest:
    """min f(x) + level * range * N(0, 1) from a feasible start. range: f(start) - optimum. typical: the size of a coordinate."""

    problem: Problem
    value: Callable[[Array], float]
    start: Array
    optimum: float
    level: float
    typical: float

    @property
    def range(self) -> float:
        return self.value(self.start) - self.optimum

    @property
    def equalities(self) -> Equalities:
        return self.problem.equalities(self.start)


def contest(family: str, dimension: int, level: float, seed: int) -> Contest:
    """A problem with a feasible start and a known optimum.

    probe: a distance, with sum(x) and <x, x> given. sphere: a nonconvex quadratic on the unit sphere. box: a distance on a box, with
    <a, x> given.
    """
    rng = np.random.default_rng([seed, dimension, 0x9EE5])
    if family == "probe":
        problem = probe(dimension, noise=0.0, seed=seed)
        away = rng.standard_normal(dimension)
        away -= away.mean()
        start = 1.0 / dimension + away * (math.sqrt(0.5 - 1.0 / dimension) / float(np.linalg.norm(away)))
        value: Callable[[Array], Any] = problem.objective
    else:
        problem = sphere_quadratic(dimension, seed=seed) if family == "sphere" else l1_box(dimension, weight=0.0, seed=seed)
        fun, zero = problem.objective, np.zeros(dimension)
        value = lambda x: fun(x, zero)  # noqa: E731
        row = problem.equalities(problem.x0).signed_jacobian(problem.x0)[0]
        start = np.asarray(problem.x0) if family == "sphere" else 0.5 * row / (row @ row)
    typical = 0.5 if family == "box" else float(np.linalg.norm(start)) / math.sqrt(dimension)
    return Contest(problem, lambda x: float(value(x)), start, float(value(problem.solution)), level, typical)


class SpentError(Exception):
    """The budget is spent."""


@final
@dataclass(frozen=True)
class Verdict:
    """What there is to know of a run that ended. gap, violation: at the returned point, None where they are not finite.

    best: the least gap at a feasible point. solved: for each tolerance, the evaluation at which a feasible point was as near as that.
    overhead: seconds per evaluation outside of the objective.
    """

    evaluations: int
    gap: float | None
    violation: float | None
    best: float | None
    solved: list[int | None]
    overhead: float
    seconds: float


class Witness:
    """The objective of one run: noisy, counted, limited, and judged at every point.

    best: the least gap at a feasible point. solved: by tolerance, the evaluation at which a feasible point was as near as that.
    inside: seconds spent in here, which are not the method's.
    """

    def __init__(self, given: Contest, budget: int, seed: int) -> None:
        self.given, self.budget = given, budget
        self.noise = given.level * given.range
        self.equalities, self.span = given.equalities, given.range
        self.rng = np.random.default_rng([seed, 0xB1])
        self.count, self.inside = 0, 0.0
        self.best: float | None = None
        self.solved: dict[float, int | None] = dict.fromkeys(TOLERANCES)

    def __call__(self, x: Array) -> float:
        started = time.perf_counter()
        if self.count >= self.budget:
            raise SpentError
        self.count += 1
        value = self.given.value(x)
        self._judge(x, value)
        noisy = value + self.noise * float(self.rng.standard_normal()) if self.noise else value
        self.inside += time.perf_counter() - started
        return noisy

    def gap(self, value: float) -> float:
        return (value - self.given.optimum) / self.span

    def _judge(self, x: Array, value: float) -> None:
        gap = self.gap(value)
        if (self.best is not None and gap >= self.best) or not self.feasible(x):
            return
        self.best = gap
        for tolerance, first in self.solved.items():
            if first is None and gap <= tolerance:
                self.solved[tolerance] = self.count

    def feasible(self, x: Array) -> bool:
        return self.violation(x) <= FEASIBLE

    def violation(self, x: Array) -> float:
        """The largest violation of a constraint, bounds included."""
        return max(self.equalities.violation(x), float(np.max(np.abs(x - self.given.problem.region.project(x)))))

    def verdict(self, x: Array, seconds: float) -> Verdict:
        """What there is to know of a run that returned x after so many seconds."""
        gap, violation = self.gap(self.given.value(x)), self.violation(x)
        for tolerance, first in self.solved.items():
            if first is None and violation <= FEASIBLE and gap <= tolerance:
                self.solved[tolerance] = self.count
        finite = math.isfinite(gap) and math.isfinite(violation)
        return Verdict(
            evaluations=self.count,
            gap=gap if finite else None,
            violation=violation if finite else None,
            best=self.best,
            solved=[self.solved[tolerance] for tolerance in TOLERANCES],
            overhead=(seconds - self.inside) / max(self.count, 1),
            seconds=seconds,
        )
