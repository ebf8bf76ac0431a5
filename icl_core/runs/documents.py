"""The documents that visitors gave: kept on this computer, for their owner alone; listed, deleted.

All of it takes a quarter of ICL_CACHE_LIMIT at most, and what one visitor of a page gave
ICL_MAX_GIVEN.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.knobs import DIGEST, BadSetting
from icl_core.machine import limits
from icl_core.runs import owners, room, store
from icl_core.runs.disk import unwritable, write_whole

SHARE, GIVEN = 4, "256MiB"  # of the cache's limit for all; for a visitor


@dataclass(frozen=True)
class Document:
    """One that is kept: its kind, its digest, its file, when it was given, in seconds since 1970,
    and its bytes."""

    of: str
    digest: str
    path: Path
    given: float
    size: int


def keep(of: str, document: Any, visitor: str = "") -> str:
    """Keep a document of the kind `of` that `visitor` gave and return its digest.

    The visitor is empty at the command line. Raises `OSError` with a sentence if it cannot be
    written, `BadSetting` if it may not be or there is no room.
    """
    limits.check_writable()
    kind = registry.document_kinds()[of]
    path = kind.path_of(document.digest)
    if (place := unwritable(path.parent)) is not None:
        raise OSError(
            f"{kind.are} kept on this computer: {place} must be a folder that can be written to"
        )
    if not path.exists():
        _check_room(len(document.content), visitor)
    owners.add(document.digest, visitor)
    write_whole(path, document.content)
    return document.digest


def keep_file(of: str, path: Path) -> list[str]:
    """Keep the document in a file, and return what it holds and the setting that names it, in
    sentences.

    Raises `BadSetting` for a file that cannot be read or holds no document of the kind `of`, and
    where it may not be kept.
    """
    kind = registry.document_kinds()[of]
    if "\0" in str(path):  # of which Python says no more than that it is a bad value
        raise BadSetting(f"FILE must be the name of a file, got {str(path)!r:.200}")
    try:
        kind.check_size(path.stat().st_size)
        with path.open("rb") as file:
            document = kind.read(file.read(kind.largest + 1))
        digest = keep(of, document)
    except OSError as problem:
        raise BadSetting(
            f"FILE must be a file that can be read, and what is in it kept, got {problem!s:.200}"
        ) from problem
    return [*kind.describe(document), f"--set {of}={digest}"]


def _check_room(size: int, visitor: str) -> None:
    kept = all_documents()
    *plurals, last = (kind.plural for kind in registry.document_kinds().values())
    names = f"{', '.join(plurals)} and {last}" if plurals else last
    _check(
        f"all {names}",
        [*(each.size for each in kept), size],
        store.default().limit // SHARE,
    )
    if visitor:
        mine = [each.size for each in kept if visitor in owners.owners_of(each.digest)]
        limit = room.size_limit(os.environ.get(limits.GIVEN) or GIVEN, limits.GIVEN)
        _check(f"your {names}", [*mine, size], limit)


def _check(what: str, sizes: list[int], limit: int) -> None:
    if sum(sizes) > limit:
        mega = 2**20
        raise BadSetting(
            f"{what} may take {limit / mega:.1f} MiB here, they would take "
            f"{sum(sizes) / mega:.1f} MiB with this one; "
            "delete some on the page of runs"
        )


def all_documents() -> list[Document]:
    """All that are kept, damaged ones too, the newest first."""
    return sorted(_every(), key=lambda each: -each.given)


def _every() -> Iterator[Document]:
    for of, kind in registry.document_kinds().items():
        pattern = kind.path_of("*")
        for path in pattern.parent.glob(pattern.name):
            with suppress(OSError):  # deleted meanwhile
                status = path.stat()
                if DIGEST.fullmatch(path.stem) and stat.S_ISREG(status.st_mode):
                    yield Document(of, path.stem, path, status.st_mtime, status.st_size)


def delete(document: Document, visitor: str | None = None) -> None:
    """Delete it, unless others gave it than `visitor`; None is whoever is at the machine. Runs that
    use it are away until it is given again. Raises `OSError` if it cannot be deleted, `BadSetting`
    where the visitor may not."""
    limits.check_writable()
    if owners.other_owners(document.digest, visitor):
        return owners.remove(document.digest, visitor)
    document.path.unlink(missing_ok=True)
    owners.remove_all(document.digest)


def is_used_by(config: Mapping[str, Any], document: Document) -> bool:
    """Whether settings, by field, ask for it."""
    return document.digest in config.values()
