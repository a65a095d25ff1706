"""What is given to others: a wheel and an sdist, and the demo from the wheel where there is nothing else. Needs a package index."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import zolal

pytestmark = pytest.mark.slow
for tool in ("build", "twine"):
    pytest.importorskip(tool)

ROOT = Path(__file__).parents[2]
LARGEST = 1_000_000  # bytes
NOT_OURS = ("__pycache__", ".nbi", ".nbc", ".pyc", ".npz", ".jsonl", ".coverage", ".venv")  # caches, kept runs, environments


def run(*command, cwd):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=True).stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    return dist / f"zolal-{zolal.__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def contents(dist, wheel):
    """The size of each file, by name, of the wheel and of the sdist."""
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {item.filename: item.file_size for item in archive.infolist()}
    with tarfile.open(dist / f"zolal-{zolal.__version__}.tar.gz") as archive:
        in_sdist = {item.name.partition("/")[2]: item.size for item in archive.getmembers()}
    return dict(wheel=in_wheel, sdist=in_sdist)


def test_an_index_would_take_both(dist):
    files = sorted(dist.iterdir())
    assert len(files) == 2
    assert run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files, cwd=dist).count("PASSED") == 2


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_only_what_is_ours_is_packed(contents, kind):
    assert not [name for name in contents[kind] if any(mark in name for mark in NOT_OURS)]
    assert max(contents[kind].values()) < LARGEST


def test_both_have_the_license_and_all_sources(contents):
    assert "LICENSE" in contents["sdist"]
    assert f"zolal-{zolal.__version__}.dist-info/licenses/LICENSE" in contents["wheel"]
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/zolal").rglob("*") if path.suffix in (".py", ".j2")}
    assert sources | {"zolal/py.typed"} == {name for name in contents["wheel"] if name.startswith("zolal/")}
    assert {f"src/{name}" for name in sources} <= set(contents["sdist"])


def test_the_demo_runs_from_the_wheel_alone(wheel, tmp_path):
    venv.create(tmp_path / "empty", with_pip=True)
    programs = tmp_path / "empty" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cli]", cwd=tmp_path)
    (tmp_path / "elsewhere").mkdir()
    assert run(programs / "zolal", "--version", cwd=tmp_path / "elsewhere") == f"zolal {zolal.__version__}\n"
    shown = run(programs / "zolal", "demo", cwd=tmp_path / "elsewhere")
    assert "cost per day" in shown
    assert "no success" not in shown
    assert "<svg" in (tmp_path / "elsewhere" / "zolal-demo" / "report.html").read_text()
