"""The methods that the paper compares with."""

from zolal.solvers.baselines.szo_conex import SZOConEx, SZOConExState
from zolal.solvers.baselines.zo_penalty import ZOPenalty, ZOPenaltyState
from zolal.solvers.baselines.zo_sgd import ZOSGD, ZOSGDState

__all__ = ["ZOSGD", "SZOConEx", "SZOConExState", "ZOPenalty", "ZOPenaltyState", "ZOSGDState"]
