"""The command, as a user runs it."""

import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "zolal")


def test_demo_prints_what_it_found_what_it_cost_and_where_its_page_is(tmp_path):
    for _ in range(2):  # the second takes the place of the first
        command = [COMMAND, "demo", "--maxfev", "3000", "--out", str(tmp_path / "demo")]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    for word in ("stock found", "bread", "cost per day", "0.1 more of budget saves", "success", "Over 500 fresh simulations"):
        assert word in run.stdout
    assert "no success" not in run.stdout
    page = run.stdout.strip().split()[-1]
    assert "<svg" in Path(page).read_text()
    assert run.stderr == ""


def test_help_lists_the_commands():
    run = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, timeout=60, check=True)
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


def test_an_impossible_budget_is_one_sentence_and_a_nonzero_exit(tmp_path):
    run = subprocess.run(
        [COMMAND, "demo", "--maxfev", "0", "--out", str(tmp_path / "demo")], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 2
    assert run.stderr == "zolal: `minimize(maxfev=...)` must be a positive integer, got 0.\n"
    assert "Traceback" not in run.stderr
