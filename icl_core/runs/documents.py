"""Documents that visitors gave, stored on this computer: counts of texts, matrices and weights.

Each belongs to the visitors who gave it, who can list and delete it. All documents together take at
most a quarter of ICL_CACHE_LIMIT, those of one visitor of a page ICL_MAX_GIVEN.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.document import DocumentKind
from icl_core.contract.knobs import DIGEST, BadSetting
from icl_core.contract.message import printable
from icl_core.machine import limits
from icl_core.runs import database, local, owners, store
from icl_core.runs.disk import files_of, unwritable, write_note, write_whole

SHARE = 4  # all documents may take 1 / SHARE of the cache's limit
MOST_OF_A_NAME = 60  # characters
ENDED = ("done", "failed", "cancelled")  # jobs, as their rows say
GIVEN = "256MiB"  # for the documents of one visitor, unless ICL_MAX_GIVEN says otherwise


@dataclass(frozen=True)
class Document:
    """A stored document.

    of      its kind, a name from `registry.document_kinds()`
    digest  a hash of its content, which settings name it by
    path    its file
    given   when it was given, in seconds since 1970
    size    its bytes
    """

    of: str
    digest: str
    path: Path
    given: float
    size: int


def keep(of: str, document: Any, visitor: str = "", name: str = "") -> str:
    """Store what was read of a document that `visitor` gave, with the name of the file that it came
    from, and return its digest.

    The command line is the visitor without a name. Raises `OSError` with a sentence if it cannot be
    written, and `BadSetting` if it is not allowed or there is no room.
    """
    limits.check_writable()
    kind = registry.document_kinds()[of]
    path = kind.path_of(document.digest)
    if (obstacle := unwritable(path.parent)) is not None:
        raise OSError(
            f"{obstacle} must be a folder that this user may write to; ICL_CACHE_DIR names another"
        )
    oldest: list[Document] = []
    if not path.exists():
        oldest = _too_many(of, kind)
        _check_room(len(document.content), visitor, oldest)
    owners.add(document.digest, visitor)
    write_whole(path, document.content)
    for former in oldest:  # only now: a full disk must not take both
        _delete_whole(former)
    if name:
        write_note(_name_file(path), " ".join(name.split())[:MOST_OF_A_NAME])
    return document.digest


def name_of(of: str, digest: str) -> str:
    """Return the name of the file that a document came from, as it can be shown; empty if it is
    not known."""
    try:
        path = _name_file(registry.document_kinds()[of].path_of(digest))
        return printable(path.read_text(encoding="utf-8")[:MOST_OF_A_NAME])
    except (OSError, ValueError):
        return ""


def _name_file(path: Path) -> Path:
    return path.with_suffix(".name")


def keep_file(of: str, path: Path) -> list[str]:
    """Store what a file holds, a document of the kind `of`.

    Return sentences: what the file holds, and last the setting that names it. Raises `BadSetting`
    for a file that cannot be read or is of another kind, and otherwise what `keep` raises.
    """
    kind = registry.document_kinds()[of]
    document = kind.read(_content(kind, path))
    digest = keep(of, document, name=path.name)
    return [*kind.describe(document), f"--set {of}={digest}"]


def _content(kind: DocumentKind, path: Path) -> bytes:
    """Return the bytes of a file; raises `BadSetting` if it cannot be read or is too large."""
    if "\0" in str(path):  # of which Python says no more than that it is a bad value
        raise BadSetting(f"FILE must be the name of a file, got {str(path)!r:.200}")
    try:
        kind.check_size(path.stat().st_size)
        with path.open("rb") as file:
            return file.read(kind.largest + 1)
    except OSError as problem:
        raise BadSetting(
            f"FILE must be a file that can be read, got {str(path)!r:.200}: {problem.strerror}"
        ) from problem


def _too_many(of: str, kind: DocumentKind) -> list[Document]:
    """Return the oldest documents of a kind, which another one of it makes too many; without those
    that a job waits for or reads."""
    here = [document for document in all_documents() if document.of == of]
    oldest = here[kind.most - 1 :] if kind.most else []
    return [document for document in oldest if not _has_job(document)]


def _has_job(document: Document) -> bool:
    """Return whether a job that has not ended names the document."""
    statement = "SELECT key FROM jobs WHERE status NOT IN (?, ?, ?) AND instr(config, ?)"
    return bool(database.look(statement, *ENDED, document.digest))


def _check_room(size: int, visitor: str, without: list[Document]) -> None:
    """Raise `BadSetting` if there is no room for another document of `size` bytes, once those
    `without` are gone."""
    documents = [document for document in all_documents() if document not in without]
    sizes = [document.size for document in documents]
    *plurals, last = (kind.plural for kind in registry.document_kinds().values())
    names = f"{', '.join(plurals)} and {last}" if plurals else last
    _check(f"all {names}", [*sizes, size], store.default().limit // SHARE)
    if visitor:
        theirs = [
            document.size for document in documents if visitor in owners.owners_of(document.digest)
        ]
        limit = local.size_limit(os.environ.get(limits.GIVEN) or GIVEN, limits.GIVEN)
        _check(f"your {names}", [*theirs, size], limit)


def _check(what: str, sizes: list[int], limit: int) -> None:
    if sum(sizes) > limit:
        mebibyte = 2**20
        raise BadSetting(
            f"{what} may take {limit / mebibyte:.1f} MiB here, they would take "
            f"{sum(sizes) / mebibyte:.1f} MiB with this one; delete some on the page of runs"
        )


def all_documents() -> list[Document]:
    """Return all stored documents, damaged ones too, the newest first."""
    documents = []
    for of, kind in registry.document_kinds().items():
        pattern = kind.path_of("*")
        for path in files_of(pattern.parent, pattern.name):
            if not DIGEST.fullmatch(path.stem):
                continue
            with suppress(OSError):  # deleted meanwhile
                status = path.stat()
                documents.append(Document(of, path.stem, path, status.st_mtime, status.st_size))
    return sorted(documents, key=lambda document: -document.given)


def delete(document: Document, visitor: str | None = None) -> None:
    """Delete a document, unless others than `visitor` gave it too.

    `visitor` None is whoever is at the machine and decides for all. Runs that use the document are
    not shown until it is given again. Raises `OSError` if it cannot be deleted, `BadSetting` where
    the visitor is not allowed to.
    """
    limits.check_writable()
    if owners.other_owners(document.digest, visitor):
        owners.remove(document.digest, visitor)
        return
    _delete_whole(document)


def _delete_whole(document: Document) -> None:
    document.path.unlink(missing_ok=True)
    _name_file(document.path).unlink(missing_ok=True)
    owners.remove_all(document.digest)


def is_used_by(config: Mapping[str, Any], document: Document) -> bool:
    """Return whether settings, by field, name the document."""
    return document.digest in config.values()
