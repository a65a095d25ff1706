"""What a change of an image may be: within a norm, within the range of pixels, and where the user's constraints hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from zolal.constraints import Constraint, is_linear

HALVINGS = 40  # of an interval, and doublings of a length
CYCLES = 30  # over violated rows
KEPT = 1e-6  # by how much a row may be violated, in units of its limit or 1


@final
@dataclass(frozen=True, eq=False)
class Changes:
    """{delta : ||delta||_p <= radius, lower <= delta <= upper} with lower <= 0 <= upper, and rows of constraints."""

    norm: float
    radius: float
    lower: np.ndarray
    upper: np.ndarray
    parts: Sequence[Constraint] = ()

    @property
    def diameter(self) -> float:
        """An upper bound of the Euclidean one."""
        return 2.0 * self.radius * (np.sqrt(self.lower.size) if self.norm == np.inf else 1.0)

    def nearest(self, z: np.ndarray) -> np.ndarray:
        """The projection onto the norm's ball and the range of pixels, by the one multiplier t of the ball.

        clip(z, -radius, radius) for p = inf,  z / (1 + t) for p = 2,  sign(z) max(|z| - t, 0) for p = 1, each clipped to the range
        """
        if self.norm == np.inf:
            return np.asarray(np.clip(z, np.maximum(self.lower, -self.radius), np.minimum(self.upper, self.radius)))
        order, size = int(self.norm), np.abs(z)

        def shrunk(t: float) -> np.ndarray:
            small = z / (1.0 + t) if order == 2 else np.sign(z) * np.maximum(size - t, 0.0)
            return np.asarray(np.clip(small, self.lower, self.upper))

        return shrunk(_least(lambda t: float(np.linalg.norm(shrunk(t), order)) <= self.radius))

    def restored(self, z: np.ndarray) -> np.ndarray | None:
        """A change near z where everything holds: along the gradient of the most violated row, again and again; None in vain.

        For a row that is linear, the way from z itself gives the projection, however far z is; another one is followed from where x is.
        """
        for _ in range(CYCLES):
            x = self.nearest(z)
            worst = self._worst(x)
            if worst is None:
                return x
            z = self._moved(z if is_linear(worst[0]) else x, x, *worst)
        x = self.nearest(z)
        return x if self._worst(x) is None else None

    def _worst(self, x: np.ndarray) -> tuple[Constraint, int, float] | None:
        """The row that is violated most, with the limit that it violates."""
        found: list[tuple[float, Constraint, int, float]] = []
        for part in self.parts:
            values = np.atleast_1d(part.finite_value_at(x))
            for limit, over in ((part.lower, -1.0), (part.upper, 1.0)):
                limits = np.broadcast_to(np.asarray(limit, dtype=float), values.shape)
                there = np.where(np.isfinite(limits), limits, values)
                excess = over * (values - there) / np.maximum(1.0, np.abs(there))
                row = int(np.argmax(excess))
                found.append((float(excess[row]), part, row, float(limits[row])))
        largest = max(found, key=lambda one: one[0], default=None)
        return largest[1:] if largest is not None and largest[0] > KEPT else None

    def _moved(self, z: np.ndarray, x: np.ndarray, part: Constraint, row: int, limit: float) -> np.ndarray:
        """z moved along the row's gradient until the row, at the nearest point, has reached its limit."""
        values = np.atleast_1d(part.finite_value_at(x))
        one = np.zeros(values.size)
        one[row] = np.sign(values[row] - limit)
        gradient = np.asarray(part.vjp_at(x, one), dtype=float)
        size = float(np.linalg.norm(gradient))
        if size == 0.0:
            return z
        way = gradient / size

        def reached(t: float) -> bool:
            value = float(np.atleast_1d(part.finite_value_at(self.nearest(z - t * way)))[row])
            return bool((value - limit) * one[row] <= 0.0)

        return z - _least(reached, start=max(float(np.linalg.norm(x)), self.radius) / 64.0) * way


def _least(holds: Callable[[float], bool], start: float = 1e-3) -> float:
    """The least t >= 0 that holds, where larger ones hold, too; where none does, the last that was tried."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, start
    for _ in range(HALVINGS):
        if holds(high):
            break
        low, high = high, 2.0 * high
    else:
        return high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
