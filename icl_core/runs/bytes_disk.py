"""A diskcache that cannot be made to run code.

diskcache unpickles what its database says is a pickle (CVE-2025-69872, no fixed release), so that
whoever can write into the folder could run code in the dashboard. `BytesDisk` refuses pickles both
ways and paths that leave the folder: keys are text, values are files in the folder.
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

# No separator and no leading dot: such a name cannot leave the folder.
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,120}")


class Refused(ValueError):
    """A key, value or database row that this cache does not accept."""


class BytesDisk(diskcache.Disk):
    """Keys are strings; values are the paths of files directly in the folder."""

    def put(self, key: Any) -> tuple[str, bool]:
        """Return the key as the database stores it, and that it is stored raw."""
        return checked_key(key), True

    def get(self, key: Any, raw: bool) -> str:
        """Return the key from the database; raises `Refused` if it would have to be unpickled."""
        if not raw or not isinstance(key, str):
            raise Refused("a key must be text, got one that would have to be unpickled: refused")
        return key

    def store(self, value: Any, read: bool, key: Any = None) -> Any:
        """Return the row of a value, the path of a file that is written already."""
        if not isinstance(value, Path) or read:
            raise Refused(f"a value must be the path of a file, got {type(value).__name__}")
        return value.stat().st_size, MODE_BINARY, within(value.name), None

    def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
        """Return the value from its file; raises `Refused` if it would have to be unpickled."""
        if mode != MODE_BINARY:
            raise Refused(
                f"a value must be a file of bytes (mode {MODE_BINARY}), got mode {mode}: refused, "
                "not read"
            )
        return super().fetch(mode, within(filename), None, read)

    def remove(self, file_path: str) -> None:
        """Delete a value's file. A name that leaves the folder is ignored, so its row can go."""
        with suppress(Refused):
            super().remove(within(file_path))


class Index(diskcache.Cache):
    """A diskcache of which no part is mapped into memory.

    A process is killed by SIGBUS where a file that it has mapped is cut short.
    """

    def reset(self, key: str, value: Any = ENOVAL, update: bool = True) -> Any:
        """Set a setting as diskcache does, but keep the journal a file that is not mapped.

        diskcache would map the journal ("wal") and retry until it is mapped, so that two processes
        with an open database would wait for each other. Here a plain file is requested once.
        """
        if key != "sqlite_journal_mode":
            return super().reset(key, value, update)
        # if another process has it open or writes, the journal stays as it is meanwhile
        with suppress(sqlite3.OperationalError):
            self._sql("PRAGMA journal_mode = truncate").fetchall()
        return value


def checked_key(key: Any) -> str:
    """Return `key` if it is a plain word; raises `Refused` otherwise."""
    if not isinstance(key, str) or not _NAME.fullmatch(key):
        raise Refused(f"a key must be letters, digits, '.', '_' or '-', got {key!r:.80}")
    return key


def within(filename: Any) -> str:
    """Return `filename` if it names a file directly in the folder; raises `Refused` otherwise."""
    if not isinstance(filename, str) or not _NAME.fullmatch(filename):
        raise Refused(f"a file name must stay in the cache's folder, got {filename!r:.80}: refused")
    return filename


def create(folder: Path, limit: int) -> diskcache.Cache:
    """Open the cache of at most `limit` bytes in `folder`, and create it if it is missing.

    Several processes that create it at once lock each other out, so opening is tried ten times.
    """
    private_folder(folder).chmod(0o700)
    (folder / "cache.db").touch(mode=0o600)  # the files that SQLite puts beside it take its mode
    options = {
        "eviction_policy": "least-recently-used",
        "cull_limit": 0,
        "disk_min_file_size": 0,
        "sqlite_mmap_size": 0,
        # Nothing waits for the disk: after a power cut the index is checked, or rebuilt.
        "sqlite_synchronous": 0,
    }
    for attempt in range(10):
        try:
            return Index(str(folder), disk=BytesDisk, size_limit=limit, **options)
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or attempt == 9:
                raise
            time.sleep(0.05 * 2**attempt)
    raise AssertionError("unreachable")
