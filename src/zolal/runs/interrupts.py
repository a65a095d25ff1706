"""Ctrl-C where it does no harm: at once while the user's function runs, a moment later while files and states are being written.

Whatever else the program has given the meaning of Ctrl-C, as the command gives it to SIGTERM, is treated alike.
"""

import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar, final

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@final
class Interrupts:
    """A context in which an interrupt during a held call comes as KeyboardInterrupt after it.

    Outside the main thread nothing changes, nor where the program handles interrupts in its own way.
    """

    def __init__(self) -> None:
        self.holding = self.pending = False
        self.installed: list[signal.Signals] = []

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            self.installed = [number for number in SIGNALS if signal.getsignal(number) is signal.default_int_handler]
        for number in self.installed:
            signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: Any) -> None:
        for number in self.installed:
            signal.signal(number, signal.default_int_handler)

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

    def ignored(self, function: Callable[[], T]) -> Callable[[], T]:
        """The function as one that no interrupt disturbs, nor whoever called it: the run is ending already."""

        def undisturbed() -> T:
            self.holding = True
            try:
                return function()
            finally:
                self.holding = self.pending = False

        return undisturbed

    def _handle(self, number: int, frame: Any) -> None:
        if self.holding:
            self.pending = True
        else:
            raise KeyboardInterrupt
