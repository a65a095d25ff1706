"""The rule of docs/design.md: a module imports only from strictly lower levels, or from base.py or a private module of its own package.

The modules of some packages, and of a package inside a package such as `solvers.auto`, are parts of one thing and may import each other,
without a cycle.
"""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "zolal"
UNIT = ROOT / "tests" / "unit"

LEVELS = {
    "errors": 0,
    "tables": 0,
    "sets": 1,
    "regularizers": 1,
    "schedules": 1,
    "directions": 1,
    "linearization": 1,
    "result": 1,
    "campaigns": 1,
    "mirror": 2,
    "constraints": 2,
    "estimators": 2,
    "problem": 3,
    "kkt": 3,
    "naming": 4,
    "evaluation": 4,
    "problems": 4,
    "theory": 5,
    "solvers": 6,
    "methods": 7,
    "runs": 8,
    "doors": 9,
    "torch": 9,
    "experiments": 10,
    "bench": 10,
    "sklearn": 10,
    "art": 10,
    "report": 11,
    "__init__": 11,
    "cli": 12,
}
GROUND = 0  # private modules at the top, such as _roots, and what they stand on; they may import each other
PARTS = (
    "campaigns",
    "evaluation",
    "theory",
    "runs",
    "doors",
    "torch",
)  # packages whose modules are parts of one thing and import each other

MODULES = {path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", "."): path for path in sorted(SOURCE.rglob("*.py"))}
OPTIONAL = ("typer", "rich", "jinja2", "cvxpy", "torch", "triton", "sklearn", "dask", "distributed", "cloudpickle", "pooch", "art")
LIGHT = ("numba", "matplotlib", *OPTIONAL)


def top(module: str) -> str:
    return module.split(".")[0]


def inner_package(module: str) -> str | None:
    """`solvers.auto` for whatever lies in that folder or below it; None for a module right in a package or at the top."""
    parts = module.split(".")
    return ".".join(parts[:2]) if len(parts) > 2 else None


def level(module: str) -> int:
    name = top(module)
    return LEVELS.get(name, GROUND) if name.startswith("_") else LEVELS[name]


def imported(path: Path) -> set[str]:
    """Dotted names of everything that a file imports, inside functions too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def own_imports(path: Path) -> set[str]:
    """The modules of zolal that a file imports, relative to the package; `from package import member` names the package."""
    found = set()
    for name in imported(path):
        if top(name) != "zolal":
            continue
        parts = name.split(".")[1:]
        while parts and ".".join(parts) not in MODULES and ".".join([*parts, "__init__"]) not in MODULES:
            parts = parts[:-1]
        found.add(".".join(parts) if ".".join(parts) in MODULES else ".".join([*parts, "__init__"]))
    return found


def allowed(module: str, other: str) -> bool:
    if level(other) < level(module) or level(other) == level(module) == GROUND:
        return True
    if "." not in other or top(other) != top(module):
        return False
    if top(module) in PARTS or (inner_package(module) is not None and inner_package(module) == inner_package(other)):
        return True
    name = other.split(".")[-1]
    return module == f"{top(module)}.__init__" or name == "base" or (name.startswith("_") and name != "__init__")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_a_level(module):
    assert top(module) in LEVELS or top(module).startswith("_"), f"{module} is missing in the table of levels"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_lower_levels(module):
    wrong = [other for other in own_imports(MODULES[module]) if not allowed(module, other)]
    assert not wrong, f"zolal.{module} must not import {wrong}"


def test_the_ground_layer_imports_what_is_below_it_alone():
    assert own_imports(MODULES["_array"]) == set()
    assert own_imports(MODULES["errors"]) == set()
    assert own_imports(MODULES["_checks"]) <= {"errors"}


def test_imports_have_no_cycle():
    TopologicalSorter({module: own_imports(path) - {module} for module, path in MODULES.items()}).prepare()


def test_the_rule_finds_what_it_forbids():
    assert not allowed("sets.box", "mirror.base")
    assert not allowed("sets.box", "sets.l1_ball")
    assert not allowed("problem", "evaluation.faults")
    assert allowed("runs.session", "runs.loop")
    assert allowed("sets.box", "sets.base")
    assert allowed("mirror.euclidean", "mirror._proximal")
    assert allowed("solvers.auto.slopes.solver", "solvers.auto.slopes.step")
    assert not allowed("solvers.mdlal.algorithm1", "solvers.auto.slopes.step")
    assert not allowed("solvers.auto.slopes.step", "solvers.mdlal.algorithm1")


@pytest.mark.parametrize("module", [name for name in MODULES if top(name) != "cli"])
def test_nothing_below_the_command_line_prints_but_the_progress_line(module):
    calls = [node.func for node in ast.walk(ast.parse(MODULES[module].read_text())) if isinstance(node, ast.Call)]
    assert not [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
    if module != "runs.progress":
        assert not [name for name in imported(MODULES[module]) if top(name) == "rich"]
        assert not re.search(r"sys\.(stdout|stderr)", MODULES[module].read_text())


@pytest.mark.parametrize("module", [name for name in MODULES if top(name) != "report"])
def test_nothing_but_the_report_draws(module):
    assert "matplotlib" not in {top(name) for name in imported(MODULES[module])}


def loaded_after(code: str, names: tuple[str, ...]) -> str:
    """Which of the packages a fresh interpreter has loaded after running the code."""
    code = f"import sys; {code}; print([name for name in {names} if name in sys.modules])"
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_zolal_loads_no_other_package():
    assert loaded_after("import zolal", ("numpy", "scipy", *LIGHT)) == "[]"


@pytest.mark.parametrize(("package", "name"), [("sklearn", "scikit-learn"), ("art", "the Adversarial Robustness Toolbox")])
def test_a_door_whose_package_is_missing_is_one_sentence(package, name):
    code = f"import sys; sys.modules[{package!r}] = None; import zolal; zolal.{package}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith(f"ImportError: `zolal.{package}` needs {name}: pip install 'zolal[{package}]'.")


def test_public_modules_are_there_without_an_import_of_their_own():
    found = loaded_after("import zolal; zolal.errors.ZolalError, zolal.result.Status, zolal.sets.Box", ("zolal.errors", "zolal.cli"))
    assert found == "['zolal.errors']"


def test_the_front_door_and_a_small_run_need_the_core_alone():
    run = "import zolal; zolal.minimize(lambda x: float(x @ x), [1.0] * 10, maxfev=60, rng=0)"
    assert loaded_after(run, LIGHT) == "[]"


@pytest.mark.parametrize("path", [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_can_be_read_in_one_sitting(path):
    assert len(path.read_text().splitlines()) <= 400
    assert path.stem not in ("utils", "helpers", "misc")


@pytest.mark.parametrize(
    "folder",
    [path for path in UNIT.rglob("*") if path.is_dir() and path.name != "__pycache__"],
    ids=lambda path: str(path.relative_to(UNIT)),
)
def test_a_folder_of_unit_tests_is_a_folder_of_the_source(folder):
    """Whoever changes a module finds its tests at the same path, and a module that moves takes them along."""
    assert (SOURCE / folder.relative_to(UNIT)).is_dir()
