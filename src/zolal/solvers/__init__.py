"""Solvers: sans-IO state machines."""

from zolal.solvers.base import Candidate, Solver, State
from zolal.solvers.mdlal import MDLAL, MDLALState
from zolal.solvers.multistage import MultiStage, MultiStageState, Stage

__all__ = ["MDLAL", "Candidate", "MDLALState", "MultiStage", "MultiStageState", "Solver", "Stage", "State"]
