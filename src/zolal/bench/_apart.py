"""A call in a process of its own with a limit on its time: what runs over is ended, and has given no answer."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from typing import Any

START = 120.0  # seconds that a new interpreter may take before its clock runs
READY, DONE, FAILED = "ready", "done", "failed"


def call_apart(function: Callable[..., Any], arguments: dict[str, Any], seconds: float) -> tuple[str, Any]:
    """("done", what function(**arguments) returned), ("late", None) after so many seconds, or ("failed", a sentence).

    function: of a module, so that a new interpreter finds it. The clock runs from when that interpreter has loaded it.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, function, arguments, os.getpid()))
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


def _answer(pipe: Any, function: Callable[..., Any], arguments: dict[str, Any], parent: int) -> None:
    _silence()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
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


def _end_with(parent: int) -> None:
    """Nobody waits for the answer once the process that asked is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
