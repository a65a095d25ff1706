"""Where the commands print their tables."""

import sys
from typing import Any

WIDTH = 140  # where there is no terminal


def console() -> Any:
    """A console as wide as the terminal."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=WIDTH)
