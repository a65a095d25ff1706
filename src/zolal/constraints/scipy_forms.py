"""SciPy's ways of writing constraints, turned into `Constraint`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from zolal.constraints.base import Constraint, linear
from zolal.errors import InvalidArgumentError

FORMS = "NonlinearConstraint, LinearConstraint, Bounds, a dict with 'type' and 'fun', or zolal.Constraint"


def as_constraints(constraints: Any, dimension: int) -> list[Constraint]:
    """One constraint or a sequence of them, in any of SciPy's forms."""
    if isinstance(constraints, (Constraint, NonlinearConstraint, LinearConstraint, Bounds, Mapping)):
        constraints = [constraints]
    if not isinstance(constraints, Sequence):
        raise InvalidArgumentError(f"`constraints` must be {FORMS}, or a sequence of these, got {constraints!r}.")
    return [_as_constraint(item, dimension) for item in constraints]


def _as_constraint(item: Any, dimension: int) -> Constraint:
    if isinstance(item, Constraint):
        return item
    if isinstance(item, NonlinearConstraint):
        return Constraint(item.fun, item.lb, item.ub, jac=_derivative(item.jac))
    if isinstance(item, LinearConstraint):
        return _linear(item, dimension)
    if isinstance(item, Bounds):
        return linear(scipy.sparse.eye_array(dimension, format="csr"), item.lb, item.ub)
    if isinstance(item, Mapping):
        return _slsqp(item)
    raise InvalidArgumentError(f"A constraint must be {FORMS}, got {item!r}.")


def _linear(item: LinearConstraint, dimension: int) -> Constraint:
    shape = tuple(item.A.shape) if scipy.sparse.issparse(item.A) else np.atleast_2d(item.A).shape
    if shape[1] != dimension:
        raise InvalidArgumentError(f"`LinearConstraint` must have one column per variable ({dimension}), got a matrix of shape {shape}.")
    return linear(item.A, item.lb, item.ub)


def _slsqp(item: Mapping[str, Any]) -> Constraint:
    """SLSQP's dict: type 'eq' for fun(x) = 0, 'ineq' for fun(x) >= 0; 'vjp' is zolal's addition."""
    unknown = set(item) - {"type", "fun", "jac", "vjp", "args"}
    if unknown or item.get("type") not in ("eq", "ineq") or not callable(item.get("fun")):
        raise InvalidArgumentError(
            f"A constraint dict must have 'type' ('eq' or 'ineq'), a callable 'fun' and perhaps 'jac', 'vjp', 'args', got {dict(item)!r}."
        )
    args = tuple(item.get("args", ()))
    jac, vjp = (_with_args(_derivative(item.get(name)), args) for name in ("jac", "vjp"))
    return Constraint(_with_args(item["fun"], args), 0.0, 0.0 if item["type"] == "eq" else np.inf, jac=jac, vjp=vjp)


def _derivative(given: Any) -> Any:
    """None where SciPy would take differences; a wrong kind of thing is left for `Constraint` to refuse."""
    return None if isinstance(given, str) and given in ("2-point", "3-point", "cs") else given


def _with_args(function: Any, args: tuple[Any, ...]) -> Any:
    return (lambda x, *rest: function(x, *rest, *args)) if args and callable(function) else function
