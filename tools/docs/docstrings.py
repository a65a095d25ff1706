"""An extension of griffe: zolal's docstrings, which are prose, become Markdown that shows as it was meant.

Lines "name: what it is" become a list, examples and formulae blocks of code, and no character of the prose counts as markup.
"""

import re
from typing import Any

import griffe

SPECIAL = re.compile(r"([\\*_\[\]$~|#])")


def escaped(text: str) -> str:
    """The prose with nothing that Markdown or HTML would take for markup; what stands in backticks stays."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        parts[place] = SPECIAL.sub(r"\\\1", parts[place].replace("&", "&amp;").replace("<", "&lt;"))
    return "`".join(parts)


def item_pattern(known: list[str]) -> re.Pattern[str]:
    """Where "name: what it is" begins: at the front or after a sentence, with names that are known or written in small letters."""
    name = "|".join([*map(re.escape, known), r"[a-z_]\w*"])
    return re.compile(rf"(?:^|(?<=[.;] ))(?:{name})(?:, (?:{name}))*: ")


def items(text: str, pattern: re.Pattern[str]) -> str:
    """A list of what "name: what it is" says, one or several to a line."""
    starts = [found.start() for found in pattern.finditer(text)]
    pieces = [text[start:stop].strip() for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]
    named = [piece.split(": ", 1) for piece in pieces]
    return "\n".join("- " + ", ".join(f"`{name}`" for name in names.split(", ")) + f": {escaped(rest)}" for names, rest in named)


def as_markdown(text: str, known: list[str]) -> str:
    """The docstring, block by block; the first one says what the object is and is never a list."""
    made: list[str] = []
    pattern = item_pattern(known)
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.splitlines()
        if lines[0].startswith(">>> "):
            made.append("```pycon\n" + block + "\n```")
        elif all(line.startswith("    ") for line in lines):
            made.append("```text\n" + "\n".join(line[4:] for line in lines) + "\n```")
        elif made and pattern.match(lines[0]):
            made.append(items(" ".join(line.strip() for line in lines), pattern))
        else:
            made.append(escaped(" ".join(line.strip() for line in lines)))
    return "\n\n".join(made)


def known_names(obj: griffe.Object) -> list[str]:
    """The parameters of a function, the members of a class."""
    if isinstance(obj, griffe.Function):
        return [parameter.name for parameter in obj.parameters]
    return [name for name in obj.members if not name.startswith("_")] if isinstance(obj, griffe.Class) else []


class Prose(griffe.Extension):
    """Rewrites every docstring once, when its object is found. Pages say themselves what a module is for."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if isinstance(obj, griffe.Module):
            obj.docstring = None
        elif obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value, known_names(obj))
            if isinstance(obj, griffe.Class) and any(str(base).endswith("Enum") for base in obj.bases):
                members = [f"`{name}`" for name, member in obj.members.items() if isinstance(member, griffe.Attribute) and name.isupper()]
                obj.docstring.value += "\n\nOne of " + ", ".join(members) + "."
