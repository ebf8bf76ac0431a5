"""Reads what may not be what it should: a job's file of another form, a pipe, a folder is set aside
with a message."""

import json
import math
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from icl_core.machine import limits
from icl_core.runs import store
from icl_core.runs.disk import is_odd

WAITING = ("queued", "interrupted")
CANCELLED = ("cancelled", "left")  # by a visitor; by nobody's watching it any more
ENDED = ("done", "failed", *CANCELLED)
_COUNTS = (
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
TOLD = ("status", "message", "phase", "loss", "seconds_left", *_COUNTS)  # what a state may say


def read_json(path: Path, fits: Callable[[Any], bool], expected: str) -> dict[str, Any] | None:
    """The file's object; None if there is none. One that does not fit is set aside."""
    if not plain_file(path):
        return None
    try:
        value = json.loads(path.read_bytes())
        if fits(value):
            return value
    except OSError:  # gone meanwhile
        return None
    except (ValueError, RecursionError):
        pass
    _set_aside(path, expected)
    return None


def plain_file(path: Path) -> bool:
    """Whether there is a file to read. A pipe, on which a reader would wait for ever, or a folder
    is set aside."""
    try:
        plain = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
    if not plain:
        _set_aside(path, "a file")
    return plain


def set_odd_aside(path: Path) -> bool:
    """Whether a link, a pipe or a folder lay there, which no file of a job is. It is set aside."""
    found = is_odd(path)
    if found:
        _set_aside(path, "a file")
    return found


def delete_file(path: Path) -> None:
    """Delete the file if there is one; a folder of that name is set aside."""
    if path.is_dir():
        _set_aside(path, "a file")
    path.unlink(missing_ok=True)


def _set_aside(path: Path, expected: str) -> None:
    if limits.read_only():
        return
    aside = store.default().local / "aside"
    with suppress(OSError):  # where it cannot be moved it is ignored all the same
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.rename(path, aside / f"{path.parent.name}-{path.stem}-{time.time_ns()}{path.suffix}")
    store.default().tell(
        f"{path} was set aside in {aside}: expected {expected}, got something else."
    )


def is_request(value: Any) -> bool:
    """Whether `value` says what was asked for: an experiment, its settings and when, its version
    and turn, if told."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("experiment"), str)
        and value["experiment"].count(".") == 1
        and _is_number(value.get("asked"))
        and _is_number(value.get("version", 1))
        and isinstance(value.get("later", False), bool)
        and isinstance(value.get("visitor", ""), str)
        and _is_count(value.get("turn", 0))
        and isinstance(value.get("config"), dict)
        and all(map(_is_flat, value["config"].values()))
    )


def is_state(value: Any) -> bool:
    """Whether `value` says how far a job is."""
    return (
        isinstance(value, dict)
        and value.get("status") in (*WAITING, "running", *ENDED)
        and all(isinstance(value.get(name, ""), str) for name in ("message", "phase"))
        and all(_is_count(value.get(name, 0)) for name in _COUNTS)
        and _is_number(value.get("loss", 0))
        and (value.get("seconds_left") is None or _is_number(value["seconds_left"]))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64)


def _is_count(value: Any) -> bool:
    return _is_number(value) and math.isfinite(value) and value >= 0


def _is_flat(value: Any) -> bool:
    """A setting is a number, a word or a list of these."""
    return not any(
        isinstance(item, (list, dict)) for item in (value if isinstance(value, list) else [value])
    )
