"""Processes at the other end of a pipe, whose ends nobody else inherits: no worker of another run, nothing that the program forks.

A process that holds the end of a pipe by accident keeps it open: a worker would wait for ever for the end of its pipe, and nobody would
see that a worker has died. So every fork of this program, whoever makes it, waits while a pipe is being made, and closes in the child
all ends but the child's own.
"""

import contextlib
import multiprocessing
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

_forking = threading.RLock()  # held from the making of a pipe until its process is there
_ends: "weakref.WeakSet[Any]" = weakref.WeakSet()
_kept: Any = None  # the end that the process which is being forked keeps
_held: Any = None  # the compiler's lock, while we fork


def piped(context: Any, process: Callable[[Any], Any]) -> tuple[Any, Any]:
    """A process that `process` makes from its end of a new pipe, started, and our end. It may start processes of its own."""
    global _kept
    with _compiler_at_rest(), _forking, _as_parent():
        ours, theirs = context.Pipe()
        _ends.update((ours, theirs))
        _kept = theirs
        try:
            made = process(theirs)
            made.start()
        except BaseException:
            ours.close()
            raise
        finally:
            _kept = None
            theirs.close()
    return made, ours


def closed(end: Any) -> None:
    """Close an end of ours; not while somebody forks, whose child would close a file that has got the same number."""
    with _forking:
        end.close()


def as_worker() -> None:
    """In the worker: allow it processes of its own, which multiprocessing forbids to those that end with their parent."""
    multiprocessing.current_process().daemon = False


@contextlib.contextmanager
def _as_parent() -> Iterator[None]:
    """Whoever may have no children, such as a worker of a pool, may have these: they end with their pipe."""
    me = multiprocessing.current_process()
    if not me.daemon:
        yield
        return
    me.daemon = False
    try:
        yield
    finally:
        me.daemon = True


@contextlib.contextmanager
def _compiler_at_rest() -> Iterator[None]:
    """The compiler is neither being loaded nor at work: a child of that moment would wait for a thread that it does not have."""
    global _held
    if "numba" not in sys.modules:
        yield
        return
    from numba.core.compiler_lock import global_compiler_lock  # waits for whoever is loading it

    lock: Any = global_compiler_lock
    lock.acquire()
    _held = lock
    try:
        yield
    finally:
        _held = None
        lock.release()


def _in_child() -> None:
    global _forking, _held
    for end in list(_ends):
        if end is not _kept:
            end.close()
    _forking = threading.RLock()
    if _held is not None:
        _held.release()
        _held = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: _forking.acquire(), after_in_parent=lambda: _forking.release(), after_in_child=_in_child)
