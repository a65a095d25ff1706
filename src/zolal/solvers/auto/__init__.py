"""The automatic solver: every parameter comes from what the run sees."""

from zolal.solvers.auto.solver import Auto, AutoState

__all__ = ["Auto", "AutoState"]
