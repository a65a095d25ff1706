"""Known constraints: SciPy's forms, equalities as they are, inequalities with slacks; and constraints on what `fun` reports."""

from zolal.constraints.base import Constraint, is_linear, linear
from zolal.constraints.equalities import Equalities, LeastViolation, Violated
from zolal.constraints.scipy_forms import as_constraints, check_distinct
from zolal.constraints.simulated import Outputs, Simulated, parted

__all__ = [
    "Constraint",
    "Equalities",
    "LeastViolation",
    "Outputs",
    "Simulated",
    "Violated",
    "as_constraints",
    "check_distinct",
    "is_linear",
    "linear",
    "parted",
]
