"""`zolal repair`: a damaged folder of a run brought back to what is whole."""

from pathlib import Path
from typing import Annotated, Any

from zolal.runs.checkpoint import repair as repair_folder


def repair_command(typer: Any) -> Any:
    """The command with its flags."""

    def repair(run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that was given as --checkpoint.")]) -> None:
        """Bring a damaged folder of a run back to its last whole state; the damaged files stay beside it, with the ending .damaged."""
        done = repair_folder(run)
        for sentence in done:
            print(sentence)
        print("The run can be resumed." if done else "Nothing is damaged.")

    return repair
