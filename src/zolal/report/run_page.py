"""One run as one page: HTML with its plots inside, that needs no network and runs no script."""

import io
import itertools
import math
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from zolal.errors import InvalidArgumentError
from zolal.result import Result, plain_numbers
from zolal.runs.checkpoint import RunRecord, plain_record, read_run, replace_file

MOST_POINTS = 2000  # of a curve
MOST_TICKS = 40  # names below the plot of x
MOST_ROWS = 200  # of a table
NOTHING = 1e-20  # what a logarithmic curve leaves out: rounding, and what is not known yet
MOST_VARIABLES = 5000  # in the plot of x
MEANS = 20  # of the objective in its plot, each over so much of the run
BLUE, ORANGE, GREY, PALE = "#0072B2", "#D55E00", "0.45", "#A9CDE3"
MEASURES = {"stationarity": ("stationarity, as estimated by the run", BLUE), "feasibility": ("violation of the constraints", ORANGE)}


def write_run_page(folder: Path, path: Path) -> None:
    """Write the page of the run that a folder keeps; the run may still go on."""
    page = run_page(read_run(folder))
    replace_file(path, lambda file: file.write(page.encode()))


def write_result_page(result: Result, path: Any) -> None:
    """Write the page of a result that no folder keeps."""
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise InvalidArgumentError(f"`Result.report(path)` must be the path of a file, got {path!r}.")
    page = _page(Path(path).stem, result_as_record(result), None, Counter(dict(result.get("failures", ()))))
    try:
        replace_file(Path(path), lambda file: file.write(page.encode()))
    except OSError as error:
        raise InvalidArgumentError(f"`Result.report(path)` must be a file that can be written, got {str(path)!r}: {error}.") from error


def result_as_record(result: Result) -> RunRecord:
    """What a folder would tell of the run that had this result."""
    given = dict(result.get("parameters", {}))
    about = dict(fingerprint=dict(tol=math.inf) | given, maxfev=given.pop("maxfev", result.nfev))
    about["fingerprint"].pop("maxfev", None)
    return RunRecord(Path(), about, result.trace, [], plain_record(result) | dict(constraints=list(result.get("constraints", ()))))


def draw_result(result: Result) -> Figure:
    """The objective, the residuals and the point in one figure."""
    figure = Figure(figsize=(7.2, 8.4), layout="constrained")
    trace = _thinned(result.trace)
    panels = figure.subplots(3, 1)
    _draw_curves(panels[0], trace, {"fun": ("objective at each step", BLUE)}, log=False)
    _draw_curves(panels[1], trace, MEASURES, log=True)
    _draw_variables(panels[2], plain_numbers(result.x)[:MOST_VARIABLES], result.get("names"))
    for axes, label, title in zip(panels, ("evaluations", "evaluations", "coordinate"), ("Objective", "Residuals", "x"), strict=True):
        _dress(axes, label)
        axes.set_title(title, loc="left")
    return figure


def run_page(record: RunRecord) -> str:
    """The page. Every text that comes from the run is escaped."""
    failures = record.earlier_failures + Counter(line["failure"] for line in record.failures)
    return _page(record.path.resolve().name, record, record.failures[-20:], failures)


def _page(name: str, record: RunRecord, last_failures: Any, failures: Counter[str]) -> str:
    environment = Environment(
        loader=PackageLoader("zolal.report", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= dict(number=_number, value=_value)
    result, trace = record.result, record.trace
    return environment.get_template("run_page.html.j2").render(
        name=name,
        about=record.about,
        result=result,
        steps=int(trace["iteration"][-1]) + 1 if trace["iteration"].size else 0,
        last={name: float(column[-1]) if column.size else math.nan for name, column in trace.items()},
        plots=_plots(record),
        tol=float(record.about["fingerprint"]["tol"]),
        constraints=(result or {}).get("constraints", [])[:MOST_ROWS],
        simulated=any("probability" in row for row in (result or {}).get("constraints", [])),
        variables=list(zip(_names(result or {}), (result or {}).get("x", []), strict=False))[:MOST_ROWS],
        named=(result or {}).get("names") is not None,
        alone={name for name, count in Counter(row["name"] for row in (result or {}).get("constraints", [])).items() if count == 1},
        counts={name: len((result or {}).get(name, [])) for name in ("x", "multipliers")},
        failures=failures.most_common(MOST_ROWS),
        last_failures=last_failures,
    )


def _names(result: dict[str, Any]) -> Any:
    """What the variables are called: by their names, or by number."""
    return itertools.count() if result.get("names") is None else result["names"]


def _number(value: Any, digits: int = 6) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return {"inf": "∞", "-inf": "-∞"}.get(value, value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"


def _value(row: dict[str, Any]) -> str:
    """The value of a constraint; of an output with its standard error."""
    value, error = _number(row["value"], 8), row.get("error") or 0.0
    return f"{value} ± {_number(error, 2)}" if isinstance(error, float) and 0.0 < error < math.inf else value


def _plots(record: RunRecord) -> list[dict[str, Any]]:
    believed = bool(np.isfinite(record.trace["fun_error"]).any())  # then each value is a mean over many already
    window, plots = 1 if believed else max(1, record.trace["nfev"].size // MEANS), []
    trace = _thinned(record.trace | {"mean": _trailing_mean(record.trace["fun"], window)})
    if trace["nfev"].size:
        values = {"fun": ("at each step", BLUE if window == 1 else PALE)}
        values |= {"mean": (f"mean of {window} steps", BLUE)} if window > 1 else {}
        plots.append(
            dict(
                id="objective",
                title="Objective, with two standard errors" if believed else "Objective, with its noise",
                svg=_curves("objective", trace, values, log=False),
            )
        )
        for name, title in (("stationarity", "Stationarity" + ", up to two standard errors" * believed), ("feasibility", "Violation")):
            if (trace[name] > NOTHING).any():
                plots.append(dict(id=name, title=title, svg=_curves(name, trace, {name: MEASURES[name]}, log=True)))
    if record.result is not None:
        x = np.array(record.result["x"], dtype=float)
        title = "The point found" if x.size <= MOST_VARIABLES else f"The point found, its first {MOST_VARIABLES:,} coordinates"
        plots.append(
            dict(id="variables-plot", title=title, svg=_variables("variables-plot", x[:MOST_VARIABLES], record.result.get("names")))
        )
    return plots


def _trailing_mean(values: np.ndarray, window: int) -> np.ndarray:
    """The mean of each value and those before it, `window` in all; values that are missing are left out."""
    sums, counts = (np.concatenate([[0.0], np.cumsum(column)]) for column in (np.nan_to_num(values), ~np.isnan(values)))
    first = np.maximum(np.arange(1, values.size + 1) - window, 0)
    with np.errstate(invalid="ignore"):
        return (sums[1:] - sums[first]) / (counts[1:] - counts[first])


def _thinned(trace: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    count = trace["nfev"].size
    kept = np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).astype(int)) if count else np.array([], dtype=int)
    return {name: column[kept] for name, column in trace.items()}


def _curves(name: str, trace: dict[str, np.ndarray], curves: dict[str, tuple[str, str]], log: bool) -> Markup:
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    axes = figure.add_subplot()
    _draw_curves(axes, trace, curves, log)
    return _svg(name, figure, axes, "evaluations")


def _draw_curves(axes: Any, trace: dict[str, np.ndarray], curves: dict[str, tuple[str, str]], log: bool) -> None:
    drawn = 0
    for field, (label, colour) in curves.items():
        values = np.where(trace[field] > NOTHING, trace[field], np.nan) if log else trace[field]
        if np.isfinite(values).any():
            marker = "." if values.size < 60 else ""
            axes.plot(trace["nfev"], values, color=colour, linewidth=1.4, label=label, marker=marker)
            _draw_band(axes, trace, field, colour, log)
            drawn += 1
    if log and drawn:
        axes.set_yscale("log")
    if len(curves) > 1 and drawn:
        axes.legend(frameon=False)


def _draw_band(axes: Any, trace: dict[str, np.ndarray], field: str, colour: str, log: bool) -> None:
    """Two standard errors about a curve, where they are known and no larger than what it shows."""
    error = trace.get(f"{field}_error")
    if error is None:
        return
    value, error = trace[field], 2.0 * error
    known = np.isfinite(error) & np.isfinite(value) & (error <= 10.0 * np.nanmax(np.abs(value), initial=0.0))
    value = np.where(value > NOTHING, value, np.nan) if log else value
    low = value if log else value - error  # what may be 0 has no lower end
    axes.fill_between(trace["nfev"], low, value + error, where=known & np.isfinite(low), color=colour, alpha=0.2, linewidth=0)


def _variables(name: str, x: np.ndarray, names: list[str] | None = None) -> Markup:
    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    axes = figure.add_subplot()
    return _svg(name, figure, axes, "" if _draw_variables(axes, x, names) else "coordinate")


def _draw_variables(axes: Any, x: np.ndarray, names: Any = None) -> bool:
    """The numbers of x as lines; returns whether they are named."""
    axes.vlines(np.arange(x.size), 0.0, x, color=BLUE, linewidth=max(0.4, min(4.0, 250.0 / max(x.size, 1))))
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    if names is not None and x.size <= MOST_TICKS:
        axes.set_xticks(np.arange(x.size), [_shortened(str(text)) for text in names[: x.size]], rotation=90 if x.size > 6 else 0)
        return True
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return False


def _shortened(text: str) -> str:
    """A name as a label; a dollar sign is no mathematics."""
    return (text if len(text) <= 16 else f"{text[:15]}…").replace("$", r"\$")


def _svg(name: str, figure: Figure, axes: Any, label: str) -> Markup:
    """The figure as an SVG element whose ids are its own on the page."""
    _dress(axes, label)
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    for before in ('id="', 'href="#', "url(#"):
        text = text.replace(before, f"{before}{name}-")
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1))


def _dress(axes: Any, label: str) -> None:
    axes.set_xlabel(label)
    axes.grid(color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
