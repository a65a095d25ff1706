"""How a run ended and what it found."""

from enum import IntEnum

from scipy.optimize import OptimizeResult


class Status(IntEnum):
    """Why a run ended; `sentence` says it in words."""

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

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


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
    Status.DIVERGED: "The iterates are no longer finite; a smaller step_size or penalty may help.",
}


MOST_NAMES = 30  # of variables or rows that are printed one by one


class Result(OptimizeResult):
    """SciPy's OptimizeResult with zolal's fields.

    x: the point. fun: f(x) + h(x), the mean over the final fresh evaluations. fun_error: its standard error.
    nfev: evaluations of the objective, every one counted. nit: steps. status: a `Status`. message: a sentence.
    success: whether x is feasible and stationary to tol. maxcv: the largest violation of a constraint at x.
    multipliers: of the Lagrangian f + <multipliers, c>, one per row in the order of the constraints; positive at an upper bound.
    multiplier_errors: their standard errors, NaN where nobody knows.
    failures: pairs of a way in which evaluations failed and how often they did, retries included.
    names: of the variables, None where they have none; x is then a dict or a Series if x0 was one.
    constraint_names: one per row, in the order of `multipliers`; a constraint with several rows has "name[0]", "name[1]", ...
    kkt: the KKT measures at x, exact or estimated. trace: a dict of arrays, one entry per step. seed: repeats the run.
    """

    @property
    def named_multipliers(self) -> dict[str, float]:
        """The multipliers by the names of their rows."""
        return dict(zip(self.get("constraint_names", ()), map(float, self.multipliers), strict=True))

    def __repr__(self) -> str:
        shown = OptimizeResult({key: value for key, value in self.items() if key not in ("names", "constraint_names")})
        if 0 < len(self.get("constraint_names", ())) <= MOST_NAMES:
            shown["multipliers"] = self.named_multipliers
        if self.get("names") is not None and len(self.names) <= MOST_NAMES:
            values = self.x.values() if isinstance(self.x, dict) else self.x
            shown["x"] = {str(name): float(value) for name, value in zip(self.names, values, strict=True)}
        return repr(shown)
