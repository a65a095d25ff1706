"""The trace of a run: one record per step."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from zolal.solvers.base import State

FIELDS = ("iteration", "nfev", "stage", "fun", "stationarity", "feasibility", "fun_error", "stationarity_error")


@final
@dataclass(frozen=True)
class Recorder:
    """Collects a record per step; `trace` gives them as arrays.

    Record k speaks of the iterate x^k: `fun` is what the solver believes of f there, else the mean of F over the step's own evaluations;
    `stationarity` is measured with the step's gradient estimate, `feasibility` is exact. `fun_error` and `stationarity_error` are standard
    errors, NaN where the solver knows none. `nfev` counts the evaluations up to and including the step.
    """

    records: list[tuple[float, ...]] = field(default_factory=list)

    def __call__(self, state: State, nfev: int, fun: float, stage: int = 1) -> None:
        """Record the step of this stage that led to `state`."""
        measures = (state.stationarity, state.feasibility, state.fun_error, state.stationarity_error)
        self.records.append((state.k - 1, nfev, stage, fun, *measures))

    @property
    def trace(self) -> dict[str, np.ndarray]:
        columns = np.asarray(self.records, dtype=float).reshape(-1, len(FIELDS)).T
        trace = dict(zip(FIELDS, columns, strict=True))
        return trace | {name: trace[name].astype(int) for name in ("iteration", "nfev", "stage")}
