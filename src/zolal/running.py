"""One run from its first batch to its result: what `minimize`, `Optimizer` and the command share."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np

from zolal._array import Array, copied
from zolal.certify import NOTHING, certify, check_batch
from zolal.errors import ConstraintError, ObjectiveError
from zolal.estimators.base import Queries, QueryBatch
from zolal.evaluate import Crew, evaluate
from zolal.faults import Answer, Evaluation, FaultPolicy, Ledger
from zolal.interrupts import Interrupts
from zolal.kkt import KKT
from zolal.loop import Outcome, conversation
from zolal.methods import Method
from zolal.naming import NAMELESS, Naming
from zolal.problem import Problem, SlackForm
from zolal.recording import Recorder
from zolal.result import Result, Status
from zolal.solvers import State
from zolal.solvers.base import Certified
from zolal.stopping import Callback, MaxEvaluations, MaxIterations, ResidualBelow, SolverEnds, Stop, StoppingRule

FAILURES = (
    Status.EVALUATION_FAILED,
    Status.CONSTRAINT_FAILED,
    Status.DIVERGED,
    Status.OPTION_FAILED,
    Status.TOO_MANY_FAILURES,
)
MOST_FAILURES = 100  # sentences that are counted each by itself
UNCHECKED = (*FAILURES, Status.INTERRUPTED, Status.RUNNING, Status.NO_REACTION)  # no fresh evaluations at the end


@final
@dataclass(frozen=True, eq=False)
class Setup:
    """A run before its first evaluation. budget: the evaluations of the run, without those of the final check.

    chosen: the arguments that make the run what it is, beside the problem and the start, for whoever compares runs.
    """

    problem: Problem
    method: Method
    start: State
    budget: int
    tol: float
    policy: FaultPolicy
    chosen: dict[str, Any]
    callback: Callable[[Any], Any] | None = None
    seed_given: bool = True  # otherwise a run that is resumed keeps its own
    naming: Naming = NAMELESS
    x0: Array | None = None  # where a solver begins elsewhere than at the start that it was given

    @property
    def seed(self) -> int:
        return self.start.seed

    def with_seed(self, seed: int) -> "Setup":
        """The same run under another seed."""
        return replace(self, start=self.method.solver.init(self.problem, self.start.x if self.x0 is None else self.x0, seed))

    @property
    def maxfev(self) -> int:
        return self.budget + 2 * self.method.check_directions


@final
@dataclass(frozen=True, eq=False)
class Snapshot:
    """Where a run stands between two steps. earliest: the step before which its residual is not checked; batches: completed ones."""

    state: State
    nfev: int = 0
    earliest: int = 0
    batches: int = 0
    failures: tuple[tuple[str, int], ...] = ()


class Observer(Protocol):
    """Whoever keeps or shows what happens in a run."""

    def begun(self, session: "Session") -> None:
        """A batch is to be evaluated."""

    def heard(self, session: "Session", answer: Answer) -> None:
        """An evaluation has been answered, and the ledger does not know of it yet."""

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
            evaluation, self.ledger = self.ledger.evaluation, None
            if evaluation.raising:
                raise ObjectiveError(evaluation.failure)
            self.batches += 1
            self._advance(evaluation)

    def reopen(self) -> None:
        """Ask again for what made the present batch fail."""
        if self.ledger is not None and self.ledger.failed:
            self.ledger = self.ledger.reopened()

    def _advance(self, evaluation: Evaluation | None) -> None:
        try:
            batch = self._course.send(evaluation)  # type: ignore[arg-type]
        except StopIteration as end:
            self.final, self.spent = end.value, end.value.nfev
            for observer in self.observers:
                observer.ended(self, end.value)
            return
        setup = self.setup
        limit = setup.maxfev if self.checking else setup.budget
        self.ledger = Ledger(batch, setup.policy, limit - self.spent - len(batch))
        for observer in self.observers:
            observer.begun(self)

    def _confirmed(self, start: Snapshot) -> Generator[Queries, Evaluation, Result]:
        """Run and check; where the check does not confirm the run's own residual, go on, and check again after as many steps as before."""
        while True:
            outcome = yield from conversation(self.setup.method.solver, start.state, self._rule(start), self._recorded, start.nfev)
            self.spent = outcome.nfev
            result = yield from self._checked(outcome)
            if result.status is not Status.CONVERGED or result.success:
                return result
            self.spent = result.nfev
            start = self.snapshot = self._here(replace(self.snapshot, earliest=2 * outcome.state.k))

    def _rule(self, start: Snapshot) -> StoppingRule:
        setup = self.setup
        rule: StoppingRule = ResidualBelow(setup.tol, start.earliest) | SolverEnds() | MaxEvaluations(setup.budget)
        if setup.method.max_iterations is not None:
            rule = MaxIterations(setup.method.max_iterations) | rule
        return rule if setup.callback is None else Callback(setup.callback, after=start.state.k) | rule

    def _recorded(self, state: State, nfev: int, fun: float, stage: int) -> None:
        self.recorder(state, nfev, fun, stage)
        self.spent = nfev
        self.snapshot = self._here(replace(self.snapshot, state=state))
        for observer in self.observers:
            observer.stepped(self)

    def _here(self, snapshot: Snapshot) -> Snapshot:
        return replace(snapshot, nfev=self.spent, batches=self.batches, failures=tuple(self.failures.items()))

    def _checked(self, outcome: Outcome) -> Generator[Queries, Evaluation, Result]:
        method, state = self.setup.method, outcome.state
        if outcome.stop.status in UNCHECKED or not method.check_directions:
            return self._summary(outcome)
        batch = method.solver.check(state, method.check_directions) or self._usual_check(state)
        self.checking = True
        evaluation = yield batch
        self.checking = False
        return self._summary(outcome, batch, evaluation)

    def _usual_check(self, state: State) -> QueryBatch:
        method = self.setup.method
        x = state.form.variables(method.solver.output(state).z)
        smoothing = method.solver.check_smoothing(state) or method.smoothing(max(state.k - 1, 0))
        return check_batch(x, method.directions, method.check_directions, smoothing, state.seed, state.k)

    def _summary(self, outcome: Outcome, batch: Queries | None = None, evaluation: Evaluation = NOTHING) -> Result:
        (state, stop, nfev), solver, tol = outcome, self.setup.method.solver, self.setup.tol
        known = solver.certified(state, None if batch is None or evaluation.failure else evaluation.values)
        candidate = known.candidate if known else solver.best(state) if stop.status in FAILURES else solver.output(state)
        x = state.form.variables(candidate.z)
        fresh = batch if isinstance(batch, QueryBatch) else None
        certificate = certify(state.form, candidate, *solver.measures_at(state), fresh, evaluation, known)
        if certificate.stop is not None and stop.status not in FAILURES:
            stop = certificate.stop
        maxcv = _violation(state.form, x)
        limit = solver.stationarity_tolerance(state, tol)
        success = stop.status not in UNCHECKED and certificate.kkt.below(tol, limit, known.deviations if known else 1.0) and maxcv <= tol
        message = _message(stop.sentence, state.form.equalities.num_rows, maxcv, certificate.kkt, tol)
        if stop.status is Status.MAX_EVALUATIONS and not success and (advice := solver.advice(state)):
            message = f"{message} {advice}"
        return Result(
            x=copied(x),
            fun=certificate.fun,
            fun_error=certificate.fun_error,
            nfev=nfev + certificate.nfev,
            nit=state.k,
            success=success,
            status=stop.status,
            message=message,
            maxcv=maxcv,
            multipliers=state.form.equalities.user_multipliers(candidate.multipliers),
            multiplier_errors=_errors(known, state.form.equalities.num_rows),
            kkt=certificate.kkt,
            trace=self.recorder.trace,
            failures=tuple(self.failures.items()),
            seed=state.seed,
        )


def carry_out(session: Session, crew: Crew) -> Result:
    """Have a crew evaluate every batch of a session; an interrupt from the keyboard ends the run with what it has found."""
    with Interrupts() as interrupts:
        try:
            while session.ledger is not None:
                try:
                    evaluate(crew, session.ledger, session.note, interrupts.held)
                    interrupts.held(session.settle)()
                except KeyboardInterrupt:
                    if session.ledger is not None:
                        session.ledger.interrupt()
                        interrupts.ignored(session.settle)()
        finally:
            crew.close()
    return session.result


def _errors(known: Certified | None, rows: int) -> np.ndarray:
    """The standard errors of the multipliers."""
    return np.full(rows, math.nan) if known is None or known.multiplier_errors is None else known.multiplier_errors


def _violation(form: SlackForm, x: Array) -> float:
    """The largest violation at x, NaN where a constraint fails."""
    try:
        return form.equalities.violation(x)
    except ConstraintError:
        return math.nan


def _message(reason: str, num_rows: int, maxcv: float, kkt: KKT, tol: float) -> str:
    """Why the run ended, and plainly how good the point is."""
    if num_rows == 0:
        feasible = "There are no constraints"
    elif math.isnan(maxcv):
        feasible = "The constraints could not be evaluated at the point"
    elif maxcv <= tol:
        feasible = f"The point is feasible to {maxcv:.1e} (tol {tol:.0e})"
    else:
        feasible = f"The point is not feasible, a constraint is violated by {maxcv:.1e} (tol {tol:.0e})"
    return f"{reason} {feasible}; {kkt.stationarity_text}."
