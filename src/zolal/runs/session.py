"""One run from its first batch to its result: what `minimize`, `Optimizer` and the command share."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from zolal._array import Array, copied
from zolal.constraints import LeastViolation
from zolal.errors import ObjectiveError
from zolal.estimators.base import Queries, QueryBatch
from zolal.estimators.standing import Standing
from zolal.evaluation.faults import Answer, Evaluation, FaultPolicy, Ledger, StandingLedger
from zolal.kkt import KKT
from zolal.methods import Method
from zolal.naming import NAMELESS, Naming
from zolal.problem import Problem
from zolal.result import Result, Status
from zolal.runs.beginning import begun
from zolal.runs.certify import NOTHING, Certificate, certify, check_batch
from zolal.runs.loop import Outcome, conversation
from zolal.runs.recording import Recorder
from zolal.runs.stopping import Callback, Infeasible, MaxEvaluations, MaxIterations, Progress, ResidualBelow, SolverEnds, Stop, StoppingRule
from zolal.runs.verdict import Point, Told, has_moved, message, refined, too_few_evaluations, violation
from zolal.solvers.base import Candidate, Certified, State

FAILURES = (
    Status.EVALUATION_FAILED,
    Status.CONSTRAINT_FAILED,
    Status.DIVERGED,
    Status.OPTION_FAILED,
    Status.TOO_MANY_FAILURES,
)
MOST_FAILURES = 100  # sentences that are counted each by itself
HOPELESS = (Status.NO_REACTION, Status.INFEASIBLE, Status.UNBOUNDED, Status.TOO_NOISY)  # nothing can be claimed of the point
UNCHECKED = (*FAILURES, *HOPELESS, Status.INTERRUPTED, Status.RUNNING)  # no fresh evaluations at the end


@final
@dataclass(frozen=True, eq=False)
class Setup:
    """A run before its first evaluation. budget: the evaluations of the run, without those of the final check.

    parameters: the arguments that make the run what it is, beside the problem and the start, for whoever compares runs.
    """

    problem: Problem
    method: Method
    start: State
    budget: int
    tol: float
    policy: FaultPolicy
    parameters: dict[str, Any]
    callback: Callable[[Any], Any] | None = None
    seed_given: bool = True  # otherwise a run that is resumed keeps its own
    naming: Naming = NAMELESS
    x0: Array | None = None  # where a solver begins elsewhere than at the start that it was given
    least: LeastViolation | None = None  # where constraints that cannot all hold are violated least
    multipliers: np.ndarray | None = None  # of the result that the run goes on from

    @property
    def seed(self) -> int:
        return self.start.seed

    def with_seed(self, seed: int) -> "Setup":
        """The same run under another seed."""
        x = self.start.x if self.x0 is None else self.x0
        start, least = begun(self.method.solver, self.problem, x, seed, self.tol, self.multipliers)
        return replace(self, start=start, least=least)

    @property
    def confidence(self) -> float:
        """With which outputs are to keep their bounds."""
        return float(self.parameters.get("confidence", 0.0))

    @property
    def maxfev(self) -> int:
        return self.budget + 2 * self.method.check_directions


@final
@dataclass(frozen=True, eq=False)
class Snapshot:
    """Where a run stands between two steps. earliest: the step before which its residual is not checked; batches: completed ones.

    last: the record of the last step. attempts, count: how often each query under way has failed, and the calls that nfev does not have.
    """

    state: State
    nfev: int = 0
    earliest: int = 0
    batches: int = 0
    failures: tuple[tuple[str, int], ...] = ()
    last: tuple[float, ...] = ()
    attempts: tuple[tuple[int, int], ...] = ()
    count: int = 0


class Observer:
    """Whoever keeps or shows what happens in a run."""

    def begun(self, session: "Session") -> None:
        """A batch is to be evaluated."""

    def heard(self, session: "Session", answer: Answer) -> None:
        """An evaluation has been answered, and the ledger does not know of it yet."""

    def widened(self, session: "Session", count: int) -> None:
        """So many queries more are asked for beside those that are under way."""

    def stepped(self, session: "Session") -> None:
        """A step was taken and recorded."""

    def ended(self, session: "Session", result: Result) -> None:
        """This is the result."""


@final
class Session:
    """A run as a conversation: `ledger` holds the batch that is to be evaluated, None at the end; `hear` answers, `settle` goes on."""

    def __init__(self, setup: Setup, start: Snapshot | None = None, recorder: Recorder | None = None) -> None:
        self.setup = setup
        start = Snapshot(setup.start) if start is None else start
        self.snapshot, self.recorder = start, Recorder() if recorder is None else recorder
        self.observers: Sequence[Observer] = ()
        self.failures: dict[str, int] = dict(start.failures)
        self.batches, self.checking, self.spent = start.batches, False, start.nfev
        self.ledger: Ledger | None = None
        self.final: Result | None = None
        self._course = self._confirmed(start)

    def open(self, observers: Sequence[Observer] = ()) -> None:
        """Ask for the first batch."""
        self.observers = observers
        self._advance(None)

    @property
    def state(self) -> State:
        return self.snapshot.state

    @property
    def nfev(self) -> int:
        """Evaluations so far, those of the unfinished batch included."""
        return self.spent + (self.ledger.count if self.ledger else 0)

    @property
    def result(self) -> Result:
        """The result, or what is known of it while the run goes on."""
        if self.final is not None:
            return self.final
        return self._summary(Outcome(self.state, Stop(Status.RUNNING, Status.RUNNING.sentence), self.nfev))

    def note(self, answer: Answer) -> None:
        """Tell everyone of an answer, before the ledger takes it."""
        if answer.failure is not None and self.ledger is not None and self.ledger.end is None:
            known = answer.failure in self.failures or len(self.failures) < MOST_FAILURES
            told = answer.failure if known else "Another failure."
            self.failures[told] = self.failures.get(told, 0) + 1
        for observer in self.observers:
            observer.heard(self, answer)

    def hear(self, answer: Answer) -> None:
        """Take one answer to the present batch."""
        if self.ledger is None:
            raise ObjectiveError("The run has ended and takes no more values.")
        self.note(answer)
        self.ledger.receive(answer)

    def settle(self) -> None:
        """Go on to the next batch, once the present one is complete."""
        if self.ledger is not None and self.ledger.complete:
            evaluation = self.ledger.evaluation
            if evaluation.raising:
                self.ledger = None
                raise ObjectiveError(evaluation.failure) from evaluation.error
            self.batches += 1
            self._advance(evaluation)

    def more(self, count: int) -> None:
        """Ask for so many queries beside those that are under way; fewer come where the budget or the end of the run leaves no room."""
        if self.ledger is None:
            raise ObjectiveError("The run has ended and asks for nothing more.")
        count = min(count, self.setup.budget - self.nfev - len(self.ledger.wanted))
        if count > 0:
            for observer in self.observers:
                observer.widened(self, count)
            self.batches += 1
            self._advance(count)

    def reopen(self) -> None:
        """Ask again for what made the present batch fail."""
        if self.ledger is not None and self.ledger.failed:
            self.ledger = self.ledger.reopened()

    def _advance(self, heard: Evaluation | int | None) -> None:
        if isinstance(self.ledger, StandingLedger):
            tried, count = self.ledger.tried, 0 if isinstance(heard, Evaluation) else self.ledger.count
            self.snapshot = replace(self.snapshot, attempts=tried, count=count)
        self.ledger = None
        try:
            batch = self._course.send(heard)
        except StopIteration as end:
            self.final, self.spent = end.value, end.value.nfev
            for observer in self.observers:
                observer.ended(self, end.value)
            return
        setup = self.setup
        limit = setup.maxfev if self.checking else setup.budget
        spare, is_first = limit - self.spent - len(batch), self.spent == 0
        if isinstance(batch, Standing):
            self.ledger = StandingLedger(batch, setup.policy, spare, is_first)
            self.ledger.go_on(self.snapshot.attempts, self.snapshot.count)
        else:
            self.ledger = Ledger(batch, setup.policy, spare, is_first)
        for observer in self.observers:
            observer.begun(self)

    def _confirmed(self, start: Snapshot) -> Generator[Queries, Any, Result]:
        """Run and check; where the check does not confirm the run's own residual, go on, and check again after as many steps as before."""
        while True:
            solver, rule = self.setup.method.solver, self._rule(start)
            outcome = yield from conversation(solver, start.state, rule, self._recorded, start.nfev, self._extended)
            self.spent = outcome.nfev
            result = yield from self._checked(outcome)
            if result.status is not Status.CONVERGED or result.success:
                return result
            self.spent = result.nfev
            start = self.snapshot = self._here(earliest=2 * outcome.state.k)

    def _rule(self, start: Snapshot) -> StoppingRule:
        setup = self.setup
        rule: StoppingRule = ResidualBelow(setup.tol, start.earliest)
        rule = rule | Infeasible(setup.tol, self._begun_outside, setup.least is not None) | SolverEnds() | MaxEvaluations(setup.budget)
        if setup.method.max_iterations is not None:
            rule = MaxIterations(setup.method.max_iterations) | rule
        return rule if setup.callback is None else Callback(setup.callback, after=start.state.k) | rule

    @property
    def _begun_outside(self) -> float:
        """By how much the start violates the constraints; how long outputs take to hold is left to the budget."""
        return 0.0 if self.setup.problem.simulated else self.setup.start.feasibility

    def _recorded(self, state: State, nfev: int, fun: float, stage: int) -> None:
        self.recorder(state, nfev, fun, stage)
        self.spent = nfev
        self.snapshot = self._here(state=state, last=self.recorder.last)
        for observer in self.observers:
            observer.stepped(self)

    def _extended(self, state: State) -> None:
        self.snapshot = self._here(state=state)

    def _here(self, **changes: Any) -> Snapshot:
        failures = tuple(self.failures.items())
        return Snapshot(**(vars(self.snapshot) | dict(nfev=self.spent, batches=self.batches, failures=failures) | changes))

    def _checked(self, outcome: Outcome[Any]) -> Generator[Queries, Any, Result]:
        method, state = self.setup.method, outcome.state
        if outcome.stop.status in UNCHECKED or not method.check_directions:
            return self._summary(outcome)
        batch = method.solver.check(state, method.check_directions) or self._usual_check(state)
        self.checking = True
        evaluation = yield batch
        self.checking = False
        result = self._summary(outcome, batch, evaluation)
        if result.status is not Status.CONVERGED or result.success:
            return result
        spent = MaxEvaluations(self.setup.budget)(Progress(state, outcome.nfev + evaluation.count, method.solver))
        return self._summary(outcome._replace(stop=spent), batch, evaluation) if spent else result

    def _usual_check(self, state: State) -> QueryBatch:
        method = self.setup.method
        x = state.form.variables(method.solver.output(state).z)
        smoothing = method.solver.check_smoothing(state) or method.smoothing(max(state.k - 1, 0))
        return check_batch(x, method.directions, method.check_directions, smoothing, state.seed, state.k)

    def _summary(self, outcome: Outcome[Any], batch: Queries | None = None, evaluation: Evaluation = NOTHING) -> Result:
        state, stop, setup = outcome.state, outcome.stop, self.setup
        solver, form = setup.method.solver, state.form
        known = solver.certified(state, None if batch is None or evaluation.failure else evaluation.told)
        candidate = known.candidate if known else solver.best(state) if stop.status in FAILURES else solver.output(state)
        fresh = batch if isinstance(batch, QueryBatch) else None
        certificate = certify(form, candidate, *solver.measures_at(state), fresh, evaluation, known)
        if certificate.stop is not None and stop.status not in FAILURES:
            stop = certificate.stop
        x = form.variables(candidate.z)
        limit, deviations = solver.stationarity_tolerance(state, setup.tol), known.deviations if known else 1.0
        reports = known.reports if known else None
        told = Told.of(setup.problem.outputs, reports, setup.tol, setup.confidence)
        point = Point(x, max(violation(form, x), told.violation), certificate.kkt, setup.tol, limit, deviations)
        success, diagnosis = stop.status not in UNCHECKED and point.is_solution and told.holds, solver.diagnosis(state)
        if diagnosis is Status.TOO_NOISY:
            success = False  # whatever tol is relative to, is noise
        infeasible = told.is_broken or (solver.restores and self._begun_outside > setup.tol and point.maxcv > setup.tol)
        moved = has_moved(x, setup.start.x if setup.x0 is None else setup.x0)
        too_few = too_few_evaluations(outcome.nfev, setup.problem.dimension)
        status = refined(stop.status, success, moved, diagnosis, infeasible, bool(too_few))
        if status is Status.INFEASIBLE and not setup.problem.simulated:
            candidate, certificate, point = self._least_violating(candidate, certificate, point)
        reason = stop.sentence if status is stop.status else status.sentence
        more = ("" if moved else too_few, solver.advice(state)) if status is Status.MAX_EVALUATIONS else ()
        advice = "" if success else " ".join(filter(None, (status.advice, *more)))
        return Result(
            x=copied(point.x),
            fun=self._last_value(outcome, point.x) if math.isnan(certificate.fun) else certificate.fun,
            fun_error=certificate.fun_error,
            nfev=outcome.nfev + certificate.nfev,
            nit=state.k,
            success=success,
            status=status,
            message=message(reason, form, point, advice, told),
            maxcv=point.maxcv,
            multipliers=told.after(form.equalities.user_multipliers(candidate.multipliers), "multipliers"),
            multiplier_errors=told.after(_errors(known, form.equalities.num_rows), "multiplier_errors"),
            outputs=told.table,
            kkt=certificate.kkt,
            stationarity_limit=limit,
            trace=self.recorder.trace,
            failures=tuple(self.failures.items()),
            seed=state.seed,
        )

    def _least_violating(self, candidate: Candidate, certificate: Certificate, point: Point) -> tuple[Candidate, Certificate, Point]:
        """The start, or what a search has found, in place of a point that violates the constraints even more."""
        start, least = self.setup.start, self.setup.least
        x = start.x if least is None else least.x
        maxcv = violation(start.form, x)
        if least is None and not maxcv < point.maxcv:
            return candidate, certificate, point
        kkt = KKT.unknown(maxcv)
        trace = self.recorder.trace["fun"]
        fun = float(trace[0]) + start.form.problem.regularizer.value(x) if trace.size and least is None else math.nan
        return (
            candidate._replace(z=start.form.start(x), gradient=None),
            certificate._replace(fun=fun, fun_error=math.nan, kkt=kkt),
            point._replace(x=x, maxcv=maxcv, kkt=kkt),
        )

    def _last_value(self, outcome: Outcome[Any], x: Array) -> float:
        """f + h as the run last knew it, where no evaluation was made at the point itself."""
        seen = self.recorder.trace["fun"]
        seen = seen[np.isfinite(seen)]
        value = float(seen[-1]) if seen.size else outcome.fun
        return value + self.setup.problem.regularizer.value(x)


def _errors(known: Certified | None, rows: int) -> np.ndarray:
    """The standard errors of the multipliers."""
    return np.full(rows, math.nan) if known is None or known.multiplier_errors is None else known.multiplier_errors
