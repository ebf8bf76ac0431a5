"""The visitors who asked for a run, or gave a text or matrices.

    <cache>/owners/<key or digest>/<visitor>

Only they, and whoever is at the machine, can delete it. A visitor is a name of letters, digits and
hyphens; the command line's is empty. In the functions, `item` is the key of a run or the digest of
a document.
"""

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.machine.folders import cache_folder
from icl_core.runs.disk import private_folder

MOST = 4000  # items whose owners are noted; beyond it those of deleted items are forgotten
_COMMAND_LINE = "here"  # the file of the visitor whose name is empty
_RECENT = 60.0  # seconds
_NAME = re.compile(r"[0-9A-Za-z-]{1,64}")


def add(item: str, visitor: str) -> None:
    """Note that `visitor` wants the item. Raises `OSError`, and `ValueError` for a bad name."""
    folder = private_folder(_folder(item))
    (folder / _checked(visitor or _COMMAND_LINE)).touch(mode=0o600)
    with suppress(OSError):  # another process makes room too
        _make_room(folder.parent, item)


def owners_of(item: str) -> set[str]:
    """Return the visitors who want the item."""
    with suppress(OSError):
        names = os.listdir(_folder(item))
        return {"" if name == _COMMAND_LINE else name for name in names}
    return set()


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
    """Note that `visitor` no longer wants the item.

    Call it once a job has ended: while it cannot be ended, the visitor must be able to try again.
    """
    if visitor is not None:
        (_folder(item) / _checked(visitor or _COMMAND_LINE)).unlink(missing_ok=True)


def remove_all(item: str) -> None:
    """Note that nobody wants the item any more: it is deleted, or computed anew."""
    shutil.rmtree(_folder(item), ignore_errors=True)


def _folder(item: str) -> Path:
    return cache_folder() / "owners" / _checked(item)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"a name must be of letters and digits, got {name!r:.80}")
    return name


def _make_room(folder: Path, spared: str) -> None:
    """Forget the owners of the items that were deleted longest ago, if there are too many."""
    items = os.listdir(folder)
    if len(items) <= MOST:
        return
    deleted = set(items) - _stored_items() - {spared}
    times = {folder / item: (folder / item).stat().st_mtime for item in deleted}
    # an item that somebody is asking for just now is not stored yet
    settled = [path for path, changed in times.items() if abs(time.time() - changed) > _RECENT]
    settled.sort(key=times.__getitem__)
    for path in settled[: len(items) - MOST + MOST // 10]:
        shutil.rmtree(path, ignore_errors=True)


def _stored_items() -> set[str]:
    """Return the runs, jobs and documents that exist, by the names of their files and folders."""
    folders = [cache_folder() / "runs", cache_folder() / "jobs"]
    folders += [kind.path_of("*").parent for kind in registry.document_kinds().values()]
    items: set[str] = set()
    for folder in folders:
        with suppress(FileNotFoundError):
            items |= {re.split(r"[-.]", name)[0] for name in os.listdir(folder)}
    return items
