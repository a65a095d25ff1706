"""A session carried out by a crew: batch after batch, or one value after another as they come."""

from collections.abc import Callable, Iterable
from typing import Any

from zolal.evaluation.evaluate import Crew, evaluate
from zolal.evaluation.faults import Answer, StandingLedger
from zolal.result import Result
from zolal.runs.interrupts import Interrupts
from zolal.runs.session import Session


def carry_out(session: Session, crew: Crew) -> Result:
    """Have a crew evaluate every batch of a session; an interrupt from the keyboard ends the run with what it has found."""
    with Interrupts() as interrupts:
        try:
            while session.ledger is not None:
                try:
                    if isinstance(session.ledger, StandingLedger):
                        _attend(session, crew, interrupts.held)
                        continue
                    evaluate(crew, session.ledger, session.note, interrupts.held)
                    interrupts.held(session.settle)()
                except KeyboardInterrupt:
                    if session.ledger is not None:
                        session.ledger.interrupt()
                        interrupts.ignored(session.settle)()
        finally:
            crew.close()
    return session.result


def _attend(session: Session, crew: Crew, held: Callable[..., Any]) -> None:
    """Have a crew evaluate what is under way, as much at a time as it has workers, until the session wants no more of that kind."""
    out: set[int] = set()

    @held
    def take(answers: Iterable[Answer]) -> None:
        for answer in answers:
            out.discard(answer.query)
            if session.ledger is not None:  # else something has ended the run
                session.hear(answer)
            if session.ledger is not None and session.ledger.end is None:
                session.settle()

    while (ledger := _standing(session)) is not None and ledger.end is None:
        room = int(min(crew.num_workers, crew.capacity))
        if len(ledger.wanted) < room:
            held(session.more)(room - len(ledger.wanted))
        if (ledger := _standing(session)) is None:
            break
        fresh = [i for i in ledger.wanted if i not in out][: max(room - len(out), 0)]
        if fresh:
            crew.also(ledger.batch)
        for i in fresh:
            crew.submit(i)
            out.add(i)
        take(crew.collect())
    if out:
        take(crew.cancel())
    held(session.settle)()


def _standing(session: Session) -> StandingLedger | None:
    """The ledger of what is under way."""
    return session.ledger if isinstance(session.ledger, StandingLedger) else None
