"""A folder that keeps a run.

run.json        what the run is: format, versions, and a description of each part by which runs are told apart
state.npz       where it stood after some step (arrays and JSON; see `_codec`), replaced whole
values-N.jsonl  every answer since then, from batch N on: a line is written before the run acts on the answer
trace.jsonl     one line per step, append-only, for whoever wants to follow the run
failures.jsonl  one line per evaluation that failed
result.json     the result, once there is one

A run is a function of its values, so state and answers together say all: to continue is to hear the answers again. JSON Lines, because
a line is whole or it is not there, a file that grows can be read meanwhile by anything, and a float's shortest decimal is exact.
"""

import contextlib
import datetime
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from zolal.errors import CheckpointError, CheckpointWarning
from zolal.evaluation.faults import Answer
from zolal.result import Result
from zolal.runs.checkpoint._codec import read_record, write_record
from zolal.runs.checkpoint._files import Lines, locked, number, read_lines, replace_file, replace_json
from zolal.runs.checkpoint._fingerprint import PYTHON, differences, fingerprint
from zolal.runs.checkpoint._reading import read_json
from zolal.runs.checkpoint._record import result_record
from zolal.runs.recording import FIELDS, Recorder
from zolal.runs.session import Session, Setup, Snapshot

FORMAT = 2  # 1 was that of 0.1.0, whose records had other names
NAMES = ("state.npz", "trace.jsonl", "failures.jsonl", "result.json")  # beside run.json and the answers
KINDS = ("malformed", "lost", "answered", "mistake")  # of failures, in the order of an Answer
SHORTEST_INTERVAL = 1.0  # seconds between states, and between moments at which everything has reached the disk
SHARE = 0.05  # of the time that writing states may take


@final
class RunFolder:
    """Keeps a session; an `Observer` of it. Trouble with the disk is a warning, and another try a little later."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self.replaying = self.in_trouble = False
        self.next_state = self.next_sync = -math.inf
        self.due = False  # whether a state is wanted as soon as the disk lets us
        self.files: dict[str, Lines] = {}
        self.lock = contextlib.ExitStack()
        self.traced = 0  # steps in the trace
        self.answers: list[dict[str, Any]] = []  # to be heard again

    def start(self, setup: Setup, resume: bool) -> Session:
        """A session that this folder keeps, new or continued; a folder that cannot be used is an error before anything is evaluated."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._require_ours()
            if not self.lock.enter_context(locked(self.path / "lock")):
                raise CheckpointError(f"The checkpoint folder {str(self.path)!r} is in use by another run.")
            kept = (self.path / "run.json").exists()
            if kept and not resume:
                raise CheckpointError(
                    f"The checkpoint folder {str(self.path)!r} holds a run already; `resume=True` continues it, or name another folder."
                )
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
            self._guarded(lambda: self.files["failures"].append(failed))
        self._guarded(lambda: self.files["values"].append(line))
        if time.monotonic() >= self.next_sync:
            self._guarded(self._sync)

    def stepped(self, session: Session) -> None:
        done = session.recorder.records
        if len(done) > self.traced:
            self.traced = len(done)
            self._guarded(lambda: self.files["trace"].append(dict(zip(FIELDS, done[-1], strict=True))))

    def ended(self, session: Session, result: Result) -> None:
        self.replaying = False
        self._guarded(lambda: self._save(session, rotate=False))
        self._guarded(lambda: replace_json(self.path / "result.json", result_record(result, session.state.form)))
        if self.in_trouble:
            warnings.warn(f"The last checkpoint of the run in {str(self.path)!r} could not be written.", CheckpointWarning, stacklevel=2)

    def _require_ours(self) -> None:
        """A file of a name that we use and that no run has put there is somebody's."""
        if not (self.path / "lock").exists() and (found := [name for name in NAMES if (self.path / name).exists()]):
            raise CheckpointError(
                f"The checkpoint folder {str(self.path)!r} holds {found[0]!r} and no run; name a folder that is empty or of a run."
            )

    def close(self) -> None:
        for file in self.files.values():
            with contextlib.suppress(OSError):
                file.sync()
            file.close()
        self.lock.close()

    def _fresh(self, setup: Setup) -> Session:
        for stale in self.path.glob("values-*.jsonl"):
            stale.unlink()
        for name in NAMES:
            (self.path / name).unlink(missing_ok=True)
        session = Session(setup)
        self._open(0)
        self._save(session, rotate=False)
        about = dict(
            format=FORMAT,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            python=PYTHON,
            seed=str(setup.seed),
            maxfev=setup.maxfev,
            fingerprint=fingerprint(setup),
        )
        replace_json(self.path / "run.json", about)  # last: a folder with this file has all the others
        return session

    def _continued(self, setup: Setup) -> Session:
        about = read_json(self.path / "run.json")
        if about.get("format") != FORMAT:
            raise CheckpointError(
                f"The checkpoint folder {str(self.path)!r} has format {about.get('format')!r}; this version of zolal reads format {FORMAT}."
            )
        if not setup.seed_given:
            setup = setup.with_seed(int(about["seed"]))
        found = differences(about["fingerprint"], fingerprint(setup), about["python"] == PYTHON)
        if setup.maxfev < about["maxfev"]:
            found.append(f"maxfev was {about['maxfev']} and is {setup.maxfev}, but may only grow")
        if found:
            raise CheckpointError(f"The checkpoint folder {str(self.path)!r} holds another run: {'; '.join(found)}.")
        snapshot: Snapshot = read_record(self.path / "state.npz", setup.start.form, setup.start.z)
        files = {int(path.stem.split("-")[1]): path for path in self.path.glob("values-*.jsonl")}
        first = max((number for number in files if number <= snapshot.batches), default=snapshot.batches)
        self.answers = [line for number in sorted(files) if number >= first for line in read_lines(files[number])]
        self._open(max(files, default=first))
        lines = read_lines(self.path / "trace.jsonl")
        self.traced = len(lines)
        records = [tuple(number(line.get(name)) for name in FIELDS) for line in lines[: snapshot.state.k]]
        if len(records) < snapshot.state.k:
            raise CheckpointError(f"The checkpoint folder {str(self.path)!r} is damaged: its trace ends before its state.")
        if setup.maxfev > about["maxfev"]:
            replace_json(self.path / "run.json", about | dict(maxfev=setup.maxfev))
        self.replaying = True
        return Session(setup, snapshot, Recorder(records))

    def replay(self, session: Session) -> None:
        """Have the session hear again what it had heard; a batch that had failed in the end is open again for what failed."""
        for line in self.answers if self.replaying else ():
            if session.ledger is None or (line["b"], line["check"]) != (session.batches, session.checking):
                continue  # of a batch before the state, or of a final check that a larger budget has put off
            if line.get("reopened"):
                session.reopen()
            else:
                value = number(line["v"])
                told = (line.get("failure"), *(line.get(name, False) for name in KINDS))
                session.hear(Answer(line["i"], value, *told)._replace(outputs=tuple(map(number, line.get("o", ())))))
            if not session.ledger.failed:
                session.settle()
        self.replaying = False
        if session.ledger is not None:
            self._guarded(lambda: (self.path / "result.json").unlink(missing_ok=True))  # it was not the last word
        if session.ledger is not None and session.ledger.failed:
            line = {"b": session.batches, "check": session.checking, "reopened": True}
            self._guarded(lambda: self.files["values"].append(line))
            session.reopen()
            session.settle()

    def _open(self, first: int) -> None:
        self.files = {name: Lines(self.path / f"{name}.jsonl") for name in ("trace", "failures")}
        self.files["values"] = Lines(self.path / f"values-{first}.jsonl")

    def _sync(self) -> None:
        self.next_sync = time.monotonic() + SHORTEST_INTERVAL
        for file in self.files.values():
            file.sync()

    def _save(self, session: Session, rotate: bool = True) -> None:
        """Write the state; with `rotate`, answers from here on go to a new file, and those before are no longer needed."""
        started = time.monotonic()
        self._sync()
        replace_file(self.path / "state.npz", lambda file: write_record(file, session.snapshot))
        if rotate and self.files["values"].length:
            new = Lines(self.path / f"values-{session.snapshot.batches}.jsonl")
            self.files["values"].close()
            self.files["values"] = new
            for path in self.path.glob("values-*.jsonl"):
                if path != new.path:
                    path.unlink()
        self.due = False
        self.next_state = time.monotonic() + max(SHORTEST_INTERVAL, (time.monotonic() - started) / SHARE)

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
