"""The site of the documents: it builds strictly, needs nothing from elsewhere, and shows what it should."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import zolal

pytest.importorskip("mkdocs", reason="needs the extra docs: pip install -e '.[docs]'")
pytest.importorskip("math_core", reason="needs the extra docs: pip install -e '.[docs]'")
pytest.importorskip("mkdocstrings", reason="needs the extra docs: pip install -e '.[docs]'")

ROOT = Path(__file__).parents[2]
OUTSIDE = re.compile(r"<(?:link|script|img|iframe|source)\b[^>]*\b(?:href|src)=[\"']?(?:https?:)?//[^>]*>")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_no_page_wants_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    assert not {page.name: found for page in pages if (found := OUTSIDE.findall(page.read_text()))}


def test_formulae_are_mathml_and_none_is_left_as_latex(site):
    page = (site / "algorithm.html").read_text()
    assert page.count("<math") > 300
    assert not [page.name for page in site.rglob("*.html") if "arithmatex" in page.read_text()]
    assert not re.search(r"\$[^$<]*\\[a-z]+", re.sub(r"<(code|pre)\b.*?</\1>", "", page, flags=re.S))


@pytest.mark.parametrize("name", [name for name in zolal.__all__ if not name.startswith("_")])
def test_everything_public_is_in_the_reference(site, name):
    text = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    if isinstance(getattr(zolal, name), type(zolal)):
        assert f'id="zolal.{name}.' in text
    else:
        assert re.search(rf'id="zolal\.[\w.]*\b{name}"', text)
