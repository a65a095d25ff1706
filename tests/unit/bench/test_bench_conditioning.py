"""Ill-conditioned quadratics: the problem is what it says, a run is measured, and medians meet their targets or do not."""

import numpy as np
import pytest

from held_runs import holding
from zolal.bench import conditioning
from zolal.bench.conditioning import ROWS, Grid, Measured, Row, measure, quadratic


@pytest.mark.parametrize("kappa", [1.0, 1e4])
def test_the_gap_is_1_at_the_start_and_0_at_the_constrained_minimiser(kappa):
    given = quadratic(8, kappa, 3)
    assert given.fun(given.x0) == pytest.approx(1.0)
    columns = np.eye(8)
    H = np.array([given.gradient(column) - given.gradient(np.zeros(8)) for column in columns])
    assert np.linalg.cond(H) == pytest.approx(kappa, rel=1e-6)
    kkt = np.block([[H, np.ones((8, 1))], [np.ones((1, 8)), np.zeros((1, 1))]])
    best = np.linalg.solve(kkt, np.append(-given.gradient(np.zeros(8)), 0.0))[:8]
    assert given.fun(best) == pytest.approx(0.0, abs=1e-9)
    assert given.violation(best) < 1e-9


@pytest.mark.parametrize("level", [0.0, 1e-3])
def test_a_run_tells_when_each_gap_was_reached(level):
    found = measure(5, 1.0, level, 300, 0)
    first, second, _ = found.firsts
    assert 0 < first <= (second or 300) <= 300
    assert found.evaluations <= 300
    assert found.overhead > 0.0


def test_a_target_is_met_by_the_median(tmp_path):
    counts = ([10, 30, None], [12, 33, None], [40, 34, 50])
    ended = dict(status="CONVERGED", evaluations=60, least=0.0, value=0.0, violation=0.0, overhead=1e-3, seconds=1.0, late=False)
    row = Row(9, 1.0, 0.0, 60, (1.2, 3.0, 9.0))
    grid = Grid(3, (row,))
    found = conditioning.run(
        holding(tmp_path, zip(grid.tasks(row), [Measured(firsts=firsts, **ended) for firsts in counts], strict=True)), grid
    )
    assert [claim.met for claim in found.claims] == [True, False, False]
    assert found.claims[2].measured == "5, 1 of 3 reached"
    assert found.tables[0].rows == [("9", "1", "0", "60 (d + 1)", "1")]


def test_every_row_is_run_with_every_seed():
    assert sum(len(Grid(10).tasks(row)) for row in ROWS) == 100
    assert len(Grid.quick(2).rows) == 2
