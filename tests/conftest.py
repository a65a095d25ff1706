"""Hypothesis profiles, interrupts, the folder of public data, the paper, a generator."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("dev", max_examples=30, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to what it starts in the background; tests send interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)

PUBLIC_DATA = Path(os.environ.get("ZOLAL_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture
def public_data(monkeypatch):
    """The folder of public data, in use; tests that need it are skipped where it is not."""
    if not PUBLIC_DATA.is_dir():
        pytest.skip("needs the public data: name its folder by ZOLAL_DATA (docs/data.md)")
    monkeypatch.setenv("ZOLAL_DATA", str(PUBLIC_DATA))
    return PUBLIC_DATA


@pytest.fixture
def paper():
    """The TeX source of the paper, which lies beside the public data; tests that need it are skipped where it is not."""
    sources = sorted((PUBLIC_DATA.parent / "paper").glob("*.tex"))
    if not sources:
        pytest.skip(f"needs the paper's TeX source in {PUBLIC_DATA.parent / 'paper'}: ZOLAL_DATA names the folder `data` beside `paper`")
    return sources[0].read_text(encoding="utf-8")


@pytest.fixture
def rng():
    return np.random.default_rng(20250107)
