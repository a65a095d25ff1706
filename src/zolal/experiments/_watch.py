"""The diagnostic of Section 7.1 along a run."""

import math

from zolal.kkt import euclidean_residual
from zolal.problem import Problem
from zolal.result import Status
from zolal.runs.stopping import Progress, Stop, StoppingRule

SPACING = 1.12  # about twenty counts per decade


class Watch(StoppingRule):
    """Stops at the target, and keeps the best residual against the queries at about twenty counts per decade."""

    def __init__(self, problem: Problem, target: float) -> None:
        self.problem, self.target, self.best = problem, target, math.inf
        self.queries: list[int] = []
        self.residuals: list[float] = []

    def __call__(self, progress: Progress) -> Stop | None:
        state = progress.state
        theta = progress.solver.output(state).multipliers
        g = state.form.gradient(state.z, self.problem.gradient(state.x), theta)  # type: ignore[misc]
        residual = euclidean_residual(self.problem.region, self.problem.regularizer, state.x, g, state.c)
        self.best = min(self.best, residual)
        if not self.queries or progress.nfev >= SPACING * self.queries[-1] or residual <= self.target:
            self.queries.append(progress.nfev)
            self.residuals.append(self.best)
        return Stop(Status.CONVERGED, Status.CONVERGED.sentence) if residual <= self.target else None
