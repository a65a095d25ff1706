"""Test problems that know their optimum, with exact gradients for diagnostics."""

from zolal.problems.inventory import inventory
from zolal.problems.l1_box import l1_box
from zolal.problems.simplex_lp import simplex_lp
from zolal.problems.sphere_quadratic import sphere_quadratic

__all__ = ["inventory", "l1_box", "simplex_lp", "sphere_quadratic"]
