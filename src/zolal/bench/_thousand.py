"""Many variables, bounds, five outputs and noise: a problem whose optimum its dual tells, for every method that takes constraint values."""

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint
from scipy.optimize import minimize as scipy_minimize

from zolal._array import Array
from zolal.bench._apart import Unanswered, call_apart
from zolal.bench._blind import BLIND_METHODS, Simulator
from zolal.bench._entrants import LABELS, installed
from zolal.bench._field import GRACE, PATIENCE
from zolal.bench._given import Given
from zolal.bench._trial import Trial, Verdict
from zolal.bench.base import METHOD, Claim
from zolal.campaigns import Campaign, Task
from zolal.tables import Table

PER_VARIABLE = 150  # evaluations
CONFIDENCE = 0.95
NEAR = 0.05  # of the range
WIDTH = 3.0  # of the bounds
SMALLEST, WARM_UP = 301, 300  # variables and evaluations of the run before the run: auto changes its way above 300 variables
CUT, SIZE = 0.3, 0.2  # what the linear outputs lack at the target, and what x.x/(2 d) may be


@final
@dataclass(frozen=True, eq=False)
class Outputs:
    """min (x - a).H(x - a)/(2 d), |x_i| <= 3, subject to <r_j, x> <= <r_j, a> - 0.3 for four rows and x.x/(2 d) <= 0.2, from x = 0."""

    target: Array
    weights: Array
    rows: Array

    @classmethod
    def random(cls, dimension: int, seed: int) -> "Outputs":
        rng = np.random.default_rng([seed, dimension, 0x5])
        rows = rng.standard_normal((4, dimension)) / np.sqrt(dimension)
        return cls(rng.standard_normal(dimension), 1.0 + rng.random(dimension), rows)

    @property
    def dimension(self) -> int:
        return len(self.target)

    def value(self, x: Array) -> float:
        away = x - self.target
        return 0.5 * float((self.weights * away) @ away) / self.dimension

    def outputs(self, x: Array) -> Array:
        return np.append(self.rows @ x, 0.5 * float(x @ x) / self.dimension)

    @cached_property
    def upper(self) -> Array:
        return np.append(self.rows @ self.target - CUT, SIZE)

    def least(self, y: Array) -> Array:
        """The x within the bounds where f + <y, outputs> is least."""
        pulled = self.weights * self.target - self.dimension * (self.rows.T @ y[:4])
        return np.clip(pulled / (self.weights + y[4]), -WIDTH, WIDTH)

    @cached_property
    def optimum(self) -> float:
        """That of the dual, which is concave and has five variables."""

        def dual(y: Array) -> tuple[float, Array]:
            x = self.least(y)
            over = self.outputs(x) - self.upper
            return -(self.value(x) + float(y @ over)), -over

        start, bounds = np.full(5, 0.1), [(0.0, None)] * 5
        return -float(scipy_minimize(dual, start, jac=True, bounds=bounds, method="L-BFGS-B", options=dict(ftol=1e-15, gtol=1e-9)).fun)

    def given(self) -> Given:
        d = self.dimension
        jacobian = lambda x: np.vstack([self.rows, x / d])  # noqa: E731
        limits = NonlinearConstraint(self.outputs, np.full(5, -np.inf), self.upper, jac=jacobian)
        gradient = lambda x: self.weights * (x - self.target) / d  # noqa: E731
        return Given(f"outputs, d = {d}", self.value, gradient, np.zeros(d), Bounds(np.full(d, -WIDTH), np.full(d, WIDTH)), [limits])


@final
@dataclass(frozen=True)
class Answer:
    """One run. gap: of f at the returned point to the optimum, in ranges f(0) - optimum. violation: there, in the outputs' own units."""

    evaluations: int
    gap: float | None
    violation: float | None
    seconds: float
    late: bool

    @property
    def is_good(self) -> bool:
        return self.violation is not None and self.gap is not None and self.violation <= 0.0 and abs(self.gap) <= NEAR


def measure_here(method: str, dimension: int, level: float, seed: int, seconds: float) -> Answer:
    """One run. level: of the noise, as a part of the range for f and of 1 for the outputs, which are of that size."""
    problem = Outputs.random(dimension, seed)
    given, span = problem.given(), problem.value(np.zeros(dimension)) - problem.optimum
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _warm_up(method, seed)
        trial = Trial(given, level * span, span, PER_VARIABLE * dimension, seed, seconds, level)
        x = np.asarray(BLIND_METHODS[method](Simulator(given, trial, np.full(5, level), seed, CONFIDENCE), level, seed), dtype=float)
        verdict: Verdict = trial.verdict(x)
        over = float(np.max(problem.outputs(x) - problem.upper))
    gap = None if verdict.value is None else (verdict.value - problem.optimum) / span
    return Answer(verdict.evaluations, gap, over if np.isfinite(over) else None, verdict.seconds, verdict.late)


def _warm_up(method: str, seed: int) -> None:
    """What is loaded or compiled once is not the method's time; auto compiles other kernels for many variables."""
    small = Outputs.random(SMALLEST if method == METHOD else 3, seed).given()
    trial = Trial(small, 1e-3, 1.0, WARM_UP, seed, math.inf)
    BLIND_METHODS[method](Simulator(small, trial, np.full(5, 1e-3), seed), 1e-3, seed)


def measure(**given: object) -> Answer | Unanswered:
    """The same in a process of its own."""
    return call_apart(measure_here, given, PATIENCE * float(given["seconds"]) + GRACE)  # type: ignore[arg-type]


Answers = dict[str, list[Answer | Unanswered]]  # by method


@final
@dataclass(frozen=True)
class Large:
    """What is run: every method at one dimension with one level of noise."""

    dimension: int
    level: float
    methods: tuple[str, ...]
    seeds: int
    seconds: float

    def tasks(self, method: str) -> list[Task[Answer | Unanswered]]:
        given = dict(method=method, dimension=self.dimension, level=self.level, seconds=self.seconds)
        label = f"{method}, d = {self.dimension}, noise {self.level:g}"
        return [Task(measure, given | dict(seed=seed), f"{label}, seed {seed}") for seed in range(self.seeds)]

    def carry_out(self, campaign: Campaign) -> Answers:
        methods = installed(self.methods)
        return dict(zip(methods, campaign.complete_groups([self.tasks(method) for method in methods]), strict=True))

    def claims(self, found: Answers) -> list[Claim]:
        if METHOD not in found:
            return []
        mine = found[METHOD]
        good = sum(isinstance(one, Answer) and one.is_good for one in mine)
        what = f"d = {self.dimension:,}, five outputs, noise {self.level:g}: feasible and within 5 % of the range"
        return [Claim(what, "every seed", f"{good} of {len(mine)}", good == len(mine))]

    def table(self, found: Answers) -> Table:
        rows = [(LABELS[method], *_cells(answers)) for method, answers in found.items()]
        note = (
            f"min (x - a).H(x - a)/(2 d) with |x_i| ≤ {WIDTH:g}, four linear outputs and one quadratic, from x = 0, which violates some. "
            f"Noise: {self.level:g} of the range for f, {self.level:g} for outputs, which are of order 1. {PER_VARIABLE} d evaluations, "
            f"{self.seconds:g} s per run; seeds: {self.seeds}. At the returned point, with exact values, medians. Largest excess: of an "
            f"output over its bound, negative where all hold. Good: feasible and within 5 % of the range."
        )
        columns = ("method", "gap in ranges", "largest excess", "evaluations", "seconds", "good")
        return Table("simulated-large", f"d = {self.dimension:,} with five outputs", columns, rows, note)


def _cells(answers: list[Answer | Unanswered]) -> tuple[str, ...]:
    answered = [one for one in answers if isinstance(one, Answer)]
    finite = [one for one in answered if one.gap is not None and one.violation is not None]
    good = f"{sum(one.is_good for one in finite)} of {len(answers)}"
    if not finite:
        return ("no answer", "—", "—", "—", good)
    middles = {name: float(np.median([getattr(one, name) for one in finite])) for name in ("gap", "violation", "evaluations", "seconds")}
    clock = ", stopped by the clock" if any(one.late for one in finite) else ""
    return f"{middles['gap']:.3f}", f"{middles['violation']:.1e}", f"{middles['evaluations']:.0f}", f"{middles['seconds']:.0f}{clock}", good
