"""The automatic method: nothing has to be given."""

from dataclasses import dataclass
from typing import Any, final

from zolal._checks import nonnegative, nonnegative_int, positive_int
from zolal.methods.base import Method, as_mirror
from zolal.schedules import Constant
from zolal.solvers import Auto


@final
@dataclass(frozen=True, kw_only=True)
class AutoOptions:
    """Options of method "auto", all of which may be left out.

    delta: the smoothing of the mirror map when `geometry` is a number above 2. max_iterations: a limit on the steps.
    kkt_directions: directions of the final check, 0 for none.
    """

    delta: float = 1e-3
    max_iterations: int | None = None
    kkt_directions: int = 8

    def method(self, geometry: Any) -> Method:
        """The solver that these options describe."""
        limit = None if self.max_iterations is None else positive_int("options['max_iterations']", self.max_iterations)
        solver = Auto(as_mirror(geometry, nonnegative("options['delta']", self.delta)))
        return Method(solver, "rademacher", Constant(1e-6), nonnegative_int("options['kkt_directions']", self.kkt_directions), limit)
