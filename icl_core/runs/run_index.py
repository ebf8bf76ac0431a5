"""The index of the runs that were computed here, a diskcache: the file of each key, and when it was
last used.

diskcache unpickles what its database says is a pickle (CVE-2025-69872, no fixed release), so that
whoever can write into the folder could run code in the dashboard: `BytesDisk` refuses pickles both
ways and paths that leave the folder; keys are text, values are files in the folder. Name and
content of the files say what they are, so the index can be rebuilt: see `icl_core.runs.local`.
"""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Container, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import diskcache
from diskcache.core import ENOVAL, MODE_BINARY

from icl_core.runs.disk import file_identity, private_folder, write_whole

# No separator and no leading dot: such a name cannot leave the folder.
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,120}")
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
_FILE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*-[0-9a-f]{8}\.safetensors")


class Stamp(NamedTuple):
    """By what a change of the folder or of the index shows: of each device, inode and time of the
    last change in nanoseconds, and the size of the index; zeros where one of them is missing."""

    folder: tuple[int, int, int] = (0, 0, 0)
    database: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def changed(self) -> float:
        """When the last change was, in seconds since 1970."""
        return max(self.folder[2], self.database[2]) / 1e9


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
        self._checked: dict[tuple, Path] = {}  # by row, the file that it names
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
        for row in rows:
            try:
                if row not in self._checked:
                    self._checked[row] = self._path_in(*row)
                paths[row[0]] = self._checked[row]
            except Refused as problem:
                self._report(f"A row of {self.database} was refused, not read: {problem}.")
        return paths

    def _path_in(self, key: Any, raw: Any, mode: Any, filename: Any) -> Path:
        """Return the file that a row of the index names; raises `Refused`."""
        if not raw or mode != MODE_BINARY:
            raise Refused(
                f"expected a file of bytes (mode {MODE_BINARY}), got mode {mode}, raw {raw}"
            )
        checked_key(key)
        return self.folder / within(filename)

    def stamp(self) -> Stamp:
        """Return what differs once a file was added, renamed or removed, or the index changed."""
        with suppress(OSError):
            folder = os.stat(self.folder)
            database = os.stat(self.database)
            return Stamp(
                (folder.st_dev, folder.st_ino, folder.st_mtime_ns),
                (database.st_dev, database.st_ino, database.st_mtime_ns, database.st_size),
            )
        return Stamp()

    def inodes(self) -> dict[str, int]:
        """Return the inode of every run's file by its name, indexed or not."""
        with suppress(OSError), os.scandir(self.folder) as entries:  # no folder yet
            return {entry.name: entry.inode() for entry in entries if _FILE.fullmatch(entry.name)}
        return {}

    def files(self, without: Container[str] = ()) -> list[tuple[str, Path]]:
        """Return every file with the key in its name, the oldest first, indexed or not; not those
        of the names `without`."""
        names = [name for name in self.inodes() if name not in without]
        files = [(name.rpartition("-")[0], self.folder / name) for name in names]
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
        if self._unindexed():
            cache = self._open()
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
        return self.files(indexed)

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
