"""zolal: constrained optimization when all you can do is evaluate."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zolal import directions, estimators, mirror, problems, regularizers, schedules, sets, solvers, theory
    from zolal.constraints import Constraint, Simulated
    from zolal.doors.asktell import Optimizer
    from zolal.doors.command import Command
    from zolal.doors.minimize import minimize
    from zolal.doors.scipy_method import scipy_method
    from zolal.errors import (
        CheckpointError,
        CheckpointWarning,
        ConstraintError,
        DamagedError,
        InvalidArgumentError,
        ObjectiveError,
        StartWarning,
        UnsupportedError,
        ZolalError,
        ZolalWarning,
    )
    from zolal.mirror import bregman_step
    from zolal.problem import Problem
    from zolal.result import Result, Status

__version__ = "0.2.0.dev0"

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "Command",
    "Constraint",
    "ConstraintError",
    "DamagedError",
    "InvalidArgumentError",
    "ObjectiveError",
    "Optimizer",
    "Problem",
    "Result",
    "Simulated",
    "StartWarning",
    "Status",
    "UnsupportedError",
    "ZolalError",
    "ZolalWarning",
    "__version__",
    "bregman_step",
    "directions",
    "estimators",
    "minimize",
    "mirror",
    "problems",
    "regularizers",
    "schedules",
    "scipy_method",
    "sets",
    "solvers",
    "theory",
]

_HOMES = {  # of the names that are no modules; SciPy is loaded with the first of these that is used, and not with zolal
    "Command": "doors.command",
    "Constraint": "constraints",
    "Optimizer": "doors.asktell",
    "Problem": "problem",
    "Result": "result",
    "Simulated": "constraints",
    "Status": "result",
    "bregman_step": "mirror",
    "minimize": "doors.minimize",
    "scipy_method": "doors.scipy_method",
} | {name: "errors" for name in __all__ if name.endswith(("Error", "Warning"))}


if not TYPE_CHECKING:  # which would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            home = importlib.import_module(f"zolal.{_HOMES.get(name, name)}")
        except ModuleNotFoundError as error:
            if error.name != f"zolal.{name}":
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        globals()[name] = getattr(home, name) if name in _HOMES else home
        return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)
