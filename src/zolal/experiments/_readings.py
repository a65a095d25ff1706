"""The residuals of Section 7.3 along a run, and where each reading of the paper's stopping rule ends it."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from zolal.estimators.base import Queries
from zolal.evaluation.evaluate import draw_sample
from zolal.evaluation.faults import Evaluation
from zolal.kkt import gradient_mapping
from zolal.mirror import Euclidean
from zolal.problem import Problem
from zolal.problems.fairness import FairnessModel
from zolal.result import Status
from zolal.runs.stopping import Progress, Stop, StoppingRule
from zolal.solvers import MDLAL
from zolal.solvers.mdlal.lagrangian import penalized_multipliers

TOLERANCE = 1e-2
INTERVALS = (1, 5, 10)  # of the checks, in iterations
CURVE_EVERY = 6  # iterations between points of the curves


@final
@dataclass(frozen=True)
class Point:
    """The residuals of one iterate. residual: max(pres, dres) of Algorithm 1's own rule, None for methods without slacks."""

    k: int
    feasibility: float
    stationarity: float
    slackness: float
    residual: float | None

    @property
    def common(self) -> float:
        """The largest of Feas., Stat. and Cs."""
        return max(self.feasibility, self.stationarity, self.slackness)

    def value(self, criterion: str) -> float:
        return self.common if self.residual is None or criterion == "common" else self.residual


class First(NamedTuple):
    """The first check that met a criterion; point: None where none did. interval: iterations between checks."""

    criterion: str
    interval: int
    point: Point | None


class Curve(NamedTuple):
    """Stat. and Feas. against iterations."""

    iterations: list[int]
    stationarity: list[float]
    feasibility: list[float]


class Readings(StoppingRule):
    """Measures every so many iterations, and stops when each criterion has been met at each interval.

    criteria: "residual" (max(pres, dres) of Algorithm 1), "common" (Feas., Stat., Cs.). every: iterations between measurements.
    """

    def __init__(self, problem: Problem, criteria: tuple[str, ...], intervals: tuple[int, ...], every: int = 1) -> None:
        self.model: Any = problem.objective
        self.every, self.points = every, list[Point]()
        self.first: dict[tuple[str, int], Point | None] = {(name, step): None for name in criteria for step in intervals}

    def __call__(self, progress: Progress) -> Stop | None:
        if progress.state.k % self.every:
            return None
        point = measure_at(self.model, progress)
        self.points.append(point)
        for criterion, interval in self.first:
            if self.first[criterion, interval] is None and point.k % interval == 0 and point.value(criterion) <= TOLERANCE:
                self.first[criterion, interval] = point
        return Stop(Status.CONVERGED, Status.CONVERGED.sentence) if None not in self.first.values() else None

    @property
    def firsts(self) -> list[First]:
        return [First(criterion, interval, point) for (criterion, interval), point in self.first.items()]

    @property
    def curve(self) -> Curve:
        """At every sixth iteration and at the last one."""
        kept = [point for point in self.points if point.k % CURVE_EVERY == 0 or point is self.points[-1]]
        return Curve(
            [point.k for point in kept],
            [_short(point.stationarity) for point in kept],
            [_short(point.feasibility) for point in kept],
        )


def measure_at(model: FairnessModel, progress: Progress) -> Point:
    """Feas., Stat., Cs. at x^k with exact gradients, and for Algorithm 1 max(pres, dres) with lambda~ = lambda^k + mu c(z^k)."""
    state, solver = progress.state, progress.solver
    slopes = model.slopes(state.x)
    found, residual = slopes.diagnostics, None
    if isinstance(solver, MDLAL):
        theta = penalized_multipliers(state.multipliers, state.c, solver.penalty_schedule(state.k))  # type: ignore[attr-defined]
        g = np.concatenate([slopes.gradient + theta[0] * slopes.normal, theta])
        mapping = gradient_mapping(Euclidean(), state.form.region, state.form.regularizer, state.z, g, solver.step_size_schedule(state.k))
        residual = max(float(np.linalg.norm(mapping)), abs(float(state.c[0])))
    return Point(state.k, found.feasibility, found.stationarity, found.slackness, residual)


@final
@dataclass(frozen=True, eq=False)
class MinibatchEvaluator:
    """The values of a batch whose queries share one sample, which is drawn once."""

    problem: Problem

    def __call__(self, batch: Queries) -> Evaluation:
        xi = draw_sample(self.problem.sample, batch.query(0).sample)  # type: ignore[arg-type]
        return Evaluation(self.problem.objective(batch.points(0, len(batch)), [xi] * len(batch)), len(batch))


def _short(value: float) -> float:
    return float(f"{value:.4g}")
