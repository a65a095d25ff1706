"""Self-contained HTML: one file that opens without a network, in light and dark, on a phone and on paper."""

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d1d1f; --soft: #5c5f66; --line: #dcdfe4; --shade: #f5f6f8; --accent: #0072B2; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181c; --ink: #e8e9ec; --soft: #a2a6ae; --line: #363a42; --shade: #1f2228; --accent: #6bb6ea; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.2rem 4rem; background: var(--paper); color: var(--ink);
  font: 17px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 1rem; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .8rem; }
p { max-width: 46rem; margin: 0 0 .9rem; }
a { color: var(--accent); }
figure { margin: 1.8rem 0 2.2rem; }
figure > div { overflow-x: auto; background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: .7rem; }
figure img { display: block; width: 100%; min-width: 46rem; height: auto; }
sub, sup { font-size: .75em; line-height: 0; }
figcaption, .note { color: var(--soft); font-size: .9rem; max-width: 50rem; margin-top: .6rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: .84rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); background: var(--shade); vertical-align: bottom; }
th, td { padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
tr.next td { border-top: 2px solid var(--line); }
td.number, th.number { text-align: right; }
.paper { display: block; color: var(--soft); font-size: .92em; }
summary { cursor: pointer; font-weight: 600; margin: 2rem 0 .8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; font-size: .92rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: .88em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
@media (max-width: 40rem) {
  body { font-size: 16px; padding: 1.2rem .9rem 3rem; } h1 { font-size: 1.45rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .6rem; } }
@media print {
  :root { --paper: #fff; --ink: #000; --soft: #444; --line: #bbb; --shade: #f2f2f2; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .scroll, figure > div { overflow: visible; border: 0; padding: 0; } table { font-size: 7.5pt; }
  th, td { padding: .2rem .35rem; } figure, tr { break-inside: avoid; } h2 { break-after: avoid; } figure img { min-width: 0; } }
"""
NUMBER = re.compile(r"(≥ |-)?[\d.]+(e[+-]?\d+)?( ± [\d.]+(e[+-]?\d+)?)?( d|%| %)?|—|\d+/\d+")
GREEK = re.compile(r"\b(eta|rho|alpha|delta|omega|mu|nu)(?=_\d|\b)")
LONG = re.compile(r"(?<![\d.])\d{5,}(?![\d.])")


def page(title: str, body: Iterable[str]) -> str:
    """A whole document from its title and pieces of HTML."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def paragraph(text: str) -> str:
    return f"<p>{marked(text)}</p>"


def heading(text: str) -> str:
    return f"<h2>{marked(text)}</h2>"


def figure(svg: bytes, title: str, caption: str) -> str:
    """A drawing inside the page, kept apart from the page's own names and styles."""
    source = base64.b64encode(svg).decode()
    image = f'<img src="data:image/svg+xml;base64,{source}" alt="{escape(title)}">'
    return f"<figure><div>{image}</div><figcaption>{marked(caption)}</figcaption></figure>"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """A table that scrolls by itself on a narrow screen; columns of numbers stand right, a line parts groups of the first column.

    A column "name, paper" after the column "name" becomes a second line in its cells.
    """
    shown = [i for i, name in enumerate(columns) if not i or name != f"{columns[i - 1]}, paper"]
    kinds = {i: ' class="number"' if all(NUMBER.fullmatch(row[i]) for row in rows) else "" for i in shown}
    head = "".join(f"<th{kinds[i]}>{marked(columns[i])}</th>" for i in shown)
    lines = []
    for k, row in enumerate(rows):
        cells = "".join(f"<td{kinds[i]}>{_cell(row[i])}{'' if i + 1 in kinds else _paper(row, i + 1)}</td>" for i in shown)
        lines.append(f"<tr{_parting(rows, k)}>{cells}</tr>\n")
    words = f'<p class="note">{marked(note)}</p>' if note else ""
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{"".join(lines)}</tbody></table></div>{words}'


def folded(summary: str, content: str) -> str:
    return f"<details><summary>{marked(summary)}</summary>{content}</details>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names with their values, the values as code."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd><code>{escape(value)}</code></dd>" for name, value in pairs) + "</dl>"


def links(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of files beside the page: (path, words)."""
    return "<ul>" + "".join(f'<li><a href="{escape(path)}">{escape(words)}</a></li>' for path, words in pairs) + "</ul>"


def marked(text: str) -> str:
    """The text escaped, with r_2, d^0.5 and 10^-4 as a reader expects them, and Greek letters of settings instead of their names."""
    text = GREEK.sub(r"&\1;", escape(text))
    text = re.sub(r"(?<=[A-Za-z;])_(\w)\b", r"<sub>\1</sub>", text)
    return re.sub(r"(?<=[\w>)])\^(-?[\d.]*\d|\([^()<>]*\))", r"<sup>\1</sup>", text)


def _parting(rows: Sequence[Sequence[str]], i: int) -> str:
    return ' class="next"' if i and rows[i][0] != rows[i - 1][0] else ""


def _paper(row: Sequence[str], i: int) -> str:
    """What the paper prints, under ours."""
    return f'<span class="paper">paper {_cell(row[i])}</span>' if i < len(row) and row[i] != "—" else ""


def _cell(text: str) -> str:
    """The text with thin spaces in long numbers, which the files do not have."""
    return LONG.sub(lambda found: f"{int(found[0]):,}".replace(",", "\u202f"), marked(text))
