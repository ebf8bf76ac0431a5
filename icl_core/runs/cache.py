"""The index of the runs made here: which file is the run of a key, and which was used last.

The files say themselves what they are, in name and content, so the index can be lost: see
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
from icl_core.runs.disk import file_identity, is_odd, write_whole

FAILED = (sqlite3.Error, diskcache.Timeout)
_DAMAGED = (
    "SQLITE_NOTADB",
    "SQLITE_CORRUPT",
    "SQLITE_ERROR",
)  # the last: its schema makes no sense
_COLUMNS = (
    "key, raw, store_time, expire_time, access_time, access_count, tag, size, mode, filename, value"
)
# what diskcache does to it: explained, these try the schema and its triggers, and change nothing
_CHANGES = (
    f"INSERT INTO Cache ({_COLUMNS}) VALUES (0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
    "UPDATE Cache SET size = 0",
    "DELETE FROM Cache",
    "SELECT key, value FROM Settings",
)
_SLACK = 60.0  # seconds by which clocks of processes may differ
_FILE = re.compile(r"([0-9A-Za-z][0-9A-Za-z._-]*)-[0-9a-f]{8}\.safetensors")


class RunCache:
    """Files of bytes by key, at most `limit` bytes of them: the longest unused go first.

    `tell` is told of rows that are not ours and of a database that fails. Reading makes no folder;
    the first `put` does, for its owner alone.
    """

    def __init__(self, folder: Path, limit: int, tell: Callable[[str], None]) -> None:
        self.folder, self.limit, self._tell = folder, limit, tell
        self.database = folder / "cache.db"
        self._cache: diskcache.Cache | None = None
        self._opened: tuple[int, int] | None = None  # identity of the database
        self.begun = (
            False  # whether an empty index was begun here: it may lack files that were there before
        )

    def paths(self) -> dict[str, Path]:
        """The file of every key. Looks into the database by itself, so that looking is no use of a
        run.

        Raises `sqlite3.DatabaseError` if the database is none.
        """
        found = {}
        # what was used in the future, before a clock was set back, counts as long unused, or new
        # runs would go first
        order = "access_time > ? DESC, access_time, rowid"
        rows = self._ask(
            f"SELECT key, raw, mode, filename FROM Cache ORDER BY {order}", time.time() + _SLACK
        )
        for key, raw, mode, filename in rows:
            try:
                if not raw or mode != MODE_BINARY:
                    raise Refused(
                        f"expected a file of bytes (mode {MODE_BINARY}), got mode {mode}, raw {raw}"
                    )
                found[checked_key(key)] = self.folder / within(filename)
            except Refused as problem:
                self._tell(f"A row of {self.database} was refused, not read: {problem}.")
        return found

    def files(self) -> list[tuple[str, Path]]:
        """Every file with the key that its name tells, the oldest first, whether the index has it
        or not."""
        names = []
        with suppress(OSError):  # no folder, or none of ours
            names = os.listdir(self.folder)
        found = [
            (match[1], self.folder / match[0]) for match in map(_FILE.fullmatch, names) if match
        ]
        return sorted(found, key=lambda pair: (_changed(pair[1]), pair))

    def damaged(self) -> bool:
        """Whether the index is no database, one that contradicts itself, or one that could take no
        run."""
        if self._odd():
            return True
        try:
            if self._ask("PRAGMA integrity_check") not in ([], [("ok",)]):
                return True
            for change in (
                _CHANGES if self._ask("SELECT 1 FROM sqlite_master WHERE name = 'Cache'") else ()
            ):
                self._ask(f"EXPLAIN {change}")
        except sqlite3.DatabaseError as problem:
            return getattr(problem, "sqlite_errorname", "") in _DAMAGED
        return False

    def use(self, key: str) -> None:
        """Note that the run was used: it will be kept longer."""
        with self._telling(), suppress(Refused):
            file: Any = self._open().get(key, read=True)  # opening it is the use
            if file is not None:
                file.close()

    def put(self, key: str, value: bytes) -> Path:
        """Keep `value`: first its file, synced, then its row. Then make room.

        Raises `OSError` if it did not stay, and what is in `FAILED`.
        """
        path = self.folder / f"{checked_key(key)}-{os.urandom(4).hex()}.safetensors"
        cache = self._open()
        with cache.transact():  # or `adopt` could take the file in at the same time
            write_whole(path, value)
            cache.set(key, path)
        with self._telling():  # the run is kept already
            self._make_room(key)
        if self.paths().get(key) != path or not path.exists():
            raise OSError(
                f"the run {key} was written to {self.folder} but is not there; is the disk full?"
            )
        return path

    def adopt(self, whole: Callable[[str, Path], bool]) -> None:
        """Give a row to every file that has none and is `whole`. Raises what is in `FAILED`."""
        if not self.files():
            return
        cache = self._open()
        if self._strays():
            with cache.transact():  # a file that is being put has its row by now
                for key, path in self._strays():
                    if whole(key, path):
                        cache.set(key, path)

    def remove(self, key: str) -> None:
        """Forget the key and delete its file, if there is one."""
        with self._telling():
            self._open().delete(key)

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    def _ask(self, question: str, *given: float) -> list[tuple]:
        self._check()
        if not os.path.exists(self.database):
            return []
        # "rw", though it only reads: what a killed process has half changed is brought back, where
        # that may be written, also by a server that is told to keep nothing
        with closing(
            sqlite3.connect(f"{self.database.resolve().as_uri()}?mode=rw", uri=True)
        ) as database:
            return database.execute(question, given).fetchall()

    def _odd(self) -> bool:
        return any(
            map(
                is_odd,
                (
                    self.database,
                    *(self.folder / f"cache.db-{each}" for each in ("journal", "wal", "shm")),
                ),
            )
        )

    def _check(self) -> None:
        if self._odd():
            raise sqlite3.DatabaseError(
                f"{self.database} is no file, or what belongs to it is none"
            )

    def _strays(self) -> list[tuple[str, Path]]:
        # by name, whatever else their row says: diskcache deletes the file that a row named before
        known = {name for (name,) in self._ask("SELECT filename FROM Cache")}
        return [(key, path) for key, path in self.files() if path.name not in known]

    def _make_room(self, spared: str) -> None:
        """diskcache's own culling takes ten items at once, the one just written among them: so by
        hand."""
        paths = self.paths()
        sizes = {}
        for key, path in paths.items():
            with suppress(FileNotFoundError):  # another process makes room too
                sizes[key] = path.stat().st_size
        for key in paths:  # the longest unused first
            if sum(sizes.values()) <= self.limit:
                return
            if key != spared:
                self.remove(key)
                sizes.pop(key, None)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Tell of a database that fails instead of raising, and open it afresh the next time."""
        try:
            yield
        except (*FAILED, OSError) as problem:
            self._tell(
                f"The cache of runs in {self.folder} could not be changed: {problem_text(problem)}."
            )
            self.close()

    def _open(self) -> diskcache.Cache:
        """The database; opened anew if it is no longer the one that was opened, when its folder was
        removed, say."""
        self._check()
        if self._cache is None or self._opened != file_identity(self.database):
            self.close()
            self.begun |= not self.database.exists() or not self.database.stat().st_size
            self._cache = create(self.folder, self.limit)
            self._opened = file_identity(self.database)
        return self._cache


def problem_text(problem: Exception) -> str:
    """The problem in words; diskcache's Timeout has none."""
    return str(problem) or "its database did not let us write"


def _changed(path: Path) -> float:
    with suppress(OSError):
        return path.lstat().st_mtime
    return 0.0
