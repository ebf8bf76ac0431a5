"""The rows of a database that a new one takes over: of an older version's, and of a damaged one, as
far as they can be read. Called by `database`."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

from icl_core.runs.tables import ADDED, KEPT, TABLES

Rows = dict[str, list[dict[str, Any]]]  # of each table, by the names of columns
_FAULTS = (sqlite3.Error, UnicodeDecodeError)  # of a damaged file


def take(connection: sqlite3.Connection, version: int) -> Rows:
    """Return the rows of an older version's tables and drop these; none for version 0, which has no
    tables. Raises `sqlite3.Error`."""
    if not version:
        return {}
    rows: Rows = {}
    for table in KEPT:
        names = _columns(table, version)
        table_rows = connection.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
        rows[table] = [dict(zip(names, row, strict=True)) for row in table_rows]
    for table in TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    return rows


def readable(connect: Callable[[], sqlite3.Connection]) -> Rows:
    """Return the rows of a damaged database, of each table up to the first that cannot be read."""
    return {table: _readable(connect, table) for table in KEPT}


def _readable(connect: Callable[[], sqlite3.Connection], table: str) -> list[dict[str, Any]]:
    # the number of columns says the version: what the damaged file says of either may be damaged
    names = {
        len(columns): columns
        for columns in (_columns(table, version) for version in range(1, max(ADDED) + 1))
    }
    rows: list[dict[str, Any]] = []
    with suppress(*_FAULTS), closing(connect()) as connection:
        for row in connection.execute(f"SELECT * FROM {table}"):
            if len(row) in names:
                rows.append(dict(zip(names[len(row)], row, strict=True)))
    return rows


def _columns(table: str, version: int) -> list[str]:
    """Return the names of a table's columns in a version."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(TABLES[table])
        names = [column[0] for column in connection.execute(f"SELECT * FROM {table}").description]
    later = [
        name
        for number, tables in ADDED.items()
        for name in tables.get(table, ())
        if number > version
    ]
    return [name for name in names if name not in later]
