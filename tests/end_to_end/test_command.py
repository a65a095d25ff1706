"""The command, as a user runs it."""

import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "zolal")


def test_demo_prints_what_it_found_how_well_the_constraints_hold_and_what_it_cost():
    run = subprocess.run([COMMAND, "demo", "--maxfev", "3000"], capture_output=True, text=True, timeout=300, check=True)
    for word in ("cost per day", "largest violation", "evaluations", "Over 500 fresh simulations"):
        assert word in run.stdout
    assert run.stderr == ""


def test_help_lists_the_commands():
    run = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, timeout=60, check=True)
    assert "demo" in run.stdout


def test_an_impossible_budget_is_one_sentence_and_a_nonzero_exit():
    run = subprocess.run([COMMAND, "demo", "--maxfev", "10"], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 2
    assert run.stderr.startswith("zolal: `maxfev` must be at least 417")
    assert "Traceback" not in run.stderr
