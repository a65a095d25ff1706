"""The only loop: ask, evaluate, tell, until a rule says stop or something fails."""

from typing import Generic, NamedTuple

import numpy as np

from zolal._array import is_finite
from zolal.errors import ConstraintError, ObjectiveError
from zolal.evaluate import Evaluator
from zolal.recording import Recorder
from zolal.result import Status
from zolal.solvers.base import S, Solver
from zolal.stopping import Progress, Stop, StoppingRule


class Outcome(NamedTuple, Generic[S]):
    """Where a run ended and why."""

    state: S
    stop: Stop
    nfev: int


def run(solver: Solver[S], state: S, evaluator: Evaluator, rule: StoppingRule, recorder: Recorder) -> Outcome[S]:
    """Run the solver from `state`; a failure ends the run with its reason and the last good state."""
    nfev = 0
    while True:
        batch = solver.ask(state)
        if stop := rule(Progress(state, nfev, len(batch))):
            return Outcome(state, stop, nfev)
        evaluation = evaluator(batch)
        nfev += evaluation.count
        if evaluation.failure is not None:
            if evaluation.malformed and state.k == 0:  # nothing is lost yet, and the function needs mending
                raise ObjectiveError(evaluation.failure)
            return Outcome(state, Stop(Status.EVALUATION_FAILED, evaluation.failure), nfev)
        try:
            following = solver.tell(state, evaluation.values)
        except ConstraintError as error:
            return Outcome(state, Stop(Status.CONSTRAINT_FAILED, str(error)), nfev)
        if not is_finite(following.z):
            return Outcome(state, Stop(Status.DIVERGED, Status.DIVERGED.sentence), nfev)
        state = following
        recorder(state, nfev, float(np.mean(batch.base_values(evaluation.values))))
