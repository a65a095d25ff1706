"""failures.jsonl: a line per evaluation that failed; of many the last ones, and how many there were before them."""

from collections import Counter
from typing import Any

from zolal.runs.checkpoint._lines import Lines, scanned

LATEST = 1000  # lines that stay; there may be twice as many
MOST_KINDS = 100  # sentences that are counted each by itself
OTHERS = "Another failure."


def note_failure(file: Lines, line: dict[str, Any]) -> None:
    """Add a line; the older ones are replaced by their number once there are too many."""
    file.append(line)
    if file.count >= 2 * LATEST:
        file.replace(shortened([found.content for found in scanned(file.path) if found.content is not None]))


def shortened(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last lines, and before them one that counts all others by what they say."""
    counted, _ = parted(lines[:-LATEST])
    counted.update(line["failure"] for line in lines[:-LATEST] if "failure" in line)
    common = dict(counted.most_common(MOST_KINDS))
    if rest := counted.total() - sum(common.values()):
        common[OTHERS] = common.get(OTHERS, 0) + rest
    return [{"earlier": common}, *lines[-LATEST:]]


def parted(lines: list[dict[str, Any]]) -> tuple[Counter[str], list[dict[str, Any]]]:
    """How many failures there were before the lines of single ones, by what they said, and those lines."""
    single = [line for line in lines if "failure" in line]
    counted: Counter[str] = Counter()
    for line in lines:
        earlier = line.get("earlier")
        for said, count in earlier.items() if isinstance(earlier, dict) else ():
            counted[str(said)] += count if type(count) is int else 0
    return counted, single
