"""Who asked for a run, or gave a text or matrices: they alone, and whoever is at the machine, give
it up again.

    <local>/owners/<key or digest>/<visitor>

A visitor is a name of letters and digits; the command line's is empty.
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

MOST = 4000  # things whose owners are known; beyond it those of things that are gone are forgotten
_HERE, _FRESH = "here", 60.0  # seconds
_NAME = re.compile(r"[0-9A-Za-z-]{1,64}")


def add(what: str, visitor: str) -> None:
    """Note that `visitor` wants it. Raises `OSError`, and `ValueError` for a name that is none."""
    folder = private_folder(_folder(what))
    (folder / _checked(visitor or _HERE)).touch(mode=0o600)
    with suppress(OSError):  # another process makes room too
        _make_room(folder.parent, what)


def owners_of(what: str) -> set[str]:
    """The visitors who want it."""
    with suppress(OSError):
        return {"" if path.name == _HERE else path.name for path in _folder(what).iterdir()}
    return set()


def is_allowed(what: str, visitor: str | None) -> bool:
    """Whether `visitor` may give it up; None is whoever is at the machine."""
    return visitor is None or visitor in owners_of(what)


def other_owners(what: str, visitor: str | None) -> set[str]:
    """For whom it stays if `visitor` gives it up. Whoever is at the machine, None, decides for all.
    Raises `BadSetting` for somebody who has not asked for it."""
    if not is_allowed(what, visitor):
        raise BadSetting(
            "only who asked for it, or whoever is at the machine, can cancel or delete it"
        )
    return set() if visitor is None else owners_of(what) - {visitor}


def remove(what: str, visitor: str | None) -> None:
    """`visitor` wants it no more. To be said once it has ended: what cannot be ended is still
    theirs to end."""
    if visitor is not None:
        (_folder(what) / _checked(visitor or _HERE)).unlink(missing_ok=True)


def remove_all(what: str) -> None:
    """Nobody wants it any more: it is gone, or begins anew."""
    shutil.rmtree(_folder(what), ignore_errors=True)


def _folder(what: str) -> Path:
    return cache_folder() / "owners" / _checked(what)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"a name must be of letters and digits, got {name!r:.80}")
    return name


def _make_room(folder: Path, spared: str) -> None:
    names = os.listdir(folder)
    if len(names) > MOST:
        gone = {
            folder / name: (folder / name).stat().st_mtime
            for name in set(names) - _present() - {spared}
        }
        # what somebody is asking for just now is not there yet
        oldest = sorted(
            (path for path, at in gone.items() if abs(time.time() - at) > _FRESH),
            key=gone.__getitem__,
        )
        for path in oldest[: len(names) - MOST + MOST // 10]:
            shutil.rmtree(path, ignore_errors=True)


def _present() -> set[str]:
    """The runs, jobs and documents that are here, by what their files and folders are called."""
    found: set[str] = set()
    folders = [cache_folder() / "runs", cache_folder() / "jobs"]
    folders += [kind.path_of("*").parent for kind in registry.document_kinds().values()]
    for folder in folders:
        with suppress(FileNotFoundError):
            found |= {re.split(r"[-.]", name)[0] for name in os.listdir(folder)}
    return found
