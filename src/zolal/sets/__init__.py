"""Simple convex sets: where the variables may lie."""

from zolal.sets.base import ConvexSet
from zolal.sets.box import Box
from zolal.sets.l1_ball import L1Ball
from zolal.sets.l2_ball import L2Ball
from zolal.sets.lq_ball import LqBall
from zolal.sets.nonnegative import NonNegative
from zolal.sets.product import Product
from zolal.sets.simplex import Simplex
from zolal.sets.whole_space import WholeSpace

__all__ = ["Box", "ConvexSet", "L1Ball", "L2Ball", "LqBall", "NonNegative", "Product", "Simplex", "WholeSpace"]
