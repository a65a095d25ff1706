"""SciPy's ways of writing constraints, turned into `Constraint`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from zolal.constraints.base import Constraint, is_linear, linear
from zolal.errors import InvalidArgumentError

FORMS = "NonlinearConstraint, LinearConstraint, Bounds, a dict with 'type' and 'fun', zolal.Constraint or zolal.Simulated"
KINDS = (Constraint, NonlinearConstraint, LinearConstraint, Bounds, Mapping)
KEYS = {"type", "fun", "jac", "vjp", "args", "name"}


def as_constraints(constraints: Any, dimension: int) -> list[Constraint]:
    """One constraint, a sequence of them, or a dict from names to them, in any of SciPy's forms; each gets a name.

    Who has none goes by the name of its function, or by its number: "constraint 2".
    """
    if _has_names(constraints):
        parts = [_named(name, item, dimension) for name, item in constraints.items()]
    else:
        if isinstance(constraints, KINDS):
            constraints = [constraints]
        if not isinstance(constraints, Sequence) or isinstance(constraints, str):
            raise InvalidArgumentError(
                f"`constraints` must be {FORMS}, a sequence of these, or a dict {{name: one of these}}, got {constraints!r}."
            )
        parts = [_as_constraint(item, dimension) for item in constraints]
    parts = _all_named(parts)
    check_distinct(part.name for part in parts)
    return parts


def check_distinct(names: Iterable[str | None]) -> None:
    """Raise where a name is given twice, or is what another constraint goes by: its function, its number or one of its rows."""
    repeated = [name for name, count in Counter(names).most_common(1) if count > 1]
    if repeated:
        raise InvalidArgumentError(f"Names of constraints must differ, got {repeated[0]!r} more than once.")


def _has_names(constraints: Any) -> bool:
    """Whether it is a dict from names to constraints and not SLSQP's dict."""
    if not isinstance(constraints, Mapping):
        return False
    return all(isinstance(item, KINDS) for item in constraints.values()) or not ({"type", "fun"} & set(constraints))


def _named(name: Any, item: Any, dimension: int) -> Constraint:
    if not isinstance(name, str) or not name:
        raise InvalidArgumentError(f"A name in `constraints` must be a word, got {name!r}.")
    if not isinstance(item, KINDS):
        raise InvalidArgumentError(f"`constraints[{name!r}]` must be {FORMS}, got {item!r}.")
    part = _as_constraint(item, dimension, name)
    if part.name not in (None, name):
        raise InvalidArgumentError(f"`constraints[{name!r}]` must have no other name, got {part.name!r}.")
    return replace(part, name=name)


def _all_named(parts: list[Constraint]) -> list[Constraint]:
    """Every part with a name: its own, that of its function where no other goes by it, or its number."""
    own = [part.name or _function_name(part) for part in parts]
    counts = Counter(own)
    names = [
        name if part.name is not None or (name and counts[name] == 1) else f"constraint {number}"
        for number, (part, name) in enumerate(zip(parts, own, strict=True), 1)
    ]
    return [part if part.name == name else replace(part, name=name) for part, name in zip(parts, names, strict=True)]


def _function_name(part: Constraint) -> str:
    name = getattr(part.fun, "__name__", "")
    return "" if is_linear(part) or not isinstance(name, str) or name.startswith("<") else name


def _as_constraint(item: Any, dimension: int, name: str | None = None) -> Constraint:
    if isinstance(item, Constraint):
        return item
    if isinstance(item, NonlinearConstraint):
        sparsity = item.finite_diff_jac_sparsity
        return Constraint(item.fun, item.lb, item.ub, jac=_derivative(item.jac), name=name, sparsity=sparsity)
    if isinstance(item, LinearConstraint):
        return _linear(item, dimension, name)
    if isinstance(item, Bounds):
        return linear(scipy.sparse.eye_array(dimension, format="csr"), item.lb, item.ub, name=name)
    if isinstance(item, Mapping):
        return _slsqp(item, name)
    raise InvalidArgumentError(f"A constraint must be {FORMS}, got {item!r}.")


def _linear(item: LinearConstraint, dimension: int, name: str | None) -> Constraint:
    shape = tuple(item.A.shape) if scipy.sparse.issparse(item.A) else np.atleast_2d(item.A).shape
    if shape[1] != dimension:
        of = "" if name is None else f" of constraint {name!r}"
        raise InvalidArgumentError(
            f"`LinearConstraint`{of} must have one column per variable ({dimension}), got a matrix of shape {shape}."
        )
    return linear(item.A, item.lb, item.ub, name=name)


def _slsqp(item: Mapping[str, Any], name: str | None) -> Constraint:
    """SLSQP's dict: type 'eq' for fun(x) = 0, 'ineq' for fun(x) >= 0; 'vjp' and 'name' are zolal's additions."""
    unknown = set(item) - KEYS
    if unknown or item.get("type") not in ("eq", "ineq") or not callable(item.get("fun")):
        raise InvalidArgumentError(
            "A constraint dict must have 'type' ('eq' or 'ineq'), a callable 'fun' and perhaps 'jac', 'vjp', 'args', 'name', "
            f"got {dict(item)!r}{'' if name is None else f' as {name!r}'}."
        )
    args = item.get("args", ())
    args = tuple(args) if isinstance(args, Sequence) and not isinstance(args, str) else (args,)
    jac, vjp = (_with_args(_derivative(item.get(key)), args) for key in ("jac", "vjp"))
    upper = 0.0 if item["type"] == "eq" else np.inf
    return Constraint(_with_args(item["fun"], args), 0.0, upper, jac=jac, vjp=vjp, name=item.get("name", name))


def _derivative(given: Any) -> Any:
    """None where SciPy would take differences; a wrong kind of thing is left for `Constraint` to refuse."""
    return None if isinstance(given, str) and given in ("2-point", "3-point", "cs") else given


def _with_args(function: Any, args: tuple[Any, ...]) -> Any:
    return (lambda x, *rest: function(x, *rest, *args)) if args and callable(function) else function
