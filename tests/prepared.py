"""A run that has evaluated nothing yet, for tests that look at a session from inside."""

from zolal.doors.arguments import Arguments, prepare
from zolal.runs.session import Setup


def prepared(fun, x0, **chosen) -> Setup:
    """What `minimize` would run with these arguments."""
    return prepare(Arguments(fun=fun, x0=x0, **dict(method="auto", maxfev=1000, rng=0) | chosen))
