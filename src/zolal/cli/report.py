"""`zolal report`: a run's folder as a page."""

from pathlib import Path
from typing import Annotated, Any

from zolal.cli._pages import write_page


def report_command(typer: Any) -> Any:
    """The command with its flags."""

    def report(
        run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that was given as --checkpoint.")],
        out: Annotated[Path | None, typer.Option(metavar="FILE", help="The page; report.html in the folder unless given.")] = None,
    ) -> None:
        """Make a self-contained HTML page of a run: result, constraints with multipliers, plots, parameters, failures."""
        page = run / "report.html" if out is None else out
        write_page(run, page)
        print(page.resolve())

    return report
