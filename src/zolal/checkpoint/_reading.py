"""Reading a run's folder, also while the run goes on."""

import json
from pathlib import Path
from typing import Any

from zolal.errors import CheckpointError


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that must be there and hold an object."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CheckpointError(f"{str(path)!r} is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{str(path)!r} must hold an object, got {type(found).__name__}.")
    return found
