"""Pages of runs, for the commands that make them."""

from pathlib import Path

from zolal.errors import InvalidArgumentError


def write_page(run: Path, page: Path) -> None:
    """Write the page, or say in one sentence why not."""
    try:
        from zolal.report.run_page import write_run_page
    except ImportError as error:
        raise InvalidArgumentError(f"The page needs {error.name}: pip install 'zolal[cli]'.") from error
    if not (run / "run.json").is_file():
        raise InvalidArgumentError(f"`RUN` must be the folder of a run, got {str(run)!r}.")
    try:
        write_run_page(run, page)
    except OSError as error:
        raise InvalidArgumentError(f"`--out` must be a file that can be written, got {str(page)!r}: {error.strerror}.") from error
