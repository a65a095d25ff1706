"""A line that shows how a run is getting on: live on a terminal, now and then in a log. It is shown only on request, and on stderr."""

import contextlib
import math
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, final

from zolal.evaluation.faults import Answer
from zolal.result import Result
from zolal.runs.session import Observer, Session

REDRAW, LOG = 0.1, 5.0  # seconds between two lines, on a terminal and in a log
WINDOW = 10.0  # seconds over which the rate is taken


@final
class ProgressLine(Observer):
    """An `Observer` that shows a sentence about the session every so often."""

    def __init__(self, show: Callable[[str], None], interval: float) -> None:
        self.show, self.interval = show, interval
        self.next = time.monotonic() + interval
        self.seen: deque[tuple[float, int]] = deque()

    def heard(self, session: Session, answer: Answer) -> None:
        if time.monotonic() >= self.next:
            self._show(session)

    def stepped(self, session: Session) -> None:
        if time.monotonic() >= self.next:
            self._show(session)

    def ended(self, session: Session, result: Result) -> None:
        self.show(f"{described(session, None)}  {result.status.sentence}")

    def _show(self, session: Session) -> None:
        now = time.monotonic()
        self.next = now + self.interval
        self.seen.append((now, session.nfev))
        while len(self.seen) > 2 and self.seen[0][0] < now - WINDOW:
            self.seen.popleft()
        then, count = self.seen[0]
        self.show(described(session, (session.nfev - count) / (now - then) if now > then else None))


def described(session: Session, rate: float | None) -> str:
    """Evaluations, rate, time left, and the last step's objective, violation and residual."""
    limit = session.setup.maxfev
    words = [f"{session.nfev:,} of {limit:,} evaluations"]
    if rate:
        words += [f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.3g}/s", f"{_clock((limit - session.nfev) / rate)} left"]
    if session.recorder.last:
        _, _, _, fun, stationarity, feasibility, *_ = session.recorder.last
        words += [f"objective {fun:.6g}", f"violation {feasibility:.2g}", f"residual {max(stationarity, feasibility):.2g}"]
    if failed := sum(session.failures.values()):
        words.append(f"{failed:,} failed")
    return "  ".join(words)


def _laid_out(text: str, width: int) -> str:
    """The text in as many lines as it needs; what two spaces part is kept whole."""
    whole = text.replace("  ", "\n").replace(" ", "\u00a0").replace("\n", "  ")
    return textwrap.fill(whole, width).replace("\u00a0", " ")


def _clock(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@contextlib.contextmanager
def shown(stream: Any = None) -> Iterator[ProgressLine]:
    """A progress line on `stream`, stderr unless given: one that is redrawn on a terminal, plain lines elsewhere and without rich."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty():
        with contextlib.suppress(ImportError):
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text

            with Live(console=Console(file=stream), auto_refresh=False) as live:
                yield ProgressLine(lambda text: live.update(Text(_laid_out(text, live.console.width)), refresh=True), REDRAW)
            return

    def log(text: str) -> None:
        stream.write(f"zolal {time.strftime('%H:%M:%S')}  {text}\n")
        stream.flush()

    yield ProgressLine(log, LOG)
