"""The database of pages and workers: the queue of jobs, who watches them, who owns a run.

    <cache>/queue.db

One file of SQLite. Every change is a transaction that is on the disk when it returns: after a kill
or a power cut it has happened, or it has not. A connection is opened for each of them and closed at
its end, so that no thread and no child process shares one. A file that is damaged is moved to
`<cache>/aside`, and what can still be read of it goes into a new one. Called by `icl_core.jobs`,
`owners` and the store.

SQLite keeps the statements of the tables as they are written here, and a database whose statements
differ counts as damaged: with a change of any of them `VERSION` must rise.
"""

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from icl_core.machine import limits
from icl_core.machine.folders import cache_folder
from icl_core.runs.disk import file_identity, file_system, private_folder

VERSION = 2
TABLES = {
    "jobs": "CREATE TABLE jobs ("
    "key TEXT PRIMARY KEY, "  # of the run that the job makes
    "experiment TEXT NOT NULL, "
    "version INTEGER NOT NULL, "  # of the experiment
    "config TEXT NOT NULL, "  # the settings as JSON
    # JSON: the variables that its worker must have, see `jobs.table`
    "environment TEXT NOT NULL DEFAULT '{}', "
    "asked INTEGER NOT NULL, "  # nanoseconds since 1970
    "visitor TEXT NOT NULL, "  # whose turn it takes
    "turn INTEGER NOT NULL, "
    "later INTEGER NOT NULL, "  # whether it is queued behind all jobs that are not
    "status TEXT NOT NULL, "
    "progress TEXT NOT NULL, "  # what its worker wrote last, as JSON
    "changed REAL NOT NULL, "  # when that was, seconds since 1970
    "cancel TEXT NOT NULL)",  # empty, or how it is asked to be cancelled
    "watchers": "CREATE TABLE watchers ("
    "key TEXT NOT NULL, "  # of the job
    "who TEXT NOT NULL, "  # the page or terminal
    "seen REAL NOT NULL, "  # when it looked last, seconds since 1970
    "PRIMARY KEY (key, who))",
    "owners": "CREATE TABLE owners ("
    "item TEXT NOT NULL, "  # the key of a run or the digest of a document
    "visitor TEXT NOT NULL, "
    "added REAL NOT NULL, "  # seconds since 1970
    "PRIMARY KEY (item, visitor))",
    # "jobs" counts the changes of the table of that name, "requests" those that workers wait for
    "counters": "CREATE TABLE counters (name TEXT PRIMARY KEY, number INTEGER NOT NULL)",
}
RESCUED = ("jobs", "watchers", "owners")  # whose rows are taken over from a damaged database
TRIGGERS = tuple(
    f"CREATE TRIGGER jobs_{change} AFTER {change} ON jobs BEGIN "
    "UPDATE counters SET number = number + 1 WHERE name = 'jobs'; END"
    for change in ("insert", "update", "delete")
)


PATIENCE = 30.0  # seconds to wait for another process
# File systems of other machines: their locks cannot be relied upon.
_NETWORK = (
    *("nfs", "cifs", "smb", "afs", "afpfs", "ncpfs", "davfs", "lustre", "gpfs", "beegfs", "ceph"),
    *("fuse.sshfs", "fuse.gluster", "fuse.davfs"),
)
_LINK = "{} must be a file, got a link"
_FAULTS = (sqlite3.Error, UnicodeDecodeError)  # the latter: a name in a damaged schema
_asides: dict[Path, Path] = {}  # by database: where this process has moved a damaged one
_creating = threading.Lock()
_thread = threading.local()


class Unusable(OSError):
    """The database cannot be used; the message says why."""


class Damaged(sqlite3.DatabaseError):
    """The database is not as it was made."""


def path() -> Path:
    """Return the file of the database."""
    return cache_folder() / "queue.db"


def refusal() -> str:
    """Return why the database cannot be used in this folder, a sentence for the visitor; empty if
    it can, or if there is none yet."""
    if sentence := _network_refusal():
        return sentence
    with suppress(OSError, *_FAULTS):
        if identity():
            with closing(_connect()) as connection:
                version = _version_of(connection)
            if version > VERSION:
                return _version_refusal(version)
    return ""


def _network_refusal() -> str:
    kind = file_system(cache_folder().resolve())
    if not kind.startswith(_NETWORK):
        return ""
    return (
        f"Nothing can be trained here: {cache_folder()} is on a network drive ({kind}), "
        "where processes cannot rely on each other's locks; ICL_CACHE_DIR names a folder on a disk "
        "of this machine."
    )


def _version_refusal(version: int) -> str:
    return (
        f"Nothing can be trained here: {path()} is of a newer version of this dashboard (form "
        f"{version}; this one knows {VERSION}). Start that version, or name another folder by "
        "ICL_CACHE_DIR."
    )


def rows(statement: str, *values: Any) -> list[tuple]:
    """Return the rows of a statement that changes nothing; within a transaction its own changes are
    seen.

    There are none if there is no database. Raises `OSError` if it cannot be read now.
    """
    if in_transaction():
        return _thread.connection.execute(statement, values).fetchall()
    if identity() is None:
        return []
    return _repaired(lambda: _read(statement, values))


def look(statement: str, *values: Any) -> list[tuple]:
    """Return the rows of a statement as `rows` does, but none if the database cannot be read now:
    for what is looked at again and again."""
    try:
        return rows(statement, *values)
    except OSError:
        return []


@contextmanager
def transaction() -> Iterator[sqlite3.Connection]:
    """Change the database within a `with`: all of it or, after an exception, nothing. Meanwhile no
    other process changes it. A transaction within a transaction is a part of it.

    Raises `OSError` if it cannot be written, with a sentence that says why, and `BadSetting` for a
    server that is told to store nothing.
    """
    if in_transaction():
        yield _thread.connection
        return
    connection = _repaired(_begin)
    is_damaged = False
    afterwards: list[Callable[[], None]] = []
    try:
        _thread.connection = connection
        _thread.afterwards = afterwards
        yield connection
        connection.execute("COMMIT")
    except _FAULTS as problem:
        is_damaged = _is_damage(problem)
        raise _fault(problem) from problem
    finally:
        _thread.connection = None
        connection.close()  # what is not committed has not happened
        if is_damaged:
            with suppress(OSError, *_FAULTS):  # the next one tries again
                _set_aside()
    for act in afterwards:
        with suppress(OSError):  # the change itself is on the disk
            act()


def after_commit(act: Callable[[], None]) -> None:
    """Call `act` once the transaction is on the disk; at once if there is none. What deletes a file
    that the database still needs if the transaction fails is called so."""
    if in_transaction():
        _thread.afterwards.append(act)
    else:
        act()


def in_transaction() -> bool:
    """Return whether this thread is within a transaction."""
    return getattr(_thread, "connection", None) is not None


def identity() -> tuple[int, int] | None:
    """Return what distinguishes the file from a later one in its place."""
    return file_identity(path())


def count(name: str) -> int:
    """Return a counter: see `TABLES`."""
    numbers = look("SELECT number FROM counters WHERE name = ?", name)
    return numbers[0][0] if numbers else 0


def _read(statement: str, values: tuple) -> list[tuple]:
    if path().is_symlink():
        raise Unusable(_LINK.format(path()))
    version = 0
    if identity():
        with closing(_connect()) as connection:
            version = _version_of(connection)
            if version == VERSION:
                return connection.execute(statement, values).fetchall()
    if version > VERSION:
        raise Unusable(_version_refusal(version))
    if limits.read_only():
        return []
    with transaction() as connection:  # makes the tables
        return connection.execute(statement, values).fetchall()


def _begin() -> sqlite3.Connection:
    """Return a connection that has begun to write, with all tables."""
    limits.check_writable()
    if sentence := _network_refusal():
        raise Unusable(sentence)
    _create()
    connection = _connect()
    try:
        _make_durable(connection)
        connection.execute("BEGIN IMMEDIATE")
        version = _version_of(connection)
        if version > VERSION:
            raise Unusable(_version_refusal(version))
        if version == 0:
            _make_tables(connection, {})
        if not _has_tables(connection):
            raise Damaged("its tables are not as they were made, or of an older version")
        return connection
    except BaseException:
        connection.close()
        raise


def _make_tables(connection: sqlite3.Connection, rescued: dict[str, list[tuple]]) -> None:
    """Make the tables, with the rows of a damaged database."""
    for statement in (*TABLES.values(), *TRIGGERS):
        connection.execute(statement)
    connection.execute("INSERT INTO counters VALUES ('jobs', 1), ('requests', 1)")
    for table, table_rows in rescued.items():
        for row in table_rows:
            places = ", ".join("?" * len(row))
            connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({places})", row)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _readable_rows(table: str) -> list[tuple]:
    """Return the rows of a table of a damaged database, up to the first that cannot be read; none
    of an older version."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(TABLES[table])
        columns = len(connection.execute(f"SELECT * FROM {table}").description)
    table_rows: list[tuple] = []
    with suppress(*_FAULTS), closing(_connect()) as connection:
        for row in connection.execute(f"SELECT * FROM {table}"):
            if len(row) == columns:
                table_rows.append(row)
    return table_rows


def _create() -> None:
    """Create an empty file for its owner alone, if there is none. Raises `Unusable` for a link.

    To open and close a database by other means than SQLite takes away the locks that this process
    holds: so a file that exists is not opened, and nobody connects meanwhile.
    """
    private_folder(path().parent)
    if path().is_symlink():
        raise Unusable(_LINK.format(path()))
    with _creating, suppress(FileExistsError):
        os.close(os.open(path(), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _connect() -> sqlite3.Connection:
    """Return a connection to the file, which must be there."""
    # A database that may not be written is read all the same.
    mode = "rw" if os.access(path(), os.W_OK) else "ro"
    with _creating:
        uri = f"{path().resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
    connection.text_factory = _text
    return connection


def _text(content: bytes) -> str:
    """Return a text, whatever was damaged of it: one byte must not make a row unreadable."""
    return content.decode(errors="replace")


def _make_durable(connection: sqlite3.Connection) -> None:
    """Have every change of this connection on the disk when it is committed."""
    # Nothing is mapped into memory, as a write-ahead log would be: a process is killed by SIGBUS
    # where a file that it has mapped is cut short.
    connection.execute("PRAGMA journal_mode = TRUNCATE").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = 1")  # macOS writes through its disk's cache only so


def _version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the tables; 0 if there are none yet."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _repaired(act: Callable[[], Any]) -> Any:
    """Return what `act` returns; if the database is damaged, set it aside and try once more. Raises
    `OSError`."""
    try:
        return act()
    except _FAULTS as problem:
        if not _is_damage(problem) or limits.read_only():
            raise _fault(problem) from problem
    try:
        _set_aside()
        return act()
    except _FAULTS as problem:
        raise _fault(problem) from problem


def _is_damage(problem: Exception) -> bool:
    """Return whether an exception says that the file is damaged."""
    if isinstance(problem, (Damaged, UnicodeDecodeError)):
        return True
    name = getattr(problem, "sqlite_errorname", "") or ""
    # SQLITE_ERROR: a table is missing, or the schema makes no sense
    return name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or name == "SQLITE_ERROR"


def _set_aside() -> None:
    """Move a damaged database away, and begin a new one with the rows that can still be read.
    Raises `OSError`."""
    with FileLock(cache_folder() / "queue.lock", timeout=PATIENCE, mode=0o600):
        if _is_sound():  # another process was quicker
            return
        rescued = {table: _readable_rows(table) for table in RESCUED}
        folder = private_folder(cache_folder() / "aside")
        stamp = time.time_ns()
        # The database last: SQLite would take a journal beside it for that of the next one.
        for file in sorted(path().parent.glob("queue.db*"), reverse=True):
            suffix = file.name.removeprefix("queue")
            file.rename(folder / f"queue-{stamp}{suffix}")
        _asides[path()] = folder / f"queue-{stamp}.db"
        _create()
        with closing(_connect()) as connection:
            _make_durable(connection)
            connection.execute("BEGIN IMMEDIATE")
            if _version_of(connection) == 0:
                _make_tables(connection, rescued)
            connection.execute("COMMIT")


def message() -> str:
    """Return a sentence for the visitor if this process has set the database aside; else ""."""
    aside = _asides.get(path())
    if aside is None:
        return ""
    return (
        f"{path()} was damaged, or of an older version, and set aside as {aside}; jobs that could "
        "not be read must be asked for again."
    )


def _is_sound() -> bool:
    """Return whether the database is whole, looked through from its first page to its last."""
    try:
        with closing(_connect()) as connection:
            if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
                return False
            return _version_of(connection) == 0 or _has_tables(connection)
    except _FAULTS as problem:  # one that is busy is not damaged
        return not _is_damage(problem)


def _has_tables(connection: sqlite3.Connection) -> bool:
    """Return whether tables and triggers are as they were made, to the letter: a damaged byte may
    be in the name of a column."""
    statements = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}
    return statements >= {*TABLES.values(), *TRIGGERS}


def _fault(problem: Exception) -> OSError:
    """Return the exception for a database that could not be written."""
    name = getattr(problem, "sqlite_errorname", "") or ""
    if name == "SQLITE_FULL":
        return OSError(errno.ENOSPC, "the disk is full")
    if name.startswith("SQLITE_BUSY"):
        return Unusable(f"another process has kept {path()} locked for {PATIENCE:.0f} s")
    return Unusable(f"{path()} could not be written: {problem}")
