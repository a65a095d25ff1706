"""A report as files: figures, tables, and a page that holds them all."""

from collections.abc import Sequence
from pathlib import Path

from zolal.report import _page
from zolal.report.base import Origin, Report, save
from zolal.tables import Table


def write(report: Report, folder: Path, origin: Origin) -> list[Path]:
    """Figures as PNG and SVG, tables as Markdown and CSV, and `index.html`; returns the paths."""
    paths = []
    for drawing in report.drawings:
        paths += [save(folder / f"{drawing.name}.png", drawing.png), save(folder / f"{drawing.name}.svg", drawing.svg)]
    for table in report.tables:
        paths += [save(folder / f"{table.name}.md", table.markdown()), save(folder / f"{table.name}.csv", table.csv())]
    return [*paths, save(folder / "index.html", as_page(report, origin))]


def as_page(report: Report, origin: Origin) -> str:
    """The self-contained page of a report."""
    body = [_page.paragraph(text) for text in report.lead]
    body += [_page.figure(drawing.svg, drawing.title, drawing.caption) for drawing in report.drawings]
    body += [_table(table) for table in report.tables]
    body += [_page.heading("How to make this page again"), _page.facts(_facts(origin))]
    return _page.page(report.title, body)


def write_overview(folder: Path, reports: Sequence[tuple[Report, Origin]], title: str = "The paper's experiments, run again") -> Path:
    """`index.html` over the pages of several experiments: the words, the first figure and the main table of each."""
    body = []
    for report, origin in reports:
        body += [_page.heading(report.title), *(_page.paragraph(text) for text in report.lead)]
        body += [_page.figure(drawing.svg, drawing.title, drawing.caption) for drawing in report.drawings[:1]]
        body += [_page.links([(f"{report.name}/index.html", "All figures, tables and choices")]), _page.facts(_facts(origin))]
    return save(folder / "index.html", _page.page(title, body))


def _table(table: Table) -> str:
    content = _page.table(table.columns, table.rows, table.note)
    return _page.folded(table.title, content) if table.folded else _page.heading(table.title) + content


def _facts(origin: Origin) -> list[tuple[str, str]]:
    return [("command", origin.command), ("zolal", origin.version), ("processor time of all runs", duration(origin.seconds))]


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
