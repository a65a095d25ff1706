"""The automatic solver: every parameter comes from what the run sees."""

from zolal.solvers.auto.slopes import Slopes as Auto
from zolal.solvers.auto.slopes import SlopesState as AutoState

__all__ = ["Auto", "AutoState"]
