"""A session with all that was asked for around it: a folder that keeps it, a log, a line that shows it."""

import contextlib
from collections.abc import Iterator
from typing import Any

from zolal.errors import InvalidArgumentError
from zolal.runs.checkpoint import RunFolder
from zolal.runs.logged import RunLog
from zolal.runs.session import Observer, Session, Setup


@contextlib.contextmanager
def opened(setup: Setup, checkpoint: Any = None, resume: bool = False, progress: Any = False) -> Iterator[Session]:
    """A session at its first open batch, or where its folder left it; on the way out everything is closed."""
    if not isinstance(resume, bool):
        raise InvalidArgumentError(f"`resume` must be True or False, got {resume!r}.")
    if not isinstance(progress, bool):
        raise InvalidArgumentError(f"`progress` must be True or False, got {progress!r}.")
    if resume and checkpoint is None:
        raise InvalidArgumentError("`resume=True` needs the folder of the run, got `checkpoint=None`.")
    with contextlib.ExitStack() as stack:
        observers: list[Observer] = []
        folder = RunFolder(_folder(checkpoint)) if checkpoint is not None else None
        if folder is not None:
            stack.callback(folder.close)
            observers.append(folder)
        session = Session(setup) if folder is None else folder.start(setup, resume)
        session.open(observers)
        if folder is not None:
            folder.replay(session)
        observers.append(RunLog(session))
        if progress:
            from zolal.runs.progress import shown

            observers.append(stack.enter_context(shown()))
        session.observers = observers
        yield session


def _folder(checkpoint: Any) -> Any:
    named = isinstance(checkpoint, str) or hasattr(checkpoint, "__fspath__")
    if not named or not str(checkpoint) or "\0" in str(checkpoint):
        raise InvalidArgumentError(f"`checkpoint` must be the path of a folder, got {checkpoint!r}.")
    return checkpoint
