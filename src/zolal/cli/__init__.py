"""The command: parse, call, print. The only package that prints; one file per command."""

import sys

from zolal import __version__
from zolal.cli.bench import bench_with_help
from zolal.cli.demo import demo
from zolal.cli.repair import repair_command
from zolal.cli.report import report_command
from zolal.cli.reproduce import reproduce_with_help
from zolal.cli.solve import solve_command
from zolal.cli.theory import theory_with_constants
from zolal.errors import ZolalError


def main() -> None:
    """Entry point of `zolal`; an error of ours is one sentence and exit code 2."""
    try:
        import rich  # noqa: F401
        import typer
    except ImportError:
        sys.exit("The command needs typer and rich: pip install 'zolal[cli]'.")
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    def show_version(wanted: bool) -> None:
        if wanted:
            print(f"zolal {__version__}")
            raise typer.Exit

    @app.callback()
    def zolal(version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show the version.")) -> None:
        """Constrained optimization when all you can do is evaluate."""

    app.command()(solve_command(typer))
    app.command()(report_command(typer))
    app.command()(repair_command(typer))
    app.command()(demo)
    app.command()(theory_with_constants(typer))
    app.command()(reproduce_with_help(typer))
    app.command()(bench_with_help(typer))
    try:
        app()
    except ZolalError as error:
        print(f"zolal: {error}", file=sys.stderr)
        sys.exit(2)
