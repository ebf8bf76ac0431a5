"""A diskcache that cannot be made to run code: keys are text, values are files of bytes, nothing is unpickled.

diskcache unpickles what its database says is a pickle (CVE-2025-69872, no fixed release). Whoever can write into the
folder could so run code in the dashboard. `BytesDisk` refuses pickles both ways, and paths that leave the folder.
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

_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,120}")  # no separator, no leading dot: it stays in the folder


class Refused(ValueError):
    """A key, value or database row that this cache does not take."""


class BytesDisk(diskcache.Disk):
    """Keys str, values bytes, each value a file `<key>-<random>.safetensors` in the folder itself."""

    def put(self, key: Any) -> tuple[str, bool]:
        """The key as the database keeps it."""
        return checked_key(key), True

    def get(self, key: Any, raw: bool) -> str:
        """The key from the database."""
        if not raw or not isinstance(key, str):
            raise Refused("a key must be text, got one that would have to be unpickled: refused")
        return key

    def store(self, value: Any, read: bool, key: Any = None) -> Any:
        """Write the value into its file."""
        if not isinstance(value, bytes) or read:
            raise Refused(f"a value must be bytes, got {type(value).__name__}")
        return super().store(value, False, key=key)

    def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
        """The value from its file."""
        if mode != MODE_BINARY:
            raise Refused(f"a value must be a file of bytes (mode {MODE_BINARY}), got mode {mode}: refused, not read")
        return super().fetch(mode, within(filename), None, read)

    def filename(self, key: Any = "", value: Any = None) -> tuple[str, str]:
        """A new file for the key. New every time: diskcache removes the old file after it has written the new one."""
        name = f"{key}-{os.urandom(4).hex()}.safetensors"
        return name, os.path.join(self._directory, name)

    def remove(self, file_path: str) -> None:
        """Delete a value's file. A name that leads out of the folder is left alone, and its row can go."""
        with suppress(Refused):
            super().remove(within(file_path))


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


class RunCache:
    """Files of bytes by key, at most `limit` bytes of them: the longest unused go first.

    `refuse` is told of rows that are not ours and of a database that fails. Reading makes no folder; the first `put`
    does, for its owner alone.
    """

    def __init__(self, folder: Path, limit: int, refuse: Callable[[str], None]) -> None:
        self.folder, self.limit, self._refuse = folder, limit, refuse
        self._cache: diskcache.Cache | None = None

    def paths(self) -> dict[str, Path]:
        """The file of every key. Looks into the database read-only, so that looking is no use of a run.

        Raises `sqlite3.DatabaseError` if the database is none.
        """
        if not (self.folder / "cache.db").exists():
            return {}
        with closing(sqlite3.connect(f"{(self.folder / 'cache.db').resolve().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT key, raw, mode, filename FROM Cache ORDER BY access_time, rowid").fetchall()
        found = {}
        for key, raw, mode, filename in rows:
            try:
                if not raw or mode != MODE_BINARY:
                    raise Refused(f"expected a file of bytes (mode {MODE_BINARY}), got mode {mode}, raw {raw}")
                found[checked_key(key)] = self.folder / within(filename)
            except Refused as problem:
                self._refuse(f"A row of {self.folder / 'cache.db'} was refused, not read: {problem}.")
        return found

    def use(self, key: str) -> None:
        """Note that the run was used: it will be kept longer."""
        with self._telling(), suppress(Refused, OSError):
            file: Any = self._open().get(key, read=True, retry=True)  # opening it is the use
            if file is not None:
                file.close()

    def put(self, key: str, value: bytes) -> Path:
        """Keep `value` and make room for it. Raises `OSError` if it is larger than the limit or did not stay."""
        if len(value) > self.limit:
            raise OSError(
                f"a run must fit the cache's limit of {self.limit} bytes, got {len(value)}; raise ICL_CACHE_LIMIT"
            )
        try:
            self._open().set(key, value, retry=True)
            with self._telling():  # the run is kept already
                self._make_room(key)
            path = self.paths().get(key)
        except sqlite3.Error as problem:
            raise OSError(f"the run {key} could not be written to {self.folder}: {problem}") from problem
        if path is None or not path.exists():
            raise OSError(f"the run {key} was written to {self.folder} but is not there; is the disk full?")
        return path

    def remove(self, key: str) -> None:
        """Forget the key and delete its file, if there is one."""
        with self._telling():
            self._open().delete(key, retry=True)

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    def _make_room(self, spared: str) -> None:
        """diskcache's own culling takes ten items at once, the one just written among them: so by hand."""
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
        except sqlite3.Error as problem:
            self._refuse(f"The cache of runs in {self.folder} could not be changed: {problem}.")
            self.close()

    def _open(self) -> diskcache.Cache:
        if self._cache is None:
            self._cache = _create(self.folder, self.limit)
        return self._cache


def _create(folder: Path, limit: int) -> diskcache.Cache:
    """Open the cache. Several processes that create it at once lock each other out: they try again."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    options = {"eviction_policy": "least-recently-used", "cull_limit": 0, "disk_min_file_size": 0}
    for attempt in range(10):
        try:
            return diskcache.Cache(str(folder), disk=BytesDisk, size_limit=limit, **options)
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or attempt == 9:
                raise
            time.sleep(0.05 * 2**attempt)
    raise AssertionError("unreachable")
