"""How far a campaign is: a live line on a terminal, a plain line every few seconds elsewhere."""

import sys
import time
from types import TracebackType

EVERY = 5.0  # seconds between plain lines


class Progress:
    """Told (done, total, label) after each run; writes to standard error. count: the runs that it was told of."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        self.name, self.count, self.last = name, 0, -EVERY
        self.live = Live("", console=console, transient=True, refresh_per_second=4) if console.is_terminal else None

    def __enter__(self) -> "Progress":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, done: int, total: int, label: str) -> None:
        self.count += 1
        line = f"{self.name}: {self.count} runs made, {done} of {total} in this round, last: {label}"
        if self.live:
            from rich.text import Text

            self.live.update(Text(line, overflow="ellipsis", no_wrap=True))
        elif time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            print(line, file=sys.stderr, flush=True)
