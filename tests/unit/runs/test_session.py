"""A session from inside: what is told of a start that stands in for a worse end, and a budget that is kept to the last evaluation."""

import math

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

import zolal
from prepared import prepared
from zolal.evaluation.faults import Answer
from zolal.kkt import KKT
from zolal.regularizers import L1
from zolal.runs.certify import Certificate
from zolal.runs.session import Session
from zolal.runs.verdict import Point
from zolal.solvers.base import Candidate

KINKED = NonlinearConstraint(lambda x: np.abs(x - [0.3, 0.7]).sum() + 0.1 * np.abs(x[0] - x[1]), -np.inf, -1.0)


def test_the_value_at_a_start_that_violates_less_has_its_regularizer():
    setup = prepared(lambda x: 5.0, np.ones(2), constraints=KINKED, regularizer=L1(10.0), maxfev=200, on_error="retry")
    assert setup.least is None  # kinks hide the contradiction
    session = Session(setup)
    session.open()
    for query in session.ledger.wanted:
        session.hear(Answer(query, 5.0))
    session.settle()
    x = np.full(2, 9.0)
    worse = Point(x, KINKED.fun(x), KKT.unknown(9.0), setup.tol, setup.tol)
    candidate = Candidate(setup.start.form.start(x), np.zeros(1), None)
    _, certificate, point = session._least_violating(candidate, Certificate(7.0, 0.0, worse.kkt, 0), worse)
    assert np.array_equal(point.x, setup.start.x)
    assert math.isclose(certificate.fun, 5.0 + 10.0 * np.abs(point.x).sum())


NEAR_THE_END = [(5, 1.0, 85), (21, 1.0, 47), (30, 3.0, 26)]  # seed, tol and budget of runs whose check is not confirmed when it is spent


@pytest.mark.parametrize(("seed", "tol", "maxfev"), NEAR_THE_END)
def test_a_check_that_is_not_confirmed_near_the_end_is_not_made_a_second_time(seed, tol, maxfev):
    calls = []

    def noisy(x, xi):
        calls.append(x)
        return float((x - 1) @ (x - 1) + 0.3 * xi @ x)

    res = zolal.minimize(
        noisy,
        np.linspace(-0.5, 0.5, 4),
        sample=lambda rng: rng.normal(size=4),
        maxfev=maxfev,
        rng=seed,
        tol=tol,
        options=dict(step_size=0.03, num_directions=2),
    )
    assert len(calls) == res.nfev <= maxfev
    assert res.status is zolal.Status.MAX_EVALUATIONS
    assert not res.success
    assert np.isfinite(res.fun_error)  # the check that was made counts
