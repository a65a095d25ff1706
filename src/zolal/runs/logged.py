"""A run in the program's log, under the name "zolal": silent unless the program asks for it.

INFO has how a run begins and ends and which evaluations failed, DEBUG every step.
"""

import logging
from typing import final

from zolal.evaluation.faults import Answer
from zolal.result import Result
from zolal.runs.session import Observer, Session

LOG = logging.getLogger("zolal")
LOG.addHandler(logging.NullHandler())


@final
class RunLog(Observer):
    """An `Observer` that writes to the log."""

    def __init__(self, session: Session) -> None:
        setup, done = session.setup, session.nfev
        method = setup.parameters.get("method")
        LOG.info(
            "run %s: method %s, %d variables, at most %d evaluations, %d made before",
            setup.seed,
            method,
            setup.problem.dimension,
            setup.maxfev,
            done,
        )

    def heard(self, session: Session, answer: Answer) -> None:
        if answer.failure is not None:
            LOG.info("run %s: query %d of batch %d failed: %s", session.setup.seed, answer.query, session.batches, answer.failure)

    def stepped(self, session: Session) -> None:
        if LOG.isEnabledFor(logging.DEBUG):
            state = session.state
            measures = (session.setup.seed, state.k, session.nfev, state.stationarity, state.feasibility)
            LOG.debug("run %s: step %d, %d evaluations, stationarity %.3g, violation %.3g", *measures)

    def ended(self, session: Session, result: Result) -> None:
        LOG.info("run %s: %s after %d evaluations. %s", session.setup.seed, result.status.name, result.nfev, result.message)
