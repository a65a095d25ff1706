"""Simple convex regularizers h, known exactly and handled by their proximal operators."""

from zolal.regularizers.base import Regularizer
from zolal.regularizers.block_sum import BlockSum
from zolal.regularizers.elastic_net import ElasticNet
from zolal.regularizers.group_l2 import GroupL2
from zolal.regularizers.l1 import L1
from zolal.regularizers.zero import Zero

__all__ = ["L1", "BlockSum", "ElasticNet", "GroupL2", "Regularizer", "Zero"]
