"""The look of figures, tables as text, and the page's pieces."""

import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zolal.experiments import attack, fairness, qcqp
from zolal.report import _page
from zolal.report._style import LOOKS, quantiles, spread
from zolal.report._writing import duration
from zolal.report.base import number, save
from zolal.report.theory_plot import draw_evaluations
from zolal.tables import Table
from zolal.theory import Constants

FIGURES = [qcqp.METHODS, (*attack.METHODS, "square"), fairness.METHODS]


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("methods", FIGURES, ids=["qcqp", "attack", "fairness"])
def test_methods_in_one_figure_differ_in_colour_and_marker(methods):
    looks = [LOOKS[method] for method in methods]
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == len(looks)


def test_the_papers_own_method_has_one_look_in_all_experiments():
    assert (LOOKS["mdlal"].colour, LOOKS["mdlal"].marker) == (LOOKS["non-euc"].colour, LOOKS["non-euc"].marker)


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_text_in_a_methods_colour_can_be_read_on_white(look):
    assert 1.05 / (luminance(look.text) + 0.05) >= 4.0


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=7))
def test_labels_stand_a_gap_apart_in_the_order_of_what_they_want(wanted):
    placed = spread(wanted, 0.1)
    order = np.argsort(wanted, kind="stable")
    assert np.all(np.diff(np.asarray(placed)[order]) >= 0.1 - 1e-9)
    assert np.mean(placed) == pytest.approx(np.mean(wanted), abs=1e-9)


def test_labels_that_are_apart_stay_where_they_are():
    assert spread([0.9, 0.1, 0.5], 0.1) == pytest.approx([0.9, 0.1, 0.5])


def test_quantiles_keep_a_runs_last_value_after_its_end():
    grid = np.array([0.0, 1.0, 5.0, 9.0])
    low, middle, high = quantiles(grid, [([0, 1], [8, 4]), ([0, 5], [6, 2]), ([0, 9], [7, 0])])
    assert middle.tolist() == [7, 6, 4, 2]
    assert np.all((low <= middle) & (middle <= high))


@pytest.mark.parametrize(
    ("value", "text"), [(None, "—"), (1580000.0, "1580000"), (0.08, "0.08"), (1e-5, "1e-05"), (212.75, "212.8"), (0.0, "0"), (1.0, "1")]
)
def test_numbers_are_short(value, text):
    assert number(value) == text


@given(st.lists(st.tuples(st.text("ab|\"',\n≥<", max_size=6), st.text("12.,", max_size=4)), max_size=4))
def test_csv_gives_back_the_cells(rows):
    table = Table("t", "T", ("a", "b"), rows)
    assert [tuple(row) for row in csv.reader(io.StringIO(table.csv(), newline=""))] == [("a", "b"), *rows]


def test_markdown_keeps_columns_apart_when_cells_hold_bars():
    assert "| a\\|b | 1 |" in Table("t", "T", ("x", "y"), [("a|b", "1")]).markdown()


def test_the_page_escapes_everything_that_it_is_given():
    evil = '<script>alert("1")</script>&'
    pieces = [
        _page.paragraph(evil),
        _page.heading(evil),
        _page.table((evil, "b"), [(evil, evil)], evil),
        _page.figure(b"<svg/>", evil, evil),
        _page.facts([(evil, evil)]),
        _page.folded(evil, ""),
        _page.links([(evil, evil)]),
    ]
    document = _page.page(evil, pieces)
    assert "<script" not in document
    assert document.count("&lt;script&gt;") >= 12


def test_symbols_are_marked_up_and_long_numbers_parted():
    shown = _page.table(("eta_0",), [("≥ 3145728",)], "E r_2^2 and 10^-4, d^(2/p); beta stays")
    for words in (
        "&eta;<sub>0</sub>",
        "≥ 3\u202f145\u202f728",
        "r<sub>2</sub><sup>2</sup>",
        "10<sup>-4</sup>",
        "d<sup>(2/p)</sup>",
        "beta stays",
    ):
        assert words in shown


def test_the_papers_numbers_stand_under_ours():
    shown = _page.table(("method", "passes", "passes, paper"), [("Ours", "3", "4"), ("Other", "5", "—")])
    assert shown.count("<th") - shown.count("<thead") == 2
    assert '<td class="number">3<span class="paper">paper 4</span></td>' in shown
    assert '<td class="number">5</td>' in shown


@pytest.mark.parametrize(("seconds", "words"), [(3.2, "3 s"), (600, "10 min"), (3 * 3600, "3.0 h")])
def test_durations_are_said_as_a_person_says_them(seconds, words):
    assert duration(seconds) == words


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"`--out` must be a folder that can be written, got .*file'"):
        save(tmp_path / "file" / "a.md", "text")


def test_files_and_figures_go_into_the_place_of_a_link_and_not_through_it(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    ones = Constants(L_f=1.0, M_f=1.0, sigma=1.0, M_c=1.0, L_c=1.0, Mbar_c=1.0, beta=1.0, D_X=1.0, Phi_gap=1.0)
    for name, write in {"a.md": lambda path: save(path, "text"), "p.svg": lambda path: draw_evaluations(path, ones)}.items():
        (tmp_path / name).symlink_to(victim)
        write(tmp_path / name)
        assert victim.read_bytes() == b"precious"
        assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "a.md").read_text() == "text"
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()


def test_colours_are_spelled_as_six_digits():
    assert all(re.fullmatch("#[0-9A-F]{6}", colour) for look in LOOKS.values() for colour in (look.colour, look.text))
