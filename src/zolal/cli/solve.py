"""`zolal solve`: a problem from a user's file."""

import ast
import contextlib
import importlib.util
import json as json_format
import math
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from zolal.cli._console import console
from zolal.doors.command import Command, described_problem
from zolal.doors.minimize import minimize
from zolal.errors import InvalidArgumentError
from zolal.evaluation.crews import travels_by_value
from zolal.naming import plain_result
from zolal.problem import Problem
from zolal.result import Result, Status, with_error
from zolal.runs.checkpoint import plain, replace_json, result_record
from zolal.runs.session import FAILURES

MOST_ROWS = 20  # of constraints that are printed
INTERRUPTED = 130  # the exit code of a program that was ended by Ctrl-C


def solve_command(typer: Any) -> Any:
    """The command with its flags."""
    option, argument = typer.Option, typer.Argument

    def solve(
        target: Annotated[
            str,
            argument(
                metavar="FILE.py:NAME",
                help="A zolal.Problem in a file, or a function that returns one; with --command FILE.json: start, bounds, constraints.",
            ),
        ],
        command: Annotated[
            str | None,
            option(metavar="LINE", help="A program to evaluate: reads a point as JSON from {input}, writes a value to {output}."),
        ] = None,
        maxfev: Annotated[int | None, option(help="The most evaluations.")] = None,
        tol: Annotated[float, option(help="The KKT residual to reach.")] = 1e-3,
        confidence: Annotated[float, option(help="With which outputs of the simulation are to keep their bounds.")] = 0.95,
        method: Annotated[str | None, option(help="One of the methods of zolal.minimize.")] = None,
        geometry: Annotated[str, option(help="A number p >= 2, or auto.")] = "auto",
        option_: Annotated[list[str] | None, option("--option", metavar="NAME=VALUE", help="An option of the method.")] = None,
        options: Annotated[str | None, option(metavar="NAME", help="A dict of options in the same file.")] = None,
        workers: Annotated[int, option(help="Processes that evaluate; -1 for one per core.")] = 1,
        asynchronous: Annotated[bool, option("--asynchronous", help="Take each value as it comes; for workers of uneven speed.")] = False,
        dask: Annotated[str | None, option(metavar="ADDRESS", help="A Dask scheduler whose workers evaluate.")] = None,
        on_error: Annotated[str, option(help="What becomes of evaluations that fail: retry, skip or raise.")] = "retry",
        retries: Annotated[int | None, option(help="How often an evaluation that failed is tried again.")] = None,
        timeout: Annotated[float | None, option(help="Seconds that one evaluation may take.")] = None,
        checkpoint: Annotated[Path | None, option(metavar="FOLDER", help="Where to keep the run.")] = None,
        resume: Annotated[bool, option("--resume", help="Continue the run in the folder.")] = False,
        seed: Annotated[int | None, option(help="Names the run.")] = None,
        out: Annotated[Path | None, option(metavar="FILE", help="Write the result here, as JSON.")] = None,
        json: Annotated[bool, option("--json", help="Print the result as JSON.")] = False,
        progress: Annotated[bool, option(help="Show how the run is getting on.")] = True,
    ) -> None:
        """Solve a problem of yours: minimise what it evaluates, subject to its constraints.

        Exit code 0 when the run came to an end, 1 when it failed, 2 when something was wrong before, 130 when it was interrupted.
        """
        module, problem = load_problem(target) if command is None else (None, described_problem(Path(target), Command(command, timeout)))
        chosen = dict(_options_of(module, options), **dict(_parsed(text) for text in option_ or ()))
        given: dict[str, Any] = {} if method is None else dict(method=method)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cluster that wants its machine back is like Ctrl-C
        with _workers(workers, dask) as crew:
            result = minimize(
                problem,
                geometry=_geometry(geometry),
                maxfev=maxfev,
                tol=tol,
                confidence=confidence,
                asynchronous=asynchronous,
                workers=crew,
                on_error=on_error,
                retries=retries,
                timeout=timeout if command is None else None,  # a command keeps its own time
                rng=seed,
                progress=progress,
                checkpoint=checkpoint,
                resume=resume,
                options=chosen,
                **given,
            )
        _tell(problem, result, out, json, checkpoint)

    return solve


def load_problem(target: str) -> tuple[Any, Problem]:
    """The module and the problem that FILE.py:NAME names."""
    file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        raise InvalidArgumentError(f"The problem must be named as FILE.py:NAME, got {target!r}.")
    module = _loaded(Path(file))
    if not hasattr(module, name):
        raise InvalidArgumentError(f"{file!r} must define {name!r}, got only {', '.join(_names(module)) or 'nothing'}.")
    found = getattr(module, name)
    if callable(found) and not isinstance(found, Problem):
        try:
            found = found()
        except Exception as error:
            raise InvalidArgumentError(f"{name}() of {file!r} raised {type(error).__name__}: {error}.") from error
    if not isinstance(found, Problem):
        raise InvalidArgumentError(f"{name!r} of {file!r} must be a zolal.Problem or a function that returns one, got {found!r}.")
    return module, found


def _loaded(path: Path) -> Any:
    name = f"zolal_problem_{path.stem}"
    if not path.is_file():
        raise InvalidArgumentError(f"The problem's file must exist, got {str(path)!r}.")
    spec: Any = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise InvalidArgumentError(f"The problem's file must be a Python file, got {str(path)!r}.")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidArgumentError(f"{str(path)!r} cannot be loaded: {type(error).__name__}: {error}.") from error
    travels_by_value(name)
    return module


def _names(module: Any) -> list[str]:
    return [name for name, value in vars(module).items() if not name.startswith("_") and (callable(value) or isinstance(value, Problem))]


def _options_of(module: Any, name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    found = getattr(module, name, None)
    if not isinstance(found, dict):
        raise InvalidArgumentError(f"`--options` must name a dict in the problem's file, got {name!r}.")
    return found


def _parsed(text: str) -> tuple[str, Any]:
    """NAME=VALUE, where the value is a Python literal or a word."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidArgumentError(f"`--option` must be NAME=VALUE, got {text!r}.")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def _geometry(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


@contextlib.contextmanager
def _workers(count: int, dask: str | None) -> Any:
    """The number of processes, or a client of the Dask scheduler at an address."""
    if dask is None:
        yield count
        return
    if count != 1:
        raise InvalidArgumentError(f"Give `--workers` or `--dask`, not both, got {count} and {dask!r}.")
    try:
        from distributed import Client
    except ImportError:
        raise InvalidArgumentError("`--dask` needs Dask: pip install 'zolal[dask]'.") from None
    try:
        client = Client(dask, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise InvalidArgumentError(f"`--dask` must be the address of a Dask scheduler that answers, got {dask!r}: {error}.") from error
    with client:
        yield client


def _tell(problem: Problem, result: Result, out: Path | None, json: bool, checkpoint: Path | None) -> None:
    record = result_record(*plain_result(problem, result))
    if out is not None:
        try:
            replace_json(out, record)
        except OSError as error:
            raise InvalidArgumentError(f"`--out` must be a file that can be written, got {str(out)!r}: {error.strerror}.") from error
    if json:
        print(json_format.dumps(plain(record)))
    else:
        show_result(record)
        if checkpoint is not None:
            print(f"\nThe run is kept in {checkpoint}; `zolal report {checkpoint}` makes its page.")
    if result.status is Status.INTERRUPTED:
        sys.exit(INTERRUPTED)
    sys.exit(1 if result.status in FAILURES else 0)


def show_result(record: dict[str, Any]) -> None:
    """The result as a few lines."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("ended", f"{record['status']}: {escape(record['message'])}")
    table.add_row("objective", with_error(record["fun"], record["fun_error"]))
    table.add_row("evaluations", f"{record['nfev']} in {record['nit']} steps, seed {record['seed']}")
    table.add_row("x", escape(_shortened(record["x"], record["names"])))
    for failure in record["failures"]:
        table.add_row("failed", f"{failure['count']} times: {escape(failure['failure'])}")
    screen = console()
    screen.print(table)
    if record["constraints"]:
        simulated = any("probability" in row for row in record["constraints"])
        names = ["lower", "value", "upper", "violation", "multiplier", *(["probability"] if simulated else [])]
        rows = Table("constraint", *names, box=None, pad_edge=False, header_style="bold")
        alone = Counter(row["name"] for row in record["constraints"])
        for row in record["constraints"][:MOST_ROWS]:
            name = row["name"] if alone[row["name"]] == 1 else f"{row['name']}[{row['row']}]"
            rows.add_row(escape(name), *(_entry(row, name) for name in names))
        screen.print("", rows)
        if (rest := len(record["multipliers"]) - MOST_ROWS) > 0:
            screen.print(f"and {rest:,} more rows")


def _entry(row: dict[str, Any], name: str) -> str:
    """What a table says of a constraint; of an output its value with the standard error, where there is one."""
    value = row.get(name)
    if value is None:
        return "exact"
    if isinstance(value, float) and math.isnan(value):
        return "-"
    error = row.get("error", 0.0) if name == "value" else 0.0
    return f"{value:.6g} +- {error:.2g}" if 0.0 < error < math.inf else f"{value:.6g}"


def _shortened(x: list[float], names: list[str] | None) -> str:
    shown = ", ".join(f"{value:.5g}" if names is None else f"{names[i]} {value:.5g}" for i, value in enumerate(x[:8]))
    return shown if len(x) <= 8 else f"{shown}, ... ({len(x)} coordinates)"
