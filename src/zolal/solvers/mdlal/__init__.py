"""The paper's method: Algorithm 1, and Algorithm 2, whose stages are runs of it."""

from zolal.solvers.mdlal.algorithm1 import MDLAL, OUTPUTS, MDLALState
from zolal.solvers.mdlal.algorithm2 import MultiStage, MultiStageState, Stage, stage_seed

__all__ = ["MDLAL", "OUTPUTS", "MDLALState", "MultiStage", "MultiStageState", "Stage", "stage_seed"]
