"""All jobs at a look, at the price of those that have changed: a thousand that wait are a thousand
looks at two files, not a thousand files read."""

import os
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

REQUEST, STATE = (
    "request.json",
    "state.json",
)  # replaced as a whole whenever they change, never written into
Told = TypeVar("Told")
_seen: dict[
    Path, dict[str, tuple[Hashable, Any]]
] = {}  # by folder and key, what was read and when it was written


def list_jobs(
    folder: Path, read: Callable[[str], Told | None], settled: Callable[[Told], bool]
) -> list[Told]:
    """What `read` tells of the job of each key in the folder, but for None; read anew where a file
    has changed, or where what was read can change without one: it is not `settled`."""
    before, now = _seen.get(folder, {}), {}
    for key, stamp in _stamps(folder):
        known = before.get(key)
        if known is None or known[0] != stamp or known[1] is None or not settled(known[1]):
            known = stamp, read(key)
        now[key] = known
    _seen[folder] = now
    return [told for _, told in now.values() if told is not None]


def _stamps(folder: Path) -> list[tuple[str, Hashable]]:
    """The key of every job, and what tells its files from others under their names; looked at
    before they are read."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found, start = [], f"{folder}{os.sep}"
    for name in names:
        job = f"{start}{name}{os.sep}"
        if (asked := _stamp(job + REQUEST)) is not None:
            found.append((name, (asked, _stamp(job + STATE))))
    return found


def _stamp(path: str) -> Hashable:
    try:
        told = os.stat(path)
    except OSError:
        return None
    return told.st_ino, told.st_mtime_ns, told.st_size
