"""The command `zolal`: as a user starts it, and the same in this process, which need not start an interpreter and import everything."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from zolal import cli

COMMAND = str(Path(sys.executable).parent / "zolal")


def started(*arguments, check=False, **environment):
    """The command in a process of its own."""
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=check, env=os.environ | environment)


def called(*arguments):
    """The command in this process, which is afterwards as it was: what `started` gives."""
    words, code, handler = ["zolal", *map(str, arguments)], 0, signal.getsignal(signal.SIGTERM)
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "path", [*sys.path])
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        finally:
            signal.signal(signal.SIGTERM, handler)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
