"""The automatic solver that knows f by its slopes: for many variables, and for samples."""

from zolal.solvers.auto.slopes.solver import Slopes
from zolal.solvers.auto.slopes.state import SlopesState

__all__ = ["Slopes", "SlopesState"]
