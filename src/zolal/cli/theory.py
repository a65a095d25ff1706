"""`zolal theory`: what the paper's theorems prescribe and promise."""

import inspect
import json as json_format
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from zolal import theory as predictions
from zolal.errors import InvalidArgumentError

DEFAULTS = {field.name: 1 if field.name == "m" else 1.0 for field in fields(predictions.Constants)} | dict(c0=0.0, M_h=0.0, Phi_range=None)
MEANINGS = {
    "L_f": "Smoothness of f, and of F in mean square.",
    "M_f": "Bound of the norm of the gradient of f.",
    "sigma": "Standard deviation of the gradient of F.",
    "M_c": "Bound of the norms of the constraints' gradients.",
    "L_c": "Smoothness of the constraints.",
    "Mbar_c": "Bound of the constraints' absolute values on X.",
    "beta": "Regularity constant of Assumption 3.2.",
    "D_X": "Bound of ||x||_q on X.",
    "Phi_gap": "Phi(x^0) minus the least value of Phi = f + h.",
    "c0": "||c(x^0)||_2, the infeasibility of the start.",
    "M_h": "Bound of the subgradients of h.",
    "m": "Number of constraints.",
    "Phi_range": "Largest minus least value of Phi on X, for the stages.",
}
FLAGS = {
    "d": "Number of variables, at least 3.",
    "p": "Geometry: mirror steps in the l_q norm, 1/p + 1/q = 1, p >= 2.",
    "epsilon": "Accuracy: squared stationarity and infeasibility at most epsilon^2 in the mean.",
    "rho": "Sum of the dual steps, rho_k = rho / K.",
    "delta": "Smoothing of the mirror map for p > 2.",
    "constants": "TOML file with constants by their names below.",
    "json": "Print everything as JSON.",
    "plot": "Draw the evaluations against p into this .png or .svg file.",
}
STAGE = ("mu", "epsilon", "eta", "alpha", "nu", "n_0", "n", "K", "evaluations")
QUANTITIES = tuple(field.name for field in fields(predictions.Settings) if field.type is predictions.Explained)


def theory(
    d: int = 1024,
    p: float = 2.0,
    epsilon: float = 1e-2,
    rho: float = 1.0,
    delta: float = 1e-2,
    constants: Path | None = None,
    json: bool = False,
    plot: Path | None = None,
    **flags: float | None,
) -> None:
    """Print the parameters and the number of evaluations that the theory prescribes, each with its formula.

    First those of Algorithm 1, which needs a nearly feasible start; then the stages of Algorithm 2, which starts anywhere in X.
    The constants are those of the paper's assumptions: flags, a TOML file with the same names (--constants), or both; a flag wins.
    --plot draws the evaluations against p for several d and epsilon into a png or svg file.
    """
    try:
        known = _constants(constants, flags)
        geometry = predictions.Geometry(d, p, delta)
        chosen = predictions.settings(known, geometry, epsilon, rho)
        lines = _predictions(known, chosen)
        stages = predictions.stage_settings(known, geometry, epsilon, rho)
        best, fewest = predictions.best_p(known, d, epsilon, rho, delta)
        if plot is not None:
            _draw(plot, known, rho, delta)
    except ArithmeticError as error:
        raise InvalidArgumentError("These constants lead to numbers beyond the range of floats.") from error
    if json:
        values: dict[str, Any] = {name: _as_dict(getattr(chosen, name)) for name in QUANTITIES} | {
            name: _as_dict(value) for name, value in lines.items()
        }
        values["best_p"] = {"p": best, "evaluations": _as_dict(fewest)}
        values["stages"] = [{name: float(getattr(stage, name)) for name in STAGE} for stage in stages]
        values["stage_evaluations"] = _as_dict(predictions.stage_evaluations(stages))
        print(json_format.dumps(values, indent=2))
    else:
        _show_theory(chosen, lines, best, fewest)
        _show_stages(stages, lines["stage_order_terms"])


OWN = tuple(inspect.signature(theory).parameters.values())


def theory_with_constants(typer: Any) -> Any:
    """`theory` with a description of each flag and one flag per constant, spelled as in the paper."""
    own = [
        parameter.replace(annotation=Annotated[parameter.annotation, typer.Option(help=FLAGS[parameter.name])])
        for parameter in OWN
        if parameter.name in FLAGS
    ]
    symbols = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_flag(typer, name, value))
        for name, value in DEFAULTS.items()
    ]
    theory.__signature__ = inspect.Signature(own + symbols)  # type: ignore[attr-defined]
    return theory


def _flag(typer: Any, name: str, value: float | None) -> Any:
    kind, shown = (float, "Phi_gap") if value is None else (type(value), f"{value:g}")
    return Annotated[kind | None, typer.Option(f"--{name}", help=MEANINGS[name], show_default=shown, rich_help_panel="Constants")]


def _constants(file: Path | None, flags: dict[str, float | None]) -> predictions.Constants:
    given: dict[str, Any] = {}
    if file is not None:
        try:
            given = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InvalidArgumentError(f"`--constants` must be a TOML file that can be read, got {str(file)!r}: {reason}.") from error
    if unknown := [name for name in given if name not in DEFAULTS]:
        raise InvalidArgumentError(f"`--constants` must hold only {', '.join(DEFAULTS)}, got {unknown[0]!r}.")
    return predictions.Constants(**DEFAULTS | given | {name: value for name, value in flags.items() if value is not None})


def _predictions(known: predictions.Constants, chosen: predictions.Settings) -> dict[str, predictions.Explained]:
    geometry, parameters = chosen.geometry, chosen.parameters
    return {
        "stationarity_bound": predictions.stationarity_bound(known, geometry, parameters),
        "feasibility_bound": predictions.feasibility_bound(known, geometry, parameters),
        "order_terms": predictions.order_terms(geometry.d, geometry.p, chosen.epsilon),
        "stage_order_terms": predictions.stage_order_terms(geometry.d, geometry.p, chosen.epsilon),
        "high_accuracy_boundary": predictions.high_accuracy_boundary(geometry.d, geometry.p),
    }


def _as_dict(value: predictions.Explained) -> dict[str, Any]:
    return dict(value=float(value), formula=value.formula, source=value.source, terms=value.terms, active=value.active)


def _show_theory(chosen: predictions.Settings, lines: dict[str, predictions.Explained], best: float, fewest: float) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("quantity", "value", "formula", "active term", box=None, pad_edge=False, header_style="bold")
    for name in QUANTITIES:
        value = getattr(chosen, name)
        table.add_row(name, f"{value:.6g}", value.formula, value.active or "")
    order, boundary = lines["order_terms"], lines["high_accuracy_boundary"]
    side = "inside" if chosen.epsilon <= boundary else "outside"
    rest = Table(show_header=False, box=None, pad_edge=False)
    target = f"target epsilon^2 = {chosen.epsilon**2:.4g}"
    rest.add_row("Theorem 5.1, E||G_X||_q^2", f"{lines['stationarity_bound']:.4g}", target)
    rest.add_row("Theorem 5.2, E||c(x^R)||_p^2", f"{lines['feasibility_bound']:.4g}", target)
    rest.add_row("order of Theorem 6.1", f"{order:.4g}", " + ".join(f"{value:.3g} ({name})" for name, value in order.terms.items()))
    rest.add_row("high accuracy below epsilon", f"{boundary:.4g}", f"{side} with epsilon = {chosen.epsilon:g}")
    rest.add_row("best p", f"{best:.4g}", f"{fewest:.6g} evaluations")
    regime = "Theorem 5.3, p <= 2 ln d" if chosen.geometry.p == chosen.geometry.p_bar else "Theorem 5.4, p > 2 ln d"
    print(f"d = {chosen.geometry.d}, p = {chosen.geometry.p:g}, epsilon = {chosen.epsilon:g}, rho = {chosen.rho:g} ({regime})\n")
    Console(width=140).print(table, "", rest)


def _show_stages(stages: Sequence[predictions.Settings], order: predictions.Explained) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("stage", *STAGE, box=None, pad_edge=False, header_style="bold")
    for number, stage in enumerate(stages, start=1):
        table.add_row(str(number), *(f"{float(getattr(stage, name)):.4g}" for name in STAGE))
    total = predictions.stage_evaluations(stages)
    parts = " + ".join(f"{value:.3g} ({name})" for name, value in order.terms.items())
    print(
        f"\nAlgorithm 2 from any start in X: {len(stages)} stages, {total:.6g} evaluations; order of Theorem 6.2: {order:.4g} = {parts}\n"
    )
    Console(width=140).print(table)


def _draw(path: Path, known: predictions.Constants, rho: float, delta: float) -> None:
    try:
        from zolal.report import draw_evaluations
    except ImportError:
        sys.exit("The plot needs matplotlib: pip install 'zolal[cli]'.")
    draw_evaluations(path, known, rho, delta)
