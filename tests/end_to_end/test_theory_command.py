"""`zolal theory`, as a user runs it."""

import dataclasses
import json
import subprocess
import sys

import pytest

from command import called, started
from zolal import theory
from zolal.cli.theory import FLAGS, MEANINGS

QUANTITIES = ("S_p", "sixth", "L_v", "sigma_bar2", "mu", "L_mu", "eta", "alpha", "nu", "n_0", "n", "Delta_0", "K", "evaluations")
ONES = dict.fromkeys(("L_f", "M_f", "sigma", "M_c", "L_c", "Mbar_c", "beta", "D_X", "Phi_gap"), 1.0)


def printed(*arguments):
    done = called("theory", "--json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_the_table_names_every_quantity_and_the_bounds():
    done = started("theory", "--p", 4)
    assert (done.returncode, done.stderr) == (0, "")
    first = [line.split()[0] for line in done.stdout.splitlines() if line and not line.startswith(" ")]
    assert set(QUANTITIES) <= set(first)
    for words in (
        "Theorem 5.1",
        "Theorem 5.2",
        "Theorem 6.1",
        "Theorem 6.2",
        "Algorithm 2",
        "high accuracy",
        "best p",
        "sqrt of the largest",
        "108 Delta_0/(eta epsilon^2)",
    ):
        assert words in done.stdout


def test_json_holds_what_the_library_computes():
    found = printed("--d", 64, "--p", 3, "--epsilon", 0.1, "--rho", 2, "--delta", 0.05)
    constants, geometry = theory.Constants(**ONES), theory.Geometry(64, 3.0, 0.05)
    expected = theory.settings(constants, geometry, 0.1, 2.0)
    for name in QUANTITIES:
        value = getattr(expected, name)
        assert found[name] == dict(value=value, formula=value.formula, source=value.source, terms=value.terms, active=value.active)
    assert found["stationarity_bound"]["value"] == theory.stationarity_bound(constants, geometry, expected.parameters)
    assert found["feasibility_bound"]["value"] == theory.feasibility_bound(constants, geometry, expected.parameters)
    assert found["order_terms"]["terms"] == theory.order_terms(64, 3.0, 0.1).terms
    assert found["high_accuracy_boundary"]["value"] == theory.high_accuracy_boundary(64, 3.0)
    stages = theory.stage_settings(constants, geometry, 0.1, 2.0)
    assert [stage["K"] for stage in found["stages"]] == [stage.K for stage in stages]
    assert [stage["epsilon"] for stage in found["stages"]] == [stage.epsilon for stage in stages]
    assert found["stage_evaluations"]["value"] == theory.stage_evaluations(stages)
    assert found["stage_order_terms"]["terms"] == theory.stage_order_terms(64, 3.0, 0.1).terms
    p, fewest = theory.best_p(constants, 64, 0.1, 2.0, 0.05)
    assert (found["best_p"]["p"], found["best_p"]["evaluations"]["value"]) == (p, fewest)


def test_every_constant_has_a_flag_and_a_flag_wins_over_the_file(tmp_path):
    file = tmp_path / "constants.toml"
    names = [*ONES, "c0", "M_h", "m"]
    values = {name: 2 if name == "m" else 1.5 + i / 8 for i, name in enumerate(names)}
    file.write_text("\n".join(f"{name} = {value}" for name, value in values.items()))
    from_file = printed("--constants", file)
    assert from_file == printed(*(word for name, value in values.items() for word in (f"--{name}", value)))
    assert from_file["mu"]["value"] == theory.settings(theory.Constants(**values), theory.Geometry(1024, 2.0), 1e-2).mu
    overridden = theory.settings(theory.Constants(**values | {"L_f": 7.0}), theory.Geometry(1024, 2.0), 1e-2)
    assert printed("--constants", file, "--L_f", 7)["evaluations"]["value"] == overridden.evaluations


@pytest.mark.parametrize(
    ("text", "arguments", "sentence"),
    [
        ("L_g = 1.0", (), "got 'L_g'."),
        ("L_f = 'big'", (), "`Constants(L_f=...)` must be a positive number, got 'big'."),
        ("L_f = ", (), "must be a TOML file that can be read"),
        (None, (), "No such file or directory."),
        ("", ("--L_f", -1), "`Constants(L_f=...)` must be a positive number, got -1.0."),
        ("", ("--p", 1), "`Geometry(p=...)` must be a finite number >= 2, got 1.0."),
        ("", ("--epsilon", 1e-200), "beyond the range of floats."),
        ("", ("--plot", "curve.pdf"), "`--plot` must be a .png or .svg file, got 'curve.pdf'."),
        ("", ("--plot", "no/such/folder/curve.png"), "`--plot` must be a file that can be written"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, text, arguments, sentence):
    file = tmp_path / "constants.toml"
    if text is not None:
        file.write_text(text)
    done = called("theory", "--constants", file, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("zolal: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr


def test_every_flag_says_what_it_is():
    shown = " ".join(called("theory", "--help").stdout.split())
    for name, words in (FLAGS | MEANINGS).items():
        assert f"--{name} " in shown
        assert words.split()[0] in shown
    assert set(MEANINGS) == {field.name for field in dataclasses.fields(theory.Constants)}


def test_the_range_of_phi_is_for_the_stages_alone():
    narrow, wide = printed("--d", 64), printed("--d", 64, "--Phi_range", 50)
    assert narrow["evaluations"] == wide["evaluations"]
    assert narrow["stage_evaluations"]["value"] < wide["stage_evaluations"]["value"]


def test_plot_writes_a_png_and_an_svg(tmp_path):
    for name, start in (("curves.png", b"\x89PNG"), ("curves.svg", b"<?xml")):
        done = called("theory", "--plot", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, "")
        content = (tmp_path / name).read_bytes()
        assert content.startswith(start)
        assert len(content) > 20_000


def test_neither_the_library_nor_the_command_line_imports_matplotlib():
    code = "import sys, zolal, zolal.theory, zolal.cli; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
