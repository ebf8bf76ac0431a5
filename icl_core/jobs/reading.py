"""Read a JSON file of the jobs folder, which may be damaged or of another version.

A damaged file is moved to `<cache>/aside` with a message, and counts as absent. Called by
`estimate` and `scheduler_address`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from icl_core.machine import limits
from icl_core.runs import store
from icl_core.runs.disk import move_aside


def read_json(path: Path, is_valid: Callable[[Any], bool], expected: str) -> dict[str, Any] | None:
    """Return the object in a JSON file, or None if the file does not exist or cannot be opened.

    A file that cannot be parsed, or whose value is not valid, is set aside; `expected` says in the
    message what it should have been.
    """
    try:
        value = json.loads(path.read_bytes())
        if is_valid(value):
            return value
    except OSError:
        return None
    except (ValueError, RecursionError):
        pass
    _set_aside(path, expected)
    return None


def _set_aside(path: Path, expected: str) -> None:
    if limits.read_only():
        return
    aside = store.default().local / "aside"
    move_aside(path, aside)  # a file that cannot be moved is ignored all the same
    store.default().tell(
        f"{path} was set aside in {aside}: expected {expected}, got something else."
    )
