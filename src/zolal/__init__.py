"""zolal: constrained optimization when all you can do is evaluate."""

from zolal import directions, estimators, mirror, problems, regularizers, schedules, sets, solvers, theory
from zolal.constraints import Constraint
from zolal.doors.asktell import Optimizer
from zolal.doors.minimize import minimize
from zolal.errors import (
    CheckpointError,
    CheckpointWarning,
    ConstraintError,
    InvalidArgumentError,
    ObjectiveError,
    UnsupportedError,
    ZolalError,
)
from zolal.mirror import bregman_step
from zolal.problem import Problem
from zolal.result import Result, Status

__version__ = "0.2.0.dev0"

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "Constraint",
    "ConstraintError",
    "InvalidArgumentError",
    "ObjectiveError",
    "Optimizer",
    "Problem",
    "Result",
    "Status",
    "UnsupportedError",
    "ZolalError",
    "__version__",
    "bregman_step",
    "directions",
    "estimators",
    "minimize",
    "mirror",
    "problems",
    "regularizers",
    "schedules",
    "sets",
    "solvers",
    "theory",
]
