"""How long the differences are: the balance of truncation and noise, found by trying two lengths."""

import math
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from zolal.solvers.auto.slopes.averages import Discounted
from zolal.solvers.auto.slopes.constants import CONSTANTS
from zolal.solvers.auto.slopes.reading import Reading


@final
@dataclass(frozen=True)
class Lengths:
    """radius: the shorter length nu sqrt(d) of a difference. short, long: the innovations of slopes of the length nu and 2 nu."""

    radius: float
    short: Discounted = field(default_factory=Discounted)
    long: Discounted = field(default_factory=Discounted)

    def despite_rounding(self, reading: Reading, scale: float) -> "Lengths":
        """Longer ones where rounding is too large a part of the slopes; nothing else asks for more in exact arithmetic."""
        rough = float(np.mean(reading.variances)) > CONSTANTS.rough * float(np.nanmean(reading.slopes**2))
        longest = CONSTANTS.longest_exact_length * scale
        return replace(self, radius=min(10.0 * self.radius, max(self.radius, longest))) if rough else self

    def despite_noise(self, reading: Reading, errors: np.ndarray, longest: float) -> "Lengths":
        """Twice as long where the longer differences foretell better, half as long where they do much worse.

        errors: what s foretold wrongly of each slope.
        """
        d = reading.directions.dimension
        short, long = (
            old.missed(errors[part], 1.0 - min(0.5, float(part.sum()) / max(32.0, 0.5 * d)))
            for old, part in ((self.short, reading.short), (self.long, ~reading.short))
        )
        fewest = min(short.weight, long.weight)
        if fewest >= CONSTANTS.length_evidence:
            doubt = 3.0 * math.sqrt(2.0 / fewest)
            if long.mean < short.mean * (1.0 - min(0.5, doubt)) and 2.0 * self.radius <= longest:
                return Lengths(2.0 * self.radius, long, Discounted())
            if long.mean > short.mean * (1.0 + max(1.0, doubt)):
                return Lengths(0.5 * self.radius, Discounted(), short)
        return replace(self, short=short, long=long)
