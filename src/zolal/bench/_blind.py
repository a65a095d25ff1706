"""The methods of `zolal bench simulated`: f and all constraints come out of one simulation, with noise, and nothing else is known."""

import contextlib
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.optimize import NonlinearConstraint
from scipy.optimize import minimize as scipy_minimize

from zolal._array import Array
from zolal.bench._contest import SpentError
from zolal.bench._contestants import Trail, by_cma
from zolal.bench._given import Given
from zolal.constraints import Simulated
from zolal.doors.minimize import minimize

TOL = 1e-6  # auto's
DAY = 86_400.0  # seconds
STEP = 0.3  # pycma's first standard deviation


class Counted(Protocol):
    """The objective of a run, which counts and ends it. feasible: the violation up to which a point counts as feasible."""

    budget: int
    seconds: float
    feasible: float

    def __call__(self, x: Array) -> float: ...


class Simulator:
    """One simulation per point: (f, outputs) with noise. Whoever asks for f and for constraints by themselves pays once per point.

    COBYQA asks for the constraints of all its points again and again, so every simulation is kept, as its user would.
    noises: standard deviations, output by output. confidence: with which auto shall keep the bounds.
    """

    def __init__(self, given: Given, trial: Counted, noises: Array, seed: int, confidence: float = 0.5) -> None:
        self.given, self.trial, self.noises, self.confidence = given, trial, noises, confidence
        self.lower, self.upper, self.scales = given.output_bounds
        self.sided = np.isfinite(np.concatenate([self.lower, self.upper]))
        self.rng = np.random.default_rng([seed, 0xB2])
        self.kept: dict[bytes, tuple[float, Array]] = {}

    def __call__(self, x: Array) -> tuple[float, Array]:
        value = self.trial(x)
        outputs = self.given.outputs(x)
        return value, outputs + self.noises * self.rng.standard_normal(len(outputs)) if self.noises.any() else outputs

    def _at(self, x: Array) -> tuple[float, Array]:
        key = np.asarray(x, dtype=float).tobytes()
        if key not in self.kept:
            self.kept[key] = self(np.array(x))
        return self.kept[key]

    def value(self, x: Array) -> float:
        return self._at(x)[0]

    def outputs(self, x: Array) -> Array:
        return self._at(x)[1]

    def inequalities(self, x: Array) -> list[float]:
        """Values that are at most 0 where all rows hold to half of what counts as feasible, in units of their scales."""
        outputs = self.outputs(np.asarray(x))
        sides = np.concatenate([(self.lower - outputs) / self.scales, (outputs - self.upper) / self.scales])
        return (sides[self.sided] - 0.5 * self.trial.feasible).tolist()


BlindMethod = Callable[[Simulator, float, int], Any]


def _auto(simulator: Simulator, level: float, seed: int) -> Array:
    given, budget = simulator.given, simulator.trial.budget
    bounds, limits, sure = given.bounds if given.bounded else None, Simulated(simulator.lower, simulator.upper), simulator.confidence
    return minimize(simulator, given.x0, bounds=bounds, constraints=limits, maxfev=budget, tol=TOL, rng=seed, confidence=sure).x


def _scipy(name: str, budget: str) -> BlindMethod:
    def solve(simulator: Simulator, level: float, seed: int) -> Array:
        given = simulator.given
        trail, more = Trail(given.x0), dict(bounds=given.bounds) if given.bounded else {}
        unused = np.zeros((len(simulator.lower), given.n))  # SciPy would pay for differences that these methods never look at
        rows = NonlinearConstraint(simulator.outputs, simulator.lower, simulator.upper, jac=lambda x: unused)
        with contextlib.suppress(SpentError):
            options = {budget: simulator.trial.budget}
            return scipy_minimize(simulator.value, given.x0, method=name, constraints=[rows], callback=trail, options=options, **more).x
        return trail.x

    return solve


def _cma(simulator: Simulator, level: float, seed: int) -> Array:
    given = simulator.given
    bounds = given.bounds if given.bounded else None
    return by_cma(simulator.value, given.x0, STEP, simulator.trial.budget, seed, bounds, simulator.inequalities)


def _nomad(simulator: Simulator, level: float, seed: int) -> Array:
    import PyNomad

    given, trial = simulator.given, simulator.trial

    def evaluate(point: Any) -> int:
        """1 where there is an answer. What is raised in here would be printed and forgotten."""
        x = np.array([point.get_coord(i) for i in range(point.size())])
        try:
            values = [simulator.value(x), *simulator.inequalities(x)]
        except SpentError:
            return 0
        point.setBBO(" ".join(map(repr, map(float, values))).encode())
        return 1

    options = [
        f"BB_OUTPUT_TYPE OBJ {'PB ' * int(simulator.sided.sum())}",
        f"LOWER_BOUND ( {' '.join(repr(float(b)) if np.isfinite(b) else '-' for b in given.bounds.lb)} )",
        f"UPPER_BOUND ( {' '.join(repr(float(b)) if np.isfinite(b) else '-' for b in given.bounds.ub)} )",
        f"MAX_BB_EVAL {trial.budget}",
        f"MAX_TIME {math.ceil(min(max(trial.seconds, 1.0), DAY))}",
        f"SEED {seed}",
        "DISPLAY_DEGREE 0",
    ]
    found = PyNomad.optimize(evaluate, given.x0.tolist(), [], [], options)
    return np.array((found["x_best_feas"] or found["x_best_infeas"] or [given.x0])[0], dtype=float)


BLIND_METHODS: dict[str, BlindMethod] = {
    "auto": _auto,
    "cobyqa": _scipy("COBYQA", "maxfev"),
    "cobyla": _scipy("COBYLA", "maxiter"),
    "cma": _cma,
    "nomad": _nomad,
}
