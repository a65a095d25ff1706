"""Solvers: sans-IO state machines."""

from zolal.solvers.auto import Auto, AutoState
from zolal.solvers.base import Candidate, Solver, State, TrackedState
from zolal.solvers.baselines import ZOSGD, SZOConEx, SZOConExState, ZOPenalty, ZOPenaltyState, ZOSGDState
from zolal.solvers.mdlal import MDLAL, MDLALState, MultiStage, MultiStageState, Stage

__all__ = [
    "MDLAL",
    "ZOSGD",
    "Auto",
    "AutoState",
    "Candidate",
    "MDLALState",
    "MultiStage",
    "MultiStageState",
    "SZOConEx",
    "SZOConExState",
    "Solver",
    "Stage",
    "State",
    "TrackedState",
    "ZOPenalty",
    "ZOPenaltyState",
    "ZOSGDState",
]
