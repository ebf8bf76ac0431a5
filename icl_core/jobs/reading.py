"""Read and check the JSON files of the jobs folder, which may be damaged or of an older version.

A damaged file is moved to `<local>/aside` with a message, and counts as absent. Called by
`folder.Job`, `estimate` and `scheduler_address`.
"""

import json
import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from icl_core.machine import limits
from icl_core.runs import store

WAITING = ("queued", "interrupted")
CANCELLED = ("cancelled", "left")  # cancelled by a visitor; left: nobody watches it any more
ENDED = ("done", "failed", *CANCELLED)
_NUMBERS = (  # fields of a state that are finite and not negative
    "step",
    "total",
    "phase_step",
    "phase_steps",
    "spare",
    "seconds",
    "pid",
    "born",
    "first_step",
    "deaths",
    "tries",
    "retry_at",
    "together",
)
STATE_FIELDS = ("status", "message", "phase", "loss", "seconds_left", "kept", *_NUMBERS)


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
    with suppress(OSError):  # a file that cannot be moved is ignored all the same
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.rename(path, aside / f"{path.parent.name}-{path.stem}-{time.time_ns()}{path.suffix}")
    store.default().tell(
        f"{path} was set aside in {aside}: expected {expected}, got something else."
    )


def is_request(value: Any) -> bool:
    """Return whether `value` is the request of a job: an experiment, its settings and the time of
    the request; version, turn, visitor and `later` may be missing in older files."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("experiment"), str)
        and value["experiment"].count(".") == 1
        and _is_number(value.get("asked"))
        and _is_number(value.get("version", 1))
        and isinstance(value.get("later", False), bool)
        and isinstance(value.get("visitor", ""), str)
        and _is_not_negative(value.get("turn", 0))
        and isinstance(value.get("config"), dict)
        and all(map(_is_setting, value["config"].values()))
    )


def is_state(value: Any) -> bool:
    """Return whether `value` is the state of a job, as `Job.write_state` writes it."""
    return (
        isinstance(value, dict)
        and value.get("status") in (*WAITING, "running", *ENDED)
        and all(isinstance(value.get(name, ""), str) for name in ("message", "phase"))
        and all(_is_not_negative(value.get(name, 0)) for name in _NUMBERS)
        and isinstance(value.get("kept", False), bool)
        and _is_number(value.get("loss", 0))
        and (value.get("seconds_left") is None or _is_number(value["seconds_left"]))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64)


def _is_not_negative(value: Any) -> bool:
    return _is_number(value) and math.isfinite(value) and value >= 0


def _is_setting(value: Any) -> bool:
    """Return whether `value` is a number, a word or a list of these."""
    items = value if isinstance(value, list) else [value]
    return not any(isinstance(item, (list, dict)) for item in items)
