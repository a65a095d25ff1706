"""How a run ended and what it found."""

import importlib
import math
from enum import IntEnum
from html import escape
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from zolal._array import to_numpy
from zolal.errors import UnsupportedError

SHOWN = 8  # numbers of a vector that a line shows


class Status(IntEnum):
    """Why a run ended; `sentence` says it in words, `advice` what to do about it."""

    CONVERGED = 0
    MAX_EVALUATIONS = 1
    MAX_ITERATIONS = 2
    CALLBACK = 3
    EVALUATION_FAILED = 4
    CONSTRAINT_FAILED = 5
    DIVERGED = 6
    OPTION_FAILED = 7
    TOO_MANY_FAILURES = 8
    INTERRUPTED = 9
    RUNNING = 10
    STALLED = 11
    NO_REACTION = 12
    INFEASIBLE = 13
    UNBOUNDED = 14
    NO_IMPROVEMENT = 15
    TOO_NOISY = 16
    NONSMOOTH = 17
    OPTIMAL_START = 18

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]

    @property
    def advice(self) -> str:
        """What to do where the run has found no solution; empty where there is nothing to do."""
        return _ADVICE.get(self, "")


_SENTENCES = {
    Status.CONVERGED: "The measured KKT residual fell below tol.",
    Status.MAX_EVALUATIONS: "The evaluation budget is spent.",
    Status.MAX_ITERATIONS: "The iteration limit is reached.",
    Status.CALLBACK: "The callback asked to stop.",
    Status.EVALUATION_FAILED: "The objective failed.",
    Status.CONSTRAINT_FAILED: "A constraint failed.",
    Status.OPTION_FAILED: "An option's schedule failed.",
    Status.TOO_MANY_FAILURES: "More than half of the evaluations of a step failed.",
    Status.INTERRUPTED: "The run was interrupted.",
    Status.STALLED: "No step that is longer than rounding improves the objective any more.",
    Status.NO_REACTION: "The objective does not react to steps of any length that was tried.",
    Status.RUNNING: "The run is not finished.",
    Status.DIVERGED: "The iterates are no longer finite.",
    Status.INFEASIBLE: "No feasible point was found.",
    Status.UNBOUNDED: "The objective seems to be unbounded: it falls for ever, however far x goes.",
    Status.NO_IMPROVEMENT: "The run ended without a point that is surely better than the start.",
    Status.TOO_NOISY: "The noise is as large as everything that the objective was seen to change by.",
    Status.NONSMOOTH: "The objective does not seem to be smooth: ever shorter steps fail although the slope stays.",
    Status.OPTIMAL_START: "The start is a solution already.",
}
_GO_ON = "To go on from here, call minimize again with `start=res` and a larger `maxfev`."
_ADVICE = {
    Status.MAX_EVALUATIONS: _GO_ON,
    Status.MAX_ITERATIONS: "To go on from here, call minimize again with `start=res`, or allow more `max_iterations`.",
    Status.CALLBACK: "To go on from here, call minimize again with `start=res`.",
    Status.EVALUATION_FAILED: "Mend the objective, keep x away from there by bounds, or go on without such values by `on_error='skip'`.",
    Status.CONSTRAINT_FAILED: "Let every constraint and its derivative be finite wherever the bounds allow x.",
    Status.OPTION_FAILED: "Mend that option.",
    Status.TOO_MANY_FAILURES: "See `res.failures`; give `retries` for accidents, or bounds that keep x away from where they happen.",
    Status.INTERRUPTED: "To go on from here, call minimize again with `start=res`, or with `resume=True` where the run has a folder.",
    Status.STALLED: "Let fun return all of its digits, if it rounds, and smooth its kinks, if it has any; otherwise begin elsewhere.",
    Status.NO_REACTION: "See whether fun uses x and does not round, and give `x_scale` where its variables are large numbers.",
    Status.DIVERGED: "Take a smaller step_size or penalty.",
    Status.INFEASIBLE: "See whether the constraints contradict each other, or begin at a point that satisfies them.",
    Status.UNBOUNDED: "Give the bounds or constraints that x has to keep, and see that the sign is right: to maximise f, minimise -f.",
    Status.NO_IMPROVEMENT: "The start may be a solution; otherwise give a larger `maxfev`, another start, or `x_scale` where units differ.",
    Status.TOO_NOISY: "Let zolal draw the noise by `sample=`, let fun average over several runs, or let x move farther by wider bounds.",
    Status.NONSMOOTH: "Write max_i f_i as a variable t with constraints f_i(x) <= t, give l1 terms as `regularizer`, or smooth kinks.",
}


MOST_NAMES = 30  # of variables or rows that are printed one by one


class Result(OptimizeResult):  # type: ignore[misc]  # SciPy has no types
    """SciPy's OptimizeResult with zolal's fields.

    x: the point. fun: f(x) + h(x), the mean over the final fresh evaluations; where a run ended before those, as after Ctrl-C, what the run
    itself last knew of f, and NaN only where it knew no value at all. fun_error: its standard error, NaN where nobody knows.
    nfev: evaluations of the objective, every one counted. nit: steps. status: a `Status`.
    message: why the run ended, how good the point is, and what to do.
    success: whether x is feasible and stationary to tol. maxcv: the largest violation of a constraint at x.
    multipliers: of the Lagrangian f + <multipliers, c>, one per row in the order of the constraints; positive at an upper bound.
    multiplier_errors: their standard errors, NaN where nobody knows.
    failures: pairs of a way in which evaluations failed and how often they did, retries included.
    names: of the variables, None where they have none; x is then a dict or a Series if x0 was one.
    constraint_names: one per row, in the order of `multipliers`; a constraint with several rows has "name[0]", "name[1]", ...
    kkt: the KKT measures at x, exact or estimated. trace: a dict of arrays, one entry per step; of more than 16,384 steps
    one for every second, fourth, ... and the last. seed: repeats the run.
    stationarity_limit: what the stationarity was to be at most: tol itself, or under method "auto" tol times the largest gradient.
    constraints: a row per constraint with its value, bounds, violation and multiplier. parameters: what the run was given.

    `report` writes a page, `plot` draws; `minimize(..., start=result)` goes on from it.
    """

    def report(self, path: Any) -> None:
        """Write this result as one self-contained HTML page; needs matplotlib and jinja2 (`zolal[cli]`)."""
        _drawing().write_result_page(self, path)

    def plot(self) -> Any:
        """The objective, the residuals and the point as a matplotlib Figure; `figure.savefig("run.png")` keeps it."""
        return _drawing().draw_result(self)

    @property
    def named_multipliers(self) -> dict[str, float]:
        """The multipliers by the names of their rows."""
        return dict(zip(self.get("constraint_names", ()), map(float, self.multipliers), strict=True))

    def __repr__(self) -> str:
        rows = self._rows()
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join(f"{name:>{width}}: {text}" for name, text in rows)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        line = "<tr><th style='text-align:right'>{}</th><td style='text-align:left'>{}</td></tr>"
        return "<table>" + "".join(line.format(escape(name), escape(text)) for name, text in self._rows()) + "</table>"

    def _rows(self) -> list[tuple[str, str]]:
        """What one wants to see first, as names and texts; fields that are missing are left out."""
        texts = {
            name: _text(name, self) for name in ("message", "success", "status", "fun", "x", "nfev", "nit", "maxcv", "kkt", "multipliers")
        }
        return [(name, text) for name, text in texts.items() if text]


def _text(name: str, result: Result) -> str:
    if name not in result:
        return ""
    value = result[name]
    if name == "status":
        return f"{value.name} ({int(value)})" if isinstance(value, Status) else str(value)
    if name == "fun":
        return with_error(value, result.get("fun_error", math.nan))
    if name in ("x", "multipliers"):
        return _vector(plain_numbers(value), result.get("names" if name == "x" else "constraint_names"))
    return f"{value:.3g}" if name == "maxcv" else str(value)


def with_error(value: float, error: float) -> str:
    """A number with its standard error, where that is known."""
    return f"{value:.8g}" if math.isnan(error) else f"{value:.8g} +- {error:.2g}"


def plain_numbers(x: Any) -> np.ndarray:
    """An array, or the numbers of a dict or a Series."""
    return np.asarray(to_numpy(list(x.values()) if isinstance(x, dict) else x), dtype=np.float64).reshape(-1)


def _vector(numbers: np.ndarray, names: Any) -> str:
    more = f", ... {numbers.size} in all" if numbers.size > SHOWN else ""
    texts = [f"{number + 0.0:.6g}" for number in numbers[:SHOWN]]
    if not texts:
        return ""
    if names is None or len(names) != numbers.size:
        return "[" + ", ".join(texts) + more + "]"
    return ", ".join(f"{name}: {text}" for name, text in zip(names[:SHOWN], texts, strict=True)) + more


def _drawing() -> Any:
    """Pages and figures lie above results and need more packages, so they are loaded when asked for."""
    try:
        return importlib.import_module("zolal.report.run_page")
    except ImportError as error:
        raise UnsupportedError(
            f"`Result.report` and `Result.plot` need matplotlib and jinja2: pip install 'zolal[cli]' ({error})."
        ) from error
