"""The trace of a run: a record per step, or per so many steps where there are more than anybody looks at."""

from array import array
from collections.abc import Iterable, Iterator
from typing import final

import numpy as np

from zolal.solvers.base import State

FIELDS = ("iteration", "nfev", "stage", "fun", "stationarity", "feasibility", "fun_error", "stationarity_error")
COUNTS = FIELDS[:3]  # whole numbers
MOST = 1 << 14  # records of a trace, an even number; a run with more steps keeps every second of them, then every fourth, and so on


def distance(steps: int) -> int:
    """Between two records of so many steps: the least power of 2 that leaves at most `MOST` of them."""
    return 1 << (max(steps - 1, 0) // MOST).bit_length()


@final
class Recorder:
    """Collects a record per step; `trace` gives them as arrays.

    Record k speaks of the iterate x^k: `fun` is what the solver believes of f there, else the mean of F over the step's own evaluations;
    `stationarity` is measured with the step's gradient estimate, `feasibility` is exact. `fun_error` and `stationarity_error` are standard
    errors, NaN where the solver knows none. `nfev` counts the evaluations up to and including the step.

    Of more than `MOST` steps the records at equal distances and the last one are kept; which ones depends on the number of steps alone.
    kept, last: records that there are already. steps: those that they are of.
    """

    def __init__(self, kept: Iterable[tuple[float, ...]] = (), last: tuple[float, ...] = (), steps: int = 0) -> None:
        self.last, self.steps = last, steps
        self._kept = array("d", (value for record in kept for value in record))

    def __call__(self, state: State, nfev: int, fun: float, stage: int = 1) -> None:
        """Record the step of this stage that led to `state`."""
        before, after, self.steps = self.distance, distance(state.k), state.k
        self.last = (state.k - 1, nfev, stage, fun, state.stationarity, state.feasibility, state.fun_error, state.stationarity_error)
        if after > before:
            self._kept = array("d", self._rows[self._rows[:, 0] % after == 0.0].tobytes())
        if (self.steps - 1) % after == 0:
            self._kept.extend(self.last)

    @property
    def distance(self) -> int:
        """Between the steps of two records."""
        return distance(self.steps)

    def kept(self) -> Iterator[tuple[float, ...]]:
        """The records at equal distances."""
        for row in self._rows:
            record = row.tolist()
            yield (*map(int, record[: len(COUNTS)]), *record[len(COUNTS) :])

    @property
    def _rows(self) -> np.ndarray:
        return np.array(self._kept).reshape(-1, len(FIELDS))

    @property
    def trace(self) -> dict[str, np.ndarray]:
        rows = self._rows
        if self.last and not (rows.size and rows[-1, 0] == self.last[0]):
            rows = np.vstack([rows, self.last])
        trace = dict(zip(FIELDS, rows.T, strict=True))
        return trace | {name: trace[name].astype(int) for name in COUNTS}
