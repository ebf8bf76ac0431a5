"""List all jobs and read only those whose files have changed: a thousand waiting jobs cost two
thousand calls of `stat`, not a thousand files read. Called by `queue.states`."""

import os
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

# These files are replaced as a whole whenever they change, never written into.
REQUEST = "request.json"
STATE = "state.json"
Entry = TypeVar("Entry")
_cache: dict[Path, dict[str, tuple[Hashable, Any]]] = {}  # folder → key → (stamp, entry)


def list_jobs(
    folder: Path, read: Callable[[str], Entry | None], is_final: Callable[[Entry], bool]
) -> list[Entry]:
    """Return `read(key)` of every job in the folder, without those for which it is None.

    A job is read again if one of its files has changed, or if its entry is not final: `is_final`
    says whether the entry can change only together with a file.
    """
    before = _cache.get(folder, {})
    now: dict[str, tuple[Hashable, Any]] = {}
    for key, stamp in _stamps(folder):
        cached = before.get(key)
        if cached is None or cached[0] != stamp or cached[1] is None or not is_final(cached[1]):
            cached = stamp, read(key)
        now[key] = cached
    _cache[folder] = now
    return [entry for _, entry in now.values() if entry is not None]


def _stamps(folder: Path) -> list[tuple[str, Hashable]]:
    """Return (key, stamp) of every job. The stamp changes when one of its files is replaced; it is
    taken before they are read."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    stamps: list[tuple[str, Hashable]] = []
    for name in names:
        start = f"{folder}{os.sep}{name}{os.sep}"  # pathlib would take longer than stat
        request_stamp = _stamp(start + REQUEST)
        if request_stamp is not None:
            stamps.append((name, (request_stamp, _stamp(start + STATE))))
    return stamps


def _stamp(path: str) -> Hashable:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
