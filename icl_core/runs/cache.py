"""The index of the runs that were computed here: the file of each key, and when it was last used.

Name and content of the files say what they are, so the index can be rebuilt: see
`icl_core.runs.local`.
"""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import MODE_BINARY

from icl_core.runs.bytes_disk import Refused, checked_key, create, within
from icl_core.runs.disk import file_identity, write_whole

FAILED = (sqlite3.Error, diskcache.Timeout)
_DAMAGED = (
    "SQLITE_NOTADB",
    "SQLITE_CORRUPT",
    "SQLITE_ERROR",  # the schema makes no sense
)
_COLUMNS = (
    "key, raw, store_time, expire_time, access_time, access_count, tag, size, mode, filename, value"
)
# The statements of diskcache: to EXPLAIN them tests the schema and its triggers, and changes
# nothing.
_STATEMENTS = (
    f"INSERT INTO Cache ({_COLUMNS}) VALUES (0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
    "UPDATE Cache SET size = 0",
    "DELETE FROM Cache",
    "SELECT key, value FROM Settings",
)
_CLOCK_TOLERANCE = 60.0  # seconds by which the clocks of processes may differ
_FILE = re.compile(r"([0-9A-Za-z][0-9A-Za-z._-]*)-[0-9a-f]{8}\.safetensors")


class RunCache:
    """Files of bytes by key, at most `limit` bytes in total: the least recently used go first.

    `report` takes sentences about refused rows and a database that fails. Reading creates no
    folder; the first `put` creates it, for its owner alone.
    """

    def __init__(self, folder: Path, limit: int, report: Callable[[str], None]) -> None:
        self.folder = folder
        self.limit = limit
        self.database = folder / "cache.db"
        self._report = report
        self._cache: diskcache.Cache | None = None
        self._opened: tuple[int, int] | None = None  # identity of the open database
        # whether an empty index was begun here, which may lack files that were there before
        self.begun = False

    def paths(self) -> dict[str, Path]:
        """Return the file of every key, the least recently used first.

        It reads the database without diskcache, which would count this as a use of the runs.
        Raises `sqlite3.DatabaseError` if the database is not one.
        """
        # Uses in the future, before a clock was set back, count as the oldest: otherwise new runs
        # would be deleted first.
        order = "access_time > ? DESC, access_time, rowid"
        rows = self._query(
            f"SELECT key, raw, mode, filename FROM Cache ORDER BY {order}",
            time.time() + _CLOCK_TOLERANCE,
        )
        paths = {}
        for key, raw, mode, filename in rows:
            try:
                if not raw or mode != MODE_BINARY:
                    raise Refused(
                        f"expected a file of bytes (mode {MODE_BINARY}), got mode {mode}, raw {raw}"
                    )
                paths[checked_key(key)] = self.folder / within(filename)
            except Refused as problem:
                self._report(f"A row of {self.database} was refused, not read: {problem}.")
        return paths

    def files(self) -> list[tuple[str, Path]]:
        """Return every file with the key in its name, the oldest first, indexed or not."""
        names: list[str] = []
        with suppress(OSError):  # no folder yet
            names = os.listdir(self.folder)
        matches = [match for match in map(_FILE.fullmatch, names) if match]
        files = [(match[1], self.folder / match[0]) for match in matches]
        return sorted(files, key=lambda file: (_modification_time(file[1]), file))

    def damaged(self) -> bool:
        """Return whether the index is not a database, contradicts itself or cannot be changed."""
        try:
            if self._query("PRAGMA integrity_check") not in ([], [("ok",)]):
                return True
            if self._query("SELECT 1 FROM sqlite_master WHERE name = 'Cache'"):
                for statement in _STATEMENTS:
                    self._query(f"EXPLAIN {statement}")
        except sqlite3.DatabaseError as problem:
            return getattr(problem, "sqlite_errorname", "") in _DAMAGED
        return False

    def use(self, key: str) -> None:
        """Note that the run was used, so that it is kept longer."""
        with self._reporting(), suppress(Refused):
            file: Any = self._open().get(key, read=True)  # diskcache counts this as a use
            if file is not None:
                file.close()

    def put(self, key: str, value: bytes) -> Path:
        """Store `value`, first its synced file, then its row; make room; return the file.

        Raises `OSError` if it did not stay, and what is in `FAILED`.
        """
        path = self.folder / f"{checked_key(key)}-{os.urandom(4).hex()}.safetensors"
        cache = self._open()
        with cache.transact():  # otherwise `adopt` could index the file at the same time
            write_whole(path, value)
            cache.set(key, path)
        with self._reporting():  # the run is stored already
            self._make_room(key)
        if self.paths().get(key) != path or not path.exists():
            raise OSError(
                f"the run {key} was written to {self.folder} but is not there; is the disk full?"
            )
        return path

    def adopt(self, is_whole: Callable[[str, Path], bool]) -> None:
        """Index every file that has no row and is whole. Raises what is in `FAILED`."""
        if not self.files():
            return
        cache = self._open()
        if self._unindexed():
            with cache.transact():  # a file that another process is putting has its row by now
                for key, path in self._unindexed():
                    if is_whole(key, path):
                        cache.set(key, path)

    def remove(self, key: str) -> None:
        """Remove the key from the index and delete its file, if there is one."""
        with self._reporting():
            self._open().delete(key)

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    def _query(self, statement: str, *values: float) -> list[tuple]:
        """Return the rows of a statement that changes nothing; none if there is no database."""
        if not os.path.exists(self.database):
            return []
        # "rw" although it only reads: SQLite then rolls back what a killed process had half
        # changed, also for a server that is told to store nothing.
        uri = f"{self.database.resolve().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            return database.execute(statement, values).fetchall()

    def _unindexed(self) -> list[tuple[str, Path]]:
        # By name, whatever else a row says: diskcache deletes the file that the key's previous row
        # named.
        indexed = {name for (name,) in self._query("SELECT filename FROM Cache")}
        return [(key, path) for key, path in self.files() if path.name not in indexed]

    def _make_room(self, spared: str) -> None:
        """Delete the least recently used runs until the rest fits; never the run `spared`.

        diskcache's own culling deletes ten items at once, perhaps the one just written.
        """
        paths = self.paths()
        sizes = {}
        for key, path in paths.items():
            with suppress(FileNotFoundError):  # another process makes room too
                sizes[key] = path.stat().st_size
        for key in paths:
            if sum(sizes.values()) <= self.limit:
                return
            if key != spared:
                self.remove(key)
                sizes.pop(key, None)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Report a database that fails instead of raising, and open it afresh the next time."""
        try:
            yield
        except (*FAILED, OSError) as problem:
            self._report(
                f"The cache of runs in {self.folder} could not be changed: {problem_text(problem)}."
            )
            self.close()

    def _open(self) -> diskcache.Cache:
        """Return the database; open it anew if its file was replaced or removed."""
        if self._cache is None or self._opened != file_identity(self.database):
            self.close()
            self.begun |= not self.database.exists() or not self.database.stat().st_size
            self._cache = create(self.folder, self.limit)
            self._opened = file_identity(self.database)
        return self._cache


def problem_text(problem: Exception) -> str:
    """Return the problem in words; diskcache's Timeout has no message."""
    return str(problem) or "its database did not let us write"


def _modification_time(path: Path) -> float:
    with suppress(OSError):
        return path.lstat().st_mtime
    return 0.0
