"""What a type checker tells those who use zolal: `py.typed` is found, right use passes, wrong use is reported."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("mypy")

RIGHT = """
from collections.abc import Callable

import numpy as np

import zolal


def bowl(x: np.ndarray) -> float:
    return float((x - 1.0) @ (x - 1.0))


sphere = zolal.Constraint(lambda x: x @ x, 1.0, 1.0, name="sphere")
found: zolal.Result = zolal.minimize(bowl, np.zeros(3), constraints=sphere, maxfev=1e3, rng=0)
again = zolal.minimize(bowl, start=found, region=zolal.sets.L2Ball(2.0), regularizer=zolal.regularizers.L1(0.1), workers=2)
advice: str = zolal.Status.TOO_NOISY.advice
version: str = zolal.__version__


def solved(problem: zolal.Problem, evaluate: Callable[[np.ndarray], float]) -> zolal.Result:
    with zolal.Optimizer(problem, np.zeros(3), maxfev=100) as optimizer:
        for batch in optimizer:
            optimizer.tell({query.key: evaluate(query.point) for query in batch})
        return optimizer.result


try:
    solved(zolal.Problem(bowl, 3, sphere), bowl)
except zolal.ObjectiveError as error:
    raise SystemExit(str(error)) from error
"""

WRONG = {
    'zolal.minimize(bowl, "x0", maxfev="many")': r'"minimize" has incompatible type "str"; expected "float | None"  \[arg-type\]',
    "zolal.minimize(bowl, [0.0], budget=10)": r'Unexpected keyword argument "budget" for "minimize"',
    "zolal.minimize(3, [0.0])": r'"minimize" has incompatible type "int"',
    "zolal.sets.L2Ball()": r'Missing positional argument "radius" in call to "L2Ball"',
    "zolal.maximize(bowl, [0.0])": r'Module has no attribute "maximize"',
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory, pytestconfig):
    """The lines that mypy --strict prints for a module that is right and for one that is wrong in every line but the first.

    What mypy knows of files that have not changed is kept between sessions, as mypy itself does.
    """
    folder = tmp_path_factory.mktemp("downstream")
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text("\n".join(["import zolal; bowl = abs", *WRONG]) + "\n")
    cache = pytestconfig.rootpath / ".mypy_cache" / "downstream"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", "right.py", "wrong.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False).stdout.splitlines()


def test_right_use_passes_a_strict_type_checker(reported):
    assert reported[-1].endswith("in 1 file (checked 2 source files)")
    assert not [line for line in reported[:-1] if not line.startswith("wrong.py")]


@pytest.mark.parametrize("line", WRONG)
def test_wrong_use_is_reported(reported, line):
    number = 2 + list(WRONG).index(line)
    assert [text for text in reported if text.startswith(f"wrong.py:{number}: error") and re.search(WRONG[line], text)]
