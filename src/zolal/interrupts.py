"""Ctrl-C where it does no harm: at once while the user's function runs, a moment later while files and states are being written."""

import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar, final

T = TypeVar("T")


@final
class Interrupts:
    """A context in which an interrupt during a held call comes as KeyboardInterrupt after it.

    Outside the main thread nothing changes, nor where the program handles interrupts in its own way.
    """

    def __init__(self) -> None:
        self.holding = self.pending = self.installed = False

    def __enter__(self) -> "Interrupts":
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
            self.installed = True
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def held(self, function: Callable[..., T]) -> Callable[..., T]:
        """The function as one that an interrupt does not cut in two."""

        def whole(*args: Any) -> T:
            self.holding = True
            try:
                return function(*args)
            finally:
                self.holding = False
                if self.pending:
                    self.pending = False
                    raise KeyboardInterrupt

        return whole

    def _handle(self, number: int, frame: Any) -> None:
        if self.holding:
            self.pending = True
        else:
            raise KeyboardInterrupt
