"""The only loop: ask, hear the values, tell, until a rule says stop or something fails. Whoever holds it makes the evaluations."""

import math
from collections.abc import Callable, Generator
from typing import Generic, NamedTuple

import numpy as np

from zolal._array import is_finite
from zolal.errors import ConstraintError, InvalidArgumentError, ObjectiveError
from zolal.estimators.base import Queries
from zolal.evaluation.faults import Evaluation
from zolal.result import Status
from zolal.runs.stopping import Progress, Stop, StoppingRule
from zolal.solvers.base import S, Solver, State


class Outcome(NamedTuple, Generic[S]):
    """Where a run ended and why. fun: f at the state, where a batch that was cut short has told something of it."""

    state: S
    stop: Stop
    nfev: int
    fun: float = math.nan


def run(
    solver: Solver[S],
    state: S,
    evaluator: Callable[[Queries], Evaluation],
    rule: StoppingRule,
    recorder: Callable[..., None],
    nfev: int = 0,
) -> Outcome[S]:
    """`conversation` with an evaluator that answers every batch at once."""
    talk = conversation(solver, state, rule, recorder, nfev)
    try:
        batch = next(talk)
        while True:
            batch = talk.send(evaluator(batch))
    except StopIteration as end:
        outcome: Outcome[S] = end.value
        return outcome


def conversation(
    solver: Solver[S],
    state: S,
    rule: StoppingRule,
    recorder: Callable[..., None],
    nfev: int = 0,
    extended: Callable[[S], None] = lambda state: None,
) -> Generator[Queries, Evaluation | int, Outcome[S]]:
    """Run the solver from `state`; yields each batch and is sent its evaluation. A failure ends the run with the last good state.

    nfev: evaluations made before. What is wrong before the first step raises instead: nothing is lost yet, and the caller has to mend it.

    A solver that has several evaluations under way yields those, and is sent what some of them gave, or how many more are wanted;
    `extended` is told of the state that has them. Such a run ends when nothing is under way: until then nothing is added, and the values
    that still come may show that there is no reason to stop, unless the user wants it.
    """
    stop: Stop | None = None
    is_new = True  # whether no rule has seen the state
    while True:
        try:
            if is_new and not (stop and stop.status is Status.CALLBACK):
                stop = rule(Progress(state, nfev, solver))
            is_new = False
            waiting = solver.waiting(state)
            if stop and not waiting:
                return Outcome(state, stop, nfev)
            batch = solver.ask(state)
            _require_resolved(batch)
            evaluation = yield batch
            if isinstance(evaluation, int):
                state = state if stop else solver.extended(state, evaluation)
                extended(state)
                continue
            nfev += evaluation.count
            if evaluation.failure is not None:
                if evaluation.malformed:
                    raise ObjectiveError(evaluation.failure)
                return Outcome(state, Stop(evaluation.status, evaluation.failure), nfev, _known(batch, evaluation))
            following = solver.tell(state, evaluation.told)
        except ArithmeticError as error:
            return Outcome(state, Stop(Status.DIVERGED, f"The values are too large or too small to be computed with: {error}."), nfev)
        except ConstraintError as error:
            return Outcome(state, Stop(Status.CONSTRAINT_FAILED, str(error)), nfev)
        except (InvalidArgumentError, ObjectiveError) as error:
            if state.k == 0:
                raise
            status = Status.EVALUATION_FAILED if isinstance(error, ObjectiveError) else Status.OPTION_FAILED
            return Outcome(state, Stop(status, str(error)), nfev)
        if not is_finite(following.z):
            return Outcome(state, Stop(Status.DIVERGED, Status.DIVERGED.sentence), nfev)
        recorder(following, nfev, _value(following, batch, evaluation), state.stage)
        state, is_new = following, True


def _value(state: State, batch: Queries, evaluation: Evaluation) -> float:
    """f at the iterate, as the solver knows it, or as the mean of the values there."""
    if not math.isnan(state.fun):
        return state.fun
    return _known(batch, evaluation)


def _known(batch: Queries, evaluation: Evaluation) -> float:
    """The mean of the values at the iterate, NaN where there are none."""
    found = batch.base_values(evaluation.values)
    found = found[np.isfinite(found)]
    return float(np.mean(found)) if found.size else math.nan


def _require_resolved(batch: Queries) -> None:
    if not batch.resolved:
        raise InvalidArgumentError(
            f"The smoothing {batch.smoothing:.1e} is lost in the rounding of x, whose entries have become too large for it; "
            "scale the variables, or take a larger smoothing or a smaller step_size."
        )
