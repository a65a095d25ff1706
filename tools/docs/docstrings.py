"""An extension of griffe: zolal's docstrings, which are prose, become Markdown that shows as it was meant.

Lines "name: what it is" become a list, examples and formulae blocks of code, and no character of the prose counts as markup.
"""

import re
from typing import Any

import griffe

NAMES = r"[a-z_]\w*(?:, [a-z_]\w*)*"
ITEM = re.compile(rf"(?:^|(?<=[.;] )){NAMES}: ")
SPECIAL = re.compile(r"([\\*_\[\]$~|#])")


def escaped(text: str) -> str:
    """The prose with nothing that Markdown or HTML would take for markup; what stands in backticks stays."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        parts[place] = SPECIAL.sub(r"\\\1", parts[place].replace("&", "&amp;").replace("<", "&lt;"))
    return "`".join(parts)


def items(text: str) -> str:
    """A list of what "name: what it is" says, one or several to a line."""
    starts = [found.start() for found in ITEM.finditer(text)]
    pieces = [text[start:stop].strip() for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]
    named = [piece.split(": ", 1) for piece in pieces]
    return "\n".join("- " + ", ".join(f"`{name}`" for name in names.split(", ")) + f": {escaped(rest)}" for names, rest in named)


def as_markdown(text: str) -> str:
    """The docstring, block by block."""
    made: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.splitlines()
        if lines[0].startswith(">>> "):
            made.append("```pycon\n" + block + "\n```")
        elif all(line.startswith("    ") for line in lines):
            made.append("```text\n" + "\n".join(line[4:] for line in lines) + "\n```")
        elif ITEM.match(lines[0]):
            made.append(items(" ".join(line.strip() for line in lines)))
        else:
            made.append(escaped(" ".join(line.strip() for line in lines)))
    return "\n\n".join(made)


class Prose(griffe.Extension):
    """Rewrites every docstring once, when its object is found."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
