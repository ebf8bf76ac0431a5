"""The visitors who asked for a run, or gave a document.

Only they, and whoever is at the machine, can delete it. A visitor is a name of letters, digits and
hyphens; the command line's is empty. In the functions, `item` is the key of a run or the digest of
a document.
"""

import os
import re
import time
from contextlib import suppress

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.machine.folders import cache_folder
from icl_core.runs import database

MOST = 4000  # items whose owners are noted; beyond it those of deleted items are forgotten
_RECENT = 60.0  # seconds
_NAME = re.compile(r"[0-9A-Za-z-]{1,64}")


def add(item: str, visitor: str) -> None:
    """Note that `visitor` wants the item. Raises `OSError`, and `ValueError` for a bad name."""
    row = (_checked(item), visitor and _checked(visitor), time.time())
    with database.transaction() as connection:
        connection.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?)", row)
        _make_room(item)


def owners_of(item: str) -> set[str]:
    """Return the visitors who want the item."""
    rows = database.look("SELECT visitor FROM owners WHERE item = ?", _checked(item))
    return {visitor for (visitor,) in rows}


def is_allowed(item: str, visitor: str | None) -> bool:
    """Return whether `visitor` may delete the item; None is whoever is at the machine."""
    return visitor is None or visitor in owners_of(item)


def other_owners(item: str, visitor: str | None) -> set[str]:
    """Return for whom the item stays if `visitor` gives it up.

    `visitor` None is whoever is at the machine and decides for all. Raises `BadSetting` for a
    visitor who has not asked for the item.
    """
    if not is_allowed(item, visitor):
        raise BadSetting(
            "only who asked for it, or whoever is at the machine, can cancel or delete it"
        )
    return set() if visitor is None else owners_of(item) - {visitor}


def remove(item: str, visitor: str | None) -> None:
    """Note that `visitor` no longer wants the item. Raises `OSError`.

    Call it once a job has ended: while it cannot be ended, the visitor must be able to try again.
    """
    if visitor is not None:
        values = (_checked(item), visitor and _checked(visitor))
        with database.transaction() as connection:
            connection.execute("DELETE FROM owners WHERE item = ? AND visitor = ?", values)


def remove_all(item: str) -> None:
    """Note that nobody wants the item any more: it is deleted, or computed anew. Raises
    `OSError`."""
    with database.transaction() as connection:
        connection.execute("DELETE FROM owners WHERE item = ?", (_checked(item),))


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"a name must be of letters and digits, got {name!r:.80}")
    return name


def _make_room(spared: str) -> None:
    """Forget the owners of the items that were deleted longest ago, if there are too many."""
    count = database.rows("SELECT count(DISTINCT item) FROM owners")[0][0]
    if count <= MOST:
        return
    stored = _stored_items() | {spared}
    # an item that somebody is asking for just now is not stored yet
    now = time.time()
    oldest_first = database.rows(
        "SELECT item, max(added) AS last FROM owners GROUP BY item ORDER BY last"
    )
    deleted = [
        item for item, added in oldest_first if abs(now - added) > _RECENT and item not in stored
    ]
    for item in deleted[: count - MOST + MOST // 10]:
        remove_all(item)


def _stored_items() -> set[str]:
    """Return the runs, jobs and documents that exist, by their keys and the names of their
    files."""
    folders = [cache_folder() / "runs"]
    folders += [kind.path_of("*").parent for kind in registry.document_kinds().values()]
    items = {key for (key,) in database.rows("SELECT key FROM jobs")}
    for folder in folders:
        with suppress(FileNotFoundError):
            items |= {re.split(r"[-.]", name)[0] for name in os.listdir(folder)}
    return items
