"""Mirror maps (the geometry) and Bregman proximal steps."""

from zolal.mirror.base import MirrorMap, bregman_step
from zolal.mirror.block import Block
from zolal.mirror.euclidean import Euclidean
from zolal.mirror.smoothed_lq import SmoothedLq

__all__ = ["Block", "Euclidean", "MirrorMap", "SmoothedLq", "bregman_step"]
