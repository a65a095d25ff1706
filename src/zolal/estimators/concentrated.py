"""A gradient with few large entries, from far fewer slopes than it has entries."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from zolal._array import Array, like, namespace, to_numpy, zeros
from zolal.directions import Orthogonal

WINDOW = 512  # slopes kept, at least
PASSES = 3  # thresholded corrections per batch
SMALLEST = 64  # the least dimension in which it is worth the work


@final
@dataclass(frozen=True, eq=False)
class Concentrated:
    """A sparse estimate w of the gradient from the last slopes, and whether it foretells the next ones better than the dense estimate.

    v = w + (1/n) sum_j (slope_j - <u_j, w>) u_j,      w <- v where |v_i| > tau rms(e) / sqrt(n), else 0,      tau = sqrt(2 log d)

    Every entry of v carries noise of the size rms(e)/sqrt(n), of which d numbers exceed tau times that hardly ever; so what is left is
    real. With k real entries the error shrinks by about k/n per pass, so n of the order of k log d slopes are enough, whatever d is
    (iterative thresholding, as in compressed sensing). Nobody has to know whether the gradient is like that: both estimates foretell the
    slopes of the next batch before they are seen, and the one with the smaller squares is taken.

    slopes: the window. estimate: w. dense, sparse: the
    discounted sums of squares of what either estimate foretold wrongly.
    """

    slopes: np.ndarray
    estimate: Array
    dense: float = 0.0
    sparse: float = 0.0

    @classmethod
    def start(cls, x: Array) -> "Concentrated":
        return cls(np.empty(0), zeros(x.shape[0], x))

    @property
    def is_better(self) -> bool:
        return self.sparse < self.dense

    def judged(self, directions: Orthogonal, slopes: np.ndarray, dense_errors: np.ndarray) -> "Concentrated":
        """After comparing how both estimates foretold these slopes; dense_errors: what the dense one missed of each."""
        sparse_errors = slopes - to_numpy(directions.dot(self.estimate))
        dense, sparse = (float(np.nansum(errors**2)) for errors in (dense_errors, sparse_errors))
        return replace(self, dense=0.5 * self.dense + dense, sparse=0.5 * self.sparse + sparse)

    def absorb(self, directions: Orthogonal, slopes: np.ndarray) -> "Concentrated":
        """After these slopes, which follow those of the window."""
        window = np.concatenate([self.slopes, slopes])[-max(WINDOW, len(slopes)) :]
        first = (directions.start or 0) + len(slopes) - len(window)
        rows = replace(directions, start=first, count=len(window))
        w, tau = self.estimate, math.sqrt(2.0 * math.log(directions.dimension))
        errors = np.nan_to_num(window - to_numpy(rows.dot(w)))  # a slope that was skipped says nothing
        for _ in range(PASSES):
            v = w + rows.combine(like(errors / len(window), w))
            threshold = tau * math.sqrt(float(np.mean(errors**2)) / len(window))
            trial = namespace(w).where(namespace(w).abs(v) > threshold, v, namespace(w).zeros_like(v))
            missed = np.nan_to_num(window - to_numpy(rows.dot(trial)))
            if not float(np.mean(missed**2)) < float(np.mean(errors**2)):
                break
            w, errors = trial, missed
        return replace(self, slopes=window, estimate=w)
