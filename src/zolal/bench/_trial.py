"""One run of one method on one problem: a noisy objective that is counted, limited, and judged with exact values at every point."""

import math
import time
import warnings
import zlib
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from zolal._array import Array
from zolal.bench import _least_squares, _s2mpj
from zolal.bench._blind import BLIND_METHODS, Simulator
from zolal.bench._contest import SpentError
from zolal.bench._entrants import METHODS, warm_up
from zolal.bench._given import Given
from zolal.bench._reference import FEASIBLE, TIGHT, Unmeasured, reference

KEPT = 1e-7  # of the range: a smaller fall than this is not written down


@final
@dataclass(frozen=True)
class Facts:
    """What a problem is measured by. n, rows: the numbers of variables and of constraint rows. start, best, moved: of its reference."""

    n: int
    rows: int
    start: float
    best: float
    moved: float


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What there is to know of the end of a run.

    least: the least exact value at tightly feasible points. value, violation: at the returned point, None where they are not finite.
    overhead: seconds per evaluation outside of the objective. late: whether the clock stopped it.
    """

    evaluations: int
    least: float | None
    value: float | None
    violation: float | None
    overhead: float
    seconds: float
    late: bool


@final
@dataclass(frozen=True, kw_only=True)
class Verdict(Ended):
    """The same with the history: (evaluation, exact value, violation) at each point that has less of one or the other than all before.

    A violation that counts as none is 0.
    """

    history: list[tuple[int, float, float]]

    def first(self, goal: float, allowed: float = 0.0) -> int | None:
        """The evaluation at which a point had f(x) <= goal with no more violation than is allowed."""
        return next((count for count, value, violation in self.history if value <= goal and violation <= allowed), None)


def find(collection: str, name: str, letters: str) -> Given:
    """The problem of this name. collection: "s2mpj" or "more-wild"; letters: those that a name may begin with, of the former."""
    return _s2mpj.load(name, letters) if collection == "s2mpj" else _least_squares.load(name)


def refer(collection: str, name: str, letters: str, seconds: float) -> Facts | Unmeasured:
    """What the problem is measured by."""
    given = find(collection, name, letters)
    found = reference(given, seconds)
    return found if isinstance(found, Unmeasured) else Facts(given.n, given.rows, found.start, found.best, found.moved)


def measure(collection: str, name: str, letters: str, *run: Any, **options: Any) -> Verdict:
    """One run on a problem of a collection. run, options: as `tried` has them."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        given = find(collection, name, letters)
    return tried(given, *run, **options)


def tried(
    given: Given,
    method: str,
    level: float,
    span: float,
    budget: int,
    seed: int,
    seconds: float,
    blind: bool = False,
    rough: bool = False,
) -> Verdict:
    """One run. level: of the noise, as a part of the span. seconds: after these no evaluation is answered any more.

    blind: whether the constraints are known by their values alone, which come with those of f and have noise, too. rough: whether the noise
    of f is a function of x.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        warm_up(method)  # what is loaded or compiled once is not the method's time
        if blind:
            return _measure_blind(
                given, Trial(given, level * span, span, budget, seed, seconds, max(FEASIBLE, level), rough), method, level, seed
            )
        trial = Trial(given, level * span, span, budget, seed, seconds, rough=rough)
        x = METHODS[method](given, trial, level, seed)
        return trial.verdict(np.asarray(x, dtype=float))


def _measure_blind(given: Given, trial: "Trial", method: str, level: float, seed: int) -> Verdict:
    simulator = Simulator(given, trial, level * given.output_bounds[2], seed)
    return trial.verdict(np.asarray(BLIND_METHODS[method](simulator, level, seed), dtype=float))


class Trial:
    """The objective of one run.

    history: as in `Verdict`. feasible: the most violation that is written down. best: the least exact value without violation. least:
    the same at tightly feasible points, which others may be measured by. inside: seconds spent in here, which are not the method's.
    """

    def __init__(
        self,
        given: Given,
        noise: float,
        span: float,
        budget: int,
        seed: int,
        seconds: float,
        feasible: float = FEASIBLE,
        rough: bool = False,
    ) -> None:
        self.feasible, self.rough, self.seed = feasible, rough, seed
        self.given, self.noise, self.span, self.budget = given, noise, span, budget
        self.rng = np.random.default_rng([seed, 0xB1])
        self.count, self.inside, self.late = 0, 0.0, False
        self.history: list[tuple[int, float, float]] = []
        self.best = self.least = math.inf
        self.started = time.perf_counter()
        self.seconds = seconds

    def __call__(self, x: Array) -> float:
        begun = time.perf_counter()
        self.late = begun > self.started + self.seconds
        if self.late or self.count >= self.budget:
            raise SpentError
        self.count += 1
        value = self.given.fun(x)
        self._judge(x, value)
        noisy = value + self.noise * float(self._random(x).standard_normal()) if self.noise else value
        self.inside += time.perf_counter() - begun
        return noisy

    def _random(self, x: Array) -> np.random.Generator:
        """The noise's own numbers, or those that x draws, which are always the same for the same x."""
        return np.random.default_rng([self.seed, zlib.crc32((x + 0.0).tobytes())]) if self.rough else self.rng  # -0 is 0

    def _judge(self, x: Array, value: float) -> None:
        if not value < max(self.best, self.least):
            return
        violation = self.given.violation(x)
        if violation <= TIGHT:
            self.least = min(self.least, value)
        violation = violation if violation > FEASIBLE else 0.0
        if violation > self.feasible:
            return
        if not any(other <= value + KEPT * self.span and less <= violation for _, other, less in self.history):
            self.history.append((self.count, value, violation))
        self.best = min(self.best, value) if violation == 0.0 else self.best

    def judge(self, x: Array) -> None:
        """Let a point count that was not evaluated: the one that a user would get now."""
        begun = time.perf_counter()
        self._judge(x, self.given.fun(x))
        self.inside += time.perf_counter() - begun

    def verdict(self, x: Array) -> Verdict:
        """What there is to know of a run that returned x."""
        seconds = time.perf_counter() - self.started
        value, violation = (float(self.given.fun(x)), self.given.violation(x)) if np.isfinite(x).all() else (math.nan, math.inf)
        self._judge(x, value)  # the point that a user would get counts as found with the last evaluation
        return Verdict(
            evaluations=self.count,
            history=self.history,
            least=self.least if math.isfinite(self.least) else None,
            value=value if math.isfinite(value) else None,
            violation=violation if math.isfinite(violation) else None,
            overhead=(seconds - self.inside) / max(self.count, 1),
            seconds=seconds,
            late=self.late,
        )
