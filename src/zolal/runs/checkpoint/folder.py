"""A folder that keeps a run.

run.json        what the run is: format, versions, and a description of each part by which runs are told apart
state-N.npz     where it stood after N batches (arrays and JSON; see `_codec`); the last two of them
values-N.jsonl  every answer from batch N on, since the older of the states: a line is written before the run acts on the answer
trace.jsonl     one line per step, for whoever wants to follow the run; of very many steps one per 2, 4, 8...
failures.jsonl  one line per evaluation that failed; of many the last ones, and how many there were before
result.json     the result, once there is one
lock            keeps a second process out

A run is a function of its values, so state and answers together say all: to continue is to hear the answers again. JSON Lines, because
a line is whole or it is not there, a file that grows can be read meanwhile by anything, and a float's shortest decimal is exact. Every
line and every file has a checksum. None grows without bound: answers are dropped with the states that need them, trace and failures are
replaced by shorter ones in one step. A folder is known by its run.json, which is the first file to come: a folder that has other
files and no run.json is somebody's, and nothing in it is touched.
"""

import contextlib
import datetime
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from zolal._safe import replace_file
from zolal.errors import CheckpointError, CheckpointWarning
from zolal.evaluation.faults import Answer
from zolal.result import Result
from zolal.runs.checkpoint._codec import read_record, write_record
from zolal.runs.checkpoint._failures import note_failure
from zolal.runs.checkpoint._files import damaged, number, replace_sealed, require_lock
from zolal.runs.checkpoint._fingerprint import PYTHON, differences, fingerprint
from zolal.runs.checkpoint._lines import Lines, read_lines
from zolal.runs.checkpoint._reading import (
    FORMAT,
    STATE,
    VALUES,
    Recorded,
    first_file,
    numbered,
    read_described,
    recorded,
    unfinished,
)
from zolal.runs.checkpoint._record import result_record
from zolal.runs.checkpoint._trace import as_line, resumed_recorder
from zolal.runs.recording import Recorder
from zolal.runs.session import Observer, Session, Setup, Snapshot

GENERATIONS = 2  # states that are kept, so that there is one to go back to
KINDS = ("malformed", "lost", "answered", "mistake")  # of failures, in the order of an Answer
SHORTEST_INTERVAL = 1.0  # seconds between states, and between moments at which everything has reached the disk
SHARE = 0.05  # of the time that writing states may take


@final
class RunFolder(Observer):
    """Keeps a session; an `Observer` of it. Trouble with the disk is a warning, and another try a little later."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self.replaying = self.in_trouble = False
        self.next_state = self.next_sync = -math.inf
        self.due = False  # whether a state is wanted as soon as the disk lets us
        self.files: dict[str, Lines] = {}
        self.lock = contextlib.ExitStack()
        self.traced, self.apart = 0, 1  # the steps that the trace covers, and those between two of its lines
        self.answers: list[Recorded] = []  # to be heard again
        self.about: dict[str, Any] = {}

    def start(self, setup: Setup, resume: bool) -> Session:
        """A session that this folder keeps, new or continued; a folder that cannot be used is an error before anything is evaluated."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._require_ours()
            require_lock(self.lock, self.path)
            kept = self._require_ours()  # nobody else has come in between
            if kept and not resume:
                raise CheckpointError(
                    f"The checkpoint folder {str(self.path)!r} holds a run already; `resume=True` continues it, or name another folder."
                )
            for path in unfinished(self.path):
                path.unlink()
            return self._continued(setup) if kept else self._fresh(setup)
        except OSError as error:
            raise CheckpointError(f"The checkpoint folder {str(self.path)!r} cannot be used: {error.strerror or error}.") from error

    def begun(self, session: Session) -> None:
        if not self.replaying and (self.due or time.monotonic() >= self.next_state) and not session.checking:
            self._guarded(lambda: self._save(session))

    def heard(self, session: Session, answer: Answer) -> None:
        if self.replaying:
            return
        line: dict[str, Any] = {"b": session.batches, "check": session.checking, "i": answer.query, "v": answer.value}
        if answer.outputs:
            line["o"] = answer.outputs
        if answer.failure is not None:
            line |= {"failure": answer.failure} | {name: getattr(answer, name) for name in KINDS}
            failed = {"iteration": session.state.k, "batch": session.batches, "query": answer.query, "failure": answer.failure}
            self._guarded(lambda: note_failure(self.files["failures"], failed))
        self._guarded(lambda: self.files["values"].append(line))
        if time.monotonic() >= self.next_sync:
            self._guarded(self._sync)

    def widened(self, session: Session, count: int) -> None:
        if not self.replaying:
            self._guarded(lambda: self.files["values"].append({"b": session.batches, "check": session.checking, "more": count}))

    def stepped(self, session: Session) -> None:
        recorder = session.recorder
        if recorder.steps > self.traced:
            self.traced = recorder.steps
            self._guarded(lambda: self._trace(recorder))

    def _trace(self, recorder: Recorder) -> None:
        if self.apart < recorder.distance:
            self.apart = recorder.distance
            self.files["trace"].replace(map(as_line, recorder.kept()))
        elif (recorder.steps - 1) % self.apart == 0:
            self.files["trace"].append(as_line(recorder.last))

    def ended(self, session: Session, result: Result) -> None:
        self.replaying = False
        self._guarded(lambda: self._save(session, rotate=False))
        self._guarded(lambda: replace_sealed(self.path / "result.json", result_record(result, session.state.form)))
        if self.in_trouble:
            warnings.warn(f"The last checkpoint of the run in {str(self.path)!r} could not be written.", CheckpointWarning, stacklevel=2)

    def _require_ours(self) -> bool:
        """Whether the folder holds a run; one that holds anything else is somebody's."""
        left = {path.name for path in unfinished(self.path)} | {"lock"}
        names = sorted(path.name for path in self.path.iterdir() if path.name not in left)
        if "run.json" in names:
            return True
        if any(STATE.fullmatch(name) or VALUES.fullmatch(name) for name in names):
            raise damaged(self.path / "run.json", None, "is missing")
        if names:
            raise CheckpointError(
                f"The checkpoint folder {str(self.path)!r} holds {names[0]!r} and no run; name a folder that is empty, new or of a run."
            )
        return False

    def close(self) -> None:
        for file in self.files.values():
            with contextlib.suppress(OSError):
                file.sync()
            file.close()
        self.lock.close()

    def _fresh(self, setup: Setup) -> Session:
        self.about = dict(
            format=FORMAT,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            python=PYTHON,
            seed=str(setup.seed),
            maxfev=setup.maxfev,
            fingerprint=fingerprint(setup),
        )
        session = Session(setup)
        try:
            replace_sealed(self.path / "run.json", self.about)
            self._open(0)
            self._save(session, rotate=False)
        except OSError:  # what is there is ours, and no run has begun
            for name in ("run.json", "state-0.npz", "values-0.jsonl", "trace.jsonl", "failures.jsonl"):
                (self.path / name).unlink(missing_ok=True)
            raise
        return session

    def _continued(self, setup: Setup) -> Session:
        self.about = about = read_described(self.path)
        if not setup.seed_given:
            setup = setup.with_seed(int(about["seed"]))
        found = differences(about["fingerprint"], fingerprint(setup), about["python"] == PYTHON)
        if setup.maxfev < about["maxfev"]:
            found.append(f"maxfev was {about['maxfev']} and is {setup.maxfev}, but may only grow")
        if found:
            raise CheckpointError(f"The checkpoint folder {str(self.path)!r} holds another run: {'; '.join(found)}.")
        snapshot = self._snapshot(setup)
        self.answers = list(recorded(self.path, snapshot.batches))
        for path, count, line, why in self.answers:
            if line is None:
                raise damaged(path, count, why)
        recorder, self.apart, self.traced = resumed_recorder(self.path / "trace.jsonl", snapshot.state.k, snapshot.last)
        read_lines(self.path / "failures.jsonl")  # nothing but whether they are whole
        files = numbered(self.path, VALUES)
        self._open(max(files, default=first_file(files, snapshot.batches)))
        if setup.maxfev > about["maxfev"]:
            self.about = about | dict(maxfev=setup.maxfev)
            replace_sealed(self.path / "run.json", self.about)
        self.replaying = True
        return Session(setup, snapshot, recorder)

    def _snapshot(self, setup: Setup) -> Snapshot:
        """The last state; a run that has none yet stands at its start, if all of its answers are there."""
        states, values = numbered(self.path, STATE), numbered(self.path, VALUES)
        if not states:
            if values and 0 not in values:
                raise damaged(self.path / "state-0.npz", None, "is missing, and so is every other state")
            return Snapshot(setup.start)
        batches, path = max(states.items())
        snapshot = read_record(path, setup.start.form, setup.start.z)
        if not isinstance(snapshot, Snapshot) or type(snapshot.state) is not type(setup.start) or snapshot.batches != batches:
            raise damaged(path, None, "is no state of this run")
        return snapshot

    def replay(self, session: Session) -> None:
        """Have the session hear again what it had heard; a batch that had failed in the end is open again for what failed."""
        for answer in self.answers if self.replaying else ():
            self._hear_again(session, answer)
        self._settle(session)
        self.replaying, self.answers = False, []
        if session.ledger is not None:
            self._guarded(lambda: (self.path / "result.json").unlink(missing_ok=True))  # it was not the last word
        if session.ledger is not None and session.ledger.failed:
            line = {"b": session.batches, "check": session.checking, "reopened": True}
            self._guarded(lambda: self.files["values"].append(line))
            session.reopen()
            session.settle()

    def _hear_again(self, session: Session, answer: Recorded) -> None:
        line = answer.line or {}
        if session.ledger is not None and (line["b"], line["check"]) != (session.batches, session.checking):
            self._settle(session)  # all of the batch before have been heard
        if session.ledger is None or line["b"] < session.batches or (line["check"] and not session.checking):
            return  # of a batch before the state, or of a final check that a larger budget has put off
        if line["b"] > session.batches or line["check"] != session.checking:
            raise damaged(answer.path, answer.number, f"answers batch {line['b']}, but answers to batch {session.batches} are missing")
        if line.get("reopened"):
            session.reopen()
            return
        if line.get("more"):
            session.more(line["more"])
            return
        if not session.ledger.takes(line["i"]):
            raise damaged(answer.path, answer.number, f"answers query {line['i']} of {len(session.ledger.batch)}")
        malformed, lost, answered, mistake = (bool(line.get(name)) for name in KINDS)
        outputs = tuple(map(number, line.get("o", ())))
        session.hear(Answer(line["i"], number(line["v"]), line.get("failure"), malformed, lost, answered, mistake, outputs=outputs))

    @staticmethod
    def _settle(session: Session) -> None:
        if session.ledger is not None and not session.ledger.failed:
            session.settle()

    def _open(self, first: int) -> None:
        self.files = {name: Lines(self.path / f"{name}.jsonl") for name in ("trace", "failures")}
        self.files["values"] = Lines(self.path / f"values-{first}.jsonl")

    def _sync(self) -> None:
        self.next_sync = time.monotonic() + SHORTEST_INTERVAL
        for file in self.files.values():
            file.sync()

    def _save(self, session: Session, rotate: bool = True) -> None:
        """Write the state; with `rotate`, answers from here on go to a new file. What only states before the last two need is removed."""
        started = time.monotonic()
        self._sync()
        snapshot = session.snapshot
        told = self.about | dict(steps=snapshot.state.k, batches=snapshot.batches)
        replace_file(self.path / f"state-{snapshot.batches}.npz", lambda file: write_record(file, snapshot, told))
        if rotate and self.files["values"].length:
            new = Lines(self.path / f"values-{snapshot.batches}.jsonl")
            self.files["values"].close()
            self.files["values"] = new
        self._forget()
        self.due = False
        self.next_state = time.monotonic() + max(SHORTEST_INTERVAL, (time.monotonic() - started) / SHARE)

    def _forget(self) -> None:
        states, values = numbered(self.path, STATE), numbered(self.path, VALUES)
        kept = list(states)[-GENERATIONS:]
        old = [path for count, path in states.items() if count not in kept]
        old += [path for count, path in values.items() if count < first_file(values, kept[0])]
        for path in old:
            path.unlink()

    def _guarded(self, action: Callable[[], None]) -> None:
        """Do it, or warn and have it done later: what waits in memory is written with the next line, a state with the next batch."""
        try:
            action()
            if self.in_trouble and not any(file.waiting for file in self.files.values()):
                self.in_trouble = False
        except OSError as error:
            self.due = True
            if not self.in_trouble:
                self.in_trouble = True
                reason = error.strerror or error
                warnings.warn(
                    f"The checkpoint in {str(self.path)!r} cannot be written now ({reason}); the run goes on and tries again.",
                    CheckpointWarning,
                    stacklevel=2,
                )
