"""Solvers: sans-IO state machines."""

from zolal.solvers.base import Candidate, Solver, State
from zolal.solvers.mdlal import MDLAL, MDLALState

__all__ = ["MDLAL", "Candidate", "MDLALState", "Solver", "State"]
