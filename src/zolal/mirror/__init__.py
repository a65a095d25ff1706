"""Mirror maps (the geometry) and Bregman proximal steps."""

from zolal.linearization import Linearization
from zolal.mirror.base import MirrorMap, bregman_step
from zolal.mirror.block import Block
from zolal.mirror.euclidean import Euclidean
from zolal.mirror.kept import KeptStep, Subproblem, kept_curvature_step
from zolal.mirror.smoothed_lq import SmoothedLq

__all__ = [
    "Block",
    "Euclidean",
    "KeptStep",
    "Linearization",
    "MirrorMap",
    "SmoothedLq",
    "Subproblem",
    "bregman_step",
    "kept_curvature_step",
]
