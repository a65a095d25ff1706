"""What the documents claim: their code runs, and the notation table names real functions and tests."""

import dataclasses
import importlib
import re
from pathlib import Path

import pytest

from paper_source import numbered_labels
from zolal import theory

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.M | re.S)
WITH_CODE = [document for document in DOCUMENTS if BLOCK.search(document.read_text())]
NEED_DATA = (ROOT / "docs/data.md",)  # its code reads public files
NEED_PACKAGE = {  # that may be missing
    ROOT / "docs/how-to/art.md": "art.estimators",
    ROOT / "docs/how-to/scikit-learn.md": "sklearn.base",
    ROOT / "docs/how-to/tune-a-model.md": "torch.nn",
}
ROWS = re.findall(r"^\| (.+?) \| (—|`.+?`) \| (—|`zolal[\w.]+`) \| `(\w+)` \|$", (ROOT / "docs/notation.md").read_text(), flags=re.M)
PROPERTIES = ("le:u1", "v_str_cvx", "lem:smooth-mirror-map")  # these hold of a function that does not name them
UNLISTED = ("Section", "Figure", "Table")


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


def name_of(document):
    return document.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", WITH_CODE, ids=name_of)
def test_every_python_block_runs(document, request, capsys):
    if document in NEED_DATA:
        request.getfixturevalue("public_data")
    if document in NEED_PACKAGE:
        pytest.importorskip(NEED_PACKAGE[document])
    names = {}
    for block in BLOCK.findall(document.read_text()):
        exec(compile(block, name_of(document), "exec"), names)
    assert capsys.readouterr().out


def test_every_page_has_a_place_in_the_navigation():
    """mkdocs.yml is read by words, so that the tests need no mkdocs; the hook `root_pages` makes two pages of files beside docs/."""
    navigation = re.search(r"^nav:\n(.*?)^\S", (ROOT / "mkdocs.yml").read_text(), flags=re.M | re.S).group(1)
    listed = re.findall(r"[\w/.-]+\.md", navigation)
    pages = [document.relative_to(ROOT / "docs").as_posix() for document in DOCUMENTS if document.parent != ROOT]
    assert sorted(listed) == sorted([*pages, "changelog.md", "contributing.md"])


@pytest.mark.parametrize(
    "name", sorted({name for page in (ROOT / "docs/reference").glob("*.md") for name in re.findall(r"^::: (\S+)", page.read_text(), re.M)})
)
def test_the_reference_names_what_there_is(name):
    if name.startswith("zolal.torch"):
        pytest.importorskip("torch", reason="needs PyTorch: pip install 'zolal[torch]'")
    resolve(name)


@pytest.mark.parametrize("row", ROWS, ids=[f"{number} {function}" for number, _, function, _ in ROWS])
def test_each_equation_has_a_function_that_names_it_and_a_test(row):
    _, label, function, test = row
    assert any(f"def {test}(" in path.read_text() for path in ROOT.glob("tests/**/test_*.py")), f"no test {test}"
    if function != "—":
        _, documentation = resolve(function.strip("`"))
        assert label == "—" or label.strip("`") in PROPERTIES or label in documentation, f"{function} does not name {label}"


def test_every_label_of_the_paper_is_in_the_table_under_its_number(paper):
    """The labels and their numbers come from the TeX source, so that a missing or misnumbered one fails."""
    printed = {label: number for label, number in numbered_labels(paper).items() if number.split()[0] not in UNLISTED}
    assert len(printed) > 60
    listed = {label.strip("`"): number.split(",")[0] for number, label, _, _ in reversed(ROWS) if label != "—"}
    assert listed == printed


def test_labels_and_numbers_are_read_from_the_source():
    source = r"""\label{before} \begin{document} \section{One} \label{s} % \label{comment}
    \be\label{first} \ee \begin{lemma}\label{le} \begin{align} a \label{second}\\ b \label{third} \end{align} \end{lemma}
    \section{Two} \begin{lemma} \end{lemma} \begin{lemma} \label{later} \end{lemma} \begin{equation}\label{again}\end{equation}
    \begin{algorithm} \label{algo} \end{algorithm} \appendix \section{Proofs} \be\label{last} \ee \end{document}"""
    expected = dict(s="Section 1", first="(1.1)", le="Lemma 1.1", second="(1.2)", third="(1.3)", later="Lemma 2.2", again="(2.1)")
    assert numbered_labels(source) == expected | dict(algo="Algorithm 1", last="(A.1)")


def test_every_name_and_constant_of_the_theory_has_a_symbol_or_an_equation():
    names = set(theory.__all__) - {"EstimatedConstants", "Explained", "best_p", "estimate_constants"}  # not of the paper
    names |= {field.name for field in dataclasses.fields(theory.Constants)}
    shown = set(re.findall(r"\w+", " ".join(re.findall(r"`(.+?)`", (ROOT / "docs/notation.md").read_text()))))
    assert names <= shown


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_no_placeholder_is_left(document):
    assert "@@" not in document.read_text()


def anchors_of(document):
    """Those of its headings, as GitHub makes them: small letters, no punctuation, dashes for blanks, a number where one is repeated."""
    found = {}
    for heading in re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S), flags=re.M):
        anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {anchor if not number else f"{anchor}-{number}" for anchor, count in found.items() for number in range(count + 1)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_between_documents_lead_somewhere(document):
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", document.read_text(), flags=re.M | re.S)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", prose):
        aim = document.parent / target if target else document
        assert aim.exists(), f"{name_of(document)} links to {target}"
        assert not anchor or anchor in anchors_of(aim), f"{name_of(document)} links to {target}#{anchor}"
