"""What the documents claim: their code runs, and the notation table names real functions and tests."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `(zolal[\w.]+)` \| `(\w+)` \|$", (ROOT / "docs/notation.md").read_text(), flags=re.M)
LABELS = {
    *("p", "sgrad", "ass:exs", "le:u1", "le:vg", "le:lip", "le:se", "v_str_cvx", "v_Lv_sm", "hsgd", "algo", "x", "de:kkt", "ass:ensc"),
    *("eps-KKT-2", "CQ_2", "eq:smoothed_v", "eq:Lv", "eq:Sp-rad", "lem:smooth-mirror-map"),
    *("ab", "le:Lu", "bound", "bound-fea", "settings", "R-sm", "algo:restart", "O_T", "K-s", "par-set-s"),
}


def resolve(path):
    """The object that a dotted path names, and the docstrings of it and what holds it."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        docs = []
        for name in parts[cut:]:
            found = getattr(found, name)
            docs.append(found.__doc__ or "")
        return found, "\n".join(docs)
    raise ImportError(path)


@pytest.mark.parametrize("document", ["README.md", "docs/tutorial.md", "docs/extending.md"])
def test_every_python_block_runs(document, capsys):
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), flags=re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, document, "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize("row", ROWS, ids=[f"{number} {function}" for number, _, function, _ in ROWS])
def test_each_equation_has_a_function_that_names_it_and_a_test(row):
    _, label, function, test = row
    _, documentation = resolve(function)
    assert any(f"def {test}(" in path.read_text() for path in ROOT.glob("tests/*/test_*.py")), f"no test {test}"
    if label != "—" and label.strip("`") not in ("le:u1", "v_str_cvx", "lem:smooth-mirror-map"):  # these are properties, not functions
        assert label in documentation, f"{function} does not name {label}"


def test_every_label_of_the_implemented_sections_is_in_the_table():
    assert {label.strip("`") for _, label, _, _ in ROWS} - {"—"} == LABELS


@pytest.mark.parametrize("document", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda path: path.name)
def test_no_placeholder_is_left(document):
    assert "@@" not in document.read_text()


def test_links_between_documents_lead_somewhere():
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
