"""Where a run stands: what the next batch is for."""

from dataclasses import dataclass
from typing import final

import numpy as np

from zolal.solvers.auto.slopes.leaps import Leaps


@dataclass(frozen=True, eq=False)
class Phase:
    """One of the five below."""


@final
@dataclass(frozen=True, eq=False)
class FirstLook(Phase):
    """The value at the start, twice: is there noise?"""


@final
@dataclass(frozen=True, eq=False)
class NoiseLook(Phase):
    """More values at the start and a few differences: how much noise, and how long must differences be?"""


@final
@dataclass(frozen=True, eq=False)
class SampleLook(Phase):
    """A few slopes with two samples each: how much do the samples differ?"""


@final
@dataclass(frozen=True, eq=False)
class Leaping(Phase):
    """Far trials in a bounded region."""

    leaps: Leaps


@final
@dataclass(frozen=True, eq=False)
class Running(Phase):
    """Steps. first_slopes: those of the last batch, if its directions come once more with another sample."""

    first_slopes: np.ndarray | None = None
