"""`zolal reproduce`, as a user runs it, on grids that take seconds."""

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from zolal import cli
from zolal.errors import ZolalError
from zolal.experiments import qcqp
from zolal.experiments.qcqp import FINE, Grid

COMMAND = str(Path(sys.executable).parent / "zolal")
EASY = 0.7
TINY = Grid((16,), (16,), 2, 1, targets=dict(dense=(FINE,), sparse=(EASY,)))


def run():
    """The command in this process: its exit code."""
    try:
        cli.main()
    except SystemExit as stop:
        return stop.code or 0
    return 0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a tiny run, and a function that runs the command in it again: (exit code, runs that the store holds then).

    The command has no smaller size than --quick, which takes minutes; so --quick is another size here.
    """
    folder = tmp_path_factory.mktemp("reproduction")
    patch = pytest.MonkeyPatch()
    patch.setattr(Grid, "quick", classmethod(lambda cls, seeds: TINY))

    def again(experiment="qcqp"):
        patch.setattr(sys, "argv", ["zolal", "reproduce", experiment, "--quick", "--workers", "1", "--out", str(folder)])
        return run(), len((folder / "qcqp" / "runs.jsonl").read_text().splitlines())

    code, runs = again()
    assert code == 0
    assert runs > 20
    yield folder / "qcqp", again, runs
    patch.undo()


def cells_of(markdown):
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| ---")]


def test_figures_are_real_images(made):
    folder, *_ = made
    for name in ("dense", "sparse"):
        with Image.open(folder / f"{name}.png") as image:
            assert image.size == (2480, 1040)
            assert len(image.convert("RGB").getcolors(1 << 24)) > 100
        tree = ElementTree.parse(folder / f"{name}.svg")
        assert tree.getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert len(list(tree.iter())) > 200


def test_tables_hold_the_same_cells_in_markdown_and_csv(made):
    folder, *_ = made
    for name in ("dense", "sparse", "growth", "pilots"):
        rows = list(csv.reader(io.StringIO((folder / f"{name}.csv").read_text())))
        assert rows == cells_of((folder / f"{name}.md").read_text())
        assert len(rows) > 3


def test_the_dense_table_is_that_of_the_stored_runs(made):
    folder, *_ = made
    records = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    for row in csv.DictReader(io.StringIO((folder / "dense.csv").read_text())):
        d, method = 2 ** int(row["d"][2:]), row["method"].lower()
        mine = [record["outcome"]["residual"] for record in records if _is(record, d, method, float(row["eta_0"]), float(row["rho"]))]
        assert len(mine) == 2
        assert float(row["best residual (median)"]) == pytest.approx(sum(mine) / 2, rel=0.005)


def _is(record, d, method, step_size, dual_step):
    _, arguments = json.loads(record["key"])
    choice = arguments["choice"]
    own = (arguments["problem"], arguments["d"], arguments["method"], choice["step_size"], choice["dual_step"])
    return arguments["seed"] < 1001 and own == ("dense", d, method, step_size, dual_step)


class Links(HTMLParser):
    """Every address that a page asks for."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]


def test_the_page_needs_no_network(made):
    folder, *_ = made
    page = (folder / "index.html").read_text()
    links = Links()
    links.feed(page)
    assert len(links.found) == 2
    assert all(link.startswith("data:image/svg+xml;base64,") for link in links.found)
    assert not re.search(r"https?://|@import|<script|<link", page)
    for words in ("zolal reproduce qcqp --seeds 3 --quick", "processor time", "Every trial of the pilots", "no method"):
        assert words in page


def test_a_second_run_takes_everything_from_the_store_and_writes_the_same(made, capsys):
    folder, again, runs = made
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert again() == (0, runs)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    printed = capsys.readouterr().out
    for words in (
        "Dense QCQP: queries to r_2 ≤ 0.01",
        "Euc-matched",
        f"≥ {qcqp.budget('dense', FINE, 16)}",
        "0 runs were made now",
        "dense.png",
        str(folder / "index.html"),
    ):
        assert words in printed


def test_all_writes_a_page_over_the_experiments(made, monkeypatch, capsys):
    """Over one here: the others take minutes and public data."""
    folder, again, runs = made
    monkeypatch.setattr("zolal.cli.reproduce.EXPERIMENTS", ("qcqp",))
    assert again(experiment="all") == (0, runs)
    assert 'href="qcqp/index.html"' in (folder.parent / "index.html").read_text()
    assert str(folder.parent / "index.html") in capsys.readouterr().out


def test_ctrl_c_keeps_the_runs(tmp_path):
    store = tmp_path / "qcqp" / "runs.jsonl"
    command = [COMMAND, "reproduce", "qcqp", "--quick", "--workers", "1", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120.0
    while time.monotonic() < until and not (store.exists() and store.read_bytes().endswith(b"\n")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"Stopped. The runs that ended are kept in {store}; the same command goes on from there." in told
    assert all(json.loads(line)["outcome"] for line in store.read_text().splitlines())


def test_another_thread_can_run_it(made):
    """There are no signal handlers there."""
    _, again, runs = made
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(again).result() == (0, runs)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing",), "`EXPERIMENT` must be one of qcqp, attack, fairness, all, got 'nothing'."),
        (("qcqp", "--seeds", "0"), "`--seeds` must be a positive integer, got 0."),
        (("qcqp", "--workers", "-1"), "`--workers` must be a positive integer, got -1."),
        (("qcqp", "--out", __file__), "`--out` must be a folder that can be written"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(monkeypatch, capsys, arguments, sentence):
    monkeypatch.setattr(sys, "argv", ["zolal", "reproduce", *arguments])
    assert run() == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("zolal: ")
    assert printed.err.count("\n") == 1
    assert sentence in printed.err


def test_missing_matplotlib_is_told_before_anything_is_run(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "zolal.report", None)
    with pytest.raises(ZolalError, match=r"pip install 'zolal\[cli\]'"):
        cli.reproduce.reproduce("qcqp", quick=True, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command_is_there_and_explains_its_options():
    done = subprocess.run([COMMAND, "reproduce", "--help"], capture_output=True, text=True, check=True, timeout=60)
    for option in ("--seeds", "--quick", "--workers", "--out", "--again"):
        assert option in done.stdout
    assert "--no-quick" not in done.stdout
