"""Runs in this folder are those of the solver for slopes, whatever the number of variables."""

import pytest

import zolal.methods.auto
from zolal.solvers.auto.slopes import Slopes


@pytest.fixture(autouse=True)
def slopes_alone(monkeypatch):
    monkeypatch.setattr(zolal.methods.auto, "Auto", Slopes)
