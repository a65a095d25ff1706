"""Solvers: sans-IO state machines."""

from zolal.solvers.auto import Auto, AutoState
from zolal.solvers.base import Candidate, Solver, State, TrackedState
from zolal.solvers.mdlal import MDLAL, MDLALState
from zolal.solvers.multistage import MultiStage, MultiStageState, Stage
from zolal.solvers.szo_conex import SZOConEx, SZOConExState
from zolal.solvers.zo_penalty import ZOPenalty, ZOPenaltyState
from zolal.solvers.zo_sgd import ZOSGD, ZOSGDState

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
