"""The command, as a user runs it."""

import subprocess
import sys
from pathlib import Path

import zolal
from command import called, started


def test_demo_prints_what_it_found_what_it_cost_and_where_its_page_is(tmp_path):
    called("demo", "--maxfev", 30, "--out", tmp_path / "demo").check_returncode()  # whose place the other takes
    run = started("demo", "--maxfev", 3000, "--out", tmp_path / "demo", check=True)
    for word in ("stock found", "bread", "cost per day", "0.1 more of budget saves", "success", "Over 500 fresh simulations"):
        assert word in run.stdout
    assert "no success" not in run.stdout
    page = run.stdout.strip().split()[-1]
    assert "<svg" in Path(page).read_text()
    assert run.stderr == ""


def test_help_lists_the_commands():
    run = started("--help", check=True)
    for command in ("demo", "solve", "report", "theory"):
        assert command in run.stdout


def test_help_loads_neither_benchmarks_nor_figures():
    code = (
        "import atexit, sys; from zolal.cli import main; sys.argv = ['zolal', 'bench', '--help']\n"
        "heavy = ('matplotlib', 'zolal.bench', 'zolal.experiments', 'zolal.report')\n"
        "atexit.register(lambda: print([name for name in heavy if name in sys.modules])); main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip().splitlines()[-1] == "[]"


def test_the_version_is_that_of_the_package():
    assert called("--version").stdout == f"zolal {zolal.__version__}\n"


def test_an_impossible_budget_is_one_sentence_and_a_nonzero_exit(tmp_path):
    run = started("demo", "--maxfev", 0, "--out", tmp_path / "demo")
    assert run.returncode == 2
    assert run.stderr == "zolal: `minimize(maxfev=...)` must be a positive integer, got 0.\n"
    assert "Traceback" not in run.stderr
