"""A diskcache that cannot be made to run code: keys are text, values are files in its folder,
nothing is unpickled.

diskcache unpickles what its database says is a pickle (CVE-2025-69872, no fixed release). Whoever
can write into the folder could so run code in the dashboard. `BytesDisk` refuses pickles both ways,
and paths that leave the folder.
"""

import re
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import ENOVAL, MODE_BINARY

from icl_core.runs.disk import private_folder

_NAME = re.compile(
    r"[0-9A-Za-z][0-9A-Za-z._-]{0,120}"
)  # no separator, no leading dot: it stays in the folder


class Refused(ValueError):
    """A key, value or database row that this cache does not take."""


class BytesDisk(diskcache.Disk):
    """Keys str, values the paths of files that lie in the folder itself."""

    def put(self, key: Any) -> tuple[str, bool]:
        """The key as the database keeps it."""
        return checked_key(key), True

    def get(self, key: Any, raw: bool) -> str:
        """The key from the database."""
        if not raw or not isinstance(key, str):
            raise Refused("a key must be text, got one that would have to be unpickled: refused")
        return key

    def store(self, value: Any, read: bool, key: Any = None) -> Any:
        """The row of the value, a file that is written already."""
        if not isinstance(value, Path) or read:
            raise Refused(f"a value must be the path of a file, got {type(value).__name__}")
        return value.stat().st_size, MODE_BINARY, within(value.name), None

    def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
        """The value from its file."""
        if mode != MODE_BINARY:
            raise Refused(
                f"a value must be a file of bytes (mode {MODE_BINARY}), got mode {mode}: "
                "refused, not read"
            )
        return super().fetch(mode, within(filename), None, read)

    def remove(self, file_path: str) -> None:
        """Delete a value's file. A name that leads out of the folder is left alone, and its row can
        go."""
        with suppress(Refused):
            super().remove(within(file_path))


class Index(diskcache.Cache):
    """A diskcache of which no part is mapped into memory: a process dies of SIGBUS where what is
    mapped is cut off."""

    def reset(self, key: str, value: Any = ENOVAL, update: bool = True) -> Any:
        """As it was, but for the journal, which diskcache would map ("wal"), and would ask for
        until it is so: two processes that have one open in memory would wait for each other. Here
        it is asked once to be a file."""
        if key != "sqlite_journal_mode":
            return super().reset(key, value, update)
        with suppress(
            sqlite3.OperationalError
        ):  # others have it open, or write: it stays as it is meanwhile
            self._sql("PRAGMA journal_mode = truncate").fetchall()
        return value


def checked_key(key: Any) -> str:
    """`key` if it is a plain word; raises `Refused` else."""
    if not isinstance(key, str) or not _NAME.fullmatch(key):
        raise Refused(f"a key must be letters, digits, '.', '_' or '-', got {key!r:.80}")
    return key


def within(filename: Any) -> str:
    """`filename` if it names a file directly in the folder; raises `Refused` else."""
    if not isinstance(filename, str) or not _NAME.fullmatch(filename):
        raise Refused(f"a file name must stay in the cache's folder, got {filename!r:.80}: refused")
    return filename


def create(folder: Path, limit: int) -> diskcache.Cache:
    """Open the cache in `folder`. Several processes that create it at once lock each other out:
    they try again."""
    private_folder(folder).chmod(0o700)
    (folder / "cache.db").touch(mode=0o600)  # the files that SQLite puts beside it take its mode
    options = {"eviction_policy": "least-recently-used", "cull_limit": 0, "disk_min_file_size": 0}
    # Nothing waits for the disk: after a power cut the index is looked over, or made anew from the
    # files.
    options |= {"sqlite_mmap_size": 0, "sqlite_synchronous": 0}
    for attempt in range(10):
        try:
            return Index(str(folder), disk=BytesDisk, size_limit=limit, **options)
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or attempt == 9:
                raise
            time.sleep(0.05 * 2**attempt)
    raise AssertionError("unreachable")
