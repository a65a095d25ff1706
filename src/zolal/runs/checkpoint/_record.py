"""A result in the plain values of JSON."""

from typing import Any

from zolal._array import to_numpy
from zolal.errors import ConstraintError
from zolal.problem import SlackForm
from zolal.result import Result, plain_numbers

TABLE_ROWS = 1000  # of constraints
SCALARS = ("fun", "fun_error", "nfev", "nit", "message", "maxcv")
MEASURES = ("stationarity", "feasibility", "euclidean", "p", "estimated", "standard_error")


def result_record(result: Result, form: SlackForm) -> dict[str, Any]:
    """The result with its table of constraints; the trace is left to its own file."""
    names = form.problem.names
    own = dict(constraints=constraint_table(result, form), names=None if names is None else [str(name) for name in names])
    return plain_record(result) | own


def plain_record(result: Result) -> dict[str, Any]:
    """The result's own fields."""
    return dict(
        {name: result[name] for name in SCALARS},
        status=result.status.name,
        success=bool(result.success),
        seed=str(result.seed),
        kkt={name: getattr(result.kkt, name) for name in MEASURES},
        failures=[dict(failure=failure, count=count) for failure, count in result.failures],
        names=None if result.get("names") is None else [str(name) for name in result.names],
        x=plain_numbers(result.x).tolist(),
        multipliers=to_numpy(result.multipliers).astype(float).tolist(),
    )


def constraint_table(result: Result, form: SlackForm) -> list[dict[str, Any]]:
    """Each row of the constraints at the result: its name, value, bounds, violation and multiplier; none where a constraint fails there."""
    try:
        columns = form.equalities.row_values(result.x)._asdict() | dict(multiplier=result.multipliers)
    except ConstraintError:
        return list(result.get("outputs", ()))
    parts = zip(form.equalities.parts, form.equalities.row_counts, strict=True)
    labels = [dict(name=part.name, row=row) for part, count in parts for row in range(count)][:TABLE_ROWS]
    known = [label | {key: float(column[i]) for key, column in columns.items()} for i, label in enumerate(labels)]
    return known + list(result.get("outputs", ()))
