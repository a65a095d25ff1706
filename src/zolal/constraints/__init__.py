"""Known constraints: SciPy's forms, equalities as they are, inequalities with slacks."""

from zolal.constraints.base import Constraint, is_linear, linear
from zolal.constraints.equalities import Equalities, LeastViolation, Violated
from zolal.constraints.scipy_forms import as_constraints, check_distinct

__all__ = ["Constraint", "Equalities", "LeastViolation", "Violated", "as_constraints", "check_distinct", "is_linear", "linear"]
