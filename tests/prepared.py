"""A run that has evaluated nothing yet, for tests that look at a session from inside."""

from zolal.doors.minimize import prepare
from zolal.evaluation.faults import FaultPolicy
from zolal.runs.session import Setup

USUAL = dict(method="auto", geometry="auto", maxfev=1000, tol=1e-3, rng=0, callback=None, options=None, policy=FaultPolicy())
DESCRIBED = dict(bounds=None, constraints=(), region=None, regularizer=None, sample=None, vectorized=False, gradient=None)


def prepared(fun, x0, **chosen) -> Setup:
    """What `minimize` would run with these arguments, and with the usual ones for the rest."""
    return prepare(fun, x0, **DESCRIBED | USUAL | chosen)
